/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Pointers that the kernel refuses, or never looks at: the errors must be the
 * kernel's. Flags, lengths and modes are checked before a path is read, and of
 * a path that is too long only PATH_MAX bytes are.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define TRY(call)                                                              \
    do {                                                                       \
        errno = 0;                                                             \
        long result = (long)(call);                                            \
        printf(#call ": %ld, errno %d\n", result, errno);                      \
    } while (0)

int main(void)
{
    char *bad = (char *)8;
    char *endless = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(endless + 4096, 4096);
    memset(endless, 'a', 4096);

    TRY(open(bad, O_TMPFILE | O_RDONLY));
    TRY(open(bad, O_RDONLY));
    TRY(open(endless, O_RDONLY));
    TRY(truncate(bad, -1));
    TRY(unlinkat(AT_FDCWD, bad, 0x8000));
    TRY(unlink(endless));
    TRY(rename(endless, "x"));
    TRY(fopen(bad, "z"));
    TRY(fopen(bad, "r"));
    TRY(readv(0, (struct iovec *)bad, 1000000));
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    TRY(readv(fd, (struct iovec *)bad, 3));
    TRY(readv(fd, (struct iovec *)bad, 0));
    TRY(write(fd, bad, 10));
    return 0;
}
