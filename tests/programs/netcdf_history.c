/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The history of a weather model: records of several variables, whose names
 * have digits of their own, and a new file after some of them. Its argument is
 * how many records a file has.
 */
#include <netcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECORDS = 200, ROWS = 32, COLUMNS = 48, FIELDS = 3 };

#define CHECK(call) ((call) == NC_NOERR ? (void)0 : exit(1))

static const char *const names[FIELDS] = {"T2", "U10", "V10"};
static float field[ROWS][COLUMNS];

static int begin_file(int record, int *time, int *fields)
{
    char name[32];
    int file, dimensions[3];
    snprintf(name, sizeof name, "history_%04d.nc", record);
    CHECK(nc_create(name, NC_NETCDF4, &file));
    CHECK(nc_def_dim(file, "time", NC_UNLIMITED, &dimensions[0]));
    CHECK(nc_def_dim(file, "y", ROWS, &dimensions[1]));
    CHECK(nc_def_dim(file, "x", COLUMNS, &dimensions[2]));
    CHECK(nc_def_var(file, "time", NC_DOUBLE, 1, dimensions, time));
    for (int n = 0; n < FIELDS; n++)
        CHECK(nc_def_var(file, names[n], NC_FLOAT, 3, dimensions, &fields[n]));
    CHECK(nc_enddef(file));
    return file;
}

int main(int argc, char **argv)
{
    int in_a_file = argc > 1 ? atoi(argv[1]) : 24, file = 0, time, fields[FIELDS];
    for (int record = 0; record < RECORDS; record++) {
        size_t start[3] = {record % in_a_file, 0, 0}, count[3] = {1, ROWS, COLUMNS};
        double now = record;
        if (start[0] == 0 && record > 0)
            CHECK(nc_close(file));
        if (start[0] == 0)
            file = begin_file(record, &time, fields);
        CHECK(nc_put_var1_double(file, time, start, &now));
        for (int n = 0; n < FIELDS; n++)
            CHECK(nc_put_vara_float(file, fields[n], start, count, &field[0][0]));
    }
    CHECK(nc_close(file));
    return 0;
}
