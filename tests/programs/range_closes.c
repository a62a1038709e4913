/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A thread closes a range of descriptors while another opens files, which are
 * given the same descriptors at once. Each file is closed by who opened it.
 */
#include "expected.h"
#include <pthread.h>
#include <stdatomic.h>

enum { TURNS = 4000 };

static atomic_int is_over;

static void *opens(void *unused)
{
    while (!is_over) {
        int fd = OPEN("other", O_RDONLY);
        CHECK(fd >= 0);
        CHECK(CLOSE("other", fd) == 0);
    }
    return unused;
}

int main(void)
{
    int fd = OPEN("other", O_RDWR | O_CREAT, 0644);
    CHECK(CLOSE("other", fd) == 0);
    /* Refused, and nothing is closed. */
    fd = OPEN("range", O_RDWR | O_CREAT, 0644);
    CHECK(close_range(fd, fd - 1, 0) == -1 && errno == EINVAL);
    CHECK(close_range(fd, fd, 64) == -1 && errno == EINVAL);
    CHECK(WRITE("range", 0, fd, "open\n", 5) == 5);
    CHECK(CALL("close", "range", ANY, 0, close_range(fd, fd, 0)) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, opens, NULL) == 0);
    for (int turn = 0; turn < TURNS; turn++) {
        fd = OPEN("range", O_RDONLY);
        CHECK(fd >= 0);
        CHECK(CALL("close", "range", ANY, 0, close_range(fd, fd, 0)) == 0);
    }
    is_over = 1;
    pthread_join(thread, NULL);
    return 0;
}
