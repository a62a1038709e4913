// SPDX-License-Identifier: MIT OR Apache-2.0

// What stable Rust cannot define: a thread-local in static TLS (a dynamic one may
// allocate on its first use, inside a signal handler too), and functions with a
// variable number of arguments. Each of these hands its arguments on as a va_list to
// the hook of the function that takes one; the entry code has kept the caller's
// registers before it came here.

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

// The layout is `ThreadCell` in thread/mod.rs.
__attribute__((tls_model("initial-exec"))) __thread void *ioracle_thread_cell[10];

void *ioracle_portable_thread_cell(void) { return ioracle_thread_cell; }

extern int (*const ioracle_vfprintf)(FILE *, const char *, va_list);
extern int (*const ioracle_vfprintf_chk)(FILE *, int, const char *, va_list);
extern int (*const ioracle_vdprintf)(int, const char *, va_list);
extern int (*const ioracle_vdprintf_chk)(int, int, const char *, va_list);
extern int (*const ioracle_vfscanf)(FILE *, const char *, va_list);
extern int (*const ioracle_isoc99_vfscanf)(FILE *, const char *, va_list);
extern int (*const ioracle_isoc23_vfscanf)(FILE *, const char *, va_list);

#define PASS_ON(last, call)                                                    \
    do {                                                                       \
        va_list arguments;                                                     \
        va_start(arguments, last);                                             \
        int result = (call);                                                   \
        va_end(arguments);                                                     \
        return result;                                                         \
    } while (0)

int ioracle_fprintf(FILE *stream, const char *format, ...) {
    PASS_ON(format, ioracle_vfprintf(stream, format, arguments));
}

int ioracle_fprintf_chk(FILE *stream, int flag, const char *format, ...) {
    PASS_ON(format, ioracle_vfprintf_chk(stream, flag, format, arguments));
}

int ioracle_dprintf(int fd, const char *format, ...) {
    PASS_ON(format, ioracle_vdprintf(fd, format, arguments));
}

int ioracle_dprintf_chk(int fd, int flag, const char *format, ...) {
    PASS_ON(format, ioracle_vdprintf_chk(fd, flag, format, arguments));
}

int ioracle_printf(const char *format, ...) {
    PASS_ON(format, ioracle_vfprintf(stdout, format, arguments));
}

int ioracle_printf_chk(int flag, const char *format, ...) {
    PASS_ON(format, ioracle_vfprintf_chk(stdout, flag, format, arguments));
}

int ioracle_fscanf(FILE *stream, const char *format, ...) {
    PASS_ON(format, ioracle_vfscanf(stream, format, arguments));
}

int ioracle_isoc99_fscanf(FILE *stream, const char *format, ...) {
    PASS_ON(format, ioracle_isoc99_vfscanf(stream, format, arguments));
}

int ioracle_isoc23_fscanf(FILE *stream, const char *format, ...) {
    PASS_ON(format, ioracle_isoc23_vfscanf(stream, format, arguments));
}
