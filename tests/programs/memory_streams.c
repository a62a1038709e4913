/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Streams that are no files: in memory, and of the program's own making, whose
 * functions must be called as often as without capture. errno stays as it was.
 */
#include "expected.h"
#include <wchar.h>

static int n_calls;

static ssize_t cookie_write(void *cookie, const char *data, size_t size)
{
    (void)cookie;
    (void)data;
    n_calls++;
    return (ssize_t)size;
}

static int cookie_seek(void *cookie, off64_t *position, int whence)
{
    (void)cookie;
    (void)position;
    (void)whence;
    n_calls++;
    return 0;
}

int main(void)
{
    char buffer[64];
    errno = 0;
    FILE *memory = fmemopen(buffer, sizeof buffer, "w+");
    CHECK(memory != NULL && fprintf(memory, "%d", 12345) == 5 && fflush(memory) == 0);
    rewind(memory);
    CHECK(fgetc(memory) == '1' && fseek(memory, 3, SEEK_SET) == 0 && fgetc(memory) == '4');
    CHECK(fclose(memory) == 0);

    char *text = NULL;
    size_t size = 0;
    memory = open_memstream(&text, &size);
    CHECK(memory != NULL && fputs("grows", memory) >= 0 && fclose(memory) == 0);
    CHECK(size == 5 && strcmp(text, "grows") == 0);
    free(text);

    cookie_io_functions_t functions = {.write = cookie_write, .seek = cookie_seek};
    FILE *own = fopencookie(NULL, "w", functions);
    CHECK(own != NULL && fputs("text", own) >= 0 && fflush(own) == 0 && fclose(own) == 0);
    printf("%d calls of its own functions\n", n_calls);
    CHECK(errno == 0);

    /* Wide characters are not seen, but the file is where they left it. */
    FILE *stream = FOPEN("wide", "w");
    CHECK(stream != NULL && fwprintf(stream, L"%ls", L"wide") == 4);
    CHECK(FCLOSE("wide", stream) == 0);
    int fd = OPEN("wide", O_WRONLY | O_APPEND);
    CHECK(WRITE("wide", 4, fd, "more", 4) == 4 && CLOSE("wide", fd) == 0);
    return 0;
}
