/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What asking costs. Writes 4 KiB again and again and prints numbers:
 *
 *   next fresh PREDICTIONS CPU     nanoseconds of an ioracle_next() that rests on all calls
 *   next lag PAUSE_NS CPU          median and 99th percentile of the time from the end of a
 *                                  call until what is published rests on it, in nanoseconds
 *   next wake PAUSE_NS CPU         the same of the time until a process that sleeps on a futex
 *                                  is awake on the next processor, without any ioracle
 *   next calls PREDICTIONS CPU     nanoseconds of a write, with an ioracle_next() behind it
 *                                  unless PREDICTIONS is 0
 *
 * CPU: the processor to stay on, or -1.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ioracle.h"

enum { BLOCK = 4096, BLOCKS = 16, MAX_STEPS = 64, LEARNING = 400, SAMPLES = 3000, CALLS = 50000 };

static int file;
static ioracle_prediction answer[MAX_STEPS];

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void make_call(long number)
{
    static char block[BLOCK];
    if (pwrite(file, block, BLOCK, number % BLOCKS * BLOCK) != BLOCK)
        abort();
}

/* Until what is published rests on the thread's last call; false after a second. */
static int is_reached(void)
{
    uint64_t started = now_ns();
    ioracle_basis basis;
    do {
        int result = ioracle_next(0, answer, 1, &basis);
        if (result < 0)
            exit(3);
        if (result == IORACLE_OK && basis.lag == 0)
            return 1;
    } while (now_ns() - started < 1000000000);
    return 0;
}

static void learn(void)
{
    for (long number = 0; number < LEARNING; number++) {
        make_call(number);
        if (!is_reached())
            exit(4);
    }
}

static void fresh(size_t n_predictions)
{
    ioracle_basis basis;
    uint64_t sum = 0;
    enum { ROUNDS = 200, ASKED = 100 };
    for (long round = 0; round < ROUNDS; round++) {
        make_call(round);
        /* All of the predictions, so that each question copies as many. */
        if (!is_reached() || ioracle_next(1000000000, answer, n_predictions, &basis) != IORACLE_OK)
            exit(4);
        uint64_t started = now_ns();
        for (int asked = 0; asked < ASKED; asked++)
            ioracle_next(0, answer, n_predictions, &basis);
        sum += now_ns() - started;
    }
    printf("%.0f\n", (double)sum / ROUNDS / ASKED);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t samples[SAMPLES];

static void print_samples(void)
{
    qsort(samples, SAMPLES, sizeof *samples, compare);
    printf("%lu %lu\n", (unsigned long)samples[SAMPLES / 2],
           (unsigned long)samples[SAMPLES * 99 / 100]);
}

/* Without sleeping: a processor that went idle would be slow afterwards. */
static void let_pass(uint64_t pause_ns)
{
    uint64_t started = now_ns();
    while (now_ns() - started < pause_ns)
        continue;
}

static void lag(uint64_t pause_ns)
{
    for (long number = 0; number < SAMPLES; number++) {
        let_pass(pause_ns);
        make_call(number);
        uint64_t ended = now_ns();
        is_reached();
        samples[number] = now_ns() - ended;
    }
    print_samples();
}

static void stay_on(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)processor, &set);
    sched_setaffinity(0, sizeof set, &set);
}

static void wake(uint64_t pause_ns, int processor)
{
    _Atomic uint32_t *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    _Atomic uint32_t *asked = words, *answered = words + 64;
    pid_t sleeper = fork();
    if (sleeper == 0) {
        stay_on(processor + 1);
        for (uint32_t seen = 0;;) {
            uint32_t now;
            while ((now = atomic_load(asked)) == seen)
                syscall(SYS_futex, asked, FUTEX_WAIT, seen, NULL, NULL, 0);
            seen = now;
            atomic_store(answered, seen);
        }
    }
    for (uint32_t number = 0; number < SAMPLES; number++) {
        let_pass(pause_ns);
        uint64_t asked_ns = now_ns();
        atomic_store(asked, number + 1);
        syscall(SYS_futex, asked, FUTEX_WAKE, 1, NULL, NULL, 0);
        while (atomic_load(answered) != number + 1)
            continue;
        samples[number] = now_ns() - asked_ns;
    }
    kill(sleeper, SIGKILL);
    print_samples();
}

static void calls(size_t n_predictions)
{
    ioracle_basis basis;
    uint64_t started = now_ns();
    for (long number = 0; number < CALLS; number++) {
        make_call(number);
        if (n_predictions > 0)
            ioracle_next(0, answer, n_predictions, &basis);
    }
    printf("%.0f\n", (double)(now_ns() - started) / CALLS);
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    long number = atol(argv[2]);
    int processor = atoi(argv[3]);
    if (processor >= 0)
        stay_on(processor);
    if (strcmp(argv[1], "wake") == 0) {
        wake((uint64_t)number, processor);
        return 0;
    }
    file = open("next.data", O_RDWR | O_CREAT, 0600);
    if (file < 0 || number < 0)
        return 2;
    if (strcmp(argv[1], "calls") == 0) {
        calls((size_t)(number < MAX_STEPS ? number : MAX_STEPS));
        return 0;
    }
    learn();
    if (strcmp(argv[1], "fresh") == 0)
        fresh((size_t)(number < MAX_STEPS ? number : MAX_STEPS));
    else
        lag((uint64_t)number);
    return 0;
}
