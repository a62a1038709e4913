/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What a program sees of an HDF5 before 1.10: identifiers are ints. The upper half
 * of a register that one comes in is whatever was there before; here it always is
 * something. There is no H5Dflush, nor anything else that came later.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An int as it comes in a register. */
typedef long dirty;

enum { FILES = 1, DATASPACES = 4, DATASETS = 5, PROPERTIES = 10, ITEMS = 10, MOST = 16 };

static char file_name[256];
static int n_files, n_datasets, n_references[MOST];
static char names[MOST][64];

static dirty out(int id) { return (dirty)(0x5a5a5a5a00000000UL | (unsigned)id); }
static int type_of(dirty id) { return (int)id < 0 ? -1 : (int)id >> 24; }
static int number_of(dirty id) { return (int)id & 0xffffff; }

/* Only the lower half of what comes in counts. */
static int is_dataset(dirty id)
{
    return type_of(id) == DATASETS && number_of(id) < n_datasets && n_references[number_of(id)] > 0;
}

static long copied(const char *text, char *to, size_t room)
{
    snprintf(to, room, "%s", text);
    return (long)strlen(text);
}

int H5open(void) { return 0; }

dirty H5Fcreate(const char *name, unsigned flags, dirty creation, dirty access)
{
    (void)flags, (void)creation, (void)access;
    int fd = open(name, O_CREAT | O_RDWR, 0600);
    if (fd < 0 || close(fd) != 0)
        return out(-1);
    snprintf(file_name, sizeof file_name, "%s", name);
    return out(FILES << 24 | n_files++);
}

int H5Fclose(dirty file) { return type_of(file) == FILES ? 0 : -1; }

dirty H5Dcreate2(dirty place, const char *name, dirty type, dirty space, dirty link, dirty creation, dirty access)
{
    (void)type, (void)space, (void)link, (void)creation, (void)access;
    if (type_of(place) != FILES || n_datasets == MOST || name[0] == 0)
        return out(-1);
    snprintf(names[n_datasets], sizeof names[0], "/%s", name);
    n_references[n_datasets] = 1;
    return out(DATASETS << 24 | n_datasets++);
}

int H5Dclose(dirty dataset) { return is_dataset(dataset) ? (n_references[number_of(dataset)]--, 0) : -1; }
int H5Iinc_ref(dirty dataset) { return is_dataset(dataset) ? ++n_references[number_of(dataset)] : -1; }

static int transfer(dirty dataset, dirty type) { return is_dataset(dataset) && (int)type > 0 ? 0 : -1; }

int H5Dwrite(dirty dataset, dirty type, dirty memory, dirty space, dirty properties, const void *data)
{
    (void)memory, (void)space, (void)properties, (void)data;
    return transfer(dataset, type);
}

int H5Dread(dirty dataset, dirty type, dirty memory, dirty space, dirty properties, void *data)
{
    (void)memory, (void)space, (void)properties, (void)data;
    return transfer(dataset, type);
}

/* What we ask. */
int H5Eauto_is_v2(dirty stack, unsigned *is_2) { return (int)stack == 0 ? (*is_2 = 1, 0) : -1; }
int H5Eget_auto2(dirty stack, void **function, void **data) { return *function = *data = NULL, (int)stack; }
int H5Eset_auto2(dirty stack, void *function, void *data) { return (void)function, (void)data, (int)stack; }
long H5Eget_num(dirty stack) { return (int)stack; }
int H5Eclear2(dirty stack) { return (int)stack; }
int H5Iget_type(dirty id) { return type_of(id); }
int H5Iis_valid(dirty id) { return type_of(id) == FILES ? 0 : is_dataset(id); }
long H5Fget_name(dirty object, char *name, size_t room) { return (int)object > 0 ? copied(file_name, name, room) : -1; }
long H5Iget_name(dirty id, char *name, size_t room) { return is_dataset(id) ? copied(names[number_of(id)], name, room) : -1; }
dirty H5Dget_space(dirty dataset) { return out(is_dataset(dataset) ? DATASPACES << 24 : -1); }
dirty H5Dget_create_plist(dirty dataset) { return out(is_dataset(dataset) ? PROPERTIES << 24 : -1); }
int H5Sclose(dirty space) { return type_of(space) == DATASPACES ? 0 : -1; }
int H5Pclose(dirty properties) { return type_of(properties) == PROPERTIES ? 0 : -1; }
int H5Pget_layout(dirty properties) { return type_of(properties) == PROPERTIES ? 1 : -1; }
int H5Pget_nfilters(dirty properties) { return type_of(properties) == PROPERTIES ? 0 : -1; }
int H5Sget_simple_extent_ndims(dirty space) { return type_of(space) == DATASPACES ? 1 : -1; }

int H5Sget_simple_extent_dims(dirty space, unsigned long long *lengths, unsigned long long *most)
{
    (void)most;
    return type_of(space) == DATASPACES ? (*lengths = ITEMS, 1) : -1;
}

size_t H5Tget_size(dirty type) { return (int)type > 0 ? sizeof(double) : 0; }
