/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a program prints when its standard output is a file: given to it open
 * (the tests do), or opened with freopen.
 */
#include "expected.h"
#include <stdarg.h>

static const char *file = "output";

static int by_list(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int written = vprintf(format, list);
    va_end(list);
    return written;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        CHECK(CALL_AS("freopen", file, ANY, 0, fileno(r), freopen(file, "w", stdout)) == stdout);
    CHECK(CALL("fprintf", file, 0, 8, printf("number%d\n", argc > 1)) == 8);
    CHECK(CALL_AS("fputs", file, 8, 5, 5, puts("line")) >= 0);
    CHECK(CALL_AS("fputc", file, 13, 1, 1, putchar('x')) == 'x');
    CHECK(CALL("fprintf", file, 14, 3, by_list("%03d", 7)) == 3);
    CHECK(FWRITE(file, 17, "abc", 1, 3, stdout) == 3);
    CHECK(CALL_AS("fputs", file, 20, 2, 2, fputs("d\n", stdout)) >= 0);
    CHECK(CALL_AS("fflush", file, ANY, 0, 0, fflush(stdout)) == 0);
    CHECK(WRITE(file, 22, 1, "raw\n", 4) == 4);
    CHECK(CALL("write", file, 26, 7, dprintf(1, "%s\n", "direct")) == 7);
    CHECK(WRITE(file, 33, 1, "end\n", 4) == 4);
    return 0;
}
