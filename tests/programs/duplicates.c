/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Duplicated descriptors are one open file: they share its position.
 */
#include "expected.h"

int main(void)
{
    const char *a = "a", *b = "b";
    char buffer[16];

    int fd = OPEN(a, O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE(a, 0, fd, "0123456789abcdef", 16) == 16);
    int second = CALL("dup", a, ANY, 0, dup(fd));
    CHECK(WRITE(a, 16, second, "x", 1) == 1);
    CHECK(WRITE(a, 17, fd, "y", 1) == 1);
    CHECK(CALL("lseek", a, 18, 0, lseek(second, 4, SEEK_SET)) == 4);
    CHECK(READ(a, 4, fd, buffer, 3) == 3);
    CHECK(READ(a, 7, second, buffer, 3) == 3);

    /* The file stays open until the last descriptor is closed. */
    CHECK(CLOSE(a, fd) == 0);
    CHECK(READ(a, 10, second, buffer, 2) == 2);

    /* What the target number was before is closed. */
    int target = OPEN(b, O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE(b, 0, target, "bb", 2) == 2);
    CHECK(CALL("dup2", a, ANY, 0, dup2(second, target)) == target);
    CHECK(READ(a, 12, target, buffer, 1) == 1);
    CHECK(CALL("dup2", a, ANY, 0, dup2(target, target)) == target);
    CHECK(READ(a, 13, target, buffer, 1) == 1);
    CHECK(CALL("dup3", a, ANY, 0, dup3(second, 700, O_CLOEXEC)) == 700);
    CHECK(READ(a, 14, 700, buffer, 1) == 1);
    CHECK(CALL("dup3", a, ANY, 0, dup3(second, second, O_CLOEXEC)) == -1 && errno == EINVAL);

    int high = CALL("fcntl", a, ANY, 0, fcntl(second, F_DUPFD, 500));
    CHECK(high >= 500 && READ(a, 15, high, buffer, 1) == 1);
    int higher = CALL("fcntl", a, ANY, 0, fcntl64(second, F_DUPFD_CLOEXEC, 600));
    CHECK(higher >= 600 && READ(a, 16, higher, buffer, 1) == 1);

    /* Another open of the same path has a position of its own. */
    int own = OPEN(a, O_RDONLY);
    CHECK(READ(a, 0, own, buffer, 2) == 2);
    CHECK(READ(a, 17, second, buffer, 1) == 1);

    CHECK(CLOSE(a, own) == 0 && CLOSE(a, high) == 0 && CLOSE(a, higher) == 0);
    CHECK(CLOSE(a, 700) == 0 && CLOSE(a, target) == 0 && CLOSE(a, second) == 0);

    /* The number is given again, to another file. */
    int again = OPEN(b, O_RDONLY);
    CHECK(READ(b, 0, again, buffer, 16) == 2 && CLOSE(b, again) == 0);
    return 0;
}
