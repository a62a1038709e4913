/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A sandbox entered in the middle of the program: afterwards any system call
 * but the few that the program needs ends it. The argument names the way in:
 * strict (read, write, exit only), prctl or seccomp (a filter), threads (a
 * filter set by one thread for all). Calls in the sandbox are counted.
 */
#include "expected.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>

static int fd;

#define ALLOW(number) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static struct sock_filter rules[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_read),
    ALLOW(SYS_write),
    ALLOW(SYS_pwrite64),
    ALLOW(SYS_lseek),
    ALLOW(SYS_close),
    ALLOW(SYS_exit),
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};
static struct sock_fprog program = {sizeof rules / sizeof *rules, rules};

static void enter(const char *way)
{
    if (strcmp(way, "strict") == 0) {
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
        return;
    }
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (strcmp(way, "prctl") == 0)
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    else if (strcmp(way, "seccomp") == 0)
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    else
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
}

static volatile int started;
static volatile int entered;

static void *spin(void *argument)
{
    (void)argument;
    started = 1;
    while (!entered)
        ;
    for (int n = 0; n < 3000; n++)
        CHECK(pwrite(fd, "t", 1, n) == 1);
    entered = 2;
    while (entered == 2)
        ;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "strict";
    fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("data", 0, fd, "outside\n", 8) == 8);
    pthread_t thread;
    if (strcmp(way, "threads") == 0)
        CHECK(pthread_create(&thread, NULL, spin, NULL) == 0);
    /* A thread that begins makes calls of its own. */
    while (strcmp(way, "threads") == 0 && !started)
        ;
    enter(way);
    if (strcmp(way, "threads") == 0) {
        entered = 1;
        while (entered != 2)
            ;
    }
    /* More than any first segment holds. */
    for (int n = 0; n < 3000; n++)
        if (write(fd, "inside\n", 7) != 7)
            syscall(SYS_exit, 1);
    syscall(strcmp(way, "strict") == 0 ? SYS_exit : SYS_exit_group, 12);
}
