/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Names that a table of text must not stumble over, and a path of 4095 bytes.
 */
#include "expected.h"
#include <sys/stat.h>

static void use(const char *path, const char *expected)
{
    int fd = CALL("open", expected, ANY, 0, open(path, O_RDWR | O_CREAT, 0644));
    CHECK(fd >= 0 && CALL("write", expected, 0, 6, write(fd, "a name", 6)) == 6);
    CHECK(CALL("close", expected, ANY, 0, close(fd)) == 0);
}

int main(void)
{
    static const char *const names[] = {
        "a comma, here", "\"quoted\"", "'single'", "a\nline", "a\rreturn", "a\ttab", " blanks ",
        "back\\slash", "percent%20", "semi;colon", "\x80\xff\xfe not text", "\xc3\xa4\xc3\xb6", "-", "#",
        "0", "\x01\x02\x7f",
    };
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        use(names[n], "*");

    /* 4095 bytes with the end: './' again and again, then a name. */
    static char path[4097];
    for (size_t n = 0; n < 4094; n += 2)
        memcpy(path + n, "./", 2);
    memcpy(path + 4090, "long0", 6);
    use(path, "long0");
    CHECK(mkdir("d", 0755) == 0);
    use("d/../d//below", "below");

    /* One byte more is too long for the kernel. */
    memcpy(path + 4090, "long01", 7);
    CHECK(CALL("open", "*", ANY, 0, open(path, O_RDONLY)) == -1 && errno == ENAMETOOLONG);
    CHECK(open("", O_RDONLY) == -1 && errno == ENOENT);
    return 0;
}
