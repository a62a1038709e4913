/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A daemon made by forking twice goes on after the program that started it has
 * ended. The argument is a file that it removes when it has done its work.
 */
#include "expected.h"
#include <sys/wait.h>

int main(void)
{
    int mark = syscall(SYS_open, "running", O_WRONLY | O_CREAT, 0644);
    CHECK(mark >= 0);
    int fd = OPEN("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
    CHECK(WRITE("log", 0, fd, "start\n", 6) == 6);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child > 0) {
        int status;
        CHECK(waitpid(child, &status, 0) == child && status == 0);
        CHECK(CLOSE("log", fd) == 0);
        return 0;
    }
    CHECK(setsid() >= 0);
    child = fork();
    CHECK(child >= 0);
    if (child > 0)
        _exit(0);

    close(0);
    close(1);
    close(2);
    for (int n = 0; n < 20; n++) {
        WRITE("log", 6 + n * 5, fd, "work\n", 5);
        usleep(20000);
    }
    CLOSE("log", fd);
    syscall(SYS_unlink, "running");
    return 0;
}
