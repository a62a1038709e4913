// SPDX-License-Identifier: MIT OR Apache-2.0
//
// A small middleware that prefetches. Its application reads blocks of many
// files, in an order that the kernel's own read-ahead does not know; the
// middleware reports each read to the oracle, asks for the next ones, and has the
// kernel fetch them. At the end it prints how many reads were predicted.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ioracle.h>

enum { BLOCK_BYTES = 65536, N_BLOCKS = 16, N_FILES = 24, AHEAD = 4 };

// ---- the middleware ----

typedef struct middleware {
    ioracle_oracle *oracle;
    ioracle_prediction next[AHEAD];
    size_t n_next;
    bool went_along; // the last operation was the one predicted
    unsigned reads, predicted, prefetched;
} middleware;

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "prefetch: %s: %s\n", what, ioracle_last_error());
    exit(1);
}

// Whether the operation that comes was the first that was predicted.
static bool was_predicted(const middleware *mw, const char *path, int64_t offset, uint64_t size)
{
    const ioracle_prediction *next = &mw->next[0];
    return mw->n_next > 0 && next->access == IORACLE_READ && next->has_offset
        && next->offset == (uint64_t)offset && next->size == size
        && strcmp(next->path, path) == 0;
}

// Fetches what will be read soon and probably; along a predicted path only the
// last step is new. A file that does not exist (the oracle predicts names, too)
// costs a failed open.
static void prefetch(middleware *mw)
{
    for (size_t i = mw->went_along ? mw->n_next - 1 : 0; i < mw->n_next; i++) {
        const ioracle_prediction *next = &mw->next[i];
        if (next->access != IORACLE_READ || !next->has_offset || next->probability < 0.5)
            continue;
        int fd = open(next->path, O_RDONLY);
        if (fd < 0)
            continue;
        if (posix_fadvise(fd, (off_t)next->offset, (off_t)next->size, POSIX_FADV_WILLNEED) == 0)
            mw->prefetched++;
        close(fd);
    }
}

// Every call of the middleware ends here: learn, look ahead, act.
static void finished(middleware *mw, ioracle_observation *call)
{
    if (ioracle_oracle_observe(mw->oracle, call) < IORACLE_OK)
        fail("observe");
    if (ioracle_oracle_ahead(mw->oracle, 0, mw->next, AHEAD, &mw->n_next) < IORACLE_OK)
        fail("ahead");
    prefetch(mw);
    mw->went_along = false;
}

static int mw_open(middleware *mw, const char *path)
{
    ioracle_observation call = IORACLE_OBSERVATION_INIT;
    call.access = IORACLE_OPEN;
    call.path = path;
    call.start_ns = now_ns();
    int fd = open(path, O_RDONLY);
    call.end_ns = now_ns();
    call.handle = fd;
    if (fd >= 0)
        finished(mw, &call);
    return fd;
}

static ssize_t mw_read(middleware *mw, int fd, const char *path, void *buffer, size_t size,
                       off_t offset)
{
    // The caller of the middleware is the context, as a return address.
    const void *stack[] = { __builtin_return_address(0) };
    ioracle_observation call = IORACLE_OBSERVATION_INIT;
    call.access = IORACLE_READ;
    call.handle = fd;
    call.stack = stack;
    call.n_frames = 1;
    call.start_ns = now_ns();
    ssize_t n_read = pread(fd, buffer, size, offset);
    call.end_ns = now_ns();
    if (n_read < 0)
        return n_read;
    mw->reads++;
    mw->went_along = was_predicted(mw, path, offset, (uint64_t)n_read);
    mw->predicted += mw->went_along;
    call.offset = offset;
    call.size = (uint64_t)n_read;
    finished(mw, &call);
    return n_read;
}

static void mw_close(middleware *mw, int fd)
{
    ioracle_observation call = IORACLE_OBSERVATION_INIT;
    call.access = IORACLE_CLOSE;
    call.handle = fd;
    call.start_ns = now_ns();
    close(fd);
    call.end_ns = now_ns();
    finished(mw, &call);
}

// ---- its application ----

static void make_file(const char *path)
{
    static char block[BLOCK_BYTES];
    FILE *file = fopen(path, "wb");
    if (!file) {
        perror(path);
        exit(1);
    }
    for (int i = 0; i < N_BLOCKS; i++)
        fwrite(block, 1, sizeof block, file);
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s DIR    (a directory for %d MiB of files)\n", argv[0],
                N_FILES * N_BLOCKS * BLOCK_BYTES >> 20);
        return 2;
    }
    middleware mw = { .oracle = NULL };
    if (ioracle_oracle_new(NULL, &mw.oracle) != IORACLE_OK)
        fail("new");
    static char buffer[BLOCK_BYTES];
    char path[4096];
    for (int i = 0; i < N_FILES; i++) {
        snprintf(path, sizeof path, "%s/field_%03d.bin", argv[1], i);
        make_file(path);
        int fd = mw_open(&mw, path);
        for (int k = 0; k < N_BLOCKS; k++) {
            off_t block = k * 5 % N_BLOCKS;
            if (mw_read(&mw, fd, path, buffer, sizeof buffer, block * BLOCK_BYTES) < 0) {
                perror(path);
                return 1;
            }
        }
        mw_close(&mw, fd);
        unlink(path);
    }
    printf("%u of %u reads were predicted; %u prefetches\n", mw.predicted, mw.reads,
           mw.prefetched);
    ioracle_oracle_free(mw.oracle);
    return 0;
}
