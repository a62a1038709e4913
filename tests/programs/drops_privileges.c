/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A server begun by root becomes somebody else in the middle. What it opened
 * before stays; it goes on being recorded in the room that was made before, and
 * so is a thread begun afterwards.
 */
#include "expected.h"
#include <grp.h>
#include <pthread.h>

static int fd;

static void *work(void *argument)
{
    (void)argument;
    CHECK(CALL("pwrite", "data", 100, 6, pwrite(fd, "thread", 6, 100)) == 6);
    return NULL;
}

int main(void)
{
    fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("data", 0, fd, "root\n", 5) == 5);
    if (geteuid() == 0)
        CHECK(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    CHECK(WRITE("data", 5, fd, "nobody\n", 7) == 7);
    CHECK(open("/forbidden", O_WRONLY | O_CREAT, 0644) == -1 && errno == EACCES);

    /* Many calls, so that the recorder wants more room as well. */
    for (long n = 0; n < 2000; n++)
        CHECK(CALL("pwrite", "data", n, 1, pwrite(fd, "x", 1, n)) == 1);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
