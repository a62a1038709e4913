/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The calls that ask or change what the file system knows of files and directories,
 * under all their names, successful and failing; relative paths after chdir and with
 * a directory's descriptor; the same path again and again. Results and errno are
 * printed, so that runs with and without capture can be compared.
 */
#include "expected.h"
#include <dirent.h>
#include <sys/stat.h>

static void show(const char *what, long result)
{
    printf("%s %ld %d\n", what, result, result < 0 ? errno : 0);
}

/* A call that is recorded with what it returns. */
#define META(name, file, call)                          \
    do {                                                \
        errno = 0;                                      \
        long value = CALL(name, file, ANY, 0, call);    \
        show(#call, value);                             \
    } while (0)

/* Declared by no header of today, called by programs of before 2021. */
extern int __xstat(int version, const char *path, struct stat *buffer);
extern int __lxstat(int version, const char *path, struct stat *buffer);
extern int __fxstat(int version, int fd, struct stat *buffer);
extern int __fxstatat(int version, int directory, const char *path, struct stat *buffer, int flags);

/* Pointers that lead nowhere, which the compiler must not know. */
static const char *volatile nowhere = (const char *)8;
static const char *volatile no_path = NULL;

static void list(const char *path, const char *file)
{
    DIR *directory = CALL_AS("opendir", file, ANY, 0, dirfd(r), opendir(path));
    CHECK(directory != NULL);
    int n_entries = 0;
    while (CALL_AS("readdir", file, ANY, 0, r != NULL, readdir(directory)) != NULL)
        n_entries++;
    printf("%d entries\n", n_entries);
    CHECK(CALL("closedir", file, ANY, 0, closedir(directory)) == 0);
}

int main(void)
{
    struct stat status;
    struct statx more;
    char target[64];
    META("mkdir", "below", mkdir("below", 0755));
    META("mkdir", "below", mkdir("below", 0755));
    int fd = OPEN("file", O_RDWR | O_CREAT, 0644);
    CHECK(fd >= 0 && WRITE("file", 0, fd, "data", 4) == 4);

    for (int n = 0; n < 3; n++) {
        META("stat", "file", stat("file", &status));
        CHECK(status.st_size == 4);
        META("stat", "none", stat("none", &status));
    }
    META("lstat", "file", lstat("file", &status));
    META("fstat", "file", fstat(fd, &status));
    META("stat", "file", fstatat(AT_FDCWD, "file", &status, 0));
    META("lstat", "file", fstatat(AT_FDCWD, "file", &status, AT_SYMLINK_NOFOLLOW));
    META("fstat", "file", fstatat(fd, "", &status, AT_EMPTY_PATH));
    META("stat", "file", statx(AT_FDCWD, "file", 0, STATX_BASIC_STATS, &more));
    CHECK(more.stx_size == 4);
#ifdef __x86_64__
    META("stat", "file", __xstat(1, "file", &status));
    META("lstat", "file", __lxstat(1, "file", &status));
    META("fstat", "file", __fxstat(1, fd, &status));
    META("stat", "file", __fxstatat(1, AT_FDCWD, "file", &status, 0));
#endif
    META("access", "file", access("file", R_OK));
    META("access", "none", access("none", R_OK));
    META("access", "file", faccessat(AT_FDCWD, "file", W_OK, 0));
    META("access", "file", euidaccess("file", R_OK));

    META("symlink", "way", symlink("file", "way"));
    META("symlink", "way", symlinkat("file", AT_FDCWD, "way"));
    META("readlink", "way", readlink("way", target, sizeof target));
    META("readlink", "file", readlinkat(AT_FDCWD, "file", target, sizeof target));
    META("lstat", "way", lstat("way", &status));
    CHECK(S_ISLNK(status.st_mode));
    META("stat", "way", stat("way", &status));
    META("link", "second", link("file", "second"));
    META("link", "third", linkat(AT_FDCWD, "file", AT_FDCWD, "third", 0));
    META("chmod", "file", chmod("file", 0600));
    META("chmod", "none", fchmodat(AT_FDCWD, "none", 0600, 0));
    META("fchmod", "file", fchmod(fd, 0640));

    /* The same names in another directory. */
    int below = open("below", O_RDONLY | O_DIRECTORY);
    CHECK(below >= 0);
    META("mkdir", "inner", mkdirat(below, "inner", 0755));
    META("stat", "file", fstatat(below, "file", &status, 0));
    CHECK(chdir("below") == 0);
    META("stat", "file", stat("file", &status));
    META("stat", "file", stat("../file", &status));
    META("stat", "inner", stat("inner", &status));
    CHECK(chdir("..") == 0 && close(below) == 0);
    META("stat", "file", stat("file", &status));
    CHECK(status.st_size == 4);

    list("below", "below");
    list(".", ".");
    errno = 0;
    DIR *none = CALL_AS("opendir", "none", ANY, 0, -1, opendir("none"));
    printf("%d %d\n", none == NULL, errno);
    META("rmdir", "below", rmdir("below"));
    META("rmdir", "inner", rmdir("below/inner"));
    META("rmdir", "below", unlinkat(AT_FDCWD, "below", AT_REMOVEDIR));

    META("fstat", "file", fstat(fd, (struct stat *)nowhere));
    show("stat of no path", stat(nowhere, &status));
    show("access of no path", access(no_path, R_OK));
    show("fstat of nothing", fstat(-1, &status));
    CHECK(CLOSE("file", fd) == 0);
    return 0;
}
