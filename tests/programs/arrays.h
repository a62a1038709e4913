/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * For programs that read and write parts of variables: notes of their calls with
 * the variable and the selection, as traces write them.
 */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "expected.h"
#include <stdarg.h>

/* A text that lasts until the tenth one after it. */
__attribute__((unused, format(printf, 1, 2))) static const char *text(const char *format, ...)
{
    static __thread char texts[10][128];
    static __thread unsigned n_texts;
    char *text = texts[n_texts++ % 10];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof texts[0], format, arguments);
    va_end(arguments);
    return text;
}

/* A call of a library on `file_name`; what it returned. */
#define DATA(function, bytes, detail, call)                                            \
    ({                                                                                 \
        struct expected_call *call_ = expected_begin(function, file_name, ANY, bytes); \
        expected_detail(call_, detail);                                                \
        int r = (call);                                                                \
        expected_end(call_, r == 0 ? 0 : -1);                                          \
        r;                                                                             \
    })
/* One that moves no data. */
#define DONE(function, call) DATA(function, 0, "", call)
/* Such calls that must succeed. */
#define SURE_DATA(function, bytes, detail, call) CHECK(DATA(function, bytes, detail, call) == 0)
#define SURE(function, call) CHECK(DONE(function, call) == 0)

/* What a file holds, in a number. */
__attribute__((unused)) static unsigned long sum_of_file(const char *name)
{
    unsigned long sum = 14695981039346656037UL;
    unsigned char bytes[4096];
    long fd = syscall(SYS_open, name, O_RDONLY), n;
    while ((n = syscall(SYS_read, fd, bytes, sizeof bytes)) > 0)
        for (long place = 0; place < n; place++)
            sum = (sum ^ bytes[place]) * 1099511628211UL;
    syscall(SYS_close, fd);
    return sum;
}

#endif
