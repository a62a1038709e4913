/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Eight threads at once, each with a file of its own and all with one they
 * write by position.
 */
#include "expected.h"
#include <pthread.h>

enum { N_THREADS = 8, N_ROUNDS = 500 };

static int common;

static void *work(void *argument)
{
    long number = (long)argument;
    char name[16];
    snprintf(name, sizeof name, "own%ld", number);
    int own = OPEN(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(own >= 0);
    for (long round = 0; round < N_ROUNDS; round++) {
        CHECK(WRITE(name, round * 10, own, "0123456789", 10) == 10);
        off_t at = (round * N_THREADS + number) * 4;
        CHECK(CALL("pwrite", "common", at, 4, pwrite(common, "abcd", 4, at)) == 4);
    }
    CHECK(CLOSE(name, own) == 0);
    return NULL;
}

int main(void)
{
    pthread_t threads[N_THREADS];
    common = OPEN("common", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (long n = 0; n < N_THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, work, (void *)n) == 0);
    for (long n = 0; n < N_THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    CHECK(CLOSE("common", common) == 0);
    return 0;
}
