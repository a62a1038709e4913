/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A fault of every kind that advice is given on with datasets of HDF5, and the same
 * work without it: see faults.c.
 */
#include <hdf5.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"

#define CHECK(condition) ((condition) ? (void)0 : exit(1))

enum { ROWS = 200, COLUMNS = 1000 };

static double data[ROWS * COLUMNS];

static hid_t created(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(file >= 0);
    return file;
}

static hid_t dataset(hid_t file, const hsize_t *chunk)
{
    hsize_t extent[2] = {ROWS, COLUMNS};
    hid_t space = H5Screate_simple(2, extent, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk != NULL)
        CHECK(H5Pset_chunk(how, 2, chunk) >= 0);
    hid_t set = H5Dcreate2(file, "field", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, how, H5P_DEFAULT);
    CHECK(set >= 0);
    H5Pclose(how);
    H5Sclose(space);
    return set;
}

static hid_t selected(hid_t set, hsize_t row, hsize_t column, hsize_t columns)
{
    hsize_t start[2] = {row, column}, count[2] = {1, columns};
    hid_t space = H5Dget_space(set);
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    return space;
}

FAULT tiny_variable_accesses(bool fixed)
{
    hid_t file = created("field.h5"), set = dataset(file, NULL);
    hsize_t columns = fixed ? COLUMNS : 2, line[1] = {columns};
    hid_t memory = H5Screate_simple(1, line, NULL);
    for (int row = 0; row < (fixed ? 20 : ROWS * 10); row++) {
        hid_t space = selected(set, row % ROWS, row / ROWS * columns, columns);
        CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) >= 0);
        H5Sclose(space);
    }
    H5Sclose(memory);
    H5Dclose(set);
    H5Fclose(file);
}

FAULT chunk_shape(bool fixed)
{
    hsize_t across[2] = {ROWS, 10}, along[2] = {1, COLUMNS}, line[1] = {COLUMNS};
    hid_t file = created("field.h5"), set = dataset(file, fixed ? along : across);
    hid_t memory = H5Screate_simple(1, line, NULL);
    for (int row = 0; row < ROWS; row++) {
        hid_t space = selected(set, row, 0, COLUMNS);
        CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) >= 0);
        H5Sclose(space);
    }
    H5Sclose(memory);
    H5Dclose(set);
    H5Fclose(file);
}

FAULT library_opens(bool fixed)
{
    hid_t file = created("steps.h5"), set = dataset(file, NULL);
    for (int step = 0; step < 40; step++) {
        CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
        if (fixed)
            continue;
        H5Dclose(set);
        H5Fclose(file);
        file = H5Fopen("steps.h5", H5F_ACC_RDWR, H5P_DEFAULT);
        set = H5Dopen2(file, "field", H5P_DEFAULT);
    }
    H5Dclose(set);
    H5Fclose(file);
}

static const struct fault faults[] = {
    {"tiny_variable_accesses", tiny_variable_accesses},
    {"chunk_shape", chunk_shape},
    {"library_opens", library_opens},
};

int main(int argc, char **argv)
{
    return run_fault(faults, sizeof faults / sizeof *faults, argc, argv) ? 0 : 2;
}
