/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A simulation that writes a file for every step, and in it two datasets in
 * blocks of rows; more blocks than any short memory of names could hold.
 */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 12, BLOCKS = 11, ROWS = 4, COLUMNS = 64 };

#define CHECK(condition) ((condition) ? (void)0 : exit(1))

static double data[ROWS][COLUMNS];

static void write_in_blocks(hid_t file, const char *name)
{
    hsize_t extent[2] = {BLOCKS * ROWS, COLUMNS}, count[2] = {ROWS, COLUMNS};
    hid_t space = H5Screate_simple(2, extent, NULL), memory = H5Screate_simple(2, count, NULL);
    hid_t set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(space >= 0 && memory >= 0 && set >= 0);
    for (int block = 0; block < BLOCKS; block++) {
        hsize_t start[2] = {block * ROWS, 0};
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
        CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) >= 0);
    }
    H5Dclose(set);
    H5Sclose(memory);
    H5Sclose(space);
}

int main(void)
{
    for (int step = 0; step < STEPS; step++) {
        char name[32];
        snprintf(name, sizeof name, "q_%03d.h5", step);
        hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        CHECK(file >= 0);
        write_in_blocks(file, "rho 1");
        write_in_blocks(file, "u");
        CHECK(H5Fclose(file) >= 0);
    }
    return 0;
}
