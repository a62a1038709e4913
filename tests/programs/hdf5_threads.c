/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Four threads use a thread-safe HDF5 at once: a file of its own each, and
 * datasets of one that they share. Any other HDF5 is used by one after the other.
 */
#include "listed.h"
#include <hdf5.h>
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 30, ITEMS = 64 };
static hid_t shared;
static hbool_t is_safe;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define DID(file, function, bytes, call, ...) listed_call(function, file, bytes, call, __VA_ARGS__)

static void use(hid_t file, const char *name, long thread)
{
    double data[ITEMS];
    hsize_t all = ITEMS * ROUNDS, start, count = ITEMS;
    char dataset_name[32];
    snprintf(dataset_name, sizeof dataset_name, "/of%ld", thread);
    hid_t space = H5Screate_simple(1, &all, NULL), memory = H5Screate_simple(1, &count, NULL);
    hid_t dataset = DID(name, "H5Dcreate", 0, H5Dcreate2(file, dataset_name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
                                                        H5P_DEFAULT, H5P_DEFAULT), "%s", dataset_name);
    for (int n = 0; n < ITEMS; n++)
        data[n] = thread;
    for (int round = 0; round < ROUNDS; round++) {
        start = (hsize_t)round * ITEMS;
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &count, NULL);
        DID(name, "H5Dwrite", ITEMS * 8, H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data),
            "%s start=%d count=64", dataset_name, (int)start);
    }
    SURE(DID(name, "H5Dread", ITEMS * 8, H5Dread(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, data),
             "%s start=%d count=64", dataset_name, (int)start) >= 0);
    SURE(data[ITEMS - 1] == thread);
    DID(name, "H5Dclose", 0, H5Dclose(dataset), "%s", dataset_name);
    H5Sclose(space), H5Sclose(memory);
}

static void *work(void *argument)
{
    long thread = (long)argument;
    char name[32];
    if (!is_safe)
        pthread_mutex_lock(&turn);
    list_into((int)thread);
    snprintf(name, sizeof name, "own%ld.h5", thread);
    hid_t own = DID(name, "H5Fcreate", 0, H5Fcreate(name, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "%s", "");
    use(own, name, thread);
    use(shared, "shared.h5", thread);
    DID(name, "H5Fclose", 0, H5Fclose(own), "%s", "");
    fclose(listed);
    if (!is_safe)
        pthread_mutex_unlock(&turn);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    SURE(H5is_library_threadsafe(&is_safe) >= 0);
    list_into(THREADS);
    shared = DID("shared.h5", "H5Fcreate", 0, H5Fcreate("shared.h5", H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "%s", "");
    for (long n = 0; n < THREADS; n++)
        SURE(pthread_create(&threads[n], NULL, work, (void *)n) == 0);
    for (long n = 0; n < THREADS; n++)
        SURE(pthread_join(threads[n], NULL) == 0);
    DID("shared.h5", "H5Fclose", 0, H5Fclose(shared), "%s", "");
    return 0;
}
