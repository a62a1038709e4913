/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Between vfork and exec the child borrows the parent's memory: what it closes
 * and duplicates is its own, and the parent's files stay as they were.
 */
#include "expected.h"
#include <sys/wait.h>

int main(int argc, char **argv)
{
    char buffer[16];
    if (argc > 1) {
        /* The other program: descriptor 0 is the file, placed by the child. */
        CHECK(READ("data", 4, 0, buffer, 4) == 4 && memcmp(buffer, "4567", 4) == 0);
        return 7;
    }

    int fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("data", 0, fd, "0123456789abcdef", 16) == 16);
    CHECK(CALL("lseek", "data", 16, 0, lseek(fd, 4, SEEK_SET)) == 4);
    int other = OPEN("other", O_RDWR | O_CREAT | O_TRUNC, 0644);

    for (int round = 0; round < 20; round++) {
        char *arguments[] = {argv[0], "child", NULL};
        pid_t child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            dup2(fd, 0);
            close(fd);
            close(other);
            for (int n = 3; n < 64; n++)
                close(n);
            execv("/proc/self/exe", arguments);
            _exit(127);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7);
        CHECK(READ("data", 8, fd, buffer, 2) == 2);
        CHECK(WRITE("other", round, other, "x", 1) == 1);
        CHECK(CALL("lseek", "data", 10, 0, lseek(fd, 4, SEEK_SET)) == 4);
    }

    /* A child that does not get as far as exec, after doing I/O of its own. */
    pid_t child = vfork();
    CHECK(child >= 0);
    if (child == 0) {
        write(other, "vfork child", 11);
        close(other);
        _exit(9);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 9);
    CHECK(WRITE("other", 31, other, "y", 1) == 1);
    CHECK(CLOSE("other", other) == 0 && CLOSE("data", fd) == 0);
    return 0;
}
