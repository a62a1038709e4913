/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Holes, large offsets, SEEK_DATA and SEEK_HOLE, O_DIRECT where the file
 * system has it.
 */
#include "expected.h"

int main(void)
{
    const off_t far = 5LL << 30;
    static char page[4096] __attribute__((aligned(4096)));

    int fd = OPEN("sparse", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(CALL("lseek", "sparse", 0, 0, lseek(fd, far, SEEK_SET)) == far);
    CHECK(WRITE("sparse", far, fd, page, 4096) == 4096);
    CHECK(CALL("pwrite", "sparse", 1 << 20, 4096, pwrite(fd, page, 4096, 1 << 20)) == 4096);
    CHECK(CALL("pread", "sparse", 3LL << 30, 100, pread(fd, page, 100, 3LL << 30)) == 100);
    CALL("lseek", "sparse", far + 4096, 0, lseek(fd, 0, SEEK_SET));
    off_t data = CALL("lseek", "sparse", 0, 0, lseek(fd, 0, SEEK_DATA));
    CHECK(data >= 0);
    off_t hole = CALL("lseek", "sparse", data, 0, lseek(fd, data, SEEK_HOLE));
    CHECK(hole > data);
    CHECK(CALL("lseek", "sparse", hole, 0, lseek(fd, far + 9999, SEEK_DATA)) == -1 && errno == ENXIO);
    CHECK(READ("sparse", hole, fd, page, 10) == 10);
    CHECK(CLOSE("sparse", fd) == 0);

    fd = OPEN("direct", O_RDWR | O_CREAT | O_DIRECT, 0644);
    if (fd >= 0) {
        if (WRITE("direct", 0, fd, page, 4096) == 4096) {
            CHECK(CALL("pread", "direct", 0, 4096, pread(fd, page, 4096, 0)) == 4096);
            CHECK(WRITE("direct", 4096, fd, page, 4096) == 4096);
        }
        CHECK(CLOSE("direct", fd) == 0);
    }
    CHECK(CALL("unlink", "sparse", ANY, 0, unlink("sparse")) == 0);
    return 0;
}
