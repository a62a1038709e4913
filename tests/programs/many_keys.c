/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads of a program that has many keys. Values of later keys are allocated,
 * which must not happen inside a call that allocates nothing: the program's own
 * allocator may be what makes the call. And what a thread needed is given back
 * though no destructor tells that it has ended.
 */
#include "expected.h"
#include <pthread.h>

enum { THREADS = 3000 };

extern int many_keys_part;
extern void *__libc_calloc(size_t, size_t);

static __thread int is_writing __attribute__((tls_model("initial-exec")));

void *calloc(size_t n, size_t bytes)
{
    if (is_writing) {
        static const char message[] = "calloc inside write\n";
        syscall(SYS_write, 2, message, sizeof message - 1);
        syscall(SYS_exit_group, 1);
    }
    return __libc_calloc(n, bytes);
}

static int fd;

static void *writes(void *unused)
{
    is_writing = 1;
    CHECK(CALL("pwrite", "data", 8, 7, pwrite(fd, "thread\n", 7, 8)) == 7);
    is_writing = 0;
    return unused;
}

/* In KiB, all that is mapped. */
static long mapped(void)
{
    long pages = 0;
    char text[64] = "";
    int statm = syscall(SYS_open, "/proc/self/statm", O_RDONLY);
    syscall(SYS_read, statm, text, sizeof text - 1);
    syscall(SYS_close, statm);
    sscanf(text, "%ld", &pages);
    return pages * 4;
}

int main(void)
{
    fd = OPEN("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    long before = 0;
    for (int n = 0; n < THREADS * many_keys_part; n++) {
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, writes, NULL) == 0);
        pthread_join(thread, NULL);
        if (n == 200)
            before = mapped();
    }
    /* Two or three megabytes would be left by each. */
    CHECK(mapped() - before < 400 * 1024);
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
