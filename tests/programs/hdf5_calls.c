/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every form of HDF5's calls that is recorded, on one process or with
 * -DPARALLEL on all ranks of MPI, independent and collective.
 */
#include "listed.h"
#include <hdf5.h>
#include <string.h>
#ifdef PARALLEL
#include <mpi.h>
#endif

enum { ROWS = 8, COLUMNS = 10 };
#define FILE_NAME "calls.h5"
#define DID(function, bytes, call, ...) listed_call(function, FILE_NAME, bytes, call, __VA_ARGS__)
#define OK(function, bytes, call, ...) SURE(DID(function, bytes, call, __VA_ARGS__) >= 0)

static int rank, size = 1;
static double data[ROWS * COLUMNS * 8];
static hid_t transfer = H5P_DEFAULT;

/* A dataset of ROWS rows for every rank. */
static hid_t made(hid_t place, const char *name, const char *detail, hid_t properties)
{
    hsize_t extent[2] = {(hsize_t)ROWS * size, COLUMNS}, most[2] = {H5S_UNLIMITED, COLUMNS};
    hid_t space = H5Screate_simple(2, extent, properties == H5P_DEFAULT ? NULL : most);
    hid_t dataset = DID("H5Dcreate", 0, H5Dcreate2(place, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, properties,
                                                   H5P_DEFAULT), "%s", detail);
    SURE(dataset >= 0);
    H5Sclose(space);
    return dataset;
}

static hid_t chunks(hsize_t rows, int is_filtered)
{
    hsize_t chunk[2] = {rows, COLUMNS};
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    SURE(H5Pset_chunk(properties, 2, chunk) >= 0);
    if (is_filtered)
        SURE(H5Pset_shuffle(properties) >= 0 && H5Pset_deflate(properties, 1) >= 0);
    return properties;
}

static void write_part(hid_t dataset, hid_t space, hsize_t points, const char *detail)
{
    hid_t memory = H5Screate_simple(1, &points, NULL);
    OK("H5Dwrite", points * 8, H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, data), "%s", detail);
    OK("H5Dread", points * 4, H5Dread(dataset, H5T_NATIVE_FLOAT, memory, space, transfer, data), "%s", detail);
    H5Sclose(memory);
}

/* The same rows of this rank, selected in all ways. */
static void selections(hid_t dataset, const char *name)
{
    char detail[160];
    hsize_t first = (hsize_t)ROWS * rank;
    hsize_t start[2] = {first, 2}, count[2] = {3, 4}, stride[2] = {2, 2}, block[2] = {2, 2}, ones[2] = {1, 1};
    hid_t space = H5Dget_space(dataset);
    snprintf(detail, sizeof detail, "%s start=%d:2 count=3:4", name, (int)first);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    write_part(dataset, space, 12, detail);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, ones, count);
    write_part(dataset, space, 12, detail);
    snprintf(detail, sizeof detail, "%s start=%d:2 count=3:4 stride=2:2", name, (int)first);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, NULL);
    write_part(dataset, space, 12, detail);
    /* Blocks that touch in both dimensions are one block. */
    snprintf(detail, sizeof detail, "%s start=%d:2 count=6:8", name, (int)first);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block);
    write_part(dataset, space, 48, detail);
    stride[1] = 4, count[1] = 2;
    snprintf(detail, sizeof detail, "%s start=%d:2 count=6:2 stride=1:4 block=1:2", name, (int)first);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, stride, count, block);
    write_part(dataset, space, 24, detail);

    hssize_t moved[2] = {1, 3};
    snprintf(detail, sizeof detail, "%s start=%d:5 count=2:2", name, (int)first + 1);
    count[0] = count[1] = 2;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    SURE(H5Soffset_simple(space, moved) >= 0);
    write_part(dataset, space, 4, detail);
    moved[0] = moved[1] = 0;
    SURE(H5Soffset_simple(space, moved) >= 0);
    /* Two boxes, and points: the box around them. */
    hsize_t away[2] = {first + 4, 7};
    H5Sselect_hyperslab(space, H5S_SELECT_OR, away, NULL, count, NULL);
    snprintf(detail, sizeof detail, "%s start=%d:2 count=6:7", name, (int)first);
    write_part(dataset, space, 8, detail);
    hsize_t points[3][2] = {{first + 1, 1}, {first + 2, 9}, {first + 5, 3}};
    H5Sselect_elements(space, H5S_SELECT_SET, 3, points[0]);
    snprintf(detail, sizeof detail, "%s start=%d:1 count=5:9", name, (int)first + 1);
    write_part(dataset, space, 3, detail);
    hsize_t none = 1;
    hid_t memory = H5Screate_simple(1, &none, NULL);
    H5Sselect_none(space), H5Sselect_none(memory);
    OK("H5Dwrite", 0, H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, transfer, data), "%s start=0:0 count=0:0",
       name);
    H5Sselect_all(space);
    OK("H5Dread", 640ULL * size, H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, space, transfer, data),
       "%s start=0:0 count=%d:10", name, ROWS * size);
    OK("H5Dread", 640ULL * size, H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, data),
       "%s start=0:0 count=%d:10", name, ROWS * size);
    H5Sclose(memory), H5Sclose(space);
}

static void extents(hid_t dataset, const char *name)
{
    hsize_t extent[2] = {(hsize_t)ROWS * size + 2, COLUMNS};
    hid_t again = H5Iget_file_id(dataset);
    OK("H5Dset_extent", 0, H5Dset_extent(dataset, extent), "%s count=%d:10", name, ROWS * size + 2);
    hid_t other = DID("H5Dopen", 0, H5Dopen2(again, name, H5P_DEFAULT), "%s chunk=4:10", name);
    OK("H5Dread", 80ULL * (ROWS * size + 2), H5Dread(other, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, data),
       "%s start=0:0 count=%d:10", name, ROWS * size + 2);
    extent[0]--;
    OK("H5Dset_extent", 0, H5Dset_extent(dataset, extent), "%s count=%d:10", name, ROWS * size + 1);
    /* The other identifier has learned of it. */
    OK("H5Dread", 80ULL * (ROWS * size + 1), H5Dread(other, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, data),
       "%s start=0:0 count=%d:10", name, ROWS * size + 1);
    OK("H5Dclose", 0, H5Dclose(other), "%s", name);
    /* Another reference to the same identifier: not yet the end of the file. */
    SURE(H5Idec_ref(again) >= 0);
    OK("H5Dflush", 0, H5Dflush(dataset), "%s", name);
}

/* One grows, then the other; what is known of one must not go with the other's. */
static void growing(hid_t one, const char *name, hid_t file)
{
    hid_t other = made(file, "grows", "/grows chunk=1:10", chunks(1, 0));
    for (int n = 1; n <= 3; n++) {
        hsize_t extent[2] = {(hsize_t)ROWS * size + n, COLUMNS};
        OK("H5Dset_extent", 0, H5Dset_extent(other, extent), "/grows count=%d:10", ROWS * size + n);
        OK("H5Dset_extent", 0, H5Dset_extent(one, extent), "%s count=%d:10", name, ROWS * size + n);
        OK("H5Dread", 80ULL * (ROWS * size + n), H5Dread(other, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, data),
           "/grows start=0:0 count=%d:10", ROWS * size + n);
    }
    OK("H5Dclose", 0, H5Dclose(other), "/grows");
}

static void attributes(hid_t object, const char *name)
{
    int value = 7, got = 0;
    hsize_t three = 3;
    double vector[3] = {1, 2, 3};
    hid_t scalar = H5Screate(H5S_SCALAR), space = H5Screate_simple(1, &three, NULL);
    hid_t one = H5Acreate2(object, "one", H5T_NATIVE_INT, scalar, H5P_DEFAULT, H5P_DEFAULT);
    OK("H5Awrite", 4, H5Awrite(one, H5T_NATIVE_INT, &value), "%s@one", name);
    OK("H5Aread", 4, H5Aread(one, H5T_NATIVE_INT, &got), "%s@one", name);
    SURE(got == 7);
    hid_t more = H5Acreate2(object, "three more", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, H5P_DEFAULT);
    OK("H5Awrite", 24, H5Awrite(more, H5T_NATIVE_DOUBLE, vector), "%s@three%%20more", name);
    H5Aclose(one), H5Aclose(more), H5Sclose(scalar), H5Sclose(space);
}

/* Objects are opened and closed in other ways too. */
static void ways(hid_t file)
{
    double number = 3;
    hid_t scalar = H5Screate(H5S_SCALAR);
    hid_t old = DID("H5Dcreate", 0, H5Dcreate1(file, "old way", H5T_NATIVE_DOUBLE, scalar, H5P_DEFAULT), "/old%%20way");
    OK("H5Dwrite", 8, H5Dwrite(old, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, &number), "/old%%20way");
    OK("H5Dclose", 0, H5Idec_ref(old), "/old%%20way");
    old = DID("H5Dopen", 0, H5Dopen1(file, "/old way"), "/old%%20way");
    SURE(H5Iinc_ref(old) == 2 && H5Idec_ref(old) == 1);
    OK("H5Dread", 8, H5Dread(old, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, &number), "/old%%20way");
    /* What has more references stays open: no close. */
    SURE(H5Iinc_ref(old) == 2 && H5Iinc_ref(old) == 3 && H5Dclose(old) >= 0 && H5Oclose(old) >= 0);
    OK("H5Dread", 8, H5Dread(old, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, &number), "/old%%20way");
    OK("H5Dclose", 0, H5Oclose(old), "/old%%20way");
    hid_t group = DID("H5Oopen", 0, H5Oopen(file, "Timestep_0", H5P_DEFAULT), "/Timestep_0");
    hid_t below = DID("H5Oopen", 0, H5Oopen(group, "x", H5P_DEFAULT), "/Timestep_0/x chunk=4:10");
    OK("H5Dclose", 0, H5Dclose(below), "/Timestep_0/x");
    SURE(H5Oclose(group) >= 0);

    /* No dimensions, like a scalar, but no item either. */
    hid_t nothing = H5Screate(H5S_NULL);
    hid_t empty = DID("H5Dcreate", 0,
                      H5Dcreate2(file, "empty", H5T_NATIVE_DOUBLE, nothing, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "/empty");
    OK("H5Dwrite", 0, H5Dwrite(empty, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, &number), "/empty");
    OK("H5Dread", 0, H5Dread(empty, H5T_NATIVE_DOUBLE, nothing, nothing, transfer, &number), "/empty");
    OK("H5Dclose", 0, H5Dclose(empty), "/empty");
    H5Sclose(nothing);

    hid_t nameless = DID("H5Dcreate", 0, H5Dcreate_anon(file, H5T_NATIVE_DOUBLE, scalar, H5P_DEFAULT, H5P_DEFAULT), "%s", "");
    OK("H5Dwrite", 8, H5Dwrite(nameless, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, &number), "%s", "");
    OK("H5Dclose", 0, H5Dclose(nameless), "%s", "");
    /* What a reference leads to has no name that HDF5 knows by heart. */
    hobj_ref_t reference;
    SURE(H5Rcreate(&reference, file, "old way", H5R_OBJECT, -1) >= 0);
    hid_t led_to = H5Rdereference2(file, H5P_DEFAULT, H5R_OBJECT, &reference);
    OK("H5Dread", 8, H5Dread(led_to, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, transfer, &number), "%s", "");
    OK("H5Dclose", 0, H5Dclose(led_to), "%s", "");
    H5Sclose(scalar);

    OK("H5Fflush", 0, H5Fflush(file, H5F_SCOPE_LOCAL), "%s", "");
    hid_t again = DID("H5Freopen", 0, H5Freopen(file), "%s", "");
    OK("H5Fclose", 0, H5Idec_ref(again), "%s", "");
    again = DID("H5Freopen", 0, H5Freopen(file), "%s", "");
    SURE(H5Iinc_ref(again) == 2 && H5Fclose(again) >= 0);
    OK("H5Fflush", 0, H5Fflush(again, H5F_SCOPE_LOCAL), "%s", "");
    OK("H5Fclose", 0, H5Fclose(again), "%s", "");
}

static void opened_again(hid_t file, const char *detail)
{
    for (int turn = 0; turn < 2; turn++) {
        hid_t dataset = DID("H5Dopen", 0, H5Dopen2(file, "named", H5P_DEFAULT), "%s", detail);
        OK("H5Dclose", 0, H5Dclose(dataset), "/named");
    }
}

/* A name that comes to mean other datasets: deleted and created, moved, linked. */
static void other_datasets_of_a_name(hid_t file)
{
    OK("H5Dclose", 0, H5Dclose(made(file, "named", "/named chunk=2:10", chunks(2, 0))), "/named");
    opened_again(file, "/named chunk=2:10");
    SURE(H5Ldelete(file, "named", H5P_DEFAULT) >= 0);
    OK("H5Dclose", 0, H5Dclose(made(file, "named", "/named chunk=3:10", chunks(3, 0))), "/named");
    opened_again(file, "/named chunk=3:10");
    OK("H5Dclose", 0, H5Dclose(made(file, "other", "/other", H5P_DEFAULT)), "/other");
    SURE(H5Lmove(file, "named", file, "third", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    SURE(H5Lmove(file, "other", file, "named", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    opened_again(file, "/named");
    SURE(H5Gunlink(file, "named") >= 0);
    SURE(H5Lcreate_hard(file, "third", file, "named", H5P_DEFAULT, H5P_DEFAULT) >= 0);
    opened_again(file, "/named chunk=3:10");
}

#ifndef PARALLEL
static void whole_chunks(hid_t file)
{
    hsize_t start[2] = {4, 0};
    uint32_t filters = 0;
    hid_t packed = made(file, "packed", "/packed chunk=4:10 filters=shuffle:deflate", chunks(4, 1));
    OK("H5Dwrite_chunk", 100, H5Dwrite_chunk(packed, H5P_DEFAULT, 3, start, 100, data), "/packed start=4:0");
    OK("H5Dread_chunk", 100, H5Dread_chunk(packed, H5P_DEFAULT, start, &filters, data), "/packed start=4:0");
    printf("filters %u\n", filters);
    OK("H5Dclose", 0, H5Dclose(packed), "/packed");
}

/* What a program sees of its errors must be what it would see without us. */
static herr_t tell(unsigned n, const H5E_error2_t *error, void *unused)
{
    (void)unused;
    printf("  %u %s: %s\n", n, error->func_name, error->desc);
    return 0;
}

static void failures(hid_t file, hid_t closed)
{
    printf("%d errors after a success\n", (int)H5Eget_num(H5E_DEFAULT));
    SURE(DID("H5Dopen", 0, H5Dopen2(file, "missing", H5P_DEFAULT), "%s", "") < 0);
    printf("%d errors\n", (int)H5Eget_num(H5E_DEFAULT));
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, tell, NULL);
    SURE(H5Dwrite(closed, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0);
    SURE(H5Dclose(closed) < 0 && H5Fclose(closed) < 0 && H5Fflush(-1, H5F_SCOPE_LOCAL) < 0);

    hid_t plain = DID("H5Dopen", 0, H5Dopen2(file, "plain", H5P_DEFAULT), "/plain");
    hsize_t five = 5, outside[2] = {100, 0};
    hid_t memory = H5Screate_simple(1, &five, NULL);
    SURE(DID("H5Dwrite", 0, H5Dwrite(plain, H5T_NATIVE_DOUBLE, memory, H5S_ALL, H5P_DEFAULT, data), "/plain") < 0);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, tell, NULL);
    hid_t space = H5Dget_space(plain);
    hssize_t away[2] = {ROWS, 0};
    hsize_t start[2] = {0, 0}, count[2] = {1, 5};
    SURE(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    SURE(H5Soffset_simple(space, away) >= 0);
    SURE(DID("H5Dread", 0, H5Dread(plain, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data), "/plain") < 0);
    SURE(DID("H5Dset_extent", 0, H5Dset_extent(plain, outside), "/plain") < 0);
    SURE(DID("H5Dwrite_chunk", 0, H5Dwrite_chunk(plain, H5P_DEFAULT, 0, outside, 8, data), "/plain") < 0);
    int got;
    hid_t attribute = H5Aopen_by_name(file, "Timestep_0", "one", H5P_DEFAULT, H5P_DEFAULT);
    SURE(DID("H5Aread", 0, H5Aread(attribute, memory, &got), "/Timestep_0@one") < 0);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, tell, NULL);
    SURE(DID("H5Awrite", 0, H5Awrite(attribute, memory, &got), "/Timestep_0@one") < 0);
    OK("H5Aread", 4, H5Aread(attribute, H5T_NATIVE_INT, &got), "/Timestep_0@one");
    SURE(H5Aclose(attribute) >= 0 && H5Aread(attribute, H5T_NATIVE_INT, &got) < 0);
    /* Without a printer, and with one of its own, which must still be there. */
    H5E_auto2_t printer;
    void *with;
    SURE(H5Eget_auto2(H5E_DEFAULT, &printer, &with) >= 0);
    SURE(H5Eset_auto2(H5E_DEFAULT, NULL, NULL) >= 0);
    SURE(DID("H5Dopen", 0, H5Dopen2(file, "missing too", H5P_DEFAULT), "%s", "") < 0);
    /* Its messages tell the time of day. */
    listed_call("H5Fopen", "nothing.h5", 0, H5Fopen("nothing.h5", H5F_ACC_RDONLY, H5P_DEFAULT), "%s", "");
    printf("%d errors of a missing file\n", (int)H5Eget_num(H5E_DEFAULT));
    OK("H5Dclose", 0, H5Dclose(plain), "/plain");
    H5E_auto2_t same;
    SURE(H5Eget_auto2(H5E_DEFAULT, &same, &with) >= 0 && same == NULL);
    SURE(H5Eset_auto2(H5E_DEFAULT, printer, with) >= 0);
    H5Sclose(memory), H5Sclose(space);
}
#endif

static hid_t access_properties(void)
{
    hid_t properties = H5Pcreate(H5P_FILE_ACCESS);
#ifdef PARALLEL
    SURE(H5Pset_fapl_mpio(properties, MPI_COMM_WORLD, MPI_INFO_NULL) >= 0);
#endif
    return properties;
}

int main(int argc, char **argv)
{
#ifdef PARALLEL
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#else
    (void)argc, (void)argv;
#endif
    list_into(rank);
    for (int n = 0; n < ROWS * COLUMNS; n++)
        data[n] = n;
    hid_t access = access_properties();
    hid_t file = DID("H5Fcreate", 0, H5Fcreate(FILE_NAME, H5F_ACC_TRUNC, H5P_DEFAULT, access), "%s", "");
    hid_t group = H5Gcreate2(file, "Timestep_0", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    hid_t plain = made(file, "plain", "/plain", H5P_DEFAULT);
    hid_t chunked = made(group, "x", "/Timestep_0/x chunk=4:10", chunks(4, 0));
    selections(plain, "/plain");
    selections(chunked, "/Timestep_0/x");
#ifdef PARALLEL
    transfer = H5Pcreate(H5P_DATASET_XFER);
    SURE(H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE) >= 0);
    selections(plain, "/plain");
    selections(chunked, "/Timestep_0/x");
#endif
    growing(chunked, "/Timestep_0/x", file);
    extents(chunked, "/Timestep_0/x");
    attributes(group, "/Timestep_0");
    attributes(chunked, "/Timestep_0/x");
    OK("H5Dclose", 0, H5Dclose(plain), "/plain");
    OK("H5Dclose", 0, H5Dclose(chunked), "/Timestep_0/x");
    ways(file);
    other_datasets_of_a_name(file);
#ifndef PARALLEL
    whole_chunks(file);
    failures(file, plain);
#endif
    H5Gclose(group);
    OK("H5Fclose", 0, H5Fclose(file), "%s", "");
    /* After the end of the library it counts from the beginning. */
    SURE(H5close() >= 0);
    access = access_properties();
    file = DID("H5Fopen", 0, H5Fopen("./" FILE_NAME, H5F_ACC_RDWR, access), "%s", "");
    hid_t first = DID("H5Dopen", 0, H5Dopen2(file, "Timestep_0/x", H5P_DEFAULT), "/Timestep_0/x chunk=4:10");
    OK("H5Dread", 80ULL * (ROWS * size + 1), H5Dread(first, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data),
       "/Timestep_0/x start=0:0 count=%d:10", ROWS * size + 1);
    OK("H5Dclose", 0, H5Dclose(first), "/Timestep_0/x");
    H5Pclose(access);
    OK("H5Fclose", 0, H5Fclose(file), "%s", "");
#ifdef PARALLEL
    MPI_Finalize();
#endif
    return 0;
}
