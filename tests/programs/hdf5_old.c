/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Calls of an HDF5 whose identifiers are ints (hdf5_old_copy.c), as compilers may
 * make them: what is in the upper half of a register is nobody's business.
 */
#include "listed.h"

typedef long dirty;
dirty H5Fcreate(const char *, unsigned, dirty, dirty);
dirty H5Dcreate2(dirty, const char *, dirty, dirty, dirty, dirty, dirty);
int H5Dwrite(dirty, dirty, dirty, dirty, dirty, const void *), H5Dread(dirty, dirty, dirty, dirty, dirty, void *);
int H5Dclose(dirty), H5Fclose(dirty), H5Iinc_ref(dirty);

/* The same int, with another upper half each time. */
static dirty in(dirty id)
{
    static unsigned long n;
    return (dirty)(++n * 0x1234567900000000UL | (unsigned)id);
}

#define DID(function, bytes, call, ...) listed_call(function, "old.h5", bytes, (int)(call), __VA_ARGS__)

int main(void)
{
    const int type = 7;
    double data[10] = {0};
    dirty file, sets[2];
    list_into(0);
    DID("H5Fcreate", 0, file = H5Fcreate("old.h5", 2, in(0), in(0)), "%s", "");
    DID("H5Dcreate", 0, sets[0] = H5Dcreate2(in(file), "a", in(type), in(1), in(0), in(0), in(0)), "/a");
    DID("H5Dcreate", 0, sets[1] = H5Dcreate2(in(file), "b", in(type), in(1), in(0), in(0), in(0)), "/b");
    DID("H5Dcreate", 0, H5Dcreate2(in(file), "", in(type), in(1), in(0), in(0), in(0)), "%s", "");
    for (int turn = 0; turn < 3; turn++)
        for (int n = 0; n < 2; n++) {
            const char *name = n == 0 ? "/a" : "/b";
            DID("H5Dwrite", 80, H5Dwrite(in(sets[n]), in(type), in(0), in(0), in(0), data), "%s start=0 count=10", name);
            DID("H5Dread", 80, H5Dread(in(sets[n]), in(type), in(0), in(0), in(0), data), "%s start=0 count=10", name);
            DID("H5Dread", 0, H5Dread(in(sets[n]), in(-1), in(0), in(0), in(0), data), "%s", name);
        }
    SURE(H5Iinc_ref(in(sets[0])) == 2 && H5Dclose(in(sets[0])) == 0);
    DID("H5Dclose", 0, H5Dclose(in(sets[0])), "/a");
    SURE(H5Dwrite(in(sets[0]), in(type), in(0), in(0), in(0), data) < 0 && H5Dclose(in(sets[0])) < 0);
    DID("H5Dclose", 0, H5Dclose(in(sets[1])), "/b");
    DID("H5Fclose", 0, H5Fclose(in(file)), "%s", "");
    puts("done");
    return 0;
}
