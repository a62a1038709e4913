// SPDX-License-Identifier: MIT OR Apache-2.0

// What one call of PnetCDF costs: makes N calls of 4 KiB each on a variable of
// 64 such parts, and prints the mean nanoseconds per call. A single rank,
// started without a launcher.
//
//   pnetcdf KIND N DIRECTORY   a: ncmpi_put_vara_all, i: ncmpi_put_vara

#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { ITEMS = 512, PARTS = 64 };

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    static double data[ITEMS];
    char path[4096], kind = argv[1][0];
    int n = atoi(argv[2]), ncid, dims[2], variable, failures = 0;
    snprintf(path, sizeof path, "%s/parallel.nc", argv[3]);
    MPI_Init(NULL, NULL);
    failures += ncmpi_create(MPI_COMM_SELF, path, NC_CLOBBER, MPI_INFO_NULL, &ncid);
    failures += ncmpi_def_dim(ncid, "part", PARTS, &dims[0]) + ncmpi_def_dim(ncid, "item", ITEMS, &dims[1]);
    failures += ncmpi_def_var(ncid, "parts", NC_DOUBLE, 2, dims, &variable) + ncmpi_enddef(ncid);
    if (kind == 'i')
        failures += ncmpi_begin_indep_data(ncid);
    double start_s = MPI_Wtime();
    for (int i = 0; i < n; i++) {
        MPI_Offset start[] = {i % PARTS, 0}, count[] = {1, ITEMS};
        failures += kind == 'i' ? ncmpi_put_vara_double(ncid, variable, start, count, data)
                                : ncmpi_put_vara_double_all(ncid, variable, start, count, data);
    }
    double each_ns = (MPI_Wtime() - start_s) * 1e9 / n;
    if (kind == 'i')
        failures += ncmpi_end_indep_data(ncid);
    failures += ncmpi_close(ncid);
    MPI_Finalize();
    printf("%.1f\n", each_ns);
    return failures != 0;
}
