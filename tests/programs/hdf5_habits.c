/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A program with habits that the summary should report: rows of a dataset whose
 * chunks are columns, single elements, and new datasets in every step.
 */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 300, COLUMNS = 1000, POINTS = 200, STEPS = 12 };

#define CHECK(condition) ((condition) ? (void)0 : exit(1))

static double data[COLUMNS];

static hid_t dataset(hid_t file, const char *name, hid_t space, const hsize_t *chunk)
{
    hid_t created = H5Pcreate(H5P_DATASET_CREATE);
    if (chunk != NULL)
        CHECK(H5Pset_chunk(created, 2, chunk) >= 0);
    hid_t set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, created, H5P_DEFAULT);
    CHECK(set >= 0 && H5Pclose(created) >= 0);
    return set;
}

static void write_part(hid_t set, hid_t space, hsize_t row, hsize_t column, hsize_t columns)
{
    hsize_t start[2] = {row, column}, count[2] = {1, columns};
    hid_t memory = H5Screate_simple(2, count, NULL);
    CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) >= 0);
    H5Sclose(memory);
}

int main(void)
{
    hsize_t extent[2] = {ROWS, COLUMNS}, chunk[2] = {ROWS, 10}, length = COLUMNS;
    hid_t file = H5Fcreate("habits.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, extent, NULL), line = H5Screate_simple(1, &length, NULL);
    CHECK(file >= 0 && space >= 0 && line >= 0);

    hid_t rows = dataset(file, "rows", space, chunk), points = dataset(file, "points", space, NULL);
    for (int row = 0; row < ROWS; row++)
        write_part(rows, space, row, 0, COLUMNS);
    for (int point = 0; point < POINTS; point++)
        write_part(points, space, point % ROWS, point * 7 % COLUMNS, 1);
    H5Dclose(rows);
    H5Dclose(points);

    for (int step = 0; step < STEPS; step++) {
        char name[32];
        snprintf(name, sizeof name, "step_%02d", step);
        hid_t set = dataset(file, name, line, NULL);
        CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
        H5Dclose(set);
    }
    return H5Fclose(file) < 0;
}
