// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Bursts of writes whose number, size and times are known: what is said about the
// bursts of a program is compared with what this one was told to do.
//
//   bursts steady|two|none COUNT OPERATIONS BYTES PERIOD_MS
//
// steady: COUNT bursts, PERIOD_MS from start to start, up to 10 % sooner or later.
// two: besides, another kind of bursts that comes every 0.7 periods.
// none: the same bursts as steady, at times that have no period.
// Each burst is OPERATIONS writes of BYTES each to a file.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t state = 88172645463325252u;

/* From 0 to 1, the same in every run. */
static double noise(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void wait_until(double then)
{
    double left = then - now();
    if (left <= 0)
        return;
    struct timespec time = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    nanosleep(&time, NULL);
}

static void burst(int file, int operations, size_t bytes, const char *buffer)
{
    for (int n = 0; n < operations; n++)
        if (pwrite(file, buffer, bytes, (off_t)((size_t)n * bytes)) != (ssize_t)bytes)
            exit(3);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    const char *kind = argv[1];
    int count = atoi(argv[2]), operations = atoi(argv[3]);
    size_t bytes = (size_t)atol(argv[4]);
    double period = atof(argv[5]) * 1e-3;
    char *buffer = calloc(1, bytes);
    int file = open("bursts.data", O_RDWR | O_CREAT, 0644);
    int other = open("other.data", O_RDWR | O_CREAT, 0644);
    if (!buffer || file < 0 || other < 0)
        return 3;
    double start = now(), due = start, other_due = start + period * 0.35;
    for (int n = 0; n < count; n++) {
        if (!strcmp(kind, "none"))
            due += period * (n % 2 ? 0.1 + noise() * noise() * 5 : 0.05 + noise() * 2);
        else
            due = start + period * (n + 0.5 + 0.2 * (noise() - 0.5));
        while (!strcmp(kind, "two") && other_due < due) {
            wait_until(other_due);
            burst(other, operations / 4 + 1, bytes, buffer);
            other_due += period * 0.7;
        }
        wait_until(due);
        burst(file, operations, bytes, buffer);
    }
    close(file);
    close(other);
    return 0;
}
