/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Relative paths mean what the directory of the moment makes of them: after
 * chdir and fchdir, with openat, and as root after chroot.
 */
#include "expected.h"
#include <sys/stat.h>

/* The same name in three directories; the tests look at the whole paths. */
static void use(int directory, const char *path, const char *text)
{
    int fd = CALL("open", path, ANY, 0, openat(directory, path, O_RDWR | O_CREAT | O_TRUNC, 0644));
    CHECK(fd >= 0);
    CHECK(WRITE(path, 0, fd, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(CLOSE(path, fd) == 0);
}

int main(void)
{
    CHECK(mkdir("one", 0755) == 0 && mkdir("one/two", 0755) == 0);
    use(AT_FDCWD, "name", "in the first");
    int one = open("one", O_RDONLY | O_DIRECTORY);
    CHECK(one >= 0);
    use(one, "name", "below it");
    CHECK(chdir("one") == 0);
    use(AT_FDCWD, "two/name", "further below");
    use(AT_FDCWD, "../name", "back");
    CHECK(chdir("two") == 0);
    use(AT_FDCWD, "name", "here");
    CHECK(fchdir(one) == 0);
    use(AT_FDCWD, "name", "above");
    CHECK(close(one) == 0);
    if (geteuid() == 0) {
        CHECK(chroot(".") == 0 && chdir("/") == 0);
        /* There is no /proc there to ask for its name, so it has the one that
         * the program gave; the tests leave absolute paths out. */
        int fd = open("/two/inside", O_RDWR | O_CREAT | O_TRUNC, 0644);
        CHECK(fd >= 0 && write(fd, "in the other root", 17) == 17 && close(fd) == 0);
    }
    return 0;
}
