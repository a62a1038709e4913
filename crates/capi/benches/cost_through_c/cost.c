// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The C side of the bench: prints a name and nanoseconds per call on each line.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ioracle.h>

enum { N_FILES = 20000, N_BLOCKS = 16 };

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void check(ioracle_result result)
{
    if (result < IORACLE_OK) {
        fprintf(stderr, "%s\n", ioracle_last_error());
        exit(1);
    }
}

static void tell(ioracle_oracle *oracle, uint64_t *clock_ns, ioracle_observation call)
{
    *clock_ns += 10000;
    call.start_ns = *clock_ns;
    call.end_ns = *clock_ns + 1000;
    check(ioracle_oracle_observe(oracle, &call));
}

static double observe_all(ioracle_oracle *oracle, int by_path)
{
    uint64_t clock_ns = 0, start = now_ns();
    for (int number = 1; number <= N_FILES; number++) {
        char path[32];
        snprintf(path, sizeof path, "field_%06d.bin", number);
        ioracle_observation call = IORACLE_OBSERVATION_INIT;
        call.access = IORACLE_OPEN;
        call.path = path;
        call.handle = 3;
        call.context = 1;
        tell(oracle, &clock_ns, call);
        call.access = IORACLE_READ;
        call.path = by_path ? path : NULL;
        call.context = 2;
        call.size = 65536;
        for (int block = 0; block < N_BLOCKS; block++) {
            call.offset = block * 5 % N_BLOCKS * 65536;
            tell(oracle, &clock_ns, call);
        }
        call.access = IORACLE_CLOSE;
        call.context = 1;
        tell(oracle, &clock_ns, call);
    }
    return (double)(now_ns() - start) / (N_FILES * (N_BLOCKS + 2.0));
}

int main(void)
{
    ioracle_oracle *oracle = NULL, *by_path = NULL;
    ioracle_prediction next[4];
    size_t n;
    check(ioracle_oracle_new(NULL, &oracle));
    check(ioracle_oracle_new(NULL, &by_path));
    printf("observe %.1f\n", observe_all(oracle, 0));
    printf("by-path %.1f\n", observe_all(by_path, 1));

    uint64_t start = now_ns();
    for (int i = 0; i < 1000000; i++)
        check(ioracle_oracle_predict(oracle, next, 1, &n));
    printf("predict %.1f\n", (double)(now_ns() - start) / 1e6);

    start = now_ns();
    for (int i = 0; i < 100000; i++)
        check(ioracle_oracle_ahead(oracle, 0, next, 4, &n));
    printf("ahead %.1f\n", (double)(now_ns() - start) / 1e5);

    start = now_ns();
    for (int i = 0; i < 100000; i++) {
        ioracle_iterator *iterator;
        check(ioracle_oracle_iterate(oracle, 0, &iterator));
        for (int k = 0; k < 4; k++)
            check(ioracle_oracle_step(iterator, &next[k]));
        check(ioracle_iterator_free(iterator));
    }
    printf("iterate %.1f\n", (double)(now_ns() - start) / 1e5);

    uint64_t clock_ns = 1000000000u * 1000000u, copying = 0;
    for (int i = 0; i < 200; i++) {
        ioracle_iterator *iterator;
        check(ioracle_oracle_iterate(oracle, 0, &iterator));
        ioracle_observation call = IORACLE_OBSERVATION_INIT;
        call.access = IORACLE_READ;
        call.path = "field_000001.bin";
        start = now_ns();
        tell(oracle, &clock_ns, call);
        copying += now_ns() - start;
        check(ioracle_iterator_free(iterator));
    }
    printf("copying %.1f\n", (double)copying / 200);
    check(ioracle_oracle_free(oracle));
    check(ioracle_oracle_free(by_path));
    return 0;
}
