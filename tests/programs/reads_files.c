// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads files from beginning to end, 64 KiB at a time, and computes for half a
// millisecond after each read. Prints a checksum.
//
//   reads_files FILE...
//   reads_files -stop PID N FILE...    after N reads it stops process PID, and ends
//
// Stopping the process that serves a FUSE file system makes it a dead mount.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char buffer[1 << 16];

int main(int argc, char **argv) {
    int first = 1, stop = 0, reads = 0;
    long last = -1;
    if (argc > 3 && strcmp(argv[1], "-stop") == 0) {
        stop = atoi(argv[2]);
        last = atol(argv[3]);
        first = 4;
    }
    unsigned long sum = 0;
    for (int n = first; n < argc; n++) {
        int file = open(argv[n], O_RDONLY);
        if (file < 0) {
            perror(argv[n]);
            return 1;
        }
        ssize_t got;
        while ((got = read(file, buffer, sizeof buffer)) > 0) {
            for (ssize_t at = 0; at < got; at++) sum = sum * 31 + (unsigned char)buffer[at];
            nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
            if (++reads == last) {
                // Closing a file asks the server, which would not answer any more.
                close(file);
                kill(stop, SIGSTOP);
                printf("stopped\n");
                fflush(stdout);
                _exit(3);
            }
        }
        close(file);
    }
    printf("%lu\n", sum);
    return 0;
}
