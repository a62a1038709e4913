/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A periodic program that asks, before each operation, what it is going to do,
 * and counts how often the answer was right. Arguments: threads, periods,
 * predictions to ask for, nanoseconds to wait. Exits with 1 if, after some
 * periods, an answer was wrong or none came, and says which.
 *
 * A period opens a file, writes blocks of growing size, looks at the result of
 * a seek and of a call that fails (events, but no operations), syncs and closes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ioracle.h"

enum { BLOCKS = 6, OPERATIONS = BLOCKS + 3, MAX_STEPS = 64, LEARNING_PERIODS = 12 };

struct operation {
    uint32_t access;
    uint64_t offset;
    uint64_t size;
};

struct thread {
    pthread_t id;
    int number;
    char path[PATH_MAX];
    int fd;
    long n_asked, n_right, n_stale, n_walked, n_short, n_other;
    int failed, other;
};

static long n_periods, n_steps;
static uint64_t wait_ns;

/* The operation of a period at a place, which may lie in a later period. */
static struct operation operation_at(long place)
{
    long within = place % OPERATIONS;
    struct operation none = {0, 0, 0};
    if (within == 0) {
        none.access = IORACLE_OPEN;
        return none;
    }
    if (within <= BLOCKS) {
        uint64_t before = (uint64_t)(within - 1) * within / 2 * 100;
        struct operation block = {IORACLE_WRITE, before, (uint64_t)within * 100};
        return block;
    }
    none.access = within == BLOCKS + 1 ? IORACLE_SYNC : IORACLE_CLOSE;
    return none;
}

static int is_right(const struct thread *thread, const ioracle_prediction *predicted, long place)
{
    struct operation made = operation_at(place);
    if (predicted->access != made.access || strcmp(predicted->path, thread->path) != 0)
        return 0;
    return made.access != IORACLE_WRITE
           || (predicted->has_offset && predicted->offset == made.offset && predicted->size == made.size);
}

static void ask(struct thread *thread, long period, long place)
{
    static __thread ioracle_prediction predicted[MAX_STEPS];
    ioracle_basis basis;
    memset(predicted, 0xff, sizeof predicted);
    int result = ioracle_next(wait_ns, predicted, (size_t)n_steps, &basis);
    if (period < LEARNING_PERIODS)
        return;
    thread->n_asked++;
    if (result == IORACLE_STALE) {
        thread->n_stale++;
        return;
    }
    if (result != IORACLE_OK) {
        thread->n_other++;
        thread->other = result;
        return;
    }
    thread->n_walked += basis.n_walked > 0;
    thread->n_short += basis.n_predictions < n_steps;
    for (long step = 0; step < (long)basis.n_predictions; step++) {
        if (!is_right(thread, &predicted[step], place + step)) {
            fprintf(stderr,
                    "thread %d, period %ld, operation %ld, step %ld: predicted access %" PRIu32
                    " of '%s' at %" PRIu64 ", %" PRIu64 " bytes; rests on %" PRIu64
                    " operations, %" PRIu32 " walked, %" PRIu64 " behind\n",
                    thread->number, period, place, step, predicted[step].access, predicted[step].path,
                    predicted[step].offset, predicted[step].size, basis.n_operations, basis.n_walked,
                    basis.lag);
            thread->failed = 1;
            return;
        }
    }
    thread->n_right++;
}

static void make(struct thread *thread, long place)
{
    static char block[BLOCKS * 100];
    struct operation made = operation_at(place);
    switch (made.access) {
    case IORACLE_OPEN:
        thread->fd = open(thread->path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        break;
    case IORACLE_WRITE:
        if (pwrite(thread->fd, block, made.size, (off_t)made.offset) != (ssize_t)made.size)
            thread->failed = 1;
        break;
    case IORACLE_SYNC:
        /* Neither of these two is an operation. */
        if (lseek(thread->fd, 0, SEEK_END) < 0 || open("no such file", O_RDONLY) >= 0)
            thread->failed = 1;
        fdatasync(thread->fd);
        break;
    default:
        close(thread->fd);
    }
}

static void *run(void *argument)
{
    struct thread *thread = argument;
    for (long period = 0; period < n_periods; period++)
        for (long place = 0; place < OPERATIONS; place++) {
            ask(thread, period, place);
            make(thread, place);
        }
    return NULL;
}

int main(int argc, char **argv)
{
    int n_threads = argc > 1 ? atoi(argv[1]) : 1;
    n_periods = argc > 2 ? atol(argv[2]) : 100;
    n_steps = argc > 3 ? atol(argv[3]) : 1;
    wait_ns = argc > 4 ? strtoull(argv[4], NULL, 10) : 1000000000;
    if (n_threads < 1 || n_threads > 64 || n_steps < 1 || n_steps > MAX_STEPS)
        return 2;
    struct thread threads[64] = {{0}};
    char here[PATH_MAX - 64];
    if (getcwd(here, sizeof here) == NULL)
        return 2;
    for (int number = 0; number < n_threads; number++) {
        threads[number].number = number;
        snprintf(threads[number].path, PATH_MAX, "%s/state-%d", here, number);
        if (number > 0)
            pthread_create(&threads[number].id, NULL, run, &threads[number]);
    }
    run(&threads[0]);
    int failed = 0;
    for (int number = 0; number < n_threads; number++) {
        struct thread *thread = &threads[number];
        if (number > 0)
            pthread_join(thread->id, NULL);
        printf("asked %ld right %ld stale %ld other %ld (%s) walked %ld short %ld\n",
               thread->n_asked, thread->n_right, thread->n_stale, thread->n_other,
               ioracle_result_name(thread->other), thread->n_walked, thread->n_short);
        failed |= thread->failed;
    }
    return failed;
}
