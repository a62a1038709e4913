/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Calls where little of the stack is left, over a page that cannot be touched:
 * in threads with small stacks, each of them the thread's first, and in signal
 * handlers on an alternate stack.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREAD_STACK 16384
#define SIGNAL_STACK 8192
#define PAGE 4096

static size_t taken;
static int n_done;

static void check(int is_right, const char *what)
{
    if (!is_right) {
        perror(what);
        exit(1);
    }
}

/* All but the rest of the stack is the program's own. */
static void write_deep_down(void)
{
    volatile char *room = __builtin_alloca(taken);
    for (size_t at = 0; at < taken; at += 512)
        room[at] = 1;
    int fd = open("data", O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0)
        n_done++;
}

static void *in_thread(void *nothing)
{
    write_deep_down();
    return nothing;
}

static void in_handler(int number)
{
    (void)number;
    write_deep_down();
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    check(pthread_attr_init(&attributes) == 0, "attributes");
    check(pthread_attr_setstacksize(&attributes, THREAD_STACK) == 0, "stack size");
    for (taken = 1024; taken <= 9216; taken += 256) {
        check(pthread_create(&thread, &attributes, in_thread, NULL) == 0, "thread");
        check(pthread_join(thread, NULL) == 0, "join");
    }

    char *memory = mmap(NULL, PAGE + SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED && mprotect(memory, PAGE, PROT_NONE) == 0, "memory");
    stack_t stack = {.ss_sp = memory + PAGE, .ss_size = SIGNAL_STACK};
    check(sigaltstack(&stack, NULL) == 0, "sigaltstack");
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
    check(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    /* The kernel puts up to 2.5 KiB of registers there, more on newer processors. */
    for (taken = 128; taken <= 3584; taken += 64)
        check(raise(SIGUSR1) == 0, "raise");
    printf("%d\n", n_done);
    return 0;
}
