/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The calls that a test program makes itself, kept where capture cannot see
 * it: a shared mapping made with raw system calls. It needs no descriptor,
 * lasts over fork, exec, sandboxes and kill -9, and may be used by signal
 * handlers. A call gets its place when it begins and is finished once its
 * result is known; the tests read the file afterwards.
 */
#ifndef EXPECTED_H
#define EXPECTED_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Functions that are deprecated or checked are called on purpose. */
#pragma GCC diagnostic ignored "-Wunused-result"

/* A field that is not compared: the offset of a call that has none. */
#define ANY INT64_MIN

enum { EXPECTED_CALLS = 1 << 17 };

struct expected_call {
    uint32_t finished;
    uint32_t image;
    uint32_t pid;
    uint32_t tid;
    int64_t offset;
    int64_t requested;
    int64_t result;
    char function[24];
    char file[64];
    char detail[128];
};

struct expected_header {
    uint64_t n_calls;
    uint32_t n_images;
    char unused[sizeof(struct expected_call) - 12];
};

static struct expected_header *expected_calls;
static uint32_t expected_image;

__attribute__((constructor(101), unused)) static void expected_map(void)
{
    const char *path = getenv("EXPECTED_CALLS");
    if (path == NULL || *path == 0)
        return;
    size_t bytes = (EXPECTED_CALLS + 1UL) * sizeof(struct expected_call);
    long fd = syscall(SYS_open, path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    syscall(SYS_ftruncate, fd, bytes);
    long mapped = syscall(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
    syscall(SYS_close, fd);
    if (fd < 0 || mapped == -1) {
        static const char message[] = "EXPECTED_CALLS cannot be mapped\n";
        syscall(SYS_write, 2, message, sizeof message - 1);
        _exit(99);
    }
    expected_calls = (struct expected_header *)mapped;
    expected_image = __atomic_add_fetch(&expected_calls->n_images, 1, __ATOMIC_RELAXED);
}

__attribute__((unused)) static struct expected_call *
expected_begin(const char *function, const char *file, int64_t offset, int64_t requested)
{
    static struct expected_call nowhere;
    if (expected_calls == NULL)
        return &nowhere;
    int error = errno;
    uint64_t place = __atomic_fetch_add(&expected_calls->n_calls, 1, __ATOMIC_RELAXED);
    if (place >= EXPECTED_CALLS)
        _exit(98);
    struct expected_call *call = (struct expected_call *)(expected_calls + 1) + place;
    const char *slash = strrchr(file, '/');
    strncpy(call->function, function, sizeof call->function - 1);
    strncpy(call->file, slash != NULL ? slash + 1 : file, sizeof call->file - 1);
    call->image = expected_image;
    call->pid = (uint32_t)syscall(SYS_getpid);
    call->tid = (uint32_t)syscall(SYS_gettid);
    call->offset = offset;
    call->requested = requested;
    errno = error;
    return call;
}

__attribute__((unused)) static void expected_end(struct expected_call *call, int64_t result)
{
    call->result = result;
    __atomic_store_n(&call->finished, 1, __ATOMIC_RELEASE);
}

/* What is recorded beside the numbers; compared where it is not empty. */
__attribute__((unused)) static struct expected_call *expected_detail(struct expected_call *call,
                                                                     const char *detail)
{
    strncpy(call->detail, detail, sizeof call->detail - 1);
    return call;
}

/* A call whose recorded result is `result`, in which `r` is what it returned. */
#define CALL_AS(function, file, offset, requested, result, call)                            \
    ({                                                                                      \
        struct expected_call *call_ = expected_begin(function, file, offset, requested);    \
        __typeof__(call) r = (call);                                                        \
        int error_ = errno;                                                                 \
        expected_end(call_, (int64_t)(result));                                             \
        errno = error_;                                                                     \
        r;                                                                                  \
    })

/* A call whose recorded result is what it returned. */
#define CALL(function, file, offset, requested, call) \
    CALL_AS(function, file, offset, requested, r, call)

/* The common ones. */
#define OPEN(file, ...) CALL("open", file, ANY, 0, open(file, __VA_ARGS__))
#define CLOSE(file, fd) CALL("close", file, ANY, 0, close(fd))
#define READ(file, offset, fd, buffer, count) \
    CALL("read", file, offset, count, read(fd, buffer, count))
#define WRITE(file, offset, fd, buffer, count) \
    CALL("write", file, offset, count, write(fd, buffer, count))

#define FOPEN(file, mode) \
    CALL_AS("fopen", file, ANY, 0, r != NULL ? fileno(r) : -1, fopen(file, mode))
#define FCLOSE(file, stream) CALL("fclose", file, ANY, 0, fclose(stream))
#define FWRITE(file, offset, data, size, items, stream) \
    CALL_AS("fwrite", file, offset, (size) * (items), r * (size), fwrite(data, size, items, stream))
#define FREAD(file, offset, data, size, items, stream) \
    CALL_AS("fread", file, offset, (size) * (items), r * (size), fread(data, size, items, stream))

/* Ends the program when what must hold does not. */
#define CHECK(condition)                                                                \
    do {                                                                                \
        if (!(condition)) {                                                             \
            dprintf(2, "%s:%d: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
            _exit(1);                                                                   \
        }                                                                               \
    } while (0)

#endif
