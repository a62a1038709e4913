/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A plug-in that brings HDF5. Every round it uses other names, and HDF5 gives
 * it the same identifiers again.
 */
#include <hdf5.h>
#include <stdio.h>

int plugin_work(int round, long long *identifier);

int plugin_work(int round, long long *identifier)
{
    char file_name[32], name[32];
    double data[6] = {round};
    hsize_t extent[2] = {2, 3};
    snprintf(file_name, sizeof file_name, "round%d.h5", round);
    snprintf(name, sizeof name, "set%d", round);
    hid_t file = H5Fcreate(file_name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, extent, NULL);
    hid_t dataset = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    int status = H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    status |= H5Dclose(dataset);
    /* As h5py does it: no call that we see gives this identifier. */
    dataset = H5Oopen(file, name, H5P_DEFAULT);
    status |= H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    *identifier = dataset;
    H5Sclose(space);
    /* Left open, so that it is the end of the library that closes it. */
    return status | (data[0] != round);
}
