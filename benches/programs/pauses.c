// SPDX-License-Identifier: MIT OR Apache-2.0

/* Writes 100 bytes COUNT times, with a pause of so many microseconds before each. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

int main(int argc, char **argv) {
    const long count = argc > 1 ? atol(argv[1]) : 1000;
    const long pause_ns = argc > 2 ? atol(argv[2]) * 1000 : 0;
    static char bytes[100];
    char name[64];
    snprintf(name, sizeof name, "pauses-%d.out", (int)getpid());
    const int file = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0600);
    if (file < 0) {
        perror(name);
        return 1;
    }
    for (long n = 0; n < count; n++) {
        const long until_ns = now_ns() + pause_ns;
        if (pause_ns >= 1000000) {
            const struct timespec pause = {pause_ns / 1000000000, pause_ns % 1000000000};
            nanosleep(&pause, NULL);
        }
        /* Shorter ones are sat through: a sleep would end late. */
        while (now_ns() < until_ns) {
        }
        if (pwrite(file, bytes, sizeof bytes, n % 1000 * 100) != sizeof bytes) {
            perror(name);
            return 1;
        }
    }
    unlink(name);
    return 0;
}
