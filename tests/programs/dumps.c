// SPDX-License-Identifier: MIT OR Apache-2.0

// Writes dumps in many tiny pieces and syncs each: a habit that no single file
// shows. Reads its input in pieces of 8 KB.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char piece[8000];

int main(void) {
    int input = open("input.dat", O_CREAT | O_RDWR | O_TRUNC, 0644);
    if (input < 0 || ftruncate(input, 10000 * sizeof piece) != 0) return 1;
    for (int n = 0; n < 10000; n++)
        if (read(input, piece, sizeof piece) != sizeof piece) return 1;
    close(input);
    char name[64], line[48];
    memset(line, 'x', sizeof line);
    for (int n = 0; n < 21; n++) {
        snprintf(name, sizeof name, "dump_%04d.sdf", n);
        int dump = open(name, O_CREAT | O_WRONLY | O_TRUNC, 0644);
        if (dump < 0) return 1;
        for (int i = 0; i < 1000; i++)
            if (write(dump, line, sizeof line) != sizeof line) return 1;
        fsync(dump);
        close(dump);
    }
    return 0;
}
