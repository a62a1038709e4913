/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Calls where little of the stack is left, over a page that cannot be touched:
 * in threads, each call the thread's first, and in signal handlers on an
 * alternate stack. What is left is counted from the call, whatever the processor
 * needs for a signal's frame.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK (64 << 10)
#define MOST_LEFT 8192
#define LEAST_LEFT 1024
#define PAGE 4096

static char *stack;
static size_t left;
static int n_done;

static void check(int is_right, const char *what)
{
    if (!is_right) {
        perror(what);
        exit(1);
    }
}

__attribute__((noinline)) static void write_one(void)
{
    int fd = open("data", O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0)
        n_done++;
}

/* All but the rest of the stack is the program's own. */
static void write_deep_down(void)
{
    char *here = __builtin_frame_address(0);
    volatile char *taken = __builtin_alloca((size_t)(here - stack) - left - 128);
    taken[0] = 1;
    write_one();
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

static char *new_stack(size_t bytes)
{
    char *memory = mmap(NULL, PAGE + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(memory != MAP_FAILED && mprotect(memory, PAGE, PROT_NONE) == 0, "memory");
    return memory + PAGE;
}

int main(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    stack = new_stack(STACK);
    check(pthread_attr_init(&attributes) == 0, "attributes");
    check(pthread_attr_setstack(&attributes, stack, STACK) == 0, "stack");
    for (left = LEAST_LEFT; left <= MOST_LEFT; left += 64) {
        check(pthread_create(&thread, &attributes, in_thread, NULL) == 0, "thread");
        check(pthread_join(thread, NULL) == 0, "join");
    }

    /* Rounded up: its end is no place to begin a stack at. */
    size_t bytes = (getauxval(AT_MINSIGSTKSZ) + MOST_LEFT + PAGE) & ~(size_t)15;
    stack = new_stack(bytes);
    stack_t signal_stack = {.ss_sp = stack, .ss_size = bytes};
    check(sigaltstack(&signal_stack, NULL) == 0, "sigaltstack");
    struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_ONSTACK};
    check(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
    for (left = LEAST_LEFT; left <= MOST_LEFT; left += 64)
        check(raise(SIGUSR1) == 0, "raise");
    printf("%d\n", n_done);
    return 0;
}
