/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Programs that close every descriptor they may have, as daemons and shells
 * do; the recorder must not have had any of them, and go on. The argument
 * names the way.
 */
#include "expected.h"
#include <sys/resource.h>

static void with_close_range(void)
{
    CHECK(close_range(3, ~0U, 0) == 0);
}

static void with_closefrom(void)
{
    closefrom(3);
}

static void with_a_loop(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
}

static void with_the_raw_call(void)
{
    syscall(SYS_close_range, 3, ~0U, 0);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "close_range";
    int a = OPEN("a", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int b = OPEN("b", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(a >= 0 && b > a && WRITE("a", 0, a, "aaaa", 4) == 4 && WRITE("b", 0, b, "bb", 2) == 2);

    struct expected_call *first = NULL, *second = NULL;
    if (strcmp(way, "raw") != 0) {
        first = expected_begin("close", "a", ANY, 0);
        second = expected_begin("close", "b", ANY, 0);
    }
    if (strcmp(way, "close_range") == 0)
        with_close_range();
    else if (strcmp(way, "closefrom") == 0)
        with_closefrom();
    else if (strcmp(way, "loop") == 0)
        with_a_loop();
    else
        with_the_raw_call();
    if (first != NULL) {
        expected_end(first, 0);
        expected_end(second, 0);
    }
    CHECK(syscall(SYS_fcntl, a, F_GETFD) == -1 && errno == EBADF);

    /* The numbers are given again, the first one first. */
    int again = OPEN("b", O_RDWR);
    CHECK(again == a && WRITE("b", 0, again, "again", 5) == 5);
    int other = OPEN("a", O_RDONLY);
    char buffer[8];
    CHECK(other == b && READ("a", 0, other, buffer, 8) == 4);

    /* Some of a range only, and a range that is only marked. */
    CHECK(close_range((unsigned)other, (unsigned)other, CLOSE_RANGE_CLOEXEC) == 0);
    CHECK(READ("a", 4, other, buffer, 8) == 0);
    CHECK(CLOSE("a", other) == 0 && CLOSE("b", again) == 0);
    return 0;
}
