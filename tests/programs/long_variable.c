// SPDX-License-Identifier: MIT OR Apache-2.0

/* 'make' writes a variable to long.nc; without an argument it is read, by one
   call that reads the file block by block. */

#include <netcdf.h>
#include <stdio.h>
#include <string.h>

#define N 200000

static float values[N];

static int check(int status) {
    if (status != NC_NOERR) {
        fprintf(stderr, "%s\n", nc_strerror(status));
    }
    return status != NC_NOERR;
}

static int make(void) {
    int file, x, variable, failed = 0;
    for (int i = 0; i < N; i++) {
        values[i] = (float)(i % 7);
    }
    failed |= check(nc_create("long.nc", NC_CLOBBER | NC_64BIT_OFFSET, &file));
    failed |= check(nc_def_dim(file, "x", N, &x));
    failed |= check(nc_def_var(file, "long", NC_FLOAT, 1, &x, &variable));
    failed |= check(nc_enddef(file));
    failed |= check(nc_put_var_float(file, variable, values));
    failed |= check(nc_close(file));
    return failed;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "make") == 0) {
        return make();
    }
    int file, variable, failed = 0;
    failed |= check(nc_open("long.nc", NC_NOWRITE, &file));
    failed |= check(nc_inq_varid(file, "long", &variable));
    failed |= check(nc_get_var_float(file, variable, values));
    failed |= check(nc_close(file));
    double sum = 0;
    for (int i = 0; i < N; i++) {
        sum += values[i];
    }
    printf("%.0f\n", sum);
    return failed;
}
