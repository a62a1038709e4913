/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * netCDF-4 on all ranks: files opened together, by C's handles of MPI and by
 * Fortran's, and variables accessed together or by each rank on its own.
 */
#include <mpi.h>

#include "arrays.h"
#include <netcdf.h>
#include <netcdf_par.h>

/* What Fortran's library calls, which netcdf_par.h does not declare. */
int nc_create_par_fortran(const char *path, int mode, int comm, int info, int *ncid);
int nc_open_par_fortran(const char *path, int mode, int comm, int info, int *ncid);

enum { ROWS = 4, COLUMNS = 8 };

static const char *file_name = "parallel.nc";
static int rank, size;

static void access_all(int ncid, int together, int alone)
{
    double data[ROWS * COLUMNS];
    size_t start[2] = {0, (size_t)COLUMNS * rank}, count[2] = {ROWS, COLUMNS};
    const char *part = text("start=0:%d count=4:8", COLUMNS * rank);
    for (int n = 0; n < ROWS * COLUMNS; n++)
        data[n] = 100 * rank + n;
    CHECK(nc_var_par_access(ncid, together, NC_COLLECTIVE) == 0);
    CHECK(nc_var_par_access(ncid, alone, NC_INDEPENDENT) == 0);
    SURE_DATA("nc_put_vara", sizeof data, text("together %s", part),
              nc_put_vara_double(ncid, together, start, count, data));
    SURE_DATA("nc_put_vara", sizeof data, text("alone %s", part),
              nc_put_vara_double(ncid, alone, start, count, data));
    SURE("nc_sync", nc_sync(ncid));
    SURE_DATA("nc_get_vara", sizeof data, text("together %s", part),
              nc_get_vara_double(ncid, together, start, count, data));
    /* Not all ranks need to take part. */
    if (rank == 0)
        SURE_DATA("nc_get_var1", 8, "alone start=0:0 count=1:1",
                  nc_get_var1_double(ncid, alone, (size_t[]){0, 0}, data));
}

static void define(int ncid, int *together, int *alone)
{
    int dims[2];
    CHECK(nc_def_dim(ncid, "row", ROWS, &dims[0]) == 0);
    CHECK(nc_def_dim(ncid, "column", (size_t)COLUMNS * size, &dims[1]) == 0);
    CHECK(nc_def_var(ncid, "together", NC_DOUBLE, 2, dims, together) == 0);
    CHECK(nc_def_var(ncid, "alone", NC_DOUBLE, 2, dims, alone) == 0);
    SURE("nc_enddef", nc_enddef(ncid));
}

int main(int argc, char **argv)
{
    int ncid, together, alone, codes[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm world = MPI_COMM_WORLD;
    SURE("nc_create_par", nc_create_par(file_name, NC_NETCDF4 | NC_CLOBBER, world, MPI_INFO_NULL, &ncid));
    define(ncid, &together, &alone);
    access_all(ncid, together, alone);
    SURE("nc_close", nc_close(ncid));

    SURE("nc_open_par", nc_open_par(file_name, NC_WRITE, world, MPI_INFO_NULL, &ncid));
    access_all(ncid, together, alone);
    SURE("nc_close", nc_close(ncid));

    int comm = MPI_Comm_c2f(world), info = MPI_Info_c2f(MPI_INFO_NULL);
    file_name = "fortran.nc";
    SURE("nc_create_par", nc_create_par_fortran(file_name, NC_NETCDF4 | NC_CLOBBER, comm, info, &ncid));
    define(ncid, &together, &alone);
    SURE("nc_close", nc_close(ncid));
    SURE("nc_open_par", nc_open_par_fortran(file_name, NC_WRITE, comm, info, &ncid));
    access_all(ncid, together, alone);
    SURE("nc_close", nc_close(ncid));

    /* Closed, never there, and beyond the end of a variable. */
    codes[0] = nc_var_par_access(ncid, together, NC_COLLECTIVE);
    file_name = "missing.nc";
    codes[1] = DONE("nc_open_par", nc_open_par(file_name, NC_NOWRITE, world, MPI_INFO_NULL, &ncid));
    file_name = "parallel.nc";
    SURE("nc_open_par", nc_open_par(file_name, NC_NOWRITE, world, MPI_INFO_NULL, &ncid));
    codes[2] = DATA("nc_get_var1", 0, "",
                    nc_get_var1_double(ncid, alone, (size_t[]){ROWS, 0}, &(double){0}));
    SURE("nc_close", nc_close(ncid));
    if (rank == 0)
        printf("%d %d %d\n", codes[0], codes[1], codes[2]);
    MPI_Finalize();
    return 0;
}
