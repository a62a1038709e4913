/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The same path is opened again and again, and leads to the same file, or to another
 * one that has taken its name: a new file, the target of a link that was turned, a
 * file of the same name in another directory.
 */
#include "expected.h"
#include <sys/stat.h>

/* Opens a path and writes to it; the file that it leads to is told. */
static void use(const char *path, const char *file, int flags)
{
    int fd = CALL("open", file, ANY, 0, open(path, O_RDWR | flags, 0644));
    CHECK(fd >= 0);
    CHECK(WRITE(file, 0, fd, "data", 4) == 4);
    CHECK(CLOSE(file, fd) == 0);
}

int main(void)
{
    for (int n = 0; n < 5; n++)
        use("first", "first", n == 0 ? O_CREAT : 0);

    CHECK(CALL("rename", "first", ANY, 0, rename("first", "moved")) == 0);
    use("first", "first", O_CREAT);
    use("moved", "moved", 0);
    use("first", "first", 0);

    CHECK(symlink("first", "link") == 0);
    use("link", "first", 0);
    use("link", "first", 0);
    CHECK(CALL("unlink", "link", ANY, 0, unlink("link")) == 0);
    CHECK(symlink("moved", "link") == 0);
    use("link", "moved", 0);
    use("link", "moved", 0);

    /* The same file, by the same link, under another name. */
    CHECK(CALL("rename", "moved", ANY, 0, rename("moved", "again")) == 0);
    CHECK(CALL("unlink", "link", ANY, 0, unlink("link")) == 0);
    CHECK(symlink("again", "link") == 0);
    use("link", "again", 0);

    CHECK(mkdir("below", 0755) == 0);
    CHECK(symlink("elsewhere", "below/first") == 0);
    CHECK(chdir("below") == 0);
    use("first", "elsewhere", O_CREAT);
    CHECK(chdir("..") == 0);
    use("first", "first", 0);

    /* A new file may get the inode of one that is gone. */
    for (int n = 0; n < 8; n++) {
        char name[16];
        snprintf(name, sizeof name, "new%d", n);
        use(name, name, O_CREAT);
        CHECK(CALL("unlink", "link", ANY, 0, unlink("link")) == 0 && symlink(name, "link") == 0);
        use("link", name, 0);
        CHECK(CALL("unlink", name, ANY, 0, unlink(name)) == 0);
    }

    /* Kept out every time. */
    for (int n = 0; n < 3; n++) {
        int fd = open("/proc/self/status", O_RDONLY);
        CHECK(fd >= 0 && close(fd) == 0);
    }
    return 0;
}
