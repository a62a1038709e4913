/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Four threads read and write through MPI at once. Not every MPI allows it:
 * one that does not is told so by the first line of output.
 */
#include "expected.h"
#include <mpi.h>
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 100, BYTES = 256 };
static MPI_File file;
static int rank;

static void *work(void *argument)
{
    long thread = (long)argument;
    char data[BYTES];
    memset(data, (int)thread, sizeof data);
    for (long n = 0; n < ROUNDS; n++) {
        MPI_Status status;
        MPI_Request request;
        MPI_Offset place = ((rank * THREADS + thread) * ROUNDS + n) * BYTES;
        CALL("mpi_write_at", "threads.dat", place, BYTES,
             MPI_File_write_at(file, place, data, BYTES, MPI_BYTE, &status));
        CALL("mpi_iread_at", "threads.dat", place, BYTES,
             MPI_File_iread_at(file, place, data, BYTES, MPI_BYTE, &request));
        CALL("mpi_wait", "threads.dat", place, BYTES, MPI_Wait(&request, &status));
        CHECK(data[0] == thread && data[BYTES - 1] == thread);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided;
    pthread_t threads[THREADS];
    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided != MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            printf("no threads\n");
        MPI_Finalize();
        return 0;
    }
    CALL("mpi_open", "threads.dat", 0, 0,
         MPI_File_open(MPI_COMM_WORLD, "threads.dat", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
    for (long n = 0; n < THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, work, (void *)n) == 0);
    for (long n = 0; n < THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    CALL("mpi_close", "threads.dat", ANY, 0, MPI_File_close(&file));
    MPI_Finalize();
    return 0;
}
