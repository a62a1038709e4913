/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Writes two variables to a classic netCDF file, opens the file again and reads the
 * second one, which is the last 800,000 bytes of the file.
 */
#include <netcdf.h>
#include <stdlib.h>

enum { ITEMS = 100000 };

#define CHECK(call) ((call) == NC_NOERR ? (void)0 : exit(1))

static double values[ITEMS];

int main(void)
{
    int file, items, first, second;
    CHECK(nc_create("two.nc", NC_CLOBBER, &file));
    CHECK(nc_def_dim(file, "items", ITEMS, &items));
    CHECK(nc_def_var(file, "first", NC_DOUBLE, 1, &items, &first));
    CHECK(nc_def_var(file, "second", NC_DOUBLE, 1, &items, &second));
    CHECK(nc_enddef(file));
    CHECK(nc_put_var_double(file, first, values));
    CHECK(nc_put_var_double(file, second, values));
    CHECK(nc_close(file));
    CHECK(nc_open("two.nc", NC_NOWRITE, &file));
    CHECK(nc_get_var_double(file, second, values));
    CHECK(nc_close(file));
    return 0;
}
