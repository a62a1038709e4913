/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The program's own list of calls, for Fortran: a note before each call, and
 * one after it. Lengths of texts come after all arguments.
 */
#include "expected.h"

static struct expected_call *under_way;

static void copy(char *to, size_t room, const char *text, size_t length)
{
    length = length < room ? length : room - 1;
    memcpy(to, text, length);
    to[length] = 0;
}

void note_(const char *function, const char *file, const int64_t *offset, const int64_t *bytes,
           size_t function_length, size_t file_length)
{
    char function_name[24], file_name[64];
    copy(function_name, sizeof function_name, function, function_length);
    copy(file_name, sizeof file_name, file, file_length);
    /* -2 stands for what is not compared. */
    under_way = expected_begin(function_name, file_name, *offset == -2 ? ANY : *offset, *bytes);
}

void noted_(const int64_t *result) { expected_end(under_way, *result); }

/* A call of a library on a part of a variable. */
void note_part_(const char *function, const char *file, const int64_t *bytes, const char *detail,
                size_t function_length, size_t file_length, size_t detail_length)
{
    const int64_t any = -2;
    char text[128];
    note_(function, file, &any, bytes, function_length, file_length);
    copy(text, sizeof text, detail, detail_length);
    expected_detail(under_way, text);
}
