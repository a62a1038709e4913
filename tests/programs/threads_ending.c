/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads that end in other ways than by returning: detached, pthread_exit,
 * cancelled while reading and writing, with destructors of thread-specific
 * data and cleanup handlers that do I/O.
 */
#include "expected.h"
#include <pthread.h>
#include <semaphore.h>

static pthread_key_t key;
static sem_t done;
static sem_t started;
static int data;

static void at_the_end(void *value)
{
    long at = (long)value;
    CHECK(CALL("pwrite", "data", at, 5, pwrite(data, "ended", 5, at)) == 5);
    sem_post(&done);
}

static void *detached(void *argument)
{
    CHECK(pthread_setspecific(key, argument) == 0);
    CHECK(CALL("pwrite", "data", 0, 1, pwrite(data, "d", 1, 0)) == 1);
    return NULL;
}

static void *leaves(void *argument)
{
    CHECK(pthread_setspecific(key, argument) == 0);
    CHECK(CALL("pwrite", "data", 1, 1, pwrite(data, "l", 1, 1)) == 1);
    pthread_exit(NULL);
}

/* Blocked in a read of a pipe; recorded calls before and while cancelled. */
static void *waits(void *argument)
{
    int *ends = argument;
    char byte;
    CHECK(CALL("pwrite", "data", 2, 1, pwrite(data, "w", 1, 2)) == 1);
    pthread_cleanup_push(at_the_end, (void *)300L);
    sem_post(&started);
    read(ends[0], &byte, 1);
    pthread_cleanup_pop(0);
    return NULL;
}

/* Cancelled at any of its writes. Not expected call for call: which one was
 * the last is not known. */
static void *busy(void *argument)
{
    sem_post(&started);
    for (;;)
        pwrite((int)(long)argument, "busy", 4, 0);
    return NULL;
}

int main(void)
{
    CHECK(pthread_key_create(&key, at_the_end) == 0);
    CHECK(sem_init(&done, 0, 0) == 0 && sem_init(&started, 0, 0) == 0);
    data = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    int scratch = OPEN("scratch", O_RDWR | O_CREAT | O_TRUNC, 0644);

    pthread_t thread;
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED) == 0);
    CHECK(pthread_create(&thread, &attributes, detached, (void *)100L) == 0);
    CHECK(sem_wait(&done) == 0);

    CHECK(pthread_create(&thread, NULL, leaves, (void *)200L) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && sem_wait(&done) == 0);

    int ends[2];
    void *result;
    CHECK(pipe(ends) == 0);
    CHECK(pthread_create(&thread, NULL, waits, ends) == 0 && sem_wait(&started) == 0);
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    CHECK(result == PTHREAD_CANCELED && sem_wait(&done) == 0);

    for (int round = 0; round < 50; round++) {
        CHECK(pthread_create(&thread, NULL, busy, (void *)(long)scratch) == 0);
        CHECK(sem_wait(&started) == 0);
        usleep((useconds_t)round * 20);
        CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
        CHECK(result == PTHREAD_CANCELED);
    }
    CHECK(CLOSE("scratch", scratch) == 0);
    CHECK(WRITE("data", 0, data, "main", 4) == 4);
    /* The main thread leaves first; the last thread to end ends the process. */
    pthread_exit(NULL);
}
