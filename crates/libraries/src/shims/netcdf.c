/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/* Files with one one-dimensional variable of bytes, through netCDF. */

#include <stdlib.h>

#include "shims.h"
#include <netcdf.h>
#ifdef PARALLEL_NETCDF
#include <netcdf_par.h>
#endif

struct file {
    int file, variable;
};

static int failed(int code, char *error)
{
    if (code == NC_NOERR)
        return 0;
    snprintf(error, ERROR_BYTES, "netCDF: %s", nc_strerror(code));
    return 1;
}

/* bytes > 0: makes a file with that many; else opens the one that is there. */
int ioracle_netcdf_open(const char *path, uint64_t bytes, int is_write, int is_shared, void **file, char *error)
{
    struct file *opened = malloc(sizeof *opened);
    int code, dimension, mode = is_write ? NC_WRITE : NC_NOWRITE;
    if (!opened) {
        snprintf(error, ERROR_BYTES, "out of memory");
        return 1;
    }
    if (bytes > 0) {
#ifdef PARALLEL_NETCDF
        if (is_shared)
            code = nc_create_par(path, NC_NETCDF4 | NC_CLOBBER, ioracle_tasks, MPI_INFO_NULL, &opened->file);
        else
#endif
            code = nc_create(path, NC_NETCDF4 | NC_CLOBBER, &opened->file);
    } else {
#ifdef PARALLEL_NETCDF
        if (is_shared)
            code = nc_open_par(path, mode, ioracle_tasks, MPI_INFO_NULL, &opened->file);
        else
#endif
            code = nc_open(path, mode, &opened->file);
    }
    (void)is_shared;
    if (code != NC_NOERR) {
        free(opened);
        return failed(code, error);
    }
    if (bytes > 0) {
        code = nc_def_dim(opened->file, "byte", (size_t)bytes, &dimension);
        if (code == NC_NOERR)
            code = nc_def_var(opened->file, "data", NC_UBYTE, 1, &dimension, &opened->variable);
        /* Otherwise everything would be written twice, and in small chunks. */
        if (code == NC_NOERR)
            code = nc_def_var_fill(opened->file, opened->variable, NC_NOFILL, NULL);
        if (code == NC_NOERR)
            code = nc_def_var_chunking(opened->file, opened->variable, NC_CONTIGUOUS, NULL);
        if (code == NC_NOERR)
            code = nc_enddef(opened->file);
    } else {
        code = nc_inq_varid(opened->file, "data", &opened->variable);
    }
    if (code != NC_NOERR) {
        nc_close(opened->file);
        free(opened);
        return failed(code, error);
    }
    *file = opened;
    return 0;
}

int ioracle_netcdf_read(void *file, void *bytes, uint64_t length, int64_t offset, char *error)
{
    struct file *opened = file;
    size_t start = (size_t)offset, count = (size_t)length;
    return failed(nc_get_vara_uchar(opened->file, opened->variable, &start, &count, bytes), error);
}

int ioracle_netcdf_write(void *file, const void *bytes, uint64_t length, int64_t offset, char *error)
{
    struct file *opened = file;
    size_t start = (size_t)offset, count = (size_t)length;
    return failed(nc_put_vara_uchar(opened->file, opened->variable, &start, &count, bytes), error);
}

int ioracle_netcdf_flush(void *file, char *error)
{
    return failed(nc_sync(((struct file *)file)->file), error);
}

int ioracle_netcdf_close(void *file, char *error)
{
    int code = nc_close(((struct file *)file)->file);
    free(file);
    return failed(code, error);
}
