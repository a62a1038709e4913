/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What mpi_io.c leaves out: all forms with large counts, all ways to complete
 * requests, and calls that fail.
 */
#include "expected.h"
#include <mpi.h>

#define IO(name, offset, bytes, call) \
    CALL_AS(name, file_name, offset, bytes, r == MPI_SUCCESS ? 0 : -1, call)
#define SURE(name, offset, bytes, call) CHECK(IO(name, offset, bytes, call) == MPI_SUCCESS)

enum { ITEMS = 4, BYTES = ITEMS * sizeof(double), LISTED = 3 };
/* Where an access by the shared pointer starts is not recorded. */
enum { UNKNOWN = -1 };

static const char *file_name = "rows.dat";
static int rank, size;
static double data[LISTED][ITEMS];

#if MPI_VERSION >= 4
static void seek(MPI_File file, MPI_Offset offset)
{
    struct expected_call *seek = expected_begin("mpi_seek", file_name, ANY, 0);
    CHECK(MPI_File_seek(file, offset, MPI_SEEK_SET) == MPI_SUCCESS);
    expected_end(seek, offset);
}

/* Every form of a direction: at the pointer from `mine` on, at `mine`, and shared. */
#define FORMS(read)                                                                                            \
    static void read##_forms(MPI_File file, MPI_Offset mine)                                                    \
    {                                                                                                           \
        MPI_Count items = ITEMS;                                                                                \
        MPI_Status status;                                                                                      \
        MPI_Request request;                                                                                    \
        double *block = data[0];                                                                                \
        seek(file, mine);                                                                                       \
        SURE("mpi_" #read, mine, BYTES, MPI_File_##read##_c(file, block, items, MPI_DOUBLE, &status));          \
        SURE("mpi_" #read "_all", mine + BYTES, BYTES,                                                          \
             MPI_File_##read##_all_c(file, block, items, MPI_DOUBLE, &status));                                 \
        SURE("mpi_" #read "_all_begin", mine + 2 * BYTES, BYTES,                                                \
             MPI_File_##read##_all_begin_c(file, block, items, MPI_DOUBLE));                                    \
        SURE("mpi_" #read "_all_end", ANY, 0, MPI_File_##read##_all_end(file, block, &status));                 \
        seek(file, mine);                                                                                       \
        SURE("mpi_i" #read, mine, BYTES, MPI_File_i##read##_c(file, block, items, MPI_DOUBLE, &request));       \
        SURE("mpi_wait", mine, BYTES, MPI_Wait(&request, &status));                                             \
        SURE("mpi_i" #read "_all", mine + BYTES, BYTES,                                                         \
             MPI_File_i##read##_all_c(file, block, items, MPI_DOUBLE, &request));                               \
        SURE("mpi_wait", mine + BYTES, BYTES, MPI_Wait(&request, &status));                                     \
        SURE("mpi_" #read "_at", mine, BYTES,                                                                   \
             MPI_File_##read##_at_c(file, mine, block, items, MPI_DOUBLE, &status));                            \
        SURE("mpi_" #read "_at_all", mine, BYTES,                                                               \
             MPI_File_##read##_at_all_c(file, mine, block, items, MPI_DOUBLE, &status));                        \
        SURE("mpi_" #read "_at_all_begin", mine, BYTES,                                                         \
             MPI_File_##read##_at_all_begin_c(file, mine, block, items, MPI_DOUBLE));                           \
        SURE("mpi_" #read "_at_all_end", ANY, 0, MPI_File_##read##_at_all_end(file, block, &status));           \
        SURE("mpi_i" #read "_at", mine, BYTES,                                                                  \
             MPI_File_i##read##_at_c(file, mine, block, items, MPI_DOUBLE, &request));                          \
        SURE("mpi_wait", mine, BYTES, MPI_Wait(&request, &status));                                             \
        SURE("mpi_i" #read "_at_all", mine, BYTES,                                                              \
             MPI_File_i##read##_at_all_c(file, mine, block, items, MPI_DOUBLE, &request));                      \
        SURE("mpi_wait", mine, BYTES, MPI_Wait(&request, &status));                                             \
        SURE("mpi_" #read "_shared", UNKNOWN, BYTES,                                                            \
             MPI_File_##read##_shared_c(file, block, items, MPI_DOUBLE, &status));                              \
        SURE("mpi_i" #read "_shared", UNKNOWN, BYTES,                                                           \
             MPI_File_i##read##_shared_c(file, block, items, MPI_DOUBLE, &request));                            \
        SURE("mpi_wait", UNKNOWN, BYTES, MPI_Wait(&request, &status));                                          \
        SURE("mpi_" #read "_ordered", UNKNOWN, BYTES,                                                           \
             MPI_File_##read##_ordered_c(file, block, items, MPI_DOUBLE, &status));                             \
        SURE("mpi_" #read "_ordered_begin", UNKNOWN, BYTES,                                                     \
             MPI_File_##read##_ordered_begin_c(file, block, items, MPI_DOUBLE));                                \
        SURE("mpi_" #read "_ordered_end", ANY, 0, MPI_File_##read##_ordered_end(file, block, &status));         \
    }

FORMS(write)
FORMS(read)
#endif

/* Writes that go on, each to a place of its own. */
static void submit(MPI_File file, MPI_Request *list)
{
    for (int n = 0; n < LISTED; n++) {
        MPI_Offset place = (rank * LISTED + n) * BYTES;
        SURE("mpi_iwrite_at", place, BYTES,
             MPI_File_iwrite_at(file, place, data[n], ITEMS, MPI_DOUBLE, &list[n]));
    }
}

/* They complete in any order, some at once. */
static void completions(MPI_File file)
{
    MPI_Request list[LISTED];
    MPI_Status statuses[LISTED];
    int indices[LISTED], index, flag, n_done;
    struct expected_call *calls[LISTED];
#define LOOP(name, until, call)                                            \
    do {                                                                   \
        submit(file, list);                                                \
        for (int n = 0; n < LISTED; n++)                                   \
            calls[n] = expected_begin(name, file_name, ANY, BYTES);        \
        for (int left = LISTED; left > 0; left -= (until))                 \
            CHECK((call) == MPI_SUCCESS);                                  \
        for (int n = 0; n < LISTED; n++) {                                 \
            CHECK(list[n] == MPI_REQUEST_NULL);                            \
            expected_end(calls[n], 0);                                     \
        }                                                                  \
    } while (0)
    LOOP("mpi_test", flag, MPI_Testany(LISTED, list, &index, &flag, statuses));
    LOOP("mpi_test", n_done, MPI_Testsome(LISTED, list, &n_done, indices, statuses));
    LOOP("mpi_wait", 1, MPI_Waitany(LISTED, list, &index, MPI_STATUS_IGNORE));
    LOOP("mpi_wait", n_done, MPI_Waitsome(LISTED, list, &n_done, indices, statuses));
    LOOP("mpi_wait", LISTED, MPI_Waitall(LISTED, list, statuses));

    /* One alone: MPICH 4.0 itself fails where some of several are complete. */
    MPI_Offset place = rank * LISTED * BYTES;
    SURE("mpi_iwrite_at", place, BYTES, MPI_File_iwrite_at(file, place, data[0], ITEMS, MPI_DOUBLE, &list[1]));
    calls[0] = expected_begin("mpi_test", file_name, place, BYTES);
    do
        CHECK(MPI_Testall(LISTED, list, &flag, statuses) == MPI_SUCCESS);
    while (!flag);
    expected_end(calls[0], 0);

    /* Nothing is left to complete. */
    CHECK(MPI_Testall(LISTED, list, &flag, statuses) == MPI_SUCCESS && flag);
    CHECK(MPI_Waitany(LISTED, list, &index, statuses) == MPI_SUCCESS && index == MPI_UNDEFINED);
    CHECK(MPI_Waitall(0, NULL, statuses) == MPI_SUCCESS);
}

/* Requests that nobody waits for: an access, and a message, which is none of ours. */
static void given_up(MPI_File file)
{
    MPI_Request request;
    MPI_Offset place = rank * LISTED * BYTES;
    SURE("mpi_iwrite_at", place, BYTES, MPI_File_iwrite_at(file, place, data[0], ITEMS, MPI_DOUBLE, &request));
    SURE("mpi_request_free", place, BYTES, MPI_Request_free(&request));
    CHECK(request == MPI_REQUEST_NULL);
    SURE("mpi_sync", ANY, 0, MPI_File_sync(file));

    int message = rank, received;
    MPI_Request sent;
    CHECK(MPI_Isend(&message, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, &sent) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&sent) == MPI_SUCCESS && sent == MPI_REQUEST_NULL);
    CHECK(MPI_Recv(&received, 1, MPI_INT, rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void tell(const char *what, int error)
{
    int class;
    MPI_Error_class(error, &class);
    if (rank == 0)
        printf("%s: error class %d\n", what, class);
}

static void complained_of(MPI_File file)
{
    MPI_Status status;
    tell("write at -1", IO("mpi_write_at", ANY, ANY, MPI_File_write_at(file, -1, data, 1, MPI_DOUBLE, &status)));
    tell("read at -1", IO("mpi_read_at", ANY, ANY, MPI_File_read_at(file, -1, data, 1, MPI_DOUBLE, &status)));
    tell("size of -1", IO("mpi_set_size", ANY, ANY, MPI_File_set_size(file, -1)));
}

/* While an access is under way, lists are looked at; these are none, as MPI says. */
static void no_lists(MPI_File file)
{
    int index, flag, n_done, indices[LISTED];
    MPI_Status statuses[LISTED];
    MPI_Request request, *volatile none = NULL;
    MPI_Offset place = rank * LISTED * BYTES;
    SURE("mpi_iwrite_at", place, BYTES, MPI_File_iwrite_at(file, place, data[0], ITEMS, MPI_DOUBLE, &request));
    tell("wait for none", MPI_Wait(none, statuses));
    tell("wait for any of none", MPI_Waitany(LISTED, none, &index, statuses));
    tell("wait for all of none", MPI_Waitall(LISTED, none, statuses));
    tell("wait for some of none", MPI_Waitsome(LISTED, none, &n_done, indices, statuses));
    tell("test none", MPI_Test(none, &flag, statuses));
    tell("test any of none", MPI_Testany(LISTED, none, &index, &flag, statuses));
    tell("test all of none", MPI_Testall(LISTED, none, &flag, statuses));
    tell("test some of none", MPI_Testsome(LISTED, none, &n_done, indices, statuses));
    tell("free none", MPI_Request_free(none));
    SURE("mpi_wait", place, BYTES, MPI_Wait(&request, statuses));
}

static void failures(MPI_File file)
{
    MPI_File other = MPI_FILE_NULL;
    MPI_Status status;
    /* Open MPI has something to say on these, in the order in which ranks are heard. */
    if (size == 1)
        complained_of(file);
    tell("seek to -1", IO("mpi_seek", ANY, 0, MPI_File_seek(file, -1, MPI_SEEK_SET)));
    tell("seek by nothing", IO("mpi_seek", ANY, 0, MPI_File_seek(file, 0, 12345)));
    tell("view at -5", IO("mpi_set_view", ANY, 0,
                          MPI_File_set_view(file, -5, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL)));
    file_name = "nowhere/rows.dat";
    tell("open nowhere", IO("mpi_open", 0, 0,
                            MPI_File_open(MPI_COMM_WORLD, (char *)file_name, MPI_MODE_CREATE | MPI_MODE_RDWR,
                                          MPI_INFO_NULL, &other)));
    tell("delete nowhere", IO("mpi_delete", ANY, 0, MPI_File_delete((char *)file_name, MPI_INFO_NULL)));
    file_name = "read_only.dat";
    tell("create to read", IO("mpi_open", 0, 0,
                              MPI_File_open(MPI_COMM_WORLD, (char *)file_name, MPI_MODE_CREATE | MPI_MODE_RDONLY,
                                            MPI_INFO_NULL, &other)));
    file_name = "rows.dat";
    SURE("mpi_open", 0, 0,
         MPI_File_open(MPI_COMM_SELF, (char *)file_name, MPI_MODE_RDONLY, MPI_INFO_NULL, &other));
    tell("write to read only", IO("mpi_write_at", ANY, 0, MPI_File_write_at(other, 0, data, 1, MPI_DOUBLE, &status)));
    SURE("mpi_close", ANY, 0, MPI_File_close(&other));
    /* What was closed is no file any more: nothing is recorded. */
    tell("read after close", MPI_File_read_at(other, 0, data, 1, MPI_DOUBLE, &status));
    tell("close after close", MPI_File_close(&other));
    tell("sync after close", MPI_File_sync(other));
}

int main(int argc, char **argv)
{
    MPI_File file;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    SURE("mpi_open", 0, 0,
         MPI_File_open(MPI_COMM_WORLD, (char *)file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    completions(file);
    given_up(file);
#if MPI_VERSION >= 4
    MPI_Offset mine = (MPI_Offset)rank * 3 * BYTES;
    write_forms(file, mine);
    SURE("mpi_seek_shared", ANY, 0, MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    read_forms(file, mine);
#endif
    no_lists(file);
    failures(file);
    SURE("mpi_close", ANY, 0, MPI_File_close(&file));
    MPI_Finalize();
    return 0;
}
