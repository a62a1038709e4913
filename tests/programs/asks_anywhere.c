/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Asks what comes next in all kinds of places, and prints the answers: one line
 * each, of the place and the result. The argument "for ever" asks until the
 * answer is that nobody is there any more.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ioracle.h"

static const uint64_t A_SECOND = 1000000000;
static int file;

static ioracle_result ask(uint64_t wait_ns)
{
    ioracle_prediction answer[4];
    ioracle_basis basis;
    return ioracle_next(wait_ns, answer, 4, &basis);
}

static void say(const char *where, ioracle_result result)
{
    printf("%s: %s\n", where, ioracle_result_name(result));
    fflush(stdout);
}

static void work(int n)
{
    char block[64] = {0};
    for (int i = 0; i < n; i++)
        if (pwrite(file, block, sizeof block, i % 8 * 64) != sizeof block)
            abort();
}

static void *in_a_thread(void *unused)
{
    (void)unused;
    say("thread before its first call", ask(10 * A_SECOND));
    work(40);
    say("thread", ask(10 * A_SECOND));
    return NULL;
}

static volatile sig_atomic_t n_handled, n_answered, wrong, errno_changed;

static void on_alarm(int signal)
{
    (void)signal;
    errno = 4711;
    ioracle_result result = ask(0);
    if (result == IORACLE_OK)
        n_answered++;
    else if (result != IORACLE_STALE && result != IORACLE_BUSY)
        wrong = 1;
    if (errno != 4711)
        errno_changed = 1;
    n_handled++;
}

static void in_a_handler(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    timer_t timer;
    if (timer_create(CLOCK_MONOTONIC, NULL, &timer) != 0)
        abort();
    struct itimerspec often = {{0, 200000}, {0, 200000}};
    timer_settime(timer, 0, &often, NULL);
    /* Pauses, in which the reader can catch up: most handlers come in them. On a
     * machine that is busy with other things that may take long. */
    while (n_handled < 300 || (n_answered == 0 && n_handled < 50000)) {
        work(16);
        struct timespec pause = {0, 5000000};
        while (nanosleep(&pause, &pause) != 0)
            continue;
    }
    timer_delete(timer);
    signal(SIGALRM, SIG_IGN);
    printf("handler: %s\n", wrong          ? "wrong"
                            : errno_changed ? "errno changed"
                            : n_answered    ? "answered"
                                            : "never answered");
    fflush(stdout);
}

static void in_children(const char *self)
{
    pid_t child = fork();
    if (child == 0) {
        work(40);
        say("forked child", ask(10 * A_SECOND));
        pid_t grandchild = fork();
        if (grandchild == 0) {
            say("forked child before its first call", ask(10 * A_SECOND));
            _exit(0);
        }
        waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    static volatile ioracle_result borrowed;
    child = vfork();
    if (child == 0) {
        borrowed = ask(0);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    say("vfork child", borrowed);
    work(40);
    say("parent", ask(10 * A_SECOND));
    child = fork();
    if (child == 0) {
        execl(self, self, "executed", NULL);
        _exit(1);
    }
    waitpid(child, NULL, 0);
}

/* Until nobody is there: first without, then with waiting. */
static int for_ever(void)
{
    struct timespec pause = {0, 1000000};
    work(40);
    say("first", ask(10 * A_SECOND));
    ioracle_result result;
    do {
        nanosleep(&pause, NULL);
        work(1);
        result = ask(0);
    } while (result == IORACLE_OK || result == IORACLE_STALE);
    say("without waiting", result);
    work(1);
    say("with waiting", ask(100 * A_SECOND));
    return 0;
}

/* Until the answer does not come for a second. */
static int with_waiting(void)
{
    struct timespec pause = {0, 1000000};
    work(40);
    say("first", ask(10 * A_SECOND));
    ioracle_result result;
    do {
        nanosleep(&pause, NULL);
        /* Something new each time, so that there is something to wait for. */
        static int n;
        if (pwrite(file, "x", 1, ++n * 1000) != 1)
            abort();
        result = ask(100 * A_SECOND);
    } while (result == IORACLE_OK);
    say("with waiting", result);
    return 0;
}

int main(int argc, char **argv)
{
    file = open("file", O_RDWR | O_CREAT, 0644);
    if (file < 0)
        return 2;
    if (argc > 1 && strcmp(argv[1], "for ever") == 0)
        return for_ever();
    if (argc > 1 && strcmp(argv[1], "waiting") == 0)
        return with_waiting();
    if (argc > 1) {
        work(40);
        say("executed", ask(10 * A_SECOND));
        return 0;
    }
    say("no room", ioracle_next(0, NULL, 1, NULL));
    work(40);
    say("first", ask(10 * A_SECOND));
    pthread_t thread;
    pthread_create(&thread, NULL, in_a_thread, NULL);
    pthread_join(thread, NULL);
    in_a_handler();
    in_children("/proc/self/exe");
    return 0;
}
