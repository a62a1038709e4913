/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads with the smallest stack that there is: 16 KiB, of which the thread's
 * own data and the program take some, more on processors with large frames.
 */
#include "expected.h"
#include <limits.h>
#include <pthread.h>

static int fd;

static void *work(void *argument)
{
    volatile char used[4096];
    for (size_t n = 0; n < sizeof used; n += 64)
        used[n] = 1;
    long at = (long)argument * 100;
    for (long n = 0; n < 50; n++)
        CHECK(CALL("pwrite", "data", at + n, 1, pwrite(fd, "s", 1, at + n)) == 1);
    int own = OPEN("own", O_WRONLY | O_CREAT, 0644);
    CHECK(own >= 0 && WRITE("own", 0, own, "own", 3) == 3 && CLOSE("own", own) == 0);
    CHECK(used[128] == 1);
    return NULL;
}

int main(void)
{
    fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)sysconf(_SC_THREAD_STACK_MIN)) == 0);
    for (long n = 0; n < 10; n++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, &attributes, work, (void *)n) == 0);
        CHECK(pthread_join(thread, NULL) == 0);
    }
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
