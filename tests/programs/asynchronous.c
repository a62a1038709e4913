/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * POSIX asynchronous I/O: recorded when it is handed over. The threads that
 * glibc does it with call nothing that can be seen.
 */
#include "expected.h"
#include <aio.h>
#include <signal.h>

static char buffers[4][512];

static void finish(struct aiocb *request, ssize_t bytes)
{
    const struct aiocb *list[] = {request};
    while (aio_error(request) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
    CHECK(aio_return(request) == bytes);
}

int main(void)
{
    int fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    struct aiocb request = {
        .aio_fildes = fd, .aio_offset = 1000, .aio_buf = buffers[0], .aio_nbytes = 512};
    CHECK(CALL_AS("aio_write", "data", 1000, 512, ANY, aio_write(&request)) == 0);
    finish(&request, 512);
    CHECK(CALL_AS("aio_read", "data", 1000, 512, ANY, aio_read(&request)) == 0);
    finish(&request, 512);

    struct aiocb requests[3];
    struct aiocb *list[4] = {&requests[0], &requests[1], NULL, &requests[2]};
    for (int n = 0; n < 3; n++)
        requests[n] = (struct aiocb){
            .aio_fildes = fd, .aio_offset = n * 512, .aio_buf = buffers[n], .aio_nbytes = 512,
            .aio_lio_opcode = n < 2 ? LIO_WRITE : LIO_READ};
    struct expected_call *whole = expected_begin("lio_listio", "*", ANY, ANY);
    struct expected_call *first = expected_begin("aio_write", "data", 0, 512);
    struct expected_call *second = expected_begin("aio_write", "data", 512, 512);
    struct expected_call *third = expected_begin("aio_read", "data", 1024, 512);
    CHECK(lio_listio(LIO_WAIT, list, 4, NULL) == 0);
    expected_end(whole, ANY);
    expected_end(first, ANY);
    expected_end(second, ANY);
    expected_end(third, ANY);
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
