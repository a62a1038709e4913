/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Appending writes begin at the end of the file, wherever the position was.
 */
#include "expected.h"

int main(void)
{
    int fd = OPEN("log", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0 && WRITE("log", 0, fd, "0123456789", 10) == 10 && CLOSE("log", fd) == 0);

    fd = OPEN("log", O_RDWR | O_APPEND);
    char buffer[8];
    CHECK(READ("log", 0, fd, buffer, 4) == 4);
    CHECK(WRITE("log", 10, fd, "abcde", 5) == 5);
    CHECK(READ("log", 15, fd, buffer, 4) == 0);
    CHECK(CALL("lseek", "log", 15, 0, lseek(fd, 2, SEEK_SET)) == 2);
    CHECK(WRITE("log", 15, fd, "f", 1) == 1);

    /* Another descriptor makes the file longer in between. */
    int other = OPEN("log", O_WRONLY | O_APPEND);
    CHECK(WRITE("log", 16, other, "ghij", 4) == 4);
    CHECK(WRITE("log", 20, fd, "k", 1) == 1);
    CHECK(CLOSE("log", other) == 0);

    /* The flag may come and go. */
    int flags = fcntl(fd, F_GETFL);
    CHECK(fcntl(fd, F_SETFL, flags & ~O_APPEND) == 0);
    CHECK(CALL("lseek", "log", 21, 0, lseek(fd, 3, SEEK_SET)) == 3);
    CHECK(WRITE("log", 3, fd, "X", 1) == 1);
    CHECK(fcntl(fd, F_SETFL, flags) == 0);
    CHECK(WRITE("log", 21, fd, "l", 1) == 1);
    CHECK(CLOSE("log", fd) == 0);

    FILE *stream = FOPEN("log", "a");
    CHECK(FWRITE("log", 22, "mno", 1, 3, stream) == 3);
    CHECK(CALL_AS("fputs", "log", 25, 2, 2, fputs("pq", stream)) >= 0);
    CHECK(FCLOSE("log", stream) == 0);

    stream = FOPEN("log", "a+");
    CHECK(CALL_AS("fgetc", "log", 0, 1, 1, fgetc(stream)) == '0');
    CHECK(CALL_AS("fseek", "log", 1, 0, 5, fseek(stream, 5, SEEK_SET)) == 0);
    CHECK(FWRITE("log", 27, "r", 1, 1, stream) == 1);
    CHECK(FCLOSE("log", stream) == 0);
    return 0;
}
