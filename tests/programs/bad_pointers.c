/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Pointers that the kernel refuses, or never looks at: the errors must be the
 * kernel's. Flags, lengths and modes are checked before a path is read, and of
 * a path that is too long only PATH_MAX bytes are. The C library, too, answers
 * some calls without a look at what they point to: a bad mode of a list of
 * requests, a transfer of no bytes, a line without room.
 */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#define TRY(call)                                                              \
    do {                                                                       \
        errno = 0;                                                             \
        if (sigsetjmp(before, 1) == 0) {                                       \
            long result = (long)(call);                                        \
            printf(#call ": %ld, errno %d\n", result, errno);                  \
        } else {                                                               \
            printf(#call ": a signal\n");                                      \
        }                                                                      \
    } while (0)

static sigjmp_buf before;

static void leave(int signal)
{
    (void)signal;
    siglongjmp(before, 1);
}

int main(void)
{
    struct sigaction action = {.sa_handler = leave};
    sigaction(SIGSEGV, &action, NULL);
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

    struct aiocb **no_list = (struct aiocb **)bad;
    struct aiocb *request = (struct aiocb *)(endless + 4096 - offsetof(struct aiocb, aio_offset));
    memset(request, 0, offsetof(struct aiocb, aio_offset));
    request->aio_fildes = fd;
    request->aio_reqprio = -1;
    TRY(lio_listio(99, NULL, 1, NULL));
    TRY(lio_listio(99, no_list, 1, NULL));
    TRY(aio_read(request));
    TRY(aio_write(request));

    FILE *no_stream = (FILE *)bad;
    size_t room = 0;
    char byte;
    TRY(fread(&byte, 0, 5, no_stream));
    TRY(fread(&byte, 5, 0, no_stream));
    TRY(fwrite(&byte, 0, 5, no_stream));
    TRY(fread_unlocked(&byte, 0, 5, no_stream));
    TRY(fwrite_unlocked(&byte, 5, 0, no_stream));
    TRY(fgets(&byte, 0, no_stream));
    TRY(fgets(&byte, 1, no_stream) == &byte);
    TRY(getline(NULL, &room, no_stream));
    TRY(getdelim(NULL, NULL, ';', no_stream));
    /* Of a bad mode one character is read. */
    endless[4095] = 'z';
    TRY(fopen("file", endless + 4095));
    TRY(fdopen(fd, endless + 4095));
    TRY(freopen("file", endless + 4095, fopen("file", "r")));

    int ends[2];
    if (pipe(ends) != 0)
        return 1;
    TRY(splice(fd, (off64_t *)bad, ends[1], NULL, 0, 0));
    TRY(splice(ends[0], NULL, fd, (off64_t *)bad, 0, 0));
    return 0;
}
