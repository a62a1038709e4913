/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Every form of reading and writing with PnetCDF, on all ranks: collectively and
 * not, at once and later, of one variable and of several.
 */
#include "arrays.h"
#include <pnetcdf.h>

enum { COLUMNS = 4, ROWS = 3, MAX_ITEMS = ROWS * COLUMNS * 8 };

static const char *file_name = "parallel.nc";
static int rank, size, ncid, n_requests;

/* The variables that calls are about, and the bytes of an item in the file. */
static int varids[2];
static const char *names[2];
static MPI_Offset item;

/* Each rank has columns of its own. */
static MPI_Offset start[2], second[2], count[2] = {2, 2}, row[2] = {1, 2}, stride[2] = {1, 1}, imap[2] = {1, 2};
static MPI_Offset *same[2] = {start, start}, *counts[2] = {count, count};
static MPI_Offset *strides[2] = {stride, stride}, *imaps[2] = {imap, imap};
/* Two parts of one variable. */
static MPI_Offset *part_starts[2] = {start, second}, *part_counts[2] = {row, row};

static const char *whole(int n) { return text("%s start=0:0 count=%d:%d", names[n], ROWS, COLUMNS * size); }
static const char *one(int n) { return text("%s start=%lld:%lld count=1:1", names[n], start[0], start[1]); }
static const char *part(int n) { return text("%s start=%lld:%lld count=2:2", names[n], start[0], start[1]); }
static const char *strided(int n) { return text("%s stride=1:1", part(n)); }
static const char *mapped(int n) { return text("%s imap=1:2", strided(n)); }
static const char *single(int n) { return text("%s start=%lld:%lld count=1:2", names[n], start[0], start[1]); }
static const char *parts(int n) { return text("%s start=%lld:%lld", names[n], start[0], start[1]); }

/* An access that is made at once. */
#define NOW(kind, all, n_items, detail, call) \
    SURE_DATA("ncmpi_" #kind #all, (n_items) * item, detail(0), call)

/* A request, and the wait that completes it. */
#define LATER(kind, n_items, detail, call)                                                     \
    do {                                                                                       \
        int request = NC_REQ_NULL, status;                                                     \
        n_requests++;                                                                          \
        SURE_DATA("ncmpi_" #kind, (n_items) * item, text("%s request=%d", detail(0), n_requests), call); \
        CHECK(request != NC_REQ_NULL);                                                         \
        SURE_DATA("ncmpi_wait_all", (n_items) * item, text("%s request=%d", names[0], n_requests), \
                  ncmpi_wait_all(ncid, 1, &request, &status));                                 \
        CHECK(request == NC_REQ_NULL && status == 0);                                          \
    } while (0)

/* Two variables in one call: an event for each part of it. */
#define MANY(kind, all, n_items, detail, call)                                                             \
    do {                                                                                                   \
        struct expected_call *calls_[2];                                                                   \
        for (int n = 0; n < 2; n++) {                                                                      \
            calls_[n] = expected_begin("ncmpi_" #kind #all, file_name, ANY, (n_items) * item);             \
            expected_detail(calls_[n], text(n == 0 ? "%s" : "%s part=2", detail(n)));                      \
        }                                                                                                  \
        CHECK((call) == 0);                                                                                \
        expected_end(calls_[0], 0);                                                                        \
        expected_end(calls_[1], 0);                                                                        \
    } while (0)

/* What a call of a type has behind its data, and one with a datatype of MPI. */
#define TYPED(n)
#define FLEXIBLE(n) , n, MPI_DOUBLE
#define MANY_TYPED(n)
#define MANY_FLEXIBLE(n) , (MPI_Offset[]){n, n}, (MPI_Datatype[]){MPI_DOUBLE, MPI_DOUBLE}

/* All forms of calls that end in `all`, of a type. */
#define BLOCKING(type, all, ctype, MORE, MANY_MORE)                                                                 \
    static void blocking##type##all(void)                                                                           \
    {                                                                                                               \
        static ctype data[MAX_ITEMS], more[MAX_ITEMS];                                                              \
        ctype *both[2] = {data, more};                                                                              \
        const int n_all = ROWS * COLUMNS * size, v = varids[0];                                                     \
        for (int n = 0; n < MAX_ITEMS; n++)                                                                         \
            data[n] = more[n] = (ctype)(n % 50 + 50);                                                               \
        NOW(put_var, all, n_all, whole, ncmpi_put_var##type##all(ncid, v, data MORE(n_all)));                       \
        NOW(put_var1, all, 1, one, ncmpi_put_var1##type##all(ncid, v, start, data MORE(1)));                        \
        NOW(put_vara, all, 4, part, ncmpi_put_vara##type##all(ncid, v, start, count, data MORE(4)));                \
        NOW(put_vars, all, 4, strided, ncmpi_put_vars##type##all(ncid, v, start, count, stride, data MORE(4)));     \
        NOW(put_varm, all, 4, mapped, ncmpi_put_varm##type##all(ncid, v, start, count, stride, imap, data MORE(4))); \
        NOW(put_varn, all, 4, parts, ncmpi_put_varn##type##all(ncid, v, 2, part_starts, part_counts, data MORE(4))); \
        NOW(put_varn, all, 2, single, ncmpi_put_varn##type##all(ncid, v, 1, part_starts, part_counts, data MORE(2)));\
        NOW(get_var, all, n_all, whole, ncmpi_get_var##type##all(ncid, v, data MORE(n_all)));                       \
        NOW(get_var1, all, 1, one, ncmpi_get_var1##type##all(ncid, v, start, data MORE(1)));                        \
        NOW(get_vara, all, 4, part, ncmpi_get_vara##type##all(ncid, v, start, count, data MORE(4)));                \
        NOW(get_vars, all, 4, strided, ncmpi_get_vars##type##all(ncid, v, start, count, stride, data MORE(4)));     \
        NOW(get_varm, all, 4, mapped, ncmpi_get_varm##type##all(ncid, v, start, count, stride, imap, data MORE(4))); \
        NOW(get_varn, all, 4, parts, ncmpi_get_varn##type##all(ncid, v, 2, part_starts, part_counts, data MORE(4))); \
        MANY(mput_var, all, n_all, whole, ncmpi_mput_var##type##all(ncid, 2, varids, CONSTANT both MANY_MORE(n_all))); \
        MANY(mput_var1, all, 1, one, ncmpi_mput_var1##type##all(ncid, 2, varids, same, CONSTANT both MANY_MORE(1))); \
        MANY(mput_vara, all, 4, part, ncmpi_mput_vara##type##all(ncid, 2, varids, same, counts, CONSTANT both MANY_MORE(4))); \
        MANY(mput_vars, all, 4, strided,                                                                            \
             ncmpi_mput_vars##type##all(ncid, 2, varids, same, counts, strides, CONSTANT both MANY_MORE(4)));       \
        MANY(mput_varm, all, 4, mapped,                                                                             \
             ncmpi_mput_varm##type##all(ncid, 2, varids, same, counts, strides, imaps, CONSTANT both MANY_MORE(4))); \
        MANY(mget_var, all, n_all, whole, ncmpi_mget_var##type##all(ncid, 2, varids, VOID both MANY_MORE(n_all)));  \
        MANY(mget_var1, all, 1, one, ncmpi_mget_var1##type##all(ncid, 2, varids, same, VOID both MANY_MORE(1)));    \
        MANY(mget_vara, all, 4, part, ncmpi_mget_vara##type##all(ncid, 2, varids, same, counts, VOID both MANY_MORE(4))); \
        MANY(mget_vars, all, 4, strided,                                                                            \
             ncmpi_mget_vars##type##all(ncid, 2, varids, same, counts, strides, VOID both MANY_MORE(4)));           \
        MANY(mget_varm, all, 4, mapped,                                                                             \
             ncmpi_mget_varm##type##all(ncid, 2, varids, same, counts, strides, imaps, VOID both MANY_MORE(4)));    \
    }

/* All forms of calls that come to an end in a wait. */
#define NONBLOCKING(type, ctype, MORE)                                                                         \
    static void nonblocking##type(void)                                                                        \
    {                                                                                                          \
        static ctype data[MAX_ITEMS];                                                                          \
        const int n_all = ROWS * COLUMNS * size, v = varids[0];                                                \
        for (int n = 0; n < MAX_ITEMS; n++)                                                                    \
            data[n] = (ctype)(n % 50 + 50);                                                                    \
        LATER(iput_var, n_all, whole, ncmpi_iput_var##type(ncid, v, data MORE(n_all), &request));              \
        LATER(iput_var1, 1, one, ncmpi_iput_var1##type(ncid, v, start, data MORE(1), &request));               \
        LATER(iput_vara, 4, part, ncmpi_iput_vara##type(ncid, v, start, count, data MORE(4), &request));       \
        LATER(iput_vars, 4, strided, ncmpi_iput_vars##type(ncid, v, start, count, stride, data MORE(4), &request)); \
        LATER(iput_varm, 4, mapped, ncmpi_iput_varm##type(ncid, v, start, count, stride, imap, data MORE(4), &request)); \
        LATER(iput_varn, 4, parts, ncmpi_iput_varn##type(ncid, v, 2, part_starts, part_counts, data MORE(4), &request)); \
        LATER(bput_var, n_all, whole, ncmpi_bput_var##type(ncid, v, data MORE(n_all), &request));              \
        LATER(bput_var1, 1, one, ncmpi_bput_var1##type(ncid, v, start, data MORE(1), &request));               \
        LATER(bput_vara, 4, part, ncmpi_bput_vara##type(ncid, v, start, count, data MORE(4), &request));       \
        LATER(bput_vars, 4, strided, ncmpi_bput_vars##type(ncid, v, start, count, stride, data MORE(4), &request)); \
        LATER(bput_varm, 4, mapped, ncmpi_bput_varm##type(ncid, v, start, count, stride, imap, data MORE(4), &request)); \
        LATER(bput_varn, 4, parts, ncmpi_bput_varn##type(ncid, v, 2, part_starts, part_counts, data MORE(4), &request)); \
        LATER(iget_var, n_all, whole, ncmpi_iget_var##type(ncid, v, data MORE(n_all), &request));              \
        LATER(iget_var1, 1, one, ncmpi_iget_var1##type(ncid, v, start, data MORE(1), &request));               \
        LATER(iget_vara, 4, part, ncmpi_iget_vara##type(ncid, v, start, count, data MORE(4), &request));       \
        LATER(iget_vars, 4, strided, ncmpi_iget_vars##type(ncid, v, start, count, stride, data MORE(4), &request)); \
        LATER(iget_varm, 4, mapped, ncmpi_iget_varm##type(ncid, v, start, count, stride, imap, data MORE(4), &request)); \
        LATER(iget_varn, 4, parts, ncmpi_iget_varn##type(ncid, v, 2, part_starts, part_counts, data MORE(4), &request)); \
    }

#define FORMS(type, ctype, MORE, MANY_MORE) \
    BLOCKING(type, , ctype, MORE, MANY_MORE) \
    BLOCKING(type, _all, ctype, MORE, MANY_MORE) \
    NONBLOCKING(type, ctype, MORE)

#define CONSTANT
#define VOID
FORMS(_text, char, TYPED, MANY_TYPED)
FORMS(_schar, signed char, TYPED, MANY_TYPED)
FORMS(_uchar, unsigned char, TYPED, MANY_TYPED)
FORMS(_short, short, TYPED, MANY_TYPED)
FORMS(_int, int, TYPED, MANY_TYPED)
FORMS(_long, long, TYPED, MANY_TYPED)
FORMS(_float, float, TYPED, MANY_TYPED)
FORMS(_double, double, TYPED, MANY_TYPED)
FORMS(_ushort, unsigned short, TYPED, MANY_TYPED)
FORMS(_uint, unsigned int, TYPED, MANY_TYPED)
FORMS(_longlong, long long, TYPED, MANY_TYPED)
FORMS(_ulonglong, unsigned long long, TYPED, MANY_TYPED)
#undef CONSTANT
#undef VOID
#define CONSTANT (void *const *)
#define VOID (void **)
FORMS(, double, FLEXIBLE, MANY_FLEXIBLE)

#define EVERY_NUMBER(call, all)                                                           \
    call##_schar##all(), call##_uchar##all(), call##_short##all(), call##_int##all(),     \
        call##_long##all(), call##_float##all(), call##_double##all(), call##_ushort##all(), \
        call##_uint##all(), call##_longlong##all(), call##_ulonglong##all(), call##all()

static void about(int first, int other, const char *first_name, const char *other_name, MPI_Offset bytes)
{
    varids[0] = first, varids[1] = other;
    names[0] = first_name, names[1] = other_name;
    item = bytes;
}

/* Several requests in one wait, all of a kind, none, and one that is given up. */
static void waits(void)
{
    double data[4] = {1, 2, 3, 4};
    int requests[3], statuses[3], v = varids[0];
    for (int turn = 0; turn < 2; turn++) {
        for (int n = 0; n < 2; n++) {
            n_requests++;
            SURE_DATA("ncmpi_iput_vara", 4 * item, text("%s request=%d", part(0), n_requests),
                      ncmpi_iput_vara_double(ncid, v, start, count, data, &requests[n]));
        }
        n_requests++;
        SURE_DATA("ncmpi_iget_vara", 4 * item, text("%s request=%d", part(0), n_requests),
                  ncmpi_iget_vara_double(ncid, v, start, count, data, &requests[2]));
        struct expected_call *calls[2];
        for (int n = 0; n < 2; n++)
            calls[n] = expected_begin("ncmpi_wait_all", file_name, ANY, 4 * item);
        CHECK(turn == 0 ? ncmpi_wait_all(ncid, NC_PUT_REQ_ALL, NULL, NULL) == 0
                        : ncmpi_wait_all(ncid, 2, requests, statuses) == 0);
        expected_end(calls[0], 0);
        expected_end(calls[1], 0);
        SURE_DATA("ncmpi_wait_all", 4 * item, text("%s request=%d", names[0], n_requests),
                  ncmpi_wait_all(ncid, NC_REQ_ALL, NULL, NULL));
    }
    SURE("ncmpi_wait_all", ncmpi_wait_all(ncid, 0, NULL, NULL));
    n_requests++;
    SURE_DATA("ncmpi_iput_vara", 4 * item, text("%s request=%d", part(0), n_requests),
              ncmpi_iput_vara_double(ncid, v, start, count, data, requests));
    SURE_DATA("ncmpi_cancel", 4 * item, text("%s request=%d", names[0], n_requests),
              ncmpi_cancel(ncid, 1, requests, statuses));
    /* One of two fails: what it reads does not fit. The test looks which. */
    double large[4] = {1e300, 1e300, 1e300, 1e300};
    signed char small[4];
    SURE_DATA("ncmpi_put_vara_all", 4 * item, part(0), ncmpi_put_vara_double_all(ncid, v, start, count, large));
    n_requests += 2;
    SURE_DATA("ncmpi_iget_vara", 4 * item, text("%s request=%d", part(0), n_requests - 1),
              ncmpi_iget_vara_schar(ncid, v, start, count, small, &requests[0]));
    SURE_DATA("ncmpi_iget_vara", 4 * item, text("%s request=%d", part(1), n_requests),
              ncmpi_iget_vara_double(ncid, varids[1], start, count, data, &requests[1]));
    struct expected_call *calls[2];
    for (int n = 0; n < 2; n++)
        calls[n] = expected_begin("ncmpi_wait_all", file_name, ANY, 4 * item);
    CHECK(ncmpi_wait_all(ncid, 2, requests, statuses) == NC_ERANGE);
    CHECK(statuses[0] == NC_ERANGE && statuses[1] == NC_NOERR);
    expected_end(calls[0], ANY);
    expected_end(calls[1], ANY);
    SURE_DATA("ncmpi_put_vara_all", 4 * item, part(0), ncmpi_put_vara_double_all(ncid, v, start, count, data));
    /* What is left at the end was never waited for. */
    SURE("ncmpi_begin_indep_data", ncmpi_begin_indep_data(ncid));
    n_requests++;
    SURE_DATA("ncmpi_iput_vara", 4 * item, text("%s request=%d", part(0), n_requests),
              ncmpi_iput_vara_double(ncid, v, start, count, data, requests));
    SURE_DATA("ncmpi_wait", 4 * item, text("%s request=%d", names[0], n_requests),
              ncmpi_wait(ncid, 1, requests, statuses));
    SURE("ncmpi_end_indep_data", ncmpi_end_indep_data(ncid));
}

/* By a filetype: which part that is only MPI can tell. */
static void by_filetype(int fixed)
{
    MPI_Datatype two;
    double data[2] = {1, 2};
    CHECK(MPI_Type_contiguous(2, MPI_DOUBLE, &two) == 0 && MPI_Type_commit(&two) == 0);
    SURE_DATA("ncmpi_put_vard_all", 16, "fixed", ncmpi_put_vard_all(ncid, fixed, two, data, 2, MPI_DOUBLE));
    SURE_DATA("ncmpi_get_vard_all", 16, "fixed", ncmpi_get_vard_all(ncid, fixed, two, data, 2, MPI_DOUBLE));
    SURE_DATA("ncmpi_put_vard_all", 0, "fixed",
              ncmpi_put_vard_all(ncid, fixed, MPI_DATATYPE_NULL, NULL, 0, MPI_DOUBLE));
    SURE("ncmpi_begin_indep_data", ncmpi_begin_indep_data(ncid));
    SURE_DATA("ncmpi_put_vard", 16, "fixed", ncmpi_put_vard(ncid, fixed, two, data, 2, MPI_DOUBLE));
    SURE_DATA("ncmpi_get_vard", 16, "fixed", ncmpi_get_vard(ncid, fixed, two, data, 2, MPI_DOUBLE));
    SURE("ncmpi_end_indep_data", ncmpi_end_indep_data(ncid));
    MPI_Type_free(&two);
}

/* Ranks have written over each other; from here on the file is always the same. */
static void settle(const int *variables)
{
    double numbers[ROWS * COLUMNS];
    for (int n = 0; n < ROWS * COLUMNS; n++)
        numbers[n] = 100 * rank + n;
    const MPI_Offset all[2] = {ROWS, COLUMNS}, corner[2] = {0, COLUMNS * rank};
    const char *names[] = {"field", "more", "word", "words"};
    for (int n = 0; n < 4; n++) {
        const char *detail = text("%s start=0:%d count=3:4", names[n], COLUMNS * rank);
        SURE_DATA("ncmpi_put_vara_all", ROWS * COLUMNS * (n < 2 ? 8 : 1), detail,
                  n < 2 ? ncmpi_put_vara_double_all(ncid, variables[n], corner, all, numbers)
                        : ncmpi_put_vara_text_all(ncid, variables[n], corner, all, "characters..."));
    }
}

static void errors(void)
{
    double data[4] = {1e300};
    MPI_Offset far[2] = {0, 1000};
    int codes[8], other;
    codes[0] = DATA("ncmpi_get_vara_all", 0, names[0],
                    ncmpi_get_vara_double_all(ncid, varids[0], far, count, data));
    codes[1] = DONE("ncmpi_put_var1_all", ncmpi_put_var1_double_all(ncid, 77, far, data));
    /* Alone, where all must call together. */
    codes[2] = DATA("ncmpi_put_vara", 0, names[0],
                    ncmpi_put_vara_double(ncid, varids[0], start, count, data));
    codes[3] = DONE("ncmpi_enddef", ncmpi_enddef(ncid));
    /* Of numbers that belong to no file nothing is recorded. */
    codes[4] = ncmpi_sync(4711);
    codes[5] = ncmpi_get_vara_double_all(-1, 0, far, count, data);
    codes[6] = ncmpi_wait_all(4711, 0, NULL, NULL);
    file_name = "missing.nc";
    codes[7] = DONE("ncmpi_open", ncmpi_open(MPI_COMM_WORLD, "missing.nc", NC_NOWRITE, MPI_INFO_NULL, &other));
    file_name = "parallel.nc";
    for (int n = 0; rank == 0 && n < 8; n++)
        printf("%d%c", codes[n], n < 7 ? ' ' : '\n');
}

int main(int argc, char **argv)
{
    int dims[2], field, more, word, words, fixed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    start[0] = 1, start[1] = COLUMNS * rank;
    second[0] = 2, second[1] = COLUMNS * rank;
    SURE("ncmpi_create", ncmpi_create(MPI_COMM_WORLD, file_name, NC_64BIT_DATA, MPI_INFO_NULL, &ncid));
    CHECK(ncmpi_def_dim(ncid, "row", NC_UNLIMITED, &dims[0]) == 0);
    CHECK(ncmpi_def_dim(ncid, "column", COLUMNS * size, &dims[1]) == 0);
    CHECK(ncmpi_def_var(ncid, "field", NC_DOUBLE, 2, dims, &field) == 0);
    CHECK(ncmpi_def_var(ncid, "more", NC_DOUBLE, 2, dims, &more) == 0);
    CHECK(ncmpi_def_var(ncid, "word", NC_CHAR, 2, dims, &word) == 0);
    CHECK(ncmpi_def_var(ncid, "words", NC_CHAR, 2, dims, &words) == 0);
    CHECK(ncmpi_def_var(ncid, "fixed", NC_DOUBLE, 1, &dims[1], &fixed) == 0);
    SURE("ncmpi_enddef", ncmpi_enddef(ncid));
    about(field, more, "field", "more", sizeof(double));
    double record[MAX_ITEMS] = {0};
    for (MPI_Offset n = 0; n < ROWS; n++)
        SURE_DATA("ncmpi_put_vara_all", COLUMNS * 8, text("field start=%lld:%d count=1:4", n, COLUMNS * rank),
                  ncmpi_put_vara_double_all(ncid, field, (MPI_Offset[]){n, COLUMNS * rank},
                                            (MPI_Offset[]){1, COLUMNS}, record));
    EVERY_NUMBER(blocking, _all);
    SURE("ncmpi_buffer_attach", ncmpi_buffer_attach(ncid, 65536));
    EVERY_NUMBER(nonblocking, );
    SURE("ncmpi_buffer_detach", ncmpi_buffer_detach(ncid));
    waits();
    SURE("ncmpi_begin_indep_data", ncmpi_begin_indep_data(ncid));
    EVERY_NUMBER(blocking, );
    SURE("ncmpi_end_indep_data", ncmpi_end_indep_data(ncid));
    by_filetype(fixed);
    about(word, words, "word", "words", 1);
    blocking_text_all();
    SURE("ncmpi_buffer_attach", ncmpi_buffer_attach(ncid, 65536));
    nonblocking_text();
    SURE("ncmpi_buffer_detach", ncmpi_buffer_detach(ncid));
    SURE("ncmpi_begin_indep_data", ncmpi_begin_indep_data(ncid));
    blocking_text();
    SURE("ncmpi_sync", ncmpi_sync(ncid));
    SURE("ncmpi_end_indep_data", ncmpi_end_indep_data(ncid));
    about(field, more, "field", "more", sizeof(double));
    settle((int[]){field, more, word, words});
    errors();
    SURE("ncmpi_redef", ncmpi_redef(ncid));
    CHECK(ncmpi_rename_var(ncid, word, "letters") == 0);
    SURE("ncmpi__enddef", ncmpi__enddef(ncid, 0, 4, 0, 4));
    SURE_DATA("ncmpi_get_var1_all", 1, text("letters start=1:%d count=1:1", COLUMNS * rank),
              ncmpi_get_var1_text_all(ncid, word, start, (char[1]){0}));
    SURE("ncmpi_flush", ncmpi_flush(ncid));
    SURE("ncmpi_close", ncmpi_close(ncid));
    if (rank == 0)
        printf("%lx\n", sum_of_file(file_name));
    SURE("ncmpi_open", ncmpi_open(MPI_COMM_WORLD, file_name, NC_NOWRITE, MPI_INFO_NULL, &ncid));
    SURE("ncmpi_abort", ncmpi_abort(ncid));
    MPI_Finalize();
    return 0;
}
