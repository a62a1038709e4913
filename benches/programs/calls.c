// SPDX-License-Identifier: MIT OR Apache-2.0

// What one call costs: makes N calls at a given stack depth, along a given
// number of call paths, in a given number of threads, and prints the mean
// nanoseconds per call of each thread's loop.
//
//   calls KIND N DEPTH PATHS THREADS DIRECTORY

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 1000
#define FILES 500

static char data[4096];
static char names[FILES][512];

struct work {
    char kind;
    int n, depth, paths, fd, n_opened;
    FILE *stream;
    double ns;
};

static long open_and_close(const char *name) {
    int fd = open(name, O_RDONLY);
    if (fd < 0)
        abort();
    return close(fd);
}

__attribute__((noinline)) static long call(struct work *work) {
    struct stat status;
    switch (work->kind) {
    case 'o': return open_and_close(names[0]);
    case 'm': return open_and_close(names[work->n_opened++ % FILES]);
    case 's': return stat(names[0], &status);
    case 'w': return write(work->fd, data, 64);
    case 'p': return pwrite(work->fd, data, sizeof data, 0);
    case 'r': return pread(work->fd, data, sizeof data, 0);
    case 'f': return (long)fwrite(data, 1, 64, work->stream);
    default: return lseek(work->fd, 0, SEEK_SET);
    }
}

// Two ways down from every level: the bits of `path` choose, so that each path
// has return addresses of its own. The sum after the call forbids a tail call.
static long descend(struct work *work, int depth, int path);

__attribute__((noinline)) static long left(struct work *work, int depth, int path) {
    return descend(work, depth, path) + 1;
}

__attribute__((noinline)) static long right(struct work *work, int depth, int path) {
    return descend(work, depth, path) + 2;
}

__attribute__((noinline)) static long descend(struct work *work, int depth, int path) {
    if (depth <= 2)
        return call(work) + 3;
    return (path & 1 ? left : right)(work, depth - 2, path >> 1) + 1;
}

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static void *run(void *argument) {
    struct work *work = argument;
    volatile long sum = 0;
    double start = now_ns();
    for (int i = 0; i < work->n; i++)
        sum += descend(work, work->depth, i % work->paths);
    work->ns = (now_ns() - start) / work->n;
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 7)
        return 2;
    int threads = atoi(argv[5]);
    static struct work works[MAX_THREADS];
    static pthread_t ids[MAX_THREADS];
    double sum = 0;
    if (threads < 1 || threads > MAX_THREADS)
        return 2;
    for (int i = 0; i < FILES && strchr("oms", argv[1][0]); i++) {
        snprintf(names[i], sizeof names[i], "%s/opened-%d", argv[6], i);
        if (close(open(names[i], O_WRONLY | O_CREAT, 0644)) != 0)
            return 1;
    }
    for (int i = 0; i < threads; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/calls-%d", argv[6], i);
        works[i] = (struct work){argv[1][0], atoi(argv[2]), atoi(argv[3]), atoi(argv[4])};
        works[i].fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        works[i].stream = fopen(path, "r+");
        if (works[i].fd < 0 || !works[i].stream || write(works[i].fd, data, sizeof data) < 0)
            return 1;
    }
    for (int i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, run, &works[i]);
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        sum += works[i].ns;
    }
    printf("%.1f\n", sum / threads);
    return 0;
}
