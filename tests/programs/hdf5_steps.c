/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A simulation that writes a file for every step, and in it two datasets in
 * blocks of rows; more blocks than any short memory of names could hold. With
 * PARALLEL the ranks of MPI write a file together, each its own blocks.
 */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 12, BLOCKS = 11, ROWS = 4, COLUMNS = 64 };

#define CHECK(condition) ((condition) ? (void)0 : exit(1))

static double data[ROWS][COLUMNS];
static int rank, ranks = 1;

static void write_in_blocks(hid_t file, const char *name)
{
    hsize_t extent[2] = {BLOCKS * ranks * ROWS, COLUMNS}, count[2] = {ROWS, COLUMNS};
    hid_t space = H5Screate_simple(2, extent, NULL), memory = H5Screate_simple(2, count, NULL);
    hid_t set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    CHECK(space >= 0 && memory >= 0 && set >= 0);
    for (int block = 0; block < BLOCKS; block++) {
        hsize_t start[2] = {(block * ranks + rank) * ROWS, 0};
        CHECK(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
        CHECK(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) >= 0);
    }
    H5Dclose(set);
    H5Sclose(memory);
    H5Sclose(space);
}

int main(void)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
#ifdef PARALLEL
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    CHECK(H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
#endif
    for (int step = 0; step < STEPS; step++) {
        char name[32];
        snprintf(name, sizeof name, "q_%03d.h5", step);
        hid_t file = H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, access);
        CHECK(file >= 0);
        write_in_blocks(file, "rho 1");
        write_in_blocks(file, "u");
        CHECK(H5Fclose(file) >= 0);
    }
    H5Pclose(access);
#ifdef PARALLEL
    MPI_Finalize();
#endif
    return 0;
}
