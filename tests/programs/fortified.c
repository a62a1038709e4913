/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The checked forms that a compiler puts in with _FORTIFY_SOURCE. The sizes
 * come from argc, so that it cannot prove that the checks hold.
 */
#include "expected.h"
#include <stdarg.h>

static int by_list(FILE *stream, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int written = vfprintf(stream, format, list);
    va_end(list);
    return written;
}

int main(int argc, char **argv)
{
    (void)argv;
    size_t n = (size_t)argc * 20;
    int flags = argc > 0 ? O_RDWR : O_RDONLY;
    char buffer[64] = "a line of the file, in all 32 b\n";

    int fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("data", 0, fd, buffer, 32) == 32);
    CHECK(CALL("pread", "data", 3, n, pread(fd, buffer, n, 3)) == 20);
    CHECK(CALL("pread", "data", 4, n, pread64(fd, buffer, n, 4)) == 20);
    CHECK(CALL("lseek", "data", 32, 0, lseek(fd, 0, SEEK_SET)) == 0);
    CHECK(READ("data", 0, fd, buffer, n) == 20);
    CHECK(CLOSE("data", fd) == 0);

    /* __open_2 and friends. */
    fd = OPEN("data", flags);
    CHECK(READ("data", 0, fd, buffer, n) == 20 && CLOSE("data", fd) == 0);
    fd = CALL("open", "data", ANY, 0, open64("data", flags));
    CHECK(READ("data", 0, fd, buffer, n) == 20 && CLOSE("data", fd) == 0);
    fd = CALL("open", "data", ANY, 0, openat(AT_FDCWD, "data", flags));
    CHECK(READ("data", 0, fd, buffer, n) == 20 && CLOSE("data", fd) == 0);
    fd = CALL("open", "data", ANY, 0, openat64(AT_FDCWD, "data", flags));
    CHECK(READ("data", 0, fd, buffer, n) == 20 && CLOSE("data", fd) == 0);

    FILE *stream = FOPEN("data", "r+");
    CHECK(FREAD("data", 0, buffer, (size_t)1, n, stream) == 20);
    CHECK(CALL_AS("fread", "data", 20, 1, r, fread_unlocked(buffer, 1, n / 20, stream)) == 1);
    CHECK(CALL_AS("fgets", "data", 21, 5, 5, fgets(buffer, (int)n - 14, stream)) == buffer);
    CHECK(CALL_AS("fgets", "data", 26, 6, 6, fgets_unlocked(buffer, (int)n, stream)) == buffer);
    CHECK(CALL_AS("fseek", "data", 32, 0, 32, fseek(stream, 0, SEEK_END)) == 0);
    CHECK(CALL("fprintf", "data", 32, 6, fprintf(stream, "%zu ab\n", n)) == 6);
    CHECK(CALL("fprintf", "data", 38, 3, by_list(stream, "%zu\n", n)) == 3);
    CHECK(FCLOSE("data", stream) == 0);
    return 0;
}
