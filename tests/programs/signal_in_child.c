/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A signal at every instruction of a forked child's first call, whose handler
 * makes a call itself: wherever it comes, the child's calls are none of the
 * parent's. The parent steps the child there with ptrace.
 */
#include "expected.h"
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

enum { STEPS = 1200 };

static int ticks;

static void tick(int signal)
{
    (void)signal;
    CHECK(write(ticks, "tick\n", 5) == 5);
}

static void in_child(int fd)
{
    CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
    __asm__ volatile("int3");
    CHECK(write(fd, "first\n", 6) == 6);
    CHECK(write(fd, "second\n", 7) == 7);
    _exit(0);
}

int main(void)
{
    signal(SIGUSR1, tick);
    ticks = open("child_ticks", O_WRONLY | O_CREAT | O_APPEND, 0644);
    int fd = open("child_data", O_WRONLY | O_CREAT | O_APPEND, 0644);
    int own = OPEN("parent_data", O_WRONLY | O_CREAT, 0644);
    for (int step = 0; step < STEPS; step += step < 300 ? 1 : 43) {
        pid_t child = fork();
        if (child == 0)
            in_child(fd);
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
        for (int n = 0; n < step && WIFSTOPPED(status); n++) {
            CHECK(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL) == 0);
            CHECK(waitpid(child, &status, 0) == child);
        }
        /* Where signals are held back it comes a second time, to be passed on. */
        while (WIFSTOPPED(status)) {
            CHECK(ptrace(PTRACE_CONT, child, NULL, SIGUSR1) == 0);
            CHECK(waitpid(child, &status, 0) == child);
        }
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
        CHECK(write(own, "parent\n", 7) == 7);
    }
    return 0;
}
