/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Views without bytes, as ranks have them that take no part in an access. Where
 * in the file such a rank stands nobody can say: an MPI that is asked may divide
 * by zero.
 */
#include "expected.h"
#include <mpi.h>

#define IO(name, offset, bytes, call) \
    CHECK(CALL_AS(name, file_name, offset, bytes, r == MPI_SUCCESS ? 0 : -1, call) == MPI_SUCCESS)

enum { ITEMS = 4, BYTES = ITEMS * sizeof(int), UNKNOWN = -1 };

static const char *file_name = "views.dat";
static int data[ITEMS];

static void set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype)
{
    IO("mpi_set_view", displacement, 0,
       MPI_File_set_view(file, displacement, etype, filetype, "native", MPI_INFO_NULL));
}

/* Accesses to `items` of the view, of which the first is the byte `first`. */
static void accesses(MPI_File file, int items, MPI_Offset first)
{
    MPI_Status status;
    MPI_Offset second = items ? first + BYTES : first;
    MPI_Offset bytes = items * (MPI_Offset)sizeof(int);
    IO("mpi_write_at_all", first, bytes, MPI_File_write_at_all(file, 0, data, items, MPI_INT, &status));
    IO("mpi_write_all", first, bytes, MPI_File_write_all(file, data, items, MPI_INT, &status));
    IO("mpi_read_at", first, bytes, MPI_File_read_at(file, 0, data, items, MPI_INT, &status));
    IO("mpi_read", second, bytes, MPI_File_read(file, data, items, MPI_INT, &status));
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_File file;
    MPI_Datatype nothing;
    MPI_Request request;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Type_contiguous(0, MPI_INT, &nothing) == MPI_SUCCESS && MPI_Type_commit(&nothing) == MPI_SUCCESS);
    IO("mpi_open", 0, 0,
       MPI_File_open(MPI_COMM_WORLD, (char *)file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));

    /* The last rank has nothing. */
    MPI_Offset mine = rank * 2 * BYTES;
    int is_empty = rank == size - 1;
    set_view(file, mine, MPI_INT, is_empty ? nothing : MPI_INT);
    accesses(file, is_empty ? 0 : ITEMS, is_empty ? UNKNOWN : mine);
    if (is_empty) {
        /* Many items that are nothing, and a pointer that is moved all the same. */
        IO("mpi_write_at", UNKNOWN, 0, MPI_File_write_at(file, 0, data, ITEMS, nothing, MPI_STATUS_IGNORE));
        IO("mpi_seek", UNKNOWN, 0, MPI_File_seek(file, 0, MPI_SEEK_SET));
        IO("mpi_iwrite_at", UNKNOWN, 0, MPI_File_iwrite_at(file, 0, data, 0, MPI_INT, &request));
        IO("mpi_wait", UNKNOWN, 0, MPI_Wait(&request, MPI_STATUS_IGNORE));
    }

    /* Nobody has anything, not even a unit to count in: ROMIO takes that. */
    if (argc > 1 && strcmp(argv[1], "romio") == 0) {
        set_view(file, mine, nothing, nothing);
        IO("mpi_write_at", UNKNOWN, 0, MPI_File_write_at(file, 0, data, ITEMS, nothing, MPI_STATUS_IGNORE));
        IO("mpi_write", UNKNOWN, 0, MPI_File_write(file, data, ITEMS, nothing, MPI_STATUS_IGNORE));
    }

    /* In a view with bytes places are known again, but for those of no bytes. */
    set_view(file, mine, MPI_INT, MPI_INT);
    accesses(file, ITEMS, mine);
    accesses(file, 0, UNKNOWN);
    IO("mpi_close", ANY, 0, MPI_File_close(&file));
    CHECK(MPI_Type_free(&nothing) == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
