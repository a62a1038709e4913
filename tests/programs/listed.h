/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The calls of a library that a test program makes itself, as lines of a file
 * `calls.N`, one per thread or rank: function, file, bytes, result, then what
 * a trace tells of object and selection. The tests compare them with the trace.
 */
#ifndef LISTED_H
#define LISTED_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static __thread FILE *listed;

__attribute__((unused)) static void list_into(int number)
{
    char name[32];
    snprintf(name, sizeof name, "calls.%d", number);
    listed = fopen(name, "w");
    if (listed == NULL)
        exit(99);
}

__attribute__((unused, format(printf, 5, 6))) static long long
listed_call(const char *function, const char *file, unsigned long long bytes, long long returned,
            const char *detail, ...)
{
    va_list arguments;
    fprintf(listed, "%s %s %llu %d ", function, file, bytes, returned < 0 ? -1 : 0);
    va_start(arguments, detail);
    vfprintf(listed, detail, arguments);
    va_end(arguments);
    fputc('\n', listed);
    return returned;
}

/* Ends the program when what must hold does not. */
#define SURE(condition)                                                      \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);  \
            exit(1);                                                         \
        }                                                                    \
    } while (0)

#endif
