// SPDX-License-Identifier: MIT OR Apache-2.0

// What one call of netCDF costs: makes N calls of 4 KiB each on a variable of
// 64 such parts, and prints the mean nanoseconds per call.
//
//   netcdf KIND N DIRECTORY    c: nc_put_vara in the classic format, r:
//                              nc_get_vara there, 4: nc_put_vara in netCDF-4

#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ITEMS = 512, PARTS = 64 };

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    static double data[ITEMS];
    char path[4096], kind = argv[1][0];
    int n = atoi(argv[2]), ncid, dims[2], variable, failures = 0;
    snprintf(path, sizeof path, "%s/bench.nc", argv[3]);
    failures += nc_create(path, kind == '4' ? NC_NETCDF4 : NC_CLOBBER, &ncid);
    failures += nc_def_dim(ncid, "part", PARTS, &dims[0]) + nc_def_dim(ncid, "item", ITEMS, &dims[1]);
    failures += nc_def_var(ncid, "parts", NC_DOUBLE, 2, dims, &variable) + nc_enddef(ncid);
    double begin = now_ns();
    for (int i = 0; i < n; i++) {
        size_t start[] = {(size_t)(i % PARTS), 0}, count[] = {1, ITEMS};
        failures += kind == 'r' ? nc_get_vara_double(ncid, variable, start, count, data)
                                : nc_put_vara_double(ncid, variable, start, count, data);
    }
    double each_ns = (now_ns() - begin) / n;
    failures += nc_close(ncid);
    printf("%.1f\n", each_ns);
    return failures != 0;
}
