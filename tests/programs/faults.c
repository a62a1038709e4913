/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A fault of every kind that advice is given on with POSIX and stdio calls, and the
 * same work without it:
 *
 *   faults KIND            with the fault
 *   faults KIND fixed     without
 *
 * The function that has the fault is named after it.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"

#define CHECK(condition) ((condition) ? (void)0 : (perror(#condition), exit(1)))

enum { PIECE = 1 << 16, MEGABYTE = 1 << 20, N_PROCESSES = 4 };

static char bytes[MEGABYTE];

static int created(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    return fd;
}

/* A file of so many bytes, open for reading at its start. */
static int made(const char *path, size_t size)
{
    int fd = created(path);
    for (size_t done = 0; done < size; done += MEGABYTE)
        CHECK(write(fd, bytes, MEGABYTE) == MEGABYTE);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

/* All numbers below 2,048 in an order that jumps, or as they are. */
static off_t place(int n, bool in_order)
{
    return in_order ? n : (off_t)n * 1237 % 2048;
}

FAULT small_writes(bool fixed)
{
    int fd = created("rows.dat");
    size_t size = fixed ? PIECE : 100;
    for (size_t done = 0; done < 200000; done += size)
        CHECK(write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

FAULT small_reads(bool fixed)
{
    int fd = made("rows.dat", MEGABYTE);
    size_t size = fixed ? PIECE : 512;
    for (size_t done = 0; done < MEGABYTE; done += size)
        CHECK(read(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

FAULT scattered_writes(bool fixed)
{
    int fd = created("cells.dat");
    for (int n = 0; n < 2048; n++)
        CHECK(pwrite(fd, bytes, 512, place(n, fixed) * 512) == 512);
    close(fd);
}

FAULT scattered_reads(bool fixed)
{
    int fd = made("cells.dat", 8 * MEGABYTE);
    for (int n = 0; n < 2048; n++)
        CHECK(pread(fd, bytes, 4096, place(n, fixed) * 4096) == 4096);
    close(fd);
}

FAULT stdio_bulk(bool fixed)
{
    FILE *file = fopen("bulk.dat", "w");
    size_t size = fixed ? MEGABYTE : 4096;
    for (size_t done = 0; done < 104 * MEGABYTE; done += size)
        CHECK(fwrite(bytes, size, 1, file) == 1);
    fclose(file);
}

FAULT syncs(bool fixed)
{
    int fd = created("log.dat");
    for (int n = 0; n < 24; n++) {
        CHECK(write(fd, bytes, PIECE) == PIECE);
        if (!fixed || n == 23)
            CHECK(fdatasync(fd) == 0);
    }
    close(fd);
}

FAULT reopened(bool fixed)
{
    int fd = -1;
    for (int n = 0; n < 200; n++) {
        if (fd < 0)
            fd = open("log.dat", O_WRONLY | O_APPEND | O_CREAT, 0644);
        CHECK(write(fd, bytes, 100) == 100);
        if (!fixed)
            CHECK(close(fd) == 0), fd = -1;
    }
    if (fixed)
        close(fd);
}

FAULT read_again(bool fixed)
{
    int fd = made("table.dat", 4 * MEGABYTE);
    for (int pass = 0; pass < (fixed ? 1 : 10); pass++)
        for (off_t at = 0; at < 4 * MEGABYTE; at += PIECE)
            CHECK(pread(fd, bytes, PIECE, at) == PIECE);
    close(fd);
}

/* So many processes do this, each with its number. */
static void in_processes(void (*work)(int fd, int number, bool fixed), int fd, bool fixed)
{
    for (int number = 0; number < N_PROCESSES; number++) {
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            work(fd, number, fixed);
            exit(0);
        }
    }
    for (int status; wait(&status) > 0;)
        CHECK(status == 0);
}

FAULT read_by_all(int fd, int number, bool fixed)
{
    off_t part = 4 * MEGABYTE / N_PROCESSES;
    off_t from = fixed ? number * part : 0, to = fixed ? from + part : 4 * MEGABYTE;
    for (off_t at = from; at < to; at += PIECE)
        CHECK(pread(fd, bytes, PIECE, at) == PIECE);
}

FAULT misaligned_writes(int fd, int number, bool fixed)
{
    size_t size = fixed ? 49152 : 50000;
    for (int n = 0; n < 100; n++)
        CHECK(pwrite(fd, bytes, size, (off_t)number * 16 * MEGABYTE + n * size) == (ssize_t)size);
}

FAULT shared_blocks(int fd, int number, bool fixed)
{
    for (int n = 0; n < 100; n++) {
        off_t at = fixed ? (off_t)number * 16 * MEGABYTE + n * PIECE : (off_t)(n * N_PROCESSES + number) * PIECE;
        CHECK(pwrite(fd, bytes, PIECE, at) == PIECE);
    }
}

FAULT many_files(bool fixed)
{
    int fd = -1;
    for (int n = 0; n < 200; n++) {
        char path[32];
        snprintf(path, sizeof path, "part_%03d.dat", n);
        if (fd < 0)
            fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        CHECK(write(fd, bytes, PIECE) == PIECE);
        if (!fixed)
            CHECK(close(fd) == 0), fd = -1;
    }
    if (fixed)
        close(fd);
}

FAULT many_open(bool fixed)
{
    int open_files[600];
    for (int n = 0; n < 600; n++) {
        char path[32];
        snprintf(path, sizeof path, "part_%03d.dat", n);
        open_files[n] = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
        CHECK(open_files[n] >= 0);
        if (fixed)
            close(open_files[n]);
    }
    for (int n = 0; n < 600 && !fixed; n++)
        close(open_files[n]);
}

static const struct fault faults[] = {
    {"small_writes", small_writes},
    {"small_reads", small_reads},
    {"scattered_writes", scattered_writes},
    {"scattered_reads", scattered_reads},
    {"stdio_bulk", stdio_bulk},
    {"syncs", syncs},
    {"reopened", reopened},
    {"read_again", read_again},
    {"many_files", many_files},
    {"many_open", many_open},
};

static const struct {
    const char *name;
    void (*work)(int fd, int number, bool fixed);
} shared_faults[] = {
    {"read_by_all", read_by_all},
    {"misaligned_writes", misaligned_writes},
    {"shared_blocks", shared_blocks},
};

int main(int argc, char **argv)
{
    if (run_fault(faults, sizeof faults / sizeof *faults, argc, argv))
        return 0;
    const char *name = fault_name(argc, argv);
    for (size_t n = 0; n < sizeof shared_faults / sizeof *shared_faults; n++)
        if (strcmp(shared_faults[n].name, name) == 0) {
            int fd = made("shared.dat", 4 * MEGABYTE);
            in_processes(shared_faults[n].work, fd, is_fixed(argc, argv));
            return 0;
        }
    fprintf(stderr, "faults: there is no '%s'\n", name);
    return 2;
}
