// SPDX-License-Identifier: MIT OR Apache-2.0

// What one call of MPI-IO costs: makes N calls and prints the mean nanoseconds
// of one. A single rank, started without a launcher.
//
//   mpi w N DIRECTORY

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static char data[4096];

int main(int argc, char **argv) {
    if (argc != 4 || argv[1][0] != 'w')
        return 2;
    int n = atoi(argv[2]);
    char path[4096];
    snprintf(path, sizeof path, "%s/mpi_calls", argv[3]);
    MPI_Init(NULL, NULL);
    MPI_File file;
    if (MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return 1;
    double start = MPI_Wtime();
    for (int i = 0; i < n; i++)
        if (MPI_File_write_at(file, 0, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return 1;
    double each_ns = (MPI_Wtime() - start) * 1e9 / n;
    MPI_File_close(&file);
    MPI_Finalize();
    printf("%.1f\n", each_ns);
    return 0;
}
