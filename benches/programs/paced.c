/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes 4 KiB every so often, for a while:
 *
 *   paced PAUSE_NS SECONDS CPU
 *
 * CPU: the processor to stay on, or -1. It does not sleep between calls, as a program
 * that computes.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 4096, BLOCKS = 16 };

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int main(int argc, char **argv)
{
    static char block[BLOCK];
    if (argc != 4)
        return 2;
    uint64_t pause_ns = strtoull(argv[1], NULL, 10);
    uint64_t end_ns = now_ns() + strtoull(argv[2], NULL, 10) * 1000000000;
    int cpu = atoi(argv[3]);
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu < 0 ? 0 : cpu, &set);
    if (cpu >= 0 && sched_setaffinity(0, sizeof set, &set) != 0)
        return 1;
    int file = open("paced.out", O_RDWR | O_CREAT, 0644);
    for (long number = 0; now_ns() < end_ns; number++) {
        if (pwrite(file, block, BLOCK, number % BLOCKS * BLOCK) != BLOCK)
            return 1;
        for (uint64_t until = now_ns() + pause_ns; now_ns() < until;)
            continue;
    }
    return 0;
}
