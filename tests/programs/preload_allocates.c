/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Another preload library, as memory profilers are: wraps the allocator, and
 * itself reads and writes a file at odd moments, before main and in malloc.
 * Not a program.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static void *(*next_malloc)(size_t);
static int in_malloc;
static int log_fd = -1;

__attribute__((constructor)) static void begin(void)
{
    log_fd = open("allocations", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

void *malloc(size_t size)
{
    if (next_malloc == NULL)
        next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    void *memory = next_malloc(size);
    if (log_fd >= 0 && size > 4096 && !__atomic_exchange_n(&in_malloc, 1, __ATOMIC_ACQUIRE)) {
        write(log_fd, "large\n", 6);
        __atomic_store_n(&in_malloc, 0, __ATOMIC_RELEASE);
    }
    return memory;
}
