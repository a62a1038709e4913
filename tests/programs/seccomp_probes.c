/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What libraries ask before they enter a sandbox, or instead of it: whether the
 * kernel knows an action, a flag or a mode. None of it is a sandbox, and all calls
 * are recorded. With the argument `thread` one thread enters one, in which every
 * other system call ends the program, and the others go on outside.
 */
#include "expected.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>

static int fd;
static volatile int entered;

static void write_some(const char *text)
{
    static int64_t end;
    for (int n = 0; n < 10; n++, end += 8)
        CHECK(WRITE("data", end, fd, text, 8) == 8);
}

static void *sandboxed(void *unused)
{
    static struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    static struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    for (int n = 0; n < 3000; n++)
        CHECK(pwrite(fd, "s", 1, 4096) == 1);
    entered = 1;
    for (;;)
        ;
    return unused;
}

int main(int argc, char **argv)
{
    fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    unsigned action = SECCOMP_RET_LOG;
    write_some("before \n");
    CHECK(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0);
    write_some("asked  \n");
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_LOG, NULL) == -1);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == -1);
    write_some("refused\n");
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT);
    CHECK(prctl(PR_SET_SECCOMP, 4711, 0, 0, 0) == -1 && errno == EINVAL);
    CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1);
    CHECK(prctl(PR_GET_SECCOMP) == 0);
    write_some("nothing\n");
    if (argc > 1) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, sandboxed, NULL) == 0);
        while (!entered)
            ;
        write_some("outside\n");
    }
    CHECK(CLOSE("data", fd) == 0);
    _exit(0);
}
