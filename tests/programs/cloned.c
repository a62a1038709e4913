/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Children made by clone(): with memory of their own like fork's, through the
 * raw system call, and with the parent's memory but a stack of their own.
 */
#include "expected.h"
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static char stack[256 * 1024] __attribute__((aligned(16)));
static int shared;

static int copied_memory(void *argument)
{
    (void)argument;
    CHECK(WRITE("shared", 1, shared, "c", 1) == 1);
    return 4;
}

/* Its calls may be recorded or counted, but must not harm the parent. */
static int borrowed_memory(void *argument)
{
    (void)argument;
    for (int n = 0; n < 100; n++)
        write(shared, "b", 1);
    return 5;
}

static void wait_for(pid_t child, int code)
{
    int status;
    CHECK(waitpid(child, &status, __WALL) == child && WIFEXITED(status) && WEXITSTATUS(status) == code);
}

int main(void)
{
    shared = OPEN("shared", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("shared", 0, shared, "p", 1) == 1);
    wait_for(clone(copied_memory, stack + sizeof stack, SIGCHLD, NULL), 4);

    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    CHECK(child >= 0);
    if (child == 0) {
        syscall(SYS_write, shared, "r", 1);
        syscall(SYS_exit_group, 6);
    }
    wait_for(child, 6);
    CHECK(WRITE("shared", 3, shared, "p", 1) == 1);

    wait_for(clone(borrowed_memory, stack + sizeof stack, CLONE_VM | SIGCHLD, NULL), 5);
    CHECK(WRITE("shared", 104, shared, "p", 1) == 1);
    CHECK(CLOSE("shared", shared) == 0);
    return 0;
}
