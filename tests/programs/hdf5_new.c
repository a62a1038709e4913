/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Calls that HDF5 has since 1.14: many datasets at once, and those that may be
 * done later. Without its headers, which may be those of another version.
 */
#include "listed.h"
#include <stdint.h>

typedef int64_t hid_t;
typedef unsigned long long hsize_t;
extern hid_t H5T_NATIVE_DOUBLE_g;
int H5open(void);
hid_t H5Screate_simple(int, const hsize_t *, const hsize_t *), H5EScreate(void);
int H5Sselect_hyperslab(hid_t, int, const hsize_t *, const hsize_t *, const hsize_t *, const hsize_t *);
int H5ESwait(hid_t, uint64_t, size_t *, _Bool *), H5ESclose(hid_t), H5Sclose(hid_t);
hid_t H5Fcreate(const char *, unsigned, hid_t, hid_t);
hid_t H5Dcreate2(hid_t, const char *, hid_t, hid_t, hid_t, hid_t, hid_t);
int H5Dclose(hid_t), H5Fclose(hid_t);
int H5Dwrite_multi(size_t, hid_t *, hid_t *, hid_t *, hid_t *, hid_t, const void **);
int H5Dread_multi(size_t, hid_t *, hid_t *, hid_t *, hid_t *, hid_t, void **);
#define WHERE const char *, const char *, unsigned
hid_t H5Fopen_async(WHERE, const char *, unsigned, hid_t, hid_t);
hid_t H5Dopen_async(WHERE, hid_t, const char *, hid_t, hid_t);
hid_t H5Dcreate_async(WHERE, hid_t, const char *, hid_t, hid_t, hid_t, hid_t, hid_t, hid_t);
int H5Dread_async(WHERE, hid_t, hid_t, hid_t, hid_t, hid_t, void *, hid_t);
int H5Dwrite_async(WHERE, hid_t, hid_t, hid_t, hid_t, hid_t, const void *, hid_t);
int H5Dclose_async(WHERE, hid_t, hid_t), H5Fclose_async(WHERE, hid_t, hid_t), H5Fflush_async(WHERE, hid_t, int, hid_t);
hid_t H5Acreate_async(WHERE, hid_t, const char *, hid_t, hid_t, hid_t, hid_t, hid_t);
hid_t H5Aopen_by_name_async(WHERE, hid_t, const char *, const char *, hid_t, hid_t, hid_t);
int H5Aread_async(WHERE, hid_t, hid_t, void *, hid_t), H5Awrite_async(WHERE, hid_t, hid_t, const void *, hid_t);
int H5Aclose_async(WHERE, hid_t, hid_t);
#define HERE __FILE__, __func__, __LINE__
#define DID(function, bytes, call, ...) listed_call(function, "new.h5", bytes, call, __VA_ARGS__)

static double data[2][40];

static void many(void)
{
    hsize_t extent[2] = {4, 10}, start[2] = {1, 2}, count[2] = {2, 3}, six = 6;
    const void *out[2] = {data[0], data[1]};
    void *in[2] = {data[0], data[1]};
    hid_t file = DID("H5Fcreate", 0, H5Fcreate("new.h5", 2, 0, 0), "%s", "");
    hid_t space = H5Screate_simple(2, extent, NULL), part = H5Screate_simple(2, extent, NULL);
    hid_t memory = H5Screate_simple(1, &six, NULL), type = H5T_NATIVE_DOUBLE_g;
    H5Sselect_hyperslab(part, 0, start, NULL, count, NULL);
    hid_t sets[2], types[2] = {type, type}, memories[2] = {0, memory}, parts[2] = {0, part};
    sets[0] = DID("H5Dcreate", 0, H5Dcreate2(file, "a", type, space, 0, 0, 0), "/a");
    sets[1] = DID("H5Dcreate", 0, H5Dcreate2(file, "b", type, space, 0, 0, 0), "/b");
    SURE(H5Dwrite_multi(2, sets, types, memories, parts, 0, out) >= 0);
    DID("H5Dwrite", 320, 0, "/a start=0:0 count=4:10");
    DID("H5Dwrite", 48, 0, "/b start=1:2 count=2:3 part=2");
    SURE(H5Dread_multi(2, sets, types, memories, parts, 0, in) >= 0);
    DID("H5Dread", 320, 0, "/a start=0:0 count=4:10");
    DID("H5Dread", 48, 0, "/b start=1:2 count=2:3 part=2");
    SURE(H5Dread_multi(2, NULL, types, memories, parts, 0, in) < 0);
    /* Which of them failed is not told. */
    hid_t bad[2] = {type, memory};
    SURE(H5Dread_multi(2, sets, bad, memories, parts, 0, in) < 0);
    DID("H5Dread", 0, -1, "/a");
    DID("H5Dread", 0, -1, "/b part=2");
    DID("H5Dclose", 0, H5Dclose(sets[0]), "/a");
    DID("H5Dclose", 0, H5Dclose(sets[1]), "/b");
    H5Sclose(space), H5Sclose(part), H5Sclose(memory);
    DID("H5Fclose", 0, H5Fclose(file), "%s", "");
}

static void later(hid_t events)
{
    size_t n_left;
    _Bool has_failed;
    hsize_t extent[2] = {4, 10}, start[2] = {1, 2}, count[2] = {2, 3}, six = 6;
    hid_t space = H5Screate_simple(2, extent, NULL), memory = H5Screate_simple(1, &six, NULL);
    hid_t type = H5T_NATIVE_DOUBLE_g;
    const char *name = events ? "later" : "now";
    H5Sselect_hyperslab(space, 0, start, NULL, count, NULL);
    hid_t file = DID("H5Fopen", 0, H5Fopen_async(HERE, "new.h5", 1, 0, events), "%s", "");
    hid_t made = DID("H5Dcreate", 0, H5Dcreate_async(HERE, file, name, type, space, 0, 0, 0, events), "/%s", name);
    DID("H5Dwrite", 48, H5Dwrite_async(HERE, made, type, memory, space, 0, data[0], events), "/%s start=1:2 count=2:3",
        name);
    hid_t a = DID("H5Dopen", 0, H5Dopen_async(HERE, file, "a", 0, events), "/a");
    /* How large all of it is would be a question that waits. */
    if (events)
        DID("H5Dread", 0, H5Dread_async(HERE, a, type, 0, 0, 0, data[1], events), "/a");
    else
        DID("H5Dread", 320, H5Dread_async(HERE, a, type, 0, 0, 0, data[1], events), "/a start=0:0 count=4:10");
    /* What is on an object other than the file has a name that would be a question. */
    hid_t notes = H5Acreate_async(HERE, file, name, type, memory, 0, 0, events);
    DID("H5Awrite", events ? 0 : 48, H5Awrite_async(HERE, notes, type, data[0], events), "/@%s", name);
    DID("H5Aread", events ? 0 : 48, H5Aread_async(HERE, notes, type, data[1], events), "/@%s", name);
    DID("H5Aread", 0, H5Aread_async(HERE, notes, space, data[1], events), "/@%s", name);
    SURE(H5Aclose_async(HERE, notes, events) >= 0);
    hid_t below = H5Acreate_async(HERE, made, "more", type, memory, 0, 0, events);
    DID("H5Awrite", events ? 0 : 48, H5Awrite_async(HERE, below, type, data[0], events), events ? "" : "/%s@more", name);
    SURE(H5Aclose_async(HERE, below, events) >= 0);
    below = H5Aopen_by_name_async(HERE, file, name, "more", 0, 0, events);
    DID("H5Aread", events ? 0 : 48, H5Aread_async(HERE, below, type, data[1], events), "/%s@more", name);
    SURE(H5Aclose_async(HERE, below, events) >= 0);
    DID("H5Dclose", 0, H5Dclose_async(HERE, a, events), "/a");
    DID("H5Dclose", 0, H5Dclose_async(HERE, made, events), "/%s", name);
    DID("H5Fflush", 0, H5Fflush_async(HERE, file, 0, events), "%s", "");
    DID("H5Fclose", 0, H5Fclose_async(HERE, file, events), "%s", "");
    if (events)
        SURE(H5ESwait(events, UINT64_MAX, &n_left, &has_failed) >= 0 && n_left == 0 && !has_failed);
    H5Sclose(space), H5Sclose(memory);
}

int main(void)
{
    SURE(H5open() >= 0);
    list_into(0);
    for (int n = 0; n < 80; n++)
        data[n / 40][n % 40] = n;
    many();
    hid_t events = H5EScreate();
    later(0);
    later(events);
    H5ESclose(events);
    return 0;
}
