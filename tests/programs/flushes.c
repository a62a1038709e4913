/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Flushes that write something, and flushes that have nothing to write: before
 * a write past the stream, twice in a row, after a seek, of all streams.
 */
#include "expected.h"

static void flush(const char *file, FILE *stream)
{
    CHECK(CALL_AS("fflush", file, ANY, 0, 0, fflush(stream)) == 0);
}

int main(void)
{
    FILE *log = FOPEN("log", "w");
    FILE *notes = FOPEN("notes", "w");
    CHECK(log != NULL && notes != NULL);
    for (int n = 0; n < 10; n++) {
        flush("log", log);
        CHECK(WRITE("log", n * 5, fileno(log), "line\n", 5) == 5);
    }
    for (int n = 0; n < 10; n++) {
        CHECK(FWRITE("notes", n * 5, "note\n", 1, 5, notes) == 5);
        flush("notes", notes);
        flush("notes", notes);
    }
    CHECK(FWRITE("notes", 50, "end\n", 1, 4, notes) == 4);
    CHECK(CALL_AS("fseek", "notes", 54, 0, 0, fseek(notes, 0, SEEK_SET)) == 0);
    flush("notes", notes);
    CHECK(FCLOSE("notes", notes) == 0);
    CHECK(FCLOSE("log", log) == 0);
    return 0;
}
