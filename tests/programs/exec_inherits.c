/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * exec keeps the process and its descriptors, and the new program goes on
 * where the old one was in the file.
 */
#include "expected.h"

int main(int argc, char **argv)
{
    char number[16];
    int generation = argc > 1 ? atoi(argv[1]) : 0;
    int fd = argc > 2 ? atoi(argv[2]) : OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    CHECK(WRITE("data", generation * 8, fd, "8 bytes\n", 8) == 8);
    if (generation == 5) {
        CHECK(CLOSE("data", fd) == 0);
        return 6;
    }
    /* Closed by exec: the number is free in the next program. */
    int gone = OPEN("gone", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    CHECK(WRITE("gone", 0, gone, "x", 1) == 1);
    char descriptor[16];
    snprintf(number, sizeof number, "%d", generation + 1);
    snprintf(descriptor, sizeof descriptor, "%d", fd);
    execl("/proc/self/exe", argv[0], number, descriptor, (char *)NULL);
    return 1;
}
