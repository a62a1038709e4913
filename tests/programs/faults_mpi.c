/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A fault of every kind that advice is given on with several ranks, and the same work
 * without it: see faults.c.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"

#define CHECK(call) ((call) == MPI_SUCCESS ? (void)0 : (fprintf(stderr, "%s failed\n", #call), exit(1)))

enum { SMALL = 8192, STEPS = 200, LARGE = 1 << 20 };

static char bytes[LARGE];
static int rank, n_ranks;

static MPI_File opened(const char *path, const char *buffering)
{
    MPI_File file;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", buffering);
    MPI_Info_set(info, "romio_cb_read", buffering);
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file));
    MPI_Info_free(&info);
    return file;
}

/* Where a rank's piece of a step begins: those of all ranks lie beside each other. */
static MPI_Offset place(int step)
{
    return ((MPI_Offset)step * n_ranks + rank) * SMALL;
}

FAULT independent_writes(bool fixed)
{
    MPI_File file = opened("field.dat", "enable");
    for (int step = 0; step < STEPS; step++)
        if (fixed)
            CHECK(MPI_File_write_at_all(file, place(step), bytes, SMALL, MPI_BYTE, MPI_STATUS_IGNORE));
        else
            CHECK(MPI_File_write_at(file, place(step), bytes, SMALL, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_File_close(&file);
}

FAULT independent_reads(bool fixed)
{
    MPI_File file = opened("field.dat", "enable");
    for (int step = 0; step < STEPS; step++)
        CHECK(MPI_File_write_at_all(file, place(step), bytes, SMALL, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int step = 0; step < STEPS; step++)
        if (fixed)
            CHECK(MPI_File_read_at_all(file, place(step), bytes, SMALL, MPI_BYTE, MPI_STATUS_IGNORE));
        else
            CHECK(MPI_File_read_at(file, place(step), bytes, SMALL, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_File_close(&file);
}

FAULT no_collective_buffering(bool fixed)
{
    MPI_File file = opened("field.dat", fixed ? "enable" : "disable");
    for (int step = 0; step < STEPS; step++)
        CHECK(MPI_File_write_at_all(file, place(step), bytes, SMALL, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_File_close(&file);
}

/* So many pieces of a megabyte of this rank, in a region of its own. */
static void write_pieces(int n)
{
    MPI_File file = opened("restart.dat", "enable");
    for (int piece = 0; piece < n; piece++) {
        MPI_Offset at = ((MPI_Offset)rank * 64 + piece) * LARGE;
        CHECK(MPI_File_write_at(file, at, bytes, LARGE, MPI_BYTE, MPI_STATUS_IGNORE));
    }
    MPI_File_close(&file);
}

FAULT one_rank_writes(bool fixed)
{
    write_pieces(fixed ? 16 : rank == 0 ? 16 * n_ranks : 0);
}

FAULT uneven_ranks(bool fixed)
{
    write_pieces(fixed ? 16 : rank == n_ranks - 1 ? 48 : 5);
}

static const struct fault faults[] = {
    {"independent_writes", independent_writes},
    {"independent_reads", independent_reads},
    {"no_collective_buffering", no_collective_buffering},
    {"one_rank_writes", one_rank_writes},
    {"uneven_ranks", uneven_ranks},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    bool found = run_fault(faults, sizeof faults / sizeof *faults, argc, argv);
    MPI_Finalize();
    return found ? 0 : 2;
}
