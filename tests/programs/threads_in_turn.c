/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads that come and go, 10,000 or as many as the argument says: memory and
 * descriptors of the process must not grow with them.
 */
#include "expected.h"
#include <pthread.h>

static int fd;

static void *work(void *argument)
{
    long at = (long)argument * 8;
    CHECK(CALL("pwrite", "data", at, 8, pwrite(fd, "8 bytes\n", 8, at)) == 8);
    return NULL;
}

/* Pages of the address space, read with raw calls. */
static long address_space(void)
{
    char text[64] = "";
    int statm = (int)syscall(SYS_open, "/proc/self/statm", O_RDONLY);
    syscall(SYS_read, statm, text, sizeof text - 1);
    syscall(SYS_close, statm);
    return atol(text);
}

int main(int argc, char **argv)
{
    long n_threads = argc > 1 ? atol(argv[1]) : 10000;
    long pages = 0;
    fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (long n = 0; n < n_threads; n++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, work, (void *)n) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
        if (n == 100)
            pages = address_space();
    }
    /* 64 MiB: less than what 1 % of the threads would take with all they map. */
    CHECK(n_threads < 1000 || address_space() < pages + 16384);
    int next = (int)syscall(SYS_dup, fd);
    CHECK(next == fd + 1);
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
