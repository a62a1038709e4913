// SPDX-License-Identifier: MIT OR Apache-2.0

// What is kept of a program that never pauses: THREADS threads make small writes for
// SECONDS. Prints how many calls they made, and when the last thread was done
// (CLOCK_MONOTONIC, nanoseconds). 'spin' only takes processor time.
//
//   busy THREADS SECONDS DIRECTORY
//   busy spin SECONDS

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static long now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static long end_ns;
static const char *directory;

static void *run(void *argument) {
    char path[4096];
    snprintf(path, sizeof path, "%s/busy-%ld", directory, (long)argument);
    int fd = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    long calls = 2;
    // One file does not grow for ever.
    for (; fd >= 0 && now_ns() < end_ns; calls++)
        if (pwrite(fd, path, 16, calls % 4096 * 16) != 16)
            exit(1);
    close(fd);
    return (void *)calls;
}

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "spin")) {
        end_ns = now_ns() + atol(argv[2]) * 1000000000L;
        while (now_ns() < end_ns) {}
        return 0;
    }
    if (argc != 4)
        return 2;
    long threads = atol(argv[1]), calls = 0;
    directory = argv[3];
    end_ns = now_ns() + atol(argv[2]) * 1000000000L;
    pthread_t thread[64];
    for (long i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, run, (void *)i);
    for (long i = 0; i < threads; i++) {
        void *made;
        pthread_join(thread[i], &made);
        calls += (long)made;
    }
    printf("%ld %ld\n", calls, now_ns());
    return 0;
}
