// SPDX-License-Identifier: MIT OR Apache-2.0

/* Preloaded before the capture library: reads of a block or more take 10 ms, as on
   slow storage. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>
#include <time.h>

static void wait_for_storage(size_t count) {
    const struct timespec wait = {0, 10 * 1000 * 1000};
    if (count >= 4096) {
        nanosleep(&wait, NULL);
    }
}

ssize_t read(int fd, void *buffer, size_t count) {
    ssize_t (*real)(int, void *, size_t) = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
    wait_for_storage(count);
    return real(fd, buffer, count);
}

ssize_t pread(int fd, void *buffer, size_t count, off_t offset) {
    ssize_t (*real)(int, void *, size_t, off_t) =
        (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
    wait_for_storage(count);
    return real(fd, buffer, count, offset);
}
