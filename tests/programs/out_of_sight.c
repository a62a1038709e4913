/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Descriptors that libc closes, and positions that it moves, inside itself;
 * the calls around that must still be recorded in their places.
 */
#include "expected.h"

#include <dirent.h>
#include <sys/syscall.h>

/* The name is known once the file is made. */
static int make(char *name)
{
    struct expected_call *call = expected_begin("open", "", ANY, 0);
    int fd = mkstemp(name);
    strncpy(call->file, name, sizeof call->file - 1);
    expected_end(call, fd);
    return fd;
}

int main(void)
{
    /* closedir() closes the directory's descriptor; the next file gets its number. */
    int directory = open(".", O_RDONLY | O_DIRECTORY);
    DIR *opened = fdopendir(directory);
    CHECK(opened != NULL && readdir(opened) != NULL && closedir(opened) == 0);
    char name[] = "madeXXXXXX";
    int fd = make(name);
    CHECK(fd == directory);
    for (int i = 0; i < 20; i++)
        CHECK(WRITE(name, i * 5, fd, "hello", 5) == 5);
    CHECK(CLOSE(name, fd) == 0);
    CHECK(CALL("unlink", name, ANY, 0, unlink(name)) == 0);

    /* popen() and pclose(). */
    FILE *pipe = popen("true", "r");
    int number = fileno(pipe);
    CHECK(fgetc(pipe) == EOF && pclose(pipe) == 0);
    strcpy(name, "madeXXXXXX");
    fd = make(name);
    CHECK(fd == number);
    CHECK(WRITE(name, 0, fd, "hello", 5) == 5);

    /* A raw close. */
    CHECK(syscall(SYS_close, fd) == 0);
    CHECK(CALL("unlink", name, ANY, 0, unlink(name)) == 0);
    strcpy(name, "madeXXXXXX");
    fd = make(name);
    CHECK(WRITE(name, 0, fd, "hello", 5) == 5);
    CHECK(CLOSE(name, fd) == 0);
    CHECK(CALL("unlink", name, ANY, 0, unlink(name)) == 0);

    /* dprintf() writes inside libc. */
    fd = OPEN("printed", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    CHECK(WRITE("printed", 0, fd, "12345", 5) == 5);
    CHECK(CALL("write", "printed", 5, 100, dprintf(fd, "%0100d", 7)) == 100);
    CHECK(WRITE("printed", 105, fd, "12345", 5) == 5);
    CHECK(CLOSE("printed", fd) == 0);
    return 0;
}
