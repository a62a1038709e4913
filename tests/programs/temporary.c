/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Functions that find a name themselves, or need none, and open a file: once
 * these files were read, written and closed without ever having been opened.
 * Memory without a name (memfd_create) is no file.
 */
#include "expected.h"

/* The name is known once the file is made. */
#define MAKE(template, flags, call)                                                          \
    ({                                                                                       \
        struct expected_call *made = expected_begin("open", "", ANY, 0);                     \
        int fd_ = (call);                                                                    \
        strncpy(made->file, template, sizeof made->file - 1);                                \
        expected_detail(made, flags);                                                        \
        expected_end(made, fd_);                                                             \
        fd_;                                                                                 \
    })

static void use(const char *name, int fd)
{
    CHECK(fd >= 0);
    CHECK(WRITE(name, 0, fd, "temporary", 9) == 9);
    CHECK(CLOSE(name, fd) == 0);
}

int main(void)
{
    char a[] = "a-XXXXXX", b[] = "b-XXXXXX", c[] = "c-XXXXXX.txt", d[] = "d-XXXXXX.txt";
    char e[] = "e-XXXXXX", bad[] = "bad";
    use(a, MAKE(a, "RDWR|CREAT|EXCL", mkstemp(a)));
    use(b, MAKE(b, "RDWR|CREAT|EXCL", mkostemp(b, O_CLOEXEC)));
    use(c, MAKE(c, "RDWR|CREAT|EXCL", mkstemps(c, 4)));
    use(d, MAKE(d, "RDWR|CREAT|EXCL", mkostemps(d, 4, O_CLOEXEC)));
    use(e, MAKE(e, "RDWR|CREAT|EXCL", mkstemp64(e)));
    CHECK(CALL("open", "bad", ANY, 0, mkstemp(bad)) == -1 && errno == EINVAL);

    /* One that appends is asked for its position. */
    char f[] = "f-XXXXXX";
    int fd = MAKE(f, "RDWR|CREAT|EXCL|APPEND", mkostemp(f, O_APPEND));
    CHECK(WRITE(f, 0, fd, "one", 3) == 3 && WRITE(f, 3, fd, "two", 3) == 3);
    CHECK(CLOSE(f, fd) == 0);

    /* Without a name, elsewhere: the tests look into the trace for these. */
    FILE *nameless = tmpfile();
    CHECK(nameless != NULL && fwrite("x", 1, 1, nameless) == 1 && fclose(nameless) == 0);
    char name[64];
    snprintf(name, sizeof name, "/ioracle-temporary-%d", (int)getpid());
    fd = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && write(fd, "shared", 6) == 6 && close(fd) == 0 && shm_unlink(name) == 0);
    CHECK(shm_open("/ioracle/no such place", O_RDWR, 0600) == -1);
    fd = memfd_create("memory", 0);
    CHECK(fd >= 0 && write(fd, "memory", 6) == 6 && close(fd) == 0);

    /* A stream over an open descriptor is no second open. */
    fd = OPEN("opened once", O_RDWR | O_CREAT, 0644);
    FILE *stream = CALL_AS("fdopen", "opened once", ANY, 0, fileno(r), fdopen(fd, "r+"));
    CHECK(stream != NULL && FWRITE("opened once", 0, "abc", 1, 3, stream) == 3);
    CHECK(FCLOSE("opened once", stream) == 0);
    return 0;
}
