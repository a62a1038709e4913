/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Files without a name: unlinked while open, made with O_TMPFILE or tmpfile,
 * in memory. They are files all the same.
 */
#include "expected.h"

int main(void)
{
    int fd = OPEN("gone", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(CALL("unlink", "gone", ANY, 0, unlink("gone")) == 0);
    CHECK(WRITE("gone", 0, fd, "still here", 10) == 10);
    CHECK(CALL("pread", "gone", 2, 4, pread(fd, (char[8]){0}, 4, 2)) == 4);
    CHECK(CLOSE("gone", fd) == 0);

    fd = CALL("open", "*", ANY, 0, open(".", O_TMPFILE | O_RDWR, 0600));
    if (fd >= 0) {
        CHECK(CALL("write", "*", 0, 3, write(fd, "tmp", 3)) == 3);
        CHECK(CALL("close", "*", ANY, 0, close(fd)) == 0);
    }

    /* A name used again is another file with the same name. */
    fd = OPEN("again", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("again", 0, fd, "one", 3) == 3);
    CHECK(CALL("rename", "again", ANY, 0, rename("again", "moved")) == 0);
    CHECK(WRITE("again", 3, fd, "two", 3) == 3 && CLOSE("again", fd) == 0);
    fd = OPEN("again", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("again", 0, fd, "three", 5) == 5 && CLOSE("again", fd) == 0);
    return 0;
}
