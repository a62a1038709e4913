/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every POSIX function that capture knows, with its other names, on one file.
 */
#include "expected.h"
#include <sys/uio.h>

static char page[4096];

static void by_position(const char *file, int fd)
{
    struct iovec parts[2] = {{page, 100}, {page + 200, 60}};

    CHECK(CALL("pwrite", file, 0, 300, pwrite(fd, page, 300, 0)) == 300);
    CHECK(CALL("pwrite", file, 300, 300, pwrite64(fd, page, 300, 300)) == 300);
    CHECK(CALL("pwritev", file, 600, 160, pwritev(fd, parts, 2, 600)) == 160);
    CHECK(CALL("pwritev", file, 760, 160, pwritev64(fd, parts, 2, 760)) == 160);
    CHECK(CALL("pwritev", file, 920, 160, pwritev2(fd, parts, 2, 920, 0)) == 160);
    CHECK(CALL("pwritev", file, 1080, 160, pwritev64v2(fd, parts, 2, 1080, 0)) == 160);
    CHECK(CALL("pread", file, 10, 300, pread(fd, page, 300, 10)) == 300);
    CHECK(CALL("pread", file, 20, 300, pread64(fd, page, 300, 20)) == 300);
    CHECK(CALL("preadv", file, 30, 160, preadv(fd, parts, 2, 30)) == 160);
    CHECK(CALL("preadv", file, 40, 160, preadv64(fd, parts, 2, 40)) == 160);
    CHECK(CALL("preadv", file, 50, 160, preadv2(fd, parts, 2, 50, 0)) == 160);
    CHECK(CALL("preadv", file, 60, 160, preadv64v2(fd, parts, 2, 60, 0)) == 160);
}

static void in_sequence(const char *file, int fd)
{
    struct iovec parts[3] = {{page, 10}, {page, 20}, {page, 30}};

    CHECK(CALL("lseek", file, 0, 0, lseek(fd, 5, SEEK_SET)) == 5);
    CHECK(WRITE(file, 5, fd, page, 95) == 95);
    CHECK(CALL("writev", file, 100, 60, writev(fd, parts, 3)) == 60);
    CHECK(CALL("pwritev", file, 160, 60, pwritev2(fd, parts, 3, -1, 0)) == 60);
    CHECK(CALL("lseek", file, 220, 0, lseek64(fd, -20, SEEK_CUR)) == 200);
    CHECK(READ(file, 200, fd, page, 50) == 50);
    CHECK(CALL("readv", file, 250, 60, readv(fd, parts, 3)) == 60);
    CHECK(CALL("preadv", file, 310, 60, preadv2(fd, parts, 3, -1, 0)) == 60);
    CHECK(CALL("lseek", file, 370, 0, lseek(fd, 0, SEEK_END)) == 1240);
    CHECK(READ(file, 1240, fd, page, 10) == 0);
}

static void lengths(const char *file, int fd)
{
    CHECK(CALL("ftruncate", file, ANY, 2000, ftruncate(fd, 2000)) == 0);
    CHECK(CALL("ftruncate", file, ANY, 1000, ftruncate64(fd, 1000)) == 0);
    CHECK(CALL("truncate", file, ANY, 3000, truncate(file, 3000)) == 0);
    CHECK(CALL("truncate", file, ANY, 500, truncate64(file, 500)) == 0);
    CALL("fallocate", file, 0, 8192, fallocate(fd, 0, 0, 8192));
    CALL("fallocate", file, 0, 4096, fallocate64(fd, FALLOC_FL_KEEP_SIZE, 0, 4096));
    CHECK(CALL("posix_fallocate", file, 0, 9000, posix_fallocate(fd, 0, 9000)) == 0);
    CHECK(CALL("posix_fallocate", file, 9000, 10, posix_fallocate64(fd, 9000, 10)) == 0);
    CHECK(CALL("posix_fadvise", file, 0, 4096, posix_fadvise(fd, 0, 4096, POSIX_FADV_WILLNEED)) == 0);
    CHECK(CALL("posix_fadvise", file, 0, 0, posix_fadvise64(fd, 0, 0, POSIX_FADV_SEQUENTIAL)) == 0);
    CALL("sync_file_range", file, 0, 4096, sync_file_range(fd, 0, 4096, SYNC_FILE_RANGE_WRITE));
    CHECK(CALL("fdatasync", file, ANY, 0, fdatasync(fd)) == 0);
    CHECK(CALL("fsync", file, ANY, 0, fsync(fd)) == 0);
}

static void names(const char *file)
{
    int fd = CALL("open", "other", ANY, 0, creat("other", 0600));
    CHECK(fd >= 0 && CLOSE("other", fd) == 0);
    fd = CALL("open", "other", ANY, 0, creat64("other", 0600));
    CHECK(fd >= 0 && CLOSE("other", fd) == 0);
    fd = CALL("open", "other", ANY, 0, open64("other", O_RDONLY));
    CHECK(fd >= 0 && CLOSE("other", fd) == 0);
    fd = CALL("open", "other", ANY, 0, openat(AT_FDCWD, "other", O_RDONLY));
    CHECK(fd >= 0 && CLOSE("other", fd) == 0);
    fd = CALL("open", "other", ANY, 0, openat64(AT_FDCWD, "other", O_RDWR | O_CREAT, 0600));
    CHECK(fd >= 0 && CLOSE("other", fd) == 0);
    CHECK(CALL("rename", "other", ANY, 0, rename("other", "renamed")) == 0);
    CHECK(CALL("unlink", "renamed", ANY, 0, unlink("renamed")) == 0);
    CHECK(CALL("unlink", file, ANY, 0, unlink(file)) == 0);
}

int main(void)
{
    int fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    by_position("data", fd);
    in_sequence("data", fd);
    lengths("data", fd);
    CHECK(CLOSE("data", fd) == 0);
    names("data");
    return 0;
}
