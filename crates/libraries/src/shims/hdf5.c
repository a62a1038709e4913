/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/* Files with one one-dimensional dataset of bytes, through HDF5. */

#include <stdlib.h>

#include "shims.h"
#include <hdf5.h>

struct file {
    hid_t file, dataset, space;
};

static herr_t describe(unsigned depth, const H5E_error2_t *entry, void *error)
{
    (void)depth;
    snprintf(error, ERROR_BYTES, "HDF5: %s", entry->desc);
    /* The first is the innermost, which says what is wrong. */
    return 1;
}

static int failed(char *error)
{
    snprintf(error, ERROR_BYTES, "HDF5 failed");
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, describe, error);
    H5Eclear2(H5E_DEFAULT);
    return 1;
}

static void release(struct file *opened)
{
    if (opened->space >= 0)
        H5Sclose(opened->space);
    if (opened->dataset >= 0)
        H5Dclose(opened->dataset);
}

/* bytes > 0: makes a file with that many; else opens the one that is there. */
int ioracle_hdf5_open(const char *path, uint64_t bytes, int is_write, int is_shared, void **file, char *error)
{
    struct file *opened = malloc(sizeof *opened);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hsize_t dimension = bytes;
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    if (!opened || access < 0)
        return failed(error);
    opened->file = opened->dataset = opened->space = -1;
#ifdef WITH_MPI
    if (is_shared)
        H5Pset_fapl_mpio(access, ioracle_tasks, MPI_INFO_NULL);
#endif
    if (bytes > 0) {
        hid_t space = H5Screate_simple(1, &dimension, NULL);
        hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
        /* Otherwise everything would be written twice. */
        H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
        opened->file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
        if (opened->file >= 0)
            opened->dataset = H5Dcreate2(opened->file, "data", H5T_NATIVE_UCHAR, space, H5P_DEFAULT,
                                         creation, H5P_DEFAULT);
        H5Pclose(creation);
        H5Sclose(space);
    } else {
        opened->file = H5Fopen(path, is_write ? H5F_ACC_RDWR : H5F_ACC_RDONLY, access);
        if (opened->file >= 0)
            opened->dataset = H5Dopen2(opened->file, "data", H5P_DEFAULT);
    }
    H5Pclose(access);
    (void)is_shared;
    if (opened->dataset >= 0)
        opened->space = H5Dget_space(opened->dataset);
    if (opened->space < 0) {
        failed(error);
        release(opened);
        if (opened->file >= 0)
            H5Fclose(opened->file);
        free(opened);
        return 1;
    }
    *file = opened;
    return 0;
}

static int transfer(struct file *file, void *read, const void *written, uint64_t length,
                    int64_t offset, char *error)
{
    hsize_t start = (hsize_t)offset, count = length;
    hid_t memory = H5Screate_simple(1, &count, NULL);
    herr_t done = H5Sselect_hyperslab(file->space, H5S_SELECT_SET, &start, NULL, &count, NULL);
    if (done >= 0 && read)
        done = H5Dread(file->dataset, H5T_NATIVE_UCHAR, memory, file->space, H5P_DEFAULT, read);
    else if (done >= 0)
        done = H5Dwrite(file->dataset, H5T_NATIVE_UCHAR, memory, file->space, H5P_DEFAULT, written);
    H5Sclose(memory);
    return done < 0 ? failed(error) : 0;
}

int ioracle_hdf5_read(void *file, void *bytes, uint64_t length, int64_t offset, char *error)
{
    return transfer(file, bytes, NULL, length, offset, error);
}

int ioracle_hdf5_write(void *file, const void *bytes, uint64_t length, int64_t offset, char *error)
{
    return transfer(file, NULL, bytes, length, offset, error);
}

int ioracle_hdf5_flush(void *file, char *error)
{
    return H5Fflush(((struct file *)file)->file, H5F_SCOPE_GLOBAL) < 0 ? failed(error) : 0;
}

int ioracle_hdf5_close(void *file, char *error)
{
    struct file *opened = file;
    herr_t closed;
    release(opened);
    closed = H5Fclose(opened->file);
    free(opened);
    return closed < 0 ? failed(error) : 0;
}
