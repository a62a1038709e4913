/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every form of reading and writing with netCDF, in the format that the first
 * argument tells: classic, offset64, cdf5 or netcdf4.
 */
#include "arrays.h"
#include <netcdf.h>
#include <netcdf_mem.h>

enum { RECORDS = 3, COLUMNS = 4, ITEM = sizeof(double) };

static const char *file_name = "arrays.nc";
static const char *name; /* of the variable, with its groups */

/* What a type can hold of small numbers does not change in a double. */
#define FORMS(type, ctype)                                                                          \
    static void forms_of_##type(int ncid, int varid)                                                \
    {                                                                                               \
        ctype data[RECORDS * COLUMNS] = {0};                                                        \
        size_t start[] = {1, 2}, count[] = {2, 2};                                                  \
        ptrdiff_t stride[] = {1, 1}, imap[] = {1, 2};                                               \
        for (int n = 0; n < RECORDS * COLUMNS; n++)                                                 \
            data[n] = (ctype)(n + 1);                                                               \
        const char *whole = text("%s start=0:0 count=%d:%d", name, RECORDS, COLUMNS);               \
        const char *part = text("%s start=1:2 count=2:2", name);                                    \
        SURE_DATA("nc_put_var", RECORDS * COLUMNS * ITEM, whole, nc_put_var_##type(ncid, varid, data)); \
        SURE_DATA("nc_put_var1", ITEM, text("%s start=1:2 count=1:1", name),                        \
                  nc_put_var1_##type(ncid, varid, start, data));                                    \
        SURE_DATA("nc_put_vara", 4 * ITEM, part, nc_put_vara_##type(ncid, varid, start, count, data)); \
        SURE_DATA("nc_put_vars", 4 * ITEM, text("%s stride=1:1", part),                             \
                  nc_put_vars_##type(ncid, varid, start, count, stride, data));                     \
        SURE_DATA("nc_put_varm", 4 * ITEM, text("%s stride=1:1 imap=1:2", part),                    \
                  nc_put_varm_##type(ncid, varid, start, count, stride, imap, data));               \
        SURE_DATA("nc_get_var", RECORDS * COLUMNS * ITEM, whole, nc_get_var_##type(ncid, varid, data)); \
        printf(#type " %g %g\n", (double)data[0], (double)data[11]);                                \
        SURE_DATA("nc_get_var1", ITEM, text("%s start=1:2 count=1:1", name),                        \
                  nc_get_var1_##type(ncid, varid, start, data));                                    \
        SURE_DATA("nc_get_vara", 4 * ITEM, part, nc_get_vara_##type(ncid, varid, start, count, data)); \
        SURE_DATA("nc_get_vars", 4 * ITEM, text("%s stride=1:1", part),                             \
                  nc_get_vars_##type(ncid, varid, start, count, stride, data));                     \
        SURE_DATA("nc_get_varm", 4 * ITEM, text("%s stride=1:1 imap=1:2", part),                    \
                  nc_get_varm_##type(ncid, varid, start, count, stride, imap, data));               \
        printf(#type " %g %g\n", (double)data[0], (double)data[3]);                                 \
    }

FORMS(schar, signed char)
FORMS(uchar, unsigned char)
FORMS(short, short)
FORMS(int, int)
FORMS(long, long)
FORMS(float, float)
FORMS(double, double)
FORMS(ubyte, unsigned char)
FORMS(ushort, unsigned short)
FORMS(uint, unsigned int)
FORMS(longlong, long long)
FORMS(ulonglong, unsigned long long)

static void all_forms(int ncid, int varid)
{
    forms_of_schar(ncid, varid);
    forms_of_uchar(ncid, varid);
    forms_of_short(ncid, varid);
    forms_of_int(ncid, varid);
    forms_of_long(ncid, varid);
    forms_of_float(ncid, varid);
    forms_of_double(ncid, varid);
    forms_of_ubyte(ncid, varid);
    forms_of_ushort(ncid, varid);
    forms_of_uint(ncid, varid);
    forms_of_longlong(ncid, varid);
    forms_of_ulonglong(ncid, varid);
}

static void untyped(int ncid, int varid)
{
    double data[RECORDS * COLUMNS] = {7};
    size_t start[] = {0, 1}, count[] = {2, 2};
    ptrdiff_t stride[] = {2, 1}, imap[] = {2, 1};
    const char *whole = text("%s start=0:0 count=%d:%d", name, RECORDS, COLUMNS);
    const char *part = text("%s start=0:1 count=2:2", name);
    SURE_DATA("nc_put_var", sizeof data, whole, nc_put_var(ncid, varid, data));
    SURE_DATA("nc_put_var1", ITEM, text("%s start=0:1 count=1:1", name), nc_put_var1(ncid, varid, start, data));
    SURE_DATA("nc_put_vara", 4 * ITEM, part, nc_put_vara(ncid, varid, start, count, data));
    SURE_DATA("nc_put_vars", 4 * ITEM, text("%s stride=2:1", part),
              nc_put_vars(ncid, varid, start, count, stride, data));
    SURE_DATA("nc_put_varm", 4 * ITEM, text("%s stride=2:1 imap=2:1", part),
              nc_put_varm(ncid, varid, start, count, stride, imap, data));
    SURE_DATA("nc_get_var", sizeof data, whole, nc_get_var(ncid, varid, data));
    SURE_DATA("nc_get_var1", ITEM, text("%s start=0:1 count=1:1", name), nc_get_var1(ncid, varid, start, data));
    SURE_DATA("nc_get_vara", 4 * ITEM, part, nc_get_vara(ncid, varid, start, count, data));
    SURE_DATA("nc_get_vars", 4 * ITEM, text("%s stride=2:1", part),
              nc_get_vars(ncid, varid, start, count, stride, data));
    SURE_DATA("nc_get_varm", 4 * ITEM, text("%s stride=2:1 imap=2:1", part),
              nc_get_varm(ncid, varid, start, count, stride, imap, data));
    /* Without counts: to the end. */
    SURE_DATA("nc_get_vara", sizeof data, whole, nc_get_vara(ncid, varid, (size_t[]){0, 0}, NULL, data));
    printf("untyped %g %g\n", data[0], data[11]);
}

static void texts(int ncid, int varid)
{
    char word[COLUMNS + 1] = "abcd";
    size_t start[] = {1}, count[] = {2};
    ptrdiff_t one[] = {1};
    SURE_DATA("nc_put_var", COLUMNS, "word start=0 count=4", nc_put_var_text(ncid, varid, word));
    SURE_DATA("nc_put_var1", 1, "word start=1 count=1", nc_put_var1_text(ncid, varid, start, word));
    SURE_DATA("nc_put_vara", 2, "word start=1 count=2", nc_put_vara_text(ncid, varid, start, count, word));
    SURE_DATA("nc_put_vars", 2, "word start=1 count=2 stride=1",
              nc_put_vars_text(ncid, varid, start, count, one, word));
    SURE_DATA("nc_put_varm", 2, "word start=1 count=2 stride=1 imap=1",
              nc_put_varm_text(ncid, varid, start, count, one, one, word));
    SURE_DATA("nc_get_var", COLUMNS, "word start=0 count=4", nc_get_var_text(ncid, varid, word));
    SURE_DATA("nc_get_var1", 1, "word start=1 count=1", nc_get_var1_text(ncid, varid, start, word));
    SURE_DATA("nc_get_vara", 2, "word start=1 count=2", nc_get_vara_text(ncid, varid, start, count, word));
    SURE_DATA("nc_get_vars", 2, "word start=1 count=2 stride=1",
              nc_get_vars_text(ncid, varid, start, count, one, word));
    SURE_DATA("nc_get_varm", 2, "word start=1 count=2 stride=1 imap=1",
              nc_get_varm_text(ncid, varid, start, count, one, one, word));
    printf("%s\n", word);
}

/* Only in netCDF-4: groups, and strings, which count as the pointers they are. */
static void groups(int ncid)
{
    int inner, outer, dims[2], varid, strings;
    const char *words[COLUMNS] = {"a", "bc", "", "def"};
    char *back[COLUMNS];
    size_t start[] = {2};
    SURE("nc_redef", nc_redef(ncid));
    CHECK(nc_def_grp(ncid, "outer", &outer) == 0 && nc_def_grp(outer, "inner", &inner) == 0);
    CHECK(nc_inq_dimid(ncid, "record", &dims[0]) == 0 && nc_inq_dimid(ncid, "column", &dims[1]) == 0);
    CHECK(nc_def_var(inner, "field", NC_DOUBLE, 2, dims, &varid) == 0);
    CHECK(nc_def_var(outer, "words", NC_STRING, 1, &dims[1], &strings) == 0);
    SURE("nc_enddef", nc_enddef(ncid));
    name = "/outer/inner/field";
    all_forms(inner, varid);
    SURE_DATA("nc_put_var", COLUMNS * 8, "/outer/words start=0 count=4", nc_put_var_string(outer, strings, words));
    SURE_DATA("nc_put_var1", 8, "/outer/words start=2 count=1",
              nc_put_var1_string(outer, strings, start, &words[1]));
    SURE_DATA("nc_get_var", COLUMNS * 8, "/outer/words start=0 count=4", nc_get_var_string(outer, strings, back));
    printf("%s %s %s %s\n", back[0], back[1], back[2], back[3]);
    nc_free_string(COLUMNS, back);
}

static void errors(int ncid, int varid, int small)
{
    double data[RECORDS * COLUMNS] = {1e300};
    size_t start[] = {0, 9}, first[] = {0}, count[] = {1, 9};
    int other;
    /* The variable is known by now; nothing was selected. */
    printf("%d", DATA("nc_get_vara", 0, name, nc_get_vara_double(ncid, varid, start, count, data)));
    start[1] = 0;
    printf(" %d", DATA("nc_put_vara", 0, name, nc_put_vara_double(ncid, varid, start, count, data)));
    printf(" %d", DONE("nc_get_var", nc_get_var_double(ncid, 77, data)));
    /* What does not fit is told, and the rest was written. */
    printf(" %d", DATA("nc_put_var1", 2, "small start=0 count=1", nc_put_var1_double(ncid, small, first, data)));
    printf(" %d", DONE("nc_enddef", nc_enddef(ncid)));
    /* Of numbers that belong to no file nothing is recorded. */
    printf(" %d", nc_get_var_double(ncid + (5 << 16), varid, data));
    printf(" %d %d %d\n", nc_close(-1), nc_sync(12345), nc_put_vara_int(0, 0, NULL, NULL, NULL));
    file_name = "missing.nc";
    printf("%d", DONE("nc_open", nc_open("missing.nc", NC_NOWRITE, &other)));
    file_name = "arrays.nc";
    printf(" %d\n", DONE("nc_create", nc_create("arrays.nc", NC_NOCLOBBER, &other)));
}

/* The other ways to open and to close. */
static void ways(int format)
{
    int ncid, dim, varid;
    size_t hint = 4096;
    file_name = "other.nc";
    SURE("nc__create", nc__create("other.nc", format, 0, &hint, &ncid));
    CHECK(nc_def_dim(ncid, "x", 2, &dim) == 0 && nc_def_var(ncid, "x y", NC_SHORT, 1, &dim, &varid) == 0);
    SURE("nc__enddef", nc__enddef(ncid, 0, 4, 0, 4));
    /* A trace has no room for blanks in a name. */
    SURE_DATA("nc_put_var", 4, "x%20y start=0 count=2", nc_put_var_int(ncid, varid, (int[]){1, 2}));
    SURE("nc_sync", nc_sync(ncid));
    SURE("nc_close", nc_close(ncid));
    SURE("nc__open", nc__open("other.nc", NC_WRITE, &hint, &ncid));
    SURE_DATA("nc_get_var1", 2, "x%20y start=1 count=1", nc_get_var1_int(ncid, varid, (size_t[]){1}, (int[1]){0}));
    SURE("nc_abort", nc_abort(ncid));
    /* Files that are memory alone are no files. */
    CHECK(nc_create_mem("memory.nc", format, 4096, &ncid) == 0);
    CHECK(nc_def_var(ncid, "n", NC_INT, 0, NULL, &varid) == 0 && nc_enddef(ncid) == 0);
    CHECK(nc_put_var_int(ncid, varid, (int[]){1}) == 0 && nc_close(ncid) == 0);
}

int main(int argc, char **argv)
{
    const char *format = argc > 1 ? argv[1] : "classic";
    int flags = !strcmp(format, "offset64") ? NC_64BIT_OFFSET
                : !strcmp(format, "cdf5")   ? NC_64BIT_DATA
                : !strcmp(format, "netcdf4") ? NC_NETCDF4
                                             : 0;
    int ncid, dims[2], varid, word, scalar, small;
    SURE("nc_create", nc_create(file_name, flags, &ncid));
    CHECK(nc_def_dim(ncid, "record", NC_UNLIMITED, &dims[0]) == 0);
    CHECK(nc_def_dim(ncid, "column", COLUMNS, &dims[1]) == 0);
    CHECK(nc_def_var(ncid, "field", NC_DOUBLE, 2, dims, &varid) == 0);
    CHECK(nc_def_var(ncid, "word", NC_CHAR, 1, &dims[1], &word) == 0);
    CHECK(nc_def_var(ncid, "scalar", NC_INT, 0, NULL, &scalar) == 0);
    CHECK(nc_def_var(ncid, "small", NC_SHORT, 1, &dims[1], &small) == 0);
    SURE("nc_enddef", nc_enddef(ncid));
    name = "field";
    /* A whole variable has as many records as there are: at first none. */
    SURE_DATA("nc_put_var", 0, "field start=0:0 count=0:4", nc_put_var_int(ncid, varid, (int[1]){0}));
    double record[COLUMNS] = {1, 2, 3, 4};
    for (int n = 0; n < RECORDS; n++)
        SURE_DATA("nc_put_vara", COLUMNS * ITEM, text("field start=%d:0 count=1:4", n),
                  nc_put_vara_double(ncid, varid, (size_t[]){n, 0}, (size_t[]){1, COLUMNS}, record));
    all_forms(ncid, varid);
    untyped(ncid, varid);
    texts(ncid, word);
    SURE_DATA("nc_put_var", 4, "scalar", nc_put_var_int(ncid, scalar, (int[]){5}));
    SURE_DATA("nc_get_var1", 4, "scalar", nc_get_var1_int(ncid, scalar, NULL, (int[1]){0}));
    errors(ncid, varid, small);
    if (flags == NC_NETCDF4)
        groups(ncid);
    /* Renamed, it is known by its new name. */
    CHECK(nc_rename_var(ncid, word, "term") == 0);
    SURE_DATA("nc_get_var1", 1, "term start=1 count=1",
              nc_get_var1_text(ncid, word, (size_t[]){1}, (char[1]){0}));
    SURE("nc_close", nc_close(ncid));
    printf("%lx\n", sum_of_file("arrays.nc"));
    ways(flags);
    return 0;
}
