// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reads every variable of classic netCDF files, record by record, collectively:
// each rank a band of rows, so that only aggregators make POSIX calls. Rank 0 prints
// the sum of all values.
//
//   mpirun -n 4 pnetcdf_collective FILE...
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

static void check(int status) {
    if (status != NC_NOERR) {
        fprintf(stderr, "pnetcdf_collective: %s\n", ncmpi_strerror(status));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double sum = 0;
    for (int n = 1; n < argc; n++) {
        int file, variables;
        check(ncmpi_open(MPI_COMM_WORLD, argv[n], NC_NOWRITE, MPI_INFO_NULL, &file));
        check(ncmpi_inq_nvars(file, &variables));
        for (int variable = 0; variable < variables; variable++) {
            int dimensions, ids[3];
            check(ncmpi_inq_varndims(file, variable, &dimensions));
            if (dimensions != 3) continue;
            check(ncmpi_inq_vardimid(file, variable, ids));
            MPI_Offset length[3];
            for (int d = 0; d < 3; d++) check(ncmpi_inq_dimlen(file, ids[d], &length[d]));
            MPI_Offset first = length[1] * rank / ranks, last = length[1] * (rank + 1) / ranks;
            MPI_Offset start[3] = {0, first, 0}, count[3] = {1, last - first, length[2]};
            float *values = malloc(sizeof *values * (size_t)(count[1] * count[2]));
            for (start[0] = 0; start[0] < length[0]; start[0]++) {
                check(ncmpi_get_vara_float_all(file, variable, start, count, values));
                for (MPI_Offset at = 0; at < count[1] * count[2]; at++) sum += values[at];
            }
            free(values);
        }
        check(ncmpi_close(file));
    }
    double total = 0;
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%.6e\n", total);
    MPI_Finalize();
    return 0;
}
