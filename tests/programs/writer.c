/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes records of 8 bytes until it has written as many as its argument says.
 * With the second argument `slowly` it pauses 1 ms after every 100, with `stay`
 * it waits a minute for its end before it closes the file. The simplest
 * program, for tests in which something happens to it from outside. Built also
 * statically, with musl, and as a setuid program.
 */
#include "expected.h"

int main(int argc, char **argv)
{
    long n_records = argc > 1 ? atol(argv[1]) : 1000;
    const char *pace = argc > 2 ? argv[2] : "";
    int fd = OPEN("data", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    for (long n = 0; n < n_records; n++) {
        CHECK(WRITE("data", n * 8, fd, "8 bytes\n", 8) == 8);
        if (strcmp(pace, "slowly") == 0 && n % 100 == 99)
            usleep(1000);
    }
    if (strcmp(pace, "stay") == 0)
        sleep(60);
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
