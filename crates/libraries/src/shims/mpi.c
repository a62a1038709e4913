/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/* Ranks that start together and exchange bytes, and files through MPI-IO. */

#include <stdlib.h>
#include <time.h>

#include "shims.h"

MPI_Comm ioracle_tasks = MPI_COMM_NULL;

static int failed(int code, char *error)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (code == MPI_SUCCESS)
        return 0;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        length = 0;
    snprintf(error, ERROR_BYTES, "%.*s", length, text);
    return 1;
}

int ioracle_mpi_init(int *rank, int *size, char *error)
{
    int is_on = 0, code;
    MPI_Initialized(&is_on);
    if (!is_on && (code = MPI_Init(NULL, NULL)) != MPI_SUCCESS)
        return failed(code, error);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if ((code = MPI_Comm_rank(MPI_COMM_WORLD, rank)) != MPI_SUCCESS)
        return failed(code, error);
    return failed(MPI_Comm_size(MPI_COMM_WORLD, size), error);
}

void ioracle_mpi_finalize(void)
{
    if (ioracle_tasks != MPI_COMM_NULL)
        MPI_Comm_free(&ioracle_tasks);
    MPI_Finalize();
}

/* Makes the group of the first `n_tasks` ranks; all ranks call it. */
int ioracle_mpi_group(int n_tasks, char *error)
{
    int rank, code;
    if (ioracle_tasks != MPI_COMM_NULL)
        MPI_Comm_free(&ioracle_tasks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    code = MPI_Comm_split(MPI_COMM_WORLD, rank < n_tasks ? 0 : MPI_UNDEFINED, rank, &ioracle_tasks);
    if (code == MPI_SUCCESS && ioracle_tasks != MPI_COMM_NULL)
        MPI_Comm_set_errhandler(ioracle_tasks, MPI_ERRORS_RETURN);
    return failed(code, error);
}

int ioracle_mpi_barrier(char *error)
{
    return failed(MPI_Barrier(ioracle_tasks), error);
}

int ioracle_mpi_broadcast(void *bytes, int length, char *error)
{
    return failed(MPI_Bcast(bytes, length, MPI_BYTE, 0, MPI_COMM_WORLD), error);
}

int ioracle_mpi_send(const void *bytes, int length, char *error)
{
    return failed(MPI_Send(bytes, length, MPI_BYTE, 0, 1, MPI_COMM_WORLD), error);
}

/* The length of the message that `rank` has sent. */
int ioracle_mpi_probe(int rank, int *length, char *error)
{
    MPI_Status status;
    int code = MPI_Probe(rank, 1, MPI_COMM_WORLD, &status);
    if (code == MPI_SUCCESS)
        code = MPI_Get_count(&status, MPI_BYTE, length);
    return failed(code, error);
}

int ioracle_mpi_receive(int rank, void *bytes, int length, char *error)
{
    return failed(MPI_Recv(bytes, length, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), error);
}

/* is_shared: all tasks open it together. */
int ioracle_mpi_open(const char *path, int is_write, int is_shared, void **file, char *error)
{
    MPI_File *opened = malloc(sizeof *opened);
    int mode = is_write ? MPI_MODE_CREATE | MPI_MODE_WRONLY : MPI_MODE_RDONLY;
    int code;
    if (!opened) {
        snprintf(error, ERROR_BYTES, "out of memory");
        return 1;
    }
    code = MPI_File_open(is_shared ? ioracle_tasks : MPI_COMM_SELF, path, mode, MPI_INFO_NULL, opened);
    if (code != MPI_SUCCESS) {
        free(opened);
        return failed(code, error);
    }
    *file = opened;
    return 0;
}

int ioracle_mpi_read(void *file, void *bytes, int length, int64_t offset, char *error)
{
    MPI_Status status;
    int count = 0;
    int code = MPI_File_read_at(*(MPI_File *)file, offset, bytes, length, MPI_BYTE, &status);
    if (code == MPI_SUCCESS)
        MPI_Get_count(&status, MPI_BYTE, &count);
    if (code == MPI_SUCCESS && count != length) {
        snprintf(error, ERROR_BYTES, "MPI_File_read_at returned %d of %d bytes", count, length);
        return 1;
    }
    return failed(code, error);
}

int ioracle_mpi_write(void *file, const void *bytes, int length, int64_t offset, char *error)
{
    return failed(MPI_File_write_at(*(MPI_File *)file, offset, bytes, length, MPI_BYTE,
                                    MPI_STATUS_IGNORE), error);
}

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Nonblocking calls at all `offsets`, `depth` under way at a time, each with its
   part of `bytes`. `times` gets from submission to completion. */
int ioracle_mpi_many(void *file, int is_write, char *bytes, int length, const int64_t *offsets,
                     int n, int depth, uint64_t *times, char *error)
{
    MPI_Request *requests = malloc(sizeof *requests * (size_t)depth);
    uint64_t *starts = malloc(sizeof *starts * (size_t)depth);
    int code = MPI_SUCCESS, at;
    if (!requests || !starts) {
        free(requests);
        free(starts);
        snprintf(error, ERROR_BYTES, "out of memory");
        return 1;
    }
    for (at = 0; at < n + depth && code == MPI_SUCCESS; at++) {
        int slot = at % depth;
        char *part = bytes + (size_t)slot * (size_t)length;
        if (at >= depth && at - depth < n) {
            code = MPI_Wait(&requests[slot], MPI_STATUS_IGNORE);
            times[at - depth] = now() - starts[slot];
        }
        if (at < n && code == MPI_SUCCESS) {
            starts[slot] = now();
            code = is_write
                ? MPI_File_iwrite_at(*(MPI_File *)file, offsets[at], part, length, MPI_BYTE, &requests[slot])
                : MPI_File_iread_at(*(MPI_File *)file, offsets[at], part, length, MPI_BYTE, &requests[slot]);
        }
    }
    free(requests);
    free(starts);
    return failed(code, error);
}

int ioracle_mpi_sync(void *file, char *error)
{
    return failed(MPI_File_sync(*(MPI_File *)file), error);
}

int ioracle_mpi_close(void *file, char *error)
{
    int code = MPI_File_close(file);
    free(file);
    return failed(code, error);
}
