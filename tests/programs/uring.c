/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Requests given to io_uring through liburing: noticed and counted, not
 * recorded. Ends with 77 where the kernel forbids io_uring.
 */
#include "expected.h"
#include <liburing.h>

int main(void)
{
    struct io_uring ring;
    if (io_uring_queue_init(8, &ring, 0) < 0)
        return 77;
    int fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (unsigned n = 0; n < 10; n++) {
        struct io_uring_sqe *entry = io_uring_get_sqe(&ring);
        struct io_uring_cqe *done;
        CHECK(entry != NULL);
        io_uring_prep_write(entry, fd, "8 bytes\n", 8, n * 8);
        CHECK(io_uring_submit(&ring) == 1);
        CHECK(io_uring_wait_cqe(&ring, &done) == 0 && done->res == 8);
        io_uring_cqe_seen(&ring, done);
    }
    CHECK(CLOSE("data", fd) == 0);
    io_uring_queue_exit(&ring);
    return 0;
}
