/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every stdio function that capture knows, with its unlocked form. Buffers
 * are glibc's own matter: a call counts where the program is in the file.
 */
#include "expected.h"
#include <stdarg.h>

static const char *file = "text";

/* Called by address: glibc's headers write these into the program itself, where
 * no library can see them. */
static int (*volatile get_character)(FILE *) = fgetc_unlocked;
static int (*volatile get_unlocked)(FILE *) = getc_unlocked;
static int (*volatile put_character)(int, FILE *) = fputc_unlocked;
static int (*volatile put_unlocked)(int, FILE *) = putc_unlocked;
static size_t (*volatile read_unlocked)(void *, size_t, size_t, FILE *) = fread_unlocked;
static size_t (*volatile write_unlocked)(const void *, size_t, size_t, FILE *) = fwrite_unlocked;

static int by_list(FILE *stream, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int written = vfprintf(stream, format, list);
    va_end(list);
    return written;
}

static int scan_list(FILE *stream, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int found = vfscanf(stream, format, list);
    va_end(list);
    return found;
}

/* 100 bytes in lines of ten. */
static void write_all(FILE *stream)
{
    CHECK(FWRITE(file, 0, "0123456", 1, 7, stream) == 7);
    CHECK(CALL_AS("fwrite", file, 7, 2, r * 2, write_unlocked("89", 2, 1, stream)) == 1);
    CHECK(CALL_AS("fputc", file, 9, 1, 1, fputc('\n', stream)) == '\n');
    CHECK(CALL_AS("fputs", file, 10, 9, 9, fputs("abcdefgh\n", stream)) >= 0);
    CHECK(CALL_AS("fputs", file, 19, 9, 9, fputs_unlocked("bbcdefgh\n", stream)) >= 0);
    CHECK(CALL_AS("fputc", file, 28, 1, 1, (putc)('1', stream)) == '1');
    CHECK(CALL_AS("fputc", file, 29, 1, 1, put_character('\n', stream)) == '\n');
    CHECK(CALL("fprintf", file, 30, 10, fprintf(stream, "%d%s\n", 12345, "abcd")) == 10);
    CHECK(CALL("fprintf", file, 40, 10, by_list(stream, "%9.3f\n", 3.14159)) == 10);
    CHECK(CALL_AS("fflush", file, ANY, 0, 0, fflush(stream)) == 0);
    CHECK(CALL_AS("fputc", file, 50, 1, 1, put_unlocked('x', stream)) == 'x');
    CHECK(FWRITE(file, 51, "012345678901234567890123456789012345678901234567\n", 49, 1, stream) == 1);
}

static void read_all(FILE *stream)
{
    char buffer[64];
    char *line = NULL;
    size_t room = 0;
    int number;
    char word[16];

    CHECK(FREAD(file, 0, buffer, 1, 4, stream) == 4);
    CHECK(CALL_AS("fread", file, 4, 4, r * 2, read_unlocked(buffer, 2, 2, stream)) == 2);
    CHECK(CALL_AS("fgetc", file, 8, 1, 1, fgetc(stream)) == '9');
    CHECK(CALL_AS("fgetc", file, 9, 1, 1, (getc)(stream)) == '\n');
    CHECK(CALL_AS("fgets", file, 10, 9, 9, fgets(buffer, sizeof buffer, stream)) == buffer);
    CHECK(CALL_AS("fgets", file, 19, 5, 5, fgets_unlocked(buffer, 6, stream)) == buffer);
    CHECK(CALL_AS("fgetc", file, 24, 1, 1, get_character(stream)) == 'f');
    CHECK(CALL_AS("fgetc", file, 25, 1, 1, get_unlocked(stream)) == 'g');
    CHECK(ungetc('g', stream) == 'g');
    CHECK(CALL_AS("fgetc", file, 25, 1, 1, fgetc(stream)) == 'g');
    CHECK(CALL_AS("fread", file, 26, 4, r, fread(buffer, 1, 4, stream)) == 4);
    CHECK(CALL_AS("fscanf", file, 30, 9, 9, fscanf(stream, "%5d%15s", &number, word)) == 2);
    CHECK(CALL_AS("fscanf", file, 39, 1, 1, scan_list(stream, "%c", word)) == 1);
    CHECK(CALL("getline", file, 40, 10, getline(&line, &room, stream)) == 10);
    CHECK(CALL("getline", file, 50, 2, getdelim(&line, &room, '0', stream)) == 2);
    CHECK(CALL("getline", file, 52, 10, __getdelim(&line, &room, '0', stream)) == 10);
    CHECK(FREAD(file, 62, buffer, 1, 5, stream) == 5);
    /* Unseen, but the position has moved. */
    CHECK(getc_unlocked(stream) != EOF);
    CHECK(FREAD(file, 68, buffer, 1, 60, stream) == 32);
    CHECK(CALL_AS("fread", file, 100, 10, 0, fread(buffer, 1, 10, stream)) == 0 && feof(stream));
    free(line);
}

static void move(FILE *stream)
{
    fpos_t place;
    char buffer[16];

    CHECK(CALL_AS("fseek", file, 100, 0, 10, fseek(stream, 10, SEEK_SET)) == 0);
    CHECK(fgetpos(stream, &place) == 0);
    CHECK(FREAD(file, 10, buffer, 4, 2, stream) == 2);
    CHECK(CALL_AS("fseek", file, 18, 0, 20, fseeko(stream, 2, SEEK_CUR)) == 0);
    CHECK(CALL_AS("fseek", file, 20, 0, 90, fseeko64(stream, -10, SEEK_END)) == 0);
    CHECK(CALL_AS("fseek", file, 90, 0, 10, fsetpos(stream, &place)) == 0);
    CHECK(CALL_AS("fseek", file, 10, 0, 10, fsetpos64(stream, (fpos64_t *)&place)) == 0);
    CHECK(CALL_AS("fseek", file, 10, 0, 0, (rewind(stream), 0)) == 0);
    CHECK(FREAD(file, 0, buffer, 1, 1, stream) == 1);
    CHECK(CALL_AS("fseek", file, 1, 0, -1, fseek(stream, -10, SEEK_SET)) == -1 && errno == EINVAL);
}

int main(void)
{
    static char room[8192];
    FILE *stream = FOPEN(file, "w");
    CHECK(stream != NULL);
    CHECK(CALL("setvbuf", file, ANY, ANY, setvbuf(stream, room, _IOFBF, sizeof room)) == 0);
    write_all(stream);
    CHECK(FCLOSE(file, stream) == 0);

    stream = CALL_AS("fopen", file, ANY, 0, fileno(r), fopen64(file, "r"));
    CHECK(stream != NULL);
    read_all(stream);
    move(stream);
    stream = CALL_AS("freopen", "second", ANY, 0, fileno(r), freopen("second", "w+", stream));
    CHECK(stream != NULL);
    CHECK(FWRITE("second", 0, "abc", 1, 3, stream) == 3);
    stream = CALL_AS("freopen", file, ANY, 0, fileno(r), freopen64(file, "r", stream));
    CHECK(stream != NULL && CALL_AS("fgetc", file, 0, 1, 1, fgetc(stream)) == '0');
    CHECK(FCLOSE(file, stream) == 0);

    int fd = OPEN(file, O_RDWR);
    CHECK(CALL("lseek", file, 0, 0, lseek(fd, 40, SEEK_SET)) == 40);
    stream = CALL_AS("fdopen", file, ANY, 0, fileno(r), fdopen(fd, "r+"));
    CHECK(stream != NULL && FREAD(file, 40, room, 1, 5, stream) == 5);
    CHECK(FCLOSE(file, stream) == 0);
    return 0;
}
