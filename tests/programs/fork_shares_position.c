/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A child made by fork shares the parent's open files: what it reads and
 * writes moves the parent's position. Each process is a stream of its own.
 */
#include "expected.h"
#include <sys/wait.h>

int main(void)
{
    char buffer[64];
    int fd = OPEN("shared", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("shared", 0, fd, "parent-before\n", 14) == 14);
    FILE *stream = FOPEN("text", "w");
    CHECK(stream != NULL);

    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK(WRITE("shared", 14, fd, "child\n", 6) == 6);
        int own = OPEN("own", O_WRONLY | O_CREAT, 0644);
        CHECK(WRITE("own", 0, own, buffer, 10) == 10 && CLOSE("own", own) == 0);
        CHECK(CALL_AS("fputs", "text", 0, 6, 6, fputs("child\n", stream)) >= 0);
        CHECK(FCLOSE("text", stream) == 0);
        CHECK(CLOSE("shared", fd) == 0);
        exit(3);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 3);
    CHECK(WRITE("shared", 20, fd, "parent-after\n", 13) == 13);
    CHECK(CALL("lseek", "shared", 33, 0, lseek(fd, 14, SEEK_SET)) == 14);
    CHECK(READ("shared", 14, fd, buffer, 6) == 6);

    /* Ten generations, each reading the next byte. */
    for (int generation = 0; generation < 10; generation++) {
        child = fork();
        CHECK(child >= 0);
        if (child > 0) {
            CHECK(waitpid(child, &status, 0) == child);
            CHECK(CLOSE("shared", fd) == 0);
            return WEXITSTATUS(status);
        }
        CHECK(READ("shared", 20 + generation, fd, buffer, 1) == 1);
    }
    CHECK(CLOSE("shared", fd) == 0);
    return 0;
}
