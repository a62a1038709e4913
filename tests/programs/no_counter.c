/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A program that forbids itself the processor's time stamp counter: to read it is
 * a SIGSEGV then, also for whoever measures the program's calls. The argument
 * says how it is forbidden: prctl, syscall. Another thread is not concerned.
 */
#include "expected.h"
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static int forbid(const char *way)
{
    if (strcmp(way, "syscall") == 0)
        return syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
    return prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
}

static void write_some(const char *file)
{
    int fd = OPEN(file, O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int n = 0; n < 300; n++)
        CHECK(WRITE(file, n * 8, fd, "a line.\n", 8) == 8);
    CHECK(CLOSE(file, fd) == 0);
}

static void *beside(void *unused)
{
    write_some("beside");
    return unused;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "prctl";
    int state = 0;
    write_some("before");
    CHECK(prctl(PR_SET_TSC, 4711, 0, 0, 0) == -1);
    CHECK(forbid(way) == 0);
    write_some("forbidden");
    CHECK(prctl(PR_GET_TSC, &state, 0, 0, 0) == 0 && state == PR_TSC_SIGSEGV);
    pid_t child = fork();
    if (child == 0) {
        write_some("child");
        __asm__ volatile("rdtsc" ::: "rax", "rdx");
        _exit(1);
    }
    CHECK(waitpid(child, &state, 0) == child);
    CHECK(WIFSIGNALED(state) && WTERMSIG(state) == SIGSEGV);
    CHECK(prctl(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, beside, NULL) == 0);
    pthread_join(thread, NULL);
    write_some("after");
    return 0;
}
