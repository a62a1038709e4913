// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The C side of the bench: prints a name and nanoseconds per call on each line.

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ioracle.h>

enum { N_FILES = 2000, N_BLOCKS = 16, N_ROUNDS = 9 };

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

static void report(ioracle_oracle *oracle, uint64_t *clock_ns, ioracle_observation call)
{
    *clock_ns += 10000;
    call.start_ns = *clock_ns;
    call.end_ns = *clock_ns + 1000;
    check(ioracle_oracle_observe(oracle, &call));
}

// A new oracle that knows all files; the one before is freed.
static void observe_all(ioracle_oracle **oracle, int by_path)
{
    uint64_t clock_ns = 0;
    check(ioracle_oracle_free(*oracle));
    check(ioracle_oracle_new(NULL, oracle));
    for (int number = 1; number <= N_FILES; number++) {
        char path[32];
        snprintf(path, sizeof path, "field_%06d.bin", number);
        ioracle_observation call = IORACLE_OBSERVATION_INIT;
        call.access = IORACLE_OPEN;
        call.path = path;
        call.handle = 3;
        call.context = 1;
        report(*oracle, &clock_ns, call);
        call.access = IORACLE_READ;
        call.path = by_path ? path : NULL;
        call.context = 2;
        call.size = 65536;
        for (int block = 0; block < N_BLOCKS; block++) {
            call.offset = block * 5 % N_BLOCKS * 65536;
            report(*oracle, &clock_ns, call);
        }
        call.access = IORACLE_CLOSE;
        call.context = 1;
        report(*oracle, &clock_ns, call);
    }
}

static void by_handle(ioracle_oracle **oracle) { observe_all(oracle, 0); }

static void by_path(ioracle_oracle **oracle) { observe_all(oracle, 1); }

static void predict(ioracle_oracle **oracle)
{
    ioracle_prediction next;
    size_t n;
    for (int i = 0; i < 100000; i++)
        check(ioracle_oracle_predict(*oracle, &next, 1, &n));
}

static void ahead(ioracle_oracle **oracle)
{
    ioracle_prediction next[4];
    size_t n;
    for (int i = 0; i < 10000; i++)
        check(ioracle_oracle_ahead(*oracle, 0, next, 4, &n));
}

static void iterate(ioracle_oracle **oracle)
{
    ioracle_prediction next;
    for (int i = 0; i < 10000; i++) {
        ioracle_iterator *iterator;
        check(ioracle_oracle_iterate(*oracle, 0, &iterator));
        for (int k = 0; k < 4; k++)
            check(ioracle_oracle_step(iterator, &next));
        check(ioracle_iterator_free(iterator));
    }
}

static void copying(ioracle_oracle **oracle)
{
    uint64_t clock_ns = 1000000000u * 1000000u;
    ioracle_observation call = IORACLE_OBSERVATION_INIT;
    call.access = IORACLE_READ;
    call.path = "field_000001.bin";
    for (int i = 0; i < 20; i++) {
        ioracle_iterator *iterator;
        check(ioracle_oracle_iterate(*oracle, 0, &iterator));
        report(*oracle, &clock_ns, call);
        check(ioracle_iterator_free(iterator));
    }
}

static void measure(const char *name, void (*body)(ioracle_oracle **), ioracle_oracle **oracle,
                    double n_calls)
{
    double best = 1e18;
    for (int round = 0; round < N_ROUNDS; round++) {
        uint64_t start = now_ns();
        body(oracle);
        double ns = (double)(now_ns() - start) / n_calls;
        best = ns < best ? ns : best;
    }
    printf("%s %.1f\n", name, best);
}

int main(void)
{
    const double n_operations = N_FILES * (N_BLOCKS + 2.0);
    ioracle_oracle *oracle = NULL;
    measure("by-path", by_path, &oracle, n_operations);
    measure("observe", by_handle, &oracle, n_operations);
    measure("predict", predict, &oracle, 1e5);
    measure("ahead", ahead, &oracle, 1e4);
    measure("iterate", iterate, &oracle, 1e4);
    measure("copying", copying, &oracle, 20);
    check(ioracle_oracle_free(oracle));
    return 0;
}
