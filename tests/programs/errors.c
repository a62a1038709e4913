/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Failures and short transfers: results and errno are the real call's alone.
 */
#include "expected.h"
#include <sys/stat.h>
#include <sys/uio.h>

#define FAILS(error, call)                      \
    do {                                        \
        errno = 0;                              \
        CHECK((call) == -1 && errno == (error)); \
    } while (0)

static char page[4096];
static void *volatile nowhere = (void *)8;

int main(void)
{
    FAILS(ENOENT, OPEN("absent", O_RDONLY));
    FAILS(ENOENT, CALL("unlink", "absent", ANY, 0, unlink("absent")));
    FAILS(ENOENT, CALL("truncate", "absent", ANY, 5, truncate("absent", 5)));
    CHECK(FOPEN("absent", "r") == NULL && errno == ENOENT);
    CHECK(FOPEN("absent", "nonsense") == NULL && errno == EINVAL);
    CHECK(mkdir("directory", 0755) == 0);
    FAILS(EISDIR, OPEN("directory", O_WRONLY));

    /* Descriptors that nothing is known of are nobody's events. */
    FAILS(EBADF, read(-1, page, 1));
    FAILS(EBADF, write(777777, page, 1));
    FAILS(EBADF, close(-1));
    FAILS(EBADF, lseek(-5, 0, SEEK_SET));
    FAILS(EBADF, dup2(-1, 5));
    FAILS(EFAULT, open(nowhere, O_RDONLY));

    int fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("data", 0, fd, page, 1000) == 1000);
    CHECK(CALL("pread", "data", 900, 4096, pread(fd, page, sizeof page, 900)) == 100);
    CHECK(CALL("pread", "data", 1000, 4096, pread(fd, page, sizeof page, 1000)) == 0);
    CHECK(CALL("pread", "data", 99999, 4096, pread(fd, page, sizeof page, 99999)) == 0);
    FAILS(EFAULT, CALL("pread", "data", 0, 100, pread(fd, nowhere, 100, 0)));
    FAILS(EFAULT, WRITE("data", 1000, fd, nowhere, 10));
    FAILS(EFAULT, CALL("writev", "data", 1000, ANY, writev(fd, nowhere, 3)));
    FAILS(EINVAL, CALL("pread", "data", ANY, 100, pread(fd, page, 100, -1)));
    FAILS(EINVAL, CALL("lseek", "data", 1000, 0, lseek(fd, -5, SEEK_SET)));
    FAILS(EINVAL, CALL("ftruncate", "data", ANY, ANY, ftruncate(fd, -1)));
    CHECK(WRITE("data", 1000, fd, page, 0) == 0);

    /* A failed call has not moved the position. */
    CHECK(WRITE("data", 1000, fd, page, 24) == 24);
    CHECK(CALL("lseek", "data", 1024, 0, lseek(fd, 1000, SEEK_SET)) == 1000);
    CHECK(READ("data", 1000, fd, page, 4096) == 24);
    CHECK(READ("data", 1024, fd, page, 4096) == 0);
    CHECK(CLOSE("data", fd) == 0);
    FAILS(EBADF, read(fd, page, 1));
    FAILS(EBADF, close(fd));

    fd = OPEN("data", O_WRONLY);
    FAILS(EBADF, READ("data", 0, fd, page, 10));
    CHECK(CLOSE("data", fd) == 0);
    fd = OPEN("data", O_RDONLY);
    FAILS(EBADF, WRITE("data", 0, fd, page, 10));
    CHECK(CLOSE("data", fd) == 0);

    FILE *stream = FOPEN("data", "r");
    errno = 0;
    CHECK(CALL_AS("fputc", "data", 0, 1, -1, fputc('x', stream)) == EOF && errno == EBADF);
    CHECK(FCLOSE("data", stream) == 0);

    /* errno is left alone by calls that succeed. */
    errno = ENOTSUP;
    fd = OPEN("data", O_RDWR);
    CHECK(errno == ENOTSUP && WRITE("data", 0, fd, page, 5) == 5 && errno == ENOTSUP);
    CHECK(CLOSE("data", fd) == 0 && errno == ENOTSUP);
    return 0;
}
