/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Steps of a field whose chunks hold a hundred steps of a small part each, as
 * programs make them that will read time series.
 */
#include <netcdf.h>
#include <stdlib.h>

enum { STEPS = 120, ROWS = 64, COLUMNS = 128 };

#define CHECK(call) ((call) == NC_NOERR ? (void)0 : exit(1))

static double field[ROWS][COLUMNS];

int main(void)
{
    int file, dimensions[3], temperature, time;
    size_t chunk[3] = {100, 8, 8};
    CHECK(nc_create("habits.nc", NC_NETCDF4, &file));
    CHECK(nc_def_dim(file, "time", NC_UNLIMITED, &dimensions[0]));
    CHECK(nc_def_dim(file, "y", ROWS, &dimensions[1]));
    CHECK(nc_def_dim(file, "x", COLUMNS, &dimensions[2]));
    CHECK(nc_def_var(file, "temperature", NC_DOUBLE, 3, dimensions, &temperature));
    CHECK(nc_def_var(file, "time", NC_DOUBLE, 1, dimensions, &time));
    CHECK(nc_def_var_chunking(file, temperature, NC_CHUNKED, chunk));
    CHECK(nc_enddef(file));
    for (size_t step = 0; step < STEPS; step++) {
        size_t start[3] = {step, 0, 0}, count[3] = {1, ROWS, COLUMNS};
        double now = step;
        CHECK(nc_put_vara_double(file, temperature, start, count, &field[0][0]));
        CHECK(nc_put_var1_double(file, time, &step, &now));
    }
    CHECK(nc_close(file));
    return 0;
}
