/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Forked children whose first calls are made by a library's handler, before ours
 * has run, and by several threads at once. Each child is one process.
 */
#include "expected.h"
#include <pthread.h>
#include <sys/wait.h>

enum { CHILDREN = 20, THREADS = 4 };

extern int atfork_part;

static pthread_barrier_t together;

static void *writes(void *unused)
{
    pthread_barrier_wait(&together);
    int fd = open("data", O_WRONLY | O_CREAT | O_APPEND, 0644);
    CHECK(write(fd, "thread\n", 7) == 7);
    close(fd);
    return unused;
}

static void in_child(int number)
{
    /* Raw forks run no handlers, so that all threads come first. */
    pthread_t threads[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (int n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, writes, NULL) == 0);
    for (int n = 0; n < THREADS; n++)
        pthread_join(threads[n], NULL);
    _exit(number % 7);
}

int main(void)
{
    for (int n = 0; n < CHILDREN * atfork_part; n++) {
        pid_t child = n % 2 == 0 ? fork() : _Fork();
        if (child == 0)
            in_child(n);
        int status;
        CHECK(waitpid(child, &status, 0) == child && WEXITSTATUS(status) == n % 7);
    }
    return 0;
}
