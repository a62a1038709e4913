/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every form of MPI-IO in C, on all ranks: the program's own list has one call
 * for each, with the byte of the file it starts at and the bytes it moves.
 */
#include "expected.h"
#include <mpi.h>

#define IO(name, offset, bytes, call) \
    CALL_AS(name, file_name, offset, bytes, r == MPI_SUCCESS ? 0 : -1, call)
#define SURE(name, offset, bytes, call) CHECK(IO(name, offset, bytes, call) == MPI_SUCCESS)

enum { ITEMS = 16, BYTES = ITEMS * sizeof(double) };
/* Where an access by the shared pointer starts is not recorded. */
enum { UNKNOWN = -1 };

static const char *file_name = "shared.dat";
static int rank, size;
static double data[ITEMS];

/* A nonblocking access and the wait or test that completes it. */
#define SUBMIT(name, offset, call)                                   \
    do {                                                             \
        MPI_Request request;                                         \
        SURE(name, offset, BYTES, call);                             \
        SURE("mpi_wait", offset, BYTES, MPI_Wait(&request, &status)); \
    } while (0)

static void blocking(MPI_File file)
{
    MPI_Status status;
    MPI_Offset mine = (MPI_Offset)rank * BYTES, row = (MPI_Offset)size * BYTES;
    SURE("mpi_write_at", mine, BYTES, MPI_File_write_at(file, mine, data, ITEMS, MPI_DOUBLE, &status));
    SURE("mpi_write_at_all", row + mine, BYTES,
         MPI_File_write_at_all(file, row + mine, data, ITEMS, MPI_DOUBLE, MPI_STATUS_IGNORE));
    struct expected_call *seek = expected_begin("mpi_seek", file_name, 0, 0);
    CHECK(MPI_File_seek(file, 2 * row + mine, MPI_SEEK_SET) == MPI_SUCCESS);
    expected_end(seek, 2 * row + mine);
    SURE("mpi_write", 2 * row + mine, BYTES, MPI_File_write(file, data, ITEMS, MPI_DOUBLE, &status));
    SURE("mpi_write_all", 2 * row + mine + BYTES, 40, MPI_File_write_all(file, data, 40, MPI_BYTE, &status));
    SURE("mpi_write_shared", UNKNOWN, BYTES, MPI_File_write_shared(file, data, ITEMS, MPI_DOUBLE, &status));
    SURE("mpi_write_ordered", UNKNOWN, BYTES, MPI_File_write_ordered(file, data, ITEMS, MPI_DOUBLE, &status));
    SURE("mpi_sync", ANY, 0, MPI_File_sync(file));
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    SURE("mpi_read_at", mine, BYTES, MPI_File_read_at(file, mine, data, ITEMS, MPI_DOUBLE, &status));
    SURE("mpi_read_at_all", mine, 8, MPI_File_read_at_all(file, mine, data, 1, MPI_DOUBLE, &status));
    seek = expected_begin("mpi_seek", file_name, 2 * row + mine + BYTES + 40, 0);
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    expected_end(seek, 0);
    SURE("mpi_read", 0, BYTES, MPI_File_read(file, data, ITEMS, MPI_DOUBLE, &status));
    SURE("mpi_read_all", BYTES, 4, MPI_File_read_all(file, data, 1, MPI_INT, &status));
    SURE("mpi_seek_shared", ANY, 0, MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    SURE("mpi_read_shared", UNKNOWN, 8, MPI_File_read_shared(file, data, 1, MPI_DOUBLE, &status));
    SURE("mpi_read_ordered", UNKNOWN, 8, MPI_File_read_ordered(file, data, 1, MPI_DOUBLE, &status));
}

static void split(MPI_File file)
{
    MPI_Status status;
    MPI_Offset mine = (MPI_Offset)rank * BYTES;
    SURE("mpi_write_at_all_begin", mine, BYTES, MPI_File_write_at_all_begin(file, mine, data, ITEMS, MPI_DOUBLE));
    SURE("mpi_write_at_all_end", ANY, 0, MPI_File_write_at_all_end(file, data, &status));
    SURE("mpi_read_at_all_begin", mine, BYTES, MPI_File_read_at_all_begin(file, mine, data, ITEMS, MPI_DOUBLE));
    SURE("mpi_read_at_all_end", ANY, 0, MPI_File_read_at_all_end(file, data, &status));
    struct expected_call *seek = expected_begin("mpi_seek", file_name, ANY, 0);
    CHECK(MPI_File_seek(file, mine, MPI_SEEK_SET) == MPI_SUCCESS);
    expected_end(seek, mine);
    SURE("mpi_write_all_begin", mine, BYTES, MPI_File_write_all_begin(file, data, ITEMS, MPI_DOUBLE));
    SURE("mpi_write_all_end", ANY, 0, MPI_File_write_all_end(file, data, &status));
    SURE("mpi_read_all_begin", UNKNOWN, 0, MPI_File_read_all_begin(file, data, 0, MPI_DOUBLE));
    SURE("mpi_read_all_end", ANY, 0, MPI_File_read_all_end(file, data, &status));
    SURE("mpi_write_ordered_begin", UNKNOWN, BYTES, MPI_File_write_ordered_begin(file, data, ITEMS, MPI_DOUBLE));
    SURE("mpi_write_ordered_end", ANY, 0, MPI_File_write_ordered_end(file, data, &status));
    SURE("mpi_read_ordered_begin", UNKNOWN, 0, MPI_File_read_ordered_begin(file, data, 0, MPI_DOUBLE));
    SURE("mpi_read_ordered_end", ANY, 0, MPI_File_read_ordered_end(file, data, &status));
}

static void nonblocking(MPI_File file)
{
    MPI_Status status;
    MPI_Offset mine = (MPI_Offset)rank * BYTES;
    SUBMIT("mpi_iwrite_at", mine, MPI_File_iwrite_at(file, mine, data, ITEMS, MPI_DOUBLE, &request));
    SUBMIT("mpi_iread_at", mine, MPI_File_iread_at(file, mine, data, ITEMS, MPI_DOUBLE, &request));
    SUBMIT("mpi_iwrite_at_all", mine, MPI_File_iwrite_at_all(file, mine, data, ITEMS, MPI_DOUBLE, &request));
    SUBMIT("mpi_iread_at_all", mine, MPI_File_iread_at_all(file, mine, data, ITEMS, MPI_DOUBLE, &request));
    struct expected_call *seek = expected_begin("mpi_seek", file_name, ANY, 0);
    CHECK(MPI_File_seek(file, mine, MPI_SEEK_SET) == MPI_SUCCESS);
    expected_end(seek, mine);
    SUBMIT("mpi_iwrite", mine, MPI_File_iwrite(file, data, ITEMS, MPI_DOUBLE, &request));
    SUBMIT("mpi_iread", mine + BYTES, MPI_File_iread(file, data, ITEMS, MPI_DOUBLE, &request));
    SUBMIT("mpi_iwrite_all", mine + 2 * BYTES, MPI_File_iwrite_all(file, data, ITEMS, MPI_DOUBLE, &request));
    SUBMIT("mpi_iread_all", mine + 3 * BYTES, MPI_File_iread_all(file, data, ITEMS, MPI_DOUBLE, &request));
    SUBMIT("mpi_iwrite_shared", UNKNOWN, MPI_File_iwrite_shared(file, data, ITEMS, MPI_DOUBLE, &request));
    SUBMIT("mpi_iread_shared", UNKNOWN, MPI_File_iread_shared(file, data, ITEMS, MPI_DOUBLE, &request));

    /* Messages are none of ours, and a list is completed at once or one by one. */
    MPI_Request list[4];
    int received, sent = rank;
    CHECK(MPI_Irecv(&received, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &list[1]) == MPI_SUCCESS);
    CHECK(MPI_Isend(&sent, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &list[2]) == MPI_SUCCESS);
    SURE("mpi_iwrite_at", mine, BYTES, MPI_File_iwrite_at(file, mine, data, ITEMS, MPI_DOUBLE, &list[0]));
    SURE("mpi_iwrite_at", mine + 8, 8, MPI_File_iwrite_at(file, mine + 8, data, 1, MPI_DOUBLE, &list[3]));
    /* In no order: the test compares the files and the sizes of the two alone. */
    struct expected_call *waits[2];
    for (int n = 0; n < 2; n++)
        waits[n] = expected_begin("mpi_wait", file_name, ANY, ANY);
    MPI_Status statuses[4];
    CHECK(MPI_Waitall(4, list, statuses) == MPI_SUCCESS);
    expected_end(waits[0], 0);
    expected_end(waits[1], 0);

    SURE("mpi_iread_at", mine, BYTES, MPI_File_iread_at(file, mine, data, ITEMS, MPI_DOUBLE, &list[0]));
    struct expected_call *test = expected_begin("mpi_test", file_name, mine, BYTES);
    int flag = 0;
    while (!flag)
        CHECK(MPI_Test(&list[0], &flag, &status) == MPI_SUCCESS);
    expected_end(test, 0);
    int index;
    list[0] = MPI_REQUEST_NULL;
    SURE("mpi_iread_at", mine, 8, MPI_File_iread_at(file, mine, data, 1, MPI_DOUBLE, &list[1]));
    SURE("mpi_wait", mine, 8, MPI_Waitany(2, list, &index, &status));
    CHECK(index == 1);
}

/* Doubles, two of every `2 * size`, from byte 64 on. */
static void through_a_view(MPI_File file)
{
    MPI_Datatype filetype;
    MPI_Status status;
    MPI_Offset displacement = 64 + rank * 16, stride = (MPI_Offset)size * 16;
    CHECK(MPI_Type_vector(8, 2, 2 * size, MPI_DOUBLE, &filetype) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&filetype) == MPI_SUCCESS);
    SURE("mpi_set_view", displacement, 0,
         MPI_File_set_view(file, displacement, MPI_DOUBLE, filetype, "native", MPI_INFO_NULL));
    SURE("mpi_write_at", displacement + stride + 8, 24,
         MPI_File_write_at(file, 3, data, 3, MPI_DOUBLE, &status));
    SURE("mpi_write_all", displacement, BYTES, MPI_File_write_all(file, data, ITEMS, MPI_DOUBLE, &status));
    struct expected_call *seek = expected_begin("mpi_seek", file_name, ANY, 0);
    CHECK(MPI_File_seek(file, 5, MPI_SEEK_SET) == MPI_SUCCESS);
    expected_end(seek, displacement + 2 * stride + 8);
    SURE("mpi_read", displacement + 2 * stride + 8, 8, MPI_File_read(file, data, 1, MPI_DOUBLE, &status));
    SURE("mpi_read", displacement + 3 * stride, 8, MPI_File_read(file, data, 1, MPI_DOUBLE, &status));
    MPI_Offset found;
    MPI_Datatype etype, type;
    char representation[MPI_MAX_DATAREP_STRING];
    SURE("mpi_get_view", ANY, 0, MPI_File_get_view(file, &found, &etype, &type, representation));
    CHECK(found == displacement);
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
    SURE("mpi_set_view", 0, 0, MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK(MPI_Type_free(&filetype) == MPI_SUCCESS);
    SURE("mpi_write_at", rank * 8, 8, MPI_File_write_at(file, rank * 8, data, 1, MPI_DOUBLE, &status));
}

#if MPI_VERSION >= 4
static void with_large_counts(MPI_File file)
{
    MPI_Status status;
    MPI_Offset mine = (MPI_Offset)rank * BYTES;
    MPI_Count items = ITEMS;
    SURE("mpi_write_at", mine, BYTES, MPI_File_write_at_c(file, mine, data, items, MPI_DOUBLE, &status));
    SURE("mpi_write_at_all", mine, BYTES, MPI_File_write_at_all_c(file, mine, data, items, MPI_DOUBLE, &status));
    SURE("mpi_read_at", mine, BYTES, MPI_File_read_at_c(file, mine, data, items, MPI_DOUBLE, &status));
    SURE("mpi_read_at_all_begin", mine, BYTES,
         MPI_File_read_at_all_begin_c(file, mine, data, items, MPI_DOUBLE));
    SURE("mpi_read_at_all_end", ANY, 0, MPI_File_read_at_all_end(file, data, &status));
    SUBMIT("mpi_iwrite_at", mine, MPI_File_iwrite_at_c(file, mine, data, items, MPI_DOUBLE, &request));
}
#endif

static void tell(const char *what, int error)
{
    int class;
    MPI_Error_class(error, &class);
    if (rank == 0)
        printf("%s: error class %d\n", what, class);
}

static void errors(MPI_File file)
{
    MPI_Status status;
    tell("count", IO("mpi_write_at", UNKNOWN, 0, MPI_File_write_at(file, 0, data, -1, MPI_DOUBLE, &status)));
    tell("datatype",
         IO("mpi_write_at", UNKNOWN, 0, MPI_File_write_at(file, 0, data, 1, MPI_DATATYPE_NULL, &status)));
    /* No open file, so nothing is recorded. */
    tell("handle", MPI_File_write_at(MPI_FILE_NULL, 0, data, 1, MPI_DOUBLE, &status));
    MPI_File closed = MPI_FILE_NULL;
    tell("close", MPI_File_close(&closed));
}

/* With no other file open: once, on a busy machine and without capture, the next call on an
   open file failed with EBADF after an open like this. */
static void missing_file(void)
{
    MPI_File none;
    file_name = "missing.dat";
    tell("open", IO("mpi_open", 0, 0,
                    MPI_File_open(MPI_COMM_WORLD, "missing.dat", MPI_MODE_RDONLY, MPI_INFO_NULL, &none)));
}

int main(int argc, char **argv)
{
    MPI_File file;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int n = 0; n < ITEMS; n++)
        data[n] = rank + n / 100.0;
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    SURE("mpi_open", 0, 0,
         MPI_File_open(MPI_COMM_WORLD, (char *)file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    SURE("mpi_preallocate", ANY, 65536, MPI_File_preallocate(file, 65536));
    blocking(file);
    split(file);
    nonblocking(file);
    through_a_view(file);
#if MPI_VERSION >= 4
    with_large_counts(file);
#endif
    errors(file);
    SURE("mpi_set_size", ANY, 1000, MPI_File_set_size(file, 1000));
    SURE("mpi_close", ANY, 0, MPI_File_close(&file));
    if (rank == 0)
        SURE("mpi_delete", ANY, 0, MPI_File_delete((char *)file_name, MPI_INFO_NULL));
    missing_file();
    MPI_Finalize();
    return 0;
}
