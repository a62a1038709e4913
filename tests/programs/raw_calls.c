/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Raw system calls pass by: they are not recorded, and positions that they
 * moved are right again at the next call.
 */
#include "expected.h"

int main(void)
{
    int fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("data", 0, fd, "0123456789", 10) == 10);
    CHECK(CALL("lseek", "data", 10, 0, lseek(fd, 2, SEEK_SET)) == 2);
    CHECK(syscall(SYS_pwrite64, fd, "x", 1, 5) == 1);
    CHECK(READ("data", 2, fd, (char[8]){0}, 4) == 4);

    /* Closed behind our back, and the number given to another file. */
    CHECK(syscall(SYS_close, fd) == 0);
    CHECK(OPEN("other", O_RDWR | O_CREAT | O_TRUNC, 0644) == fd);
    CHECK(WRITE("other", 0, fd, "other", 5) == 5);
    CHECK(CLOSE("other", fd) == 0);
    return 0;
}
