// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads a file block by block and asks by the names of Omnisc'IO what comes
// next. Under 'ioracle run' the next reads are predicted; alone there are no predictions.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <omniscio.h>

enum { BLOCK = 512, N_READ = 64, N_STEPS = 5 };

// On a busy machine what is published comes late: then there is nothing, or only
// the rest of a path that this thread has gone along meanwhile.
static int asked(omniscio_req **requests)
{
    const struct timespec pause = { 0, 1000000 };
    for (int i = 0; i < 5000; i++) {
        int n = omniscio_predict_from(0, requests, N_STEPS);
        if (n == N_STEPS || n == OMNISCIO_ERROR)
            return n;
        omniscio_free(*requests);
        nanosleep(&pause, NULL);
    }
    *requests = NULL;
    return 0;
}

int main(int argc, char **argv)
{
    static char buffer[BLOCK];
    if (argc != 3)
        return 2;
    int fd = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || ftruncate(fd, 2 * N_READ * BLOCK) != 0)
        return 3;
    omniscio_req *next = NULL;
    int n = -1;
    for (int i = 0; i < N_READ; i++) {
        if (read(fd, buffer, BLOCK) != BLOCK)
            return 4;
        if (omniscio_next(&next, &n) != OMNISCIO_OK)
            return 5;
        omniscio_free(next);
    }
    if (strcmp(argv[2], "alone") == 0) {
        printf("%d\n", n);
        return n != 0 || omniscio_predict_from(0, &next, N_STEPS) != 0 || next != NULL;
    }
    n = asked(&next);
    for (int i = 0; i < n; i++)
        printf("%d %lu %lu %s\n", next[i].type == OMNISCIO_READ, next[i].offset, next[i].size,
               strrchr(next[i].name, '/') ? strrchr(next[i].name, '/') + 1 : next[i].name);
    omniscio_free(next);
    return omniscio_predict_from(1, &next, N_STEPS) != OMNISCIO_ERROR;
}
