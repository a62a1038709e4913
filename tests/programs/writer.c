/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes records of 8 bytes until it has written as many as its argument says,
 * pausing 1 ms after every 100 if there is a second one. The simplest program,
 * for tests in which something happens to it from outside. Built also
 * statically, with musl, and as a setuid program.
 */
#include "expected.h"

int main(int argc, char **argv)
{
    long n_records = argc > 1 ? atol(argv[1]) : 1000;
    int fd = OPEN("data", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    for (long n = 0; n < n_records; n++) {
        CHECK(WRITE("data", n * 8, fd, "8 bytes\n", 8) == 8);
        if (argc > 2 && n % 100 == 99)
            usleep(1000);
    }
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
