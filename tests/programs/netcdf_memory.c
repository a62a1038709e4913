/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A file in memory is given the number that a file on disk had. What was known of
 * a variable with six dimensions was once taken for what is known of one with a
 * single dimension, whose arrays here end at a page that cannot be read.
 */
#define _GNU_SOURCE
#include "arrays.h"
#include <dlfcn.h>
#include <netcdf.h>
#include <netcdf_mem.h>
#include <sys/mman.h>

enum { DIMENSIONS = 6, LENGTH = 4, PAGE = 4096 };

static const char *file_name;
static float data[1 << DIMENSIONS];

/* The last number before a page that cannot be read. */
static size_t *at_the_edge(size_t number)
{
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_NONE) == 0);
    size_t *edge = (size_t *)(pages + PAGE) - 1;
    *edge = number;
    return edge;
}

/* A file with one variable that has one dimension, as bytes. */
static size_t image_of_a_file(void **image)
{
    int ncid, dim, variable;
    NC_memio memory = {0};
    CHECK(nc_create_mem("image", NC_CLOBBER, PAGE, &ncid) == 0);
    CHECK(nc_def_dim(ncid, "x", LENGTH, &dim) == 0);
    CHECK(nc_def_var(ncid, "one", NC_FLOAT, 1, &dim, &variable) == 0 && variable == 0);
    CHECK(nc_enddef(ncid) == 0 && nc_put_var_float(ncid, variable, data) == 0);
    CHECK(nc_close_memio(ncid, &memory) == 0);
    *image = memory.memory;
    return memory.size;
}

/* A file on disk whose only variable has six dimensions; its number. */
static int with_many_dimensions(int mode)
{
    int ncid, dims[DIMENSIONS], variable;
    size_t start[DIMENSIONS] = {0}, count[DIMENSIONS];
    SURE("nc_create", nc_create(file_name, NC_CLOBBER | mode, &ncid));
    for (int n = 0; n < DIMENSIONS; n++) {
        count[n] = 2;
        CHECK(nc_def_dim(ncid, text("d%d", n), 2, &dims[n]) == 0);
    }
    CHECK(nc_def_var(ncid, "six", NC_FLOAT, DIMENSIONS, dims, &variable) == 0 && variable == 0);
    SURE("nc_enddef", nc_enddef(ncid));
    SURE_DATA("nc_put_vara", sizeof data, "six start=0:0:0:0:0:0 count=2:2:2:2:2:2",
              nc_put_vara_float(ncid, variable, start, count, data));
    return ncid;
}

/* Nothing of what is done in memory is recorded. */
static void in_memory(void *image, size_t bytes, int number)
{
    int ncid;
    CHECK(nc_open_mem("memory", NC_NOWRITE, bytes, image, &ncid) == 0);
    CHECK(ncid == number);
    CHECK(nc_get_vara_float(ncid, 0, at_the_edge(1), at_the_edge(LENGTH - 1), data) == 0);
    CHECK(nc_close(ncid) == 0);
}

int main(void)
{
    void *image;
    size_t bytes = image_of_a_file(&image);
    NC_memio left = {0};

    /* The file goes with its contents. */
    file_name = "taken.nc";
    int number = with_many_dimensions(NC_DISKLESS | NC_PERSIST);
    SURE("nc_close", nc_close_memio(number, &left));
    in_memory(image, bytes, number);

    /* It is closed out of sight, as programs do that find their functions themselves. */
    file_name = "unseen.nc";
    number = with_many_dimensions(0);
    void *library = dlopen("libnetcdf.so.19", RTLD_NOW | RTLD_NOLOAD);
    CHECK(library != NULL);
    int (*close_file)(int) = (int (*)(int))dlsym(library, "nc_close");
    CHECK(close_file != NULL && close_file(number) == 0);
    in_memory(image, bytes, number);

    /* A file again. */
    file_name = "again.nc";
    number = with_many_dimensions(0);
    SURE("nc_close", nc_close(number));
    puts("unharmed");
    return 0;
}
