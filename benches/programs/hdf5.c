// SPDX-License-Identifier: MIT OR Apache-2.0

// What one call of HDF5 costs: makes N calls of 4 KiB each on a contiguous
// dataset, and prints the mean nanoseconds per call.
//
//   hdf5 KIND N DIRECTORY      w: H5Dwrite of a part, r: H5Dread of it,
//                              a: H5Dwrite of all, o: H5Dopen and H5Dclose

#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ITEMS = 512, PARTS = 64 };

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static hid_t made(hid_t file, const char *name, hsize_t items) {
    hid_t space = H5Screate_simple(1, &items, NULL);
    hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    H5Sclose(space);
    return dataset;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    static double data[ITEMS];
    char path[4096], kind = argv[1][0];
    int n = atoi(argv[2]);
    snprintf(path, sizeof path, "%s/bench.h5", argv[3]);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t parts = made(file, "parts", ITEMS * PARTS), whole = made(file, "whole", ITEMS);
    hsize_t start = 0, count = ITEMS;
    hid_t space = H5Dget_space(parts), memory = H5Screate_simple(1, &count, NULL);
    long failures = 0;
    double begin = now_ns();
    for (int i = 0; i < n; i++) {
        start = (hsize_t)(i % PARTS) * ITEMS;
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
        if (kind == 'w')
            failures += H5Dwrite(parts, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) < 0;
        else if (kind == 'r')
            failures += H5Dread(parts, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data) < 0;
        else if (kind == 'a')
            failures += H5Dwrite(whole, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0;
        else
            failures += H5Dclose(H5Dopen2(file, "parts", H5P_DEFAULT)) < 0;
    }
    printf("%.1f\n", (now_ns() - begin) / n);
    H5Dclose(parts), H5Dclose(whole), H5Sclose(space), H5Sclose(memory), H5Fclose(file);
    return failures != 0;
}
