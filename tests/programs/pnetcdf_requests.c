/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Steps that put their requests together: all are submitted, one is given up, and
 * one call waits for the others. What the summary says of it is known beforehand.
 */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 3, COLUMNS = 512, VARIABLES = 3 };

#define SURE(call)                                                                      \
    do {                                                                                \
        int code_ = (call);                                                             \
        if (code_ != NC_NOERR) {                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, ncmpi_strerror(code_));          \
            exit(99);                                                                   \
        }                                                                               \
    } while (0)

int main(int argc, char **argv)
{
    static double data[VARIABLES][COLUMNS], more[COLUMNS];
    const char *names[VARIABLES] = {"temperature", "pressure", "given_up"};
    int ncid, rank, size, dims[2], variables[VARIABLES], requests[VARIABLES], statuses[VARIABLES];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* Refused before the arrays, which are none, are looked at. */
    MPI_Offset **nowhere = (MPI_Offset **)8;
    if (ncmpi_put_varn_double(4711, 0, 1, nowhere, nowhere, data[0]) != NC_EBADID)
        exit(98);
    SURE(ncmpi_create(MPI_COMM_WORLD, "requests.nc", NC_64BIT_DATA, MPI_INFO_NULL, &ncid));
    SURE(ncmpi_def_dim(ncid, "step", NC_UNLIMITED, &dims[0]));
    SURE(ncmpi_def_dim(ncid, "column", COLUMNS * size, &dims[1]));
    for (int n = 0; n < VARIABLES; n++)
        SURE(ncmpi_def_var(ncid, names[n], NC_DOUBLE, 2, dims, &variables[n]));
    SURE(ncmpi_enddef(ncid));
    for (int step = 0; step < STEPS; step++) {
        MPI_Offset start[2] = {step, COLUMNS * rank}, count[2] = {1, COLUMNS};
        for (int n = 0; n < VARIABLES; n++)
            SURE(ncmpi_iput_vara_double(ncid, variables[n], start, count, data[n], &requests[n]));
        SURE(ncmpi_cancel(ncid, 1, &requests[2], statuses));
        SURE(ncmpi_wait_all(ncid, 2, requests, statuses));
    }
    MPI_Offset start[2] = {STEPS, COLUMNS * rank}, count[2] = {1, COLUMNS};
    MPI_Offset *starts[2] = {start, start}, *counts[2] = {count, count};
    double *both[2] = {data[0], more};
    SURE(ncmpi_mput_vara_double_all(ncid, 2, variables, starts, counts, both));
    SURE(ncmpi_close(ncid));
    MPI_Finalize();
    return 0;
}
