// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Everything that a caller can get wrong: each is a code and a message, never a
// crash, and the library works as before afterwards.

#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ioracle.h>
#include <omniscio.h>

static int n_checks;

static void expect(int line, int code, int expected, const char *words)
{
    n_checks++;
    int failed = code != expected;
    if (!failed && code < 0 && words && !strstr(ioracle_last_error(), words))
        failed = 1;
    if (failed) {
        fprintf(stderr, "hostile.c:%d: %s instead of %s: %s\n", line, ioracle_result_name(code),
                ioracle_result_name(expected), ioracle_last_error());
        exit(1);
    }
}

#define EXPECT(call, expected, words) expect(__LINE__, (int)(call), expected, words)
#define IS_TRUE(truth) expect(__LINE__, (truth) ? IORACLE_OK : IORACLE_INTERNAL, IORACLE_OK, NULL)

static ioracle_oracle *made(void)
{
    ioracle_oracle *oracle = NULL;
    EXPECT(ioracle_oracle_new(NULL, &oracle), IORACLE_OK, NULL);
    return oracle;
}

static ioracle_observation a_read(int64_t offset, uint64_t start_ns)
{
    ioracle_observation call = IORACLE_OBSERVATION_INIT;
    call.access = IORACLE_READ;
    call.path = "data";
    call.offset = offset;
    call.size = 4096;
    call.start_ns = start_ns;
    call.end_ns = start_ns + 10;
    return call;
}

static void null_everywhere(void)
{
    ioracle_oracle *oracle = made();
    ioracle_observation call = a_read(0, 0);
    ioracle_prediction prediction;
    ioracle_iterator *iterator = NULL;
    ioracle_burst burst;
    ioracle_info info;
    void *bytes = NULL;
    size_t n = 0;
    EXPECT(ioracle_oracle_new(NULL, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_free(NULL), IORACLE_OK, NULL);
    EXPECT(ioracle_oracle_observe(NULL, &call), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_observe(oracle, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_predict(NULL, &prediction, 1, &n), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_predict(oracle, NULL, 1, &n), IORACLE_INVALID, "room");
    EXPECT(ioracle_oracle_predict(oracle, &prediction, 1, NULL), IORACLE_INVALID, "n is NULL");
    EXPECT(ioracle_oracle_ahead(NULL, 0, &prediction, 1, &n), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_ahead(oracle, 0, NULL, 1, &n), IORACLE_INVALID, "room");
    EXPECT(ioracle_oracle_ahead(oracle, 0, &prediction, 1, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_define_file(NULL, 1, "a"), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_define_file(oracle, 1, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_define_file(oracle, 0, "a"), IORACLE_INVALID, "0");
    EXPECT(ioracle_oracle_begin_run(NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_merge(NULL, oracle), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_merge(oracle, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_info(NULL, &info), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_info(oracle, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_score(oracle, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_iterate(NULL, 0, &iterator), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_iterate(oracle, 0, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_step(NULL, &prediction), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_iterator_copy(NULL, &iterator), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_iterator_free(NULL), IORACLE_OK, NULL);
    EXPECT(ioracle_oracle_burst(NULL, &burst), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_burst(oracle, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_within(oracle, 1, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_save(NULL, "/dev/null"), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_save(oracle, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_save(oracle, "/dev/null"), IORACLE_IO, "regular");
    EXPECT(ioracle_oracle_load(NULL, &oracle), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_load("model", NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_save_bytes(oracle, NULL, &n), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_save_bytes(oracle, &bytes, NULL), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_load_bytes(NULL, 7, &oracle), IORACLE_INVALID, "NULL");
    EXPECT(ioracle_oracle_load_bytes("", 0, &oracle), IORACLE_MODEL, "model");
    ioracle_bytes_free(NULL);
    IS_TRUE(ioracle_function(NULL) == 0);
    EXPECT(omniscio_next(NULL, NULL), OMNISCIO_ERROR, NULL);
    EXPECT(omniscio_predict_from(0, NULL, 1), OMNISCIO_ERROR, NULL);
    EXPECT(omniscio_free(NULL), OMNISCIO_OK, NULL);
    EXPECT(ioracle_oracle_free(oracle), IORACLE_OK, NULL);
}

static void dangling_handles(void)
{
    ioracle_oracle *oracle = made();
    ioracle_observation call = a_read(0, 0);
    ioracle_prediction prediction;
    ioracle_iterator *iterator = NULL;
    size_t n;
    EXPECT(ioracle_oracle_iterate(oracle, 0, &iterator), IORACLE_OK, NULL);
    EXPECT(ioracle_oracle_free((ioracle_oracle *)iterator), IORACLE_DANGLING, "never");
    EXPECT(ioracle_iterator_free((ioracle_iterator *)oracle), IORACLE_DANGLING, "never");
    EXPECT(ioracle_oracle_free(oracle), IORACLE_OK, NULL);
    EXPECT(ioracle_oracle_free(oracle), IORACLE_DANGLING, "freed before");
    EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_DANGLING, "freed before");
    // The place has a new owner now; the old handle is still dead.
    ioracle_oracle *other = made();
    EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_DANGLING, "freed before");
    EXPECT(ioracle_oracle_observe(other, &call), IORACLE_OK, NULL);
    // An iterator outlives its oracle.
    EXPECT(ioracle_oracle_step(iterator, &prediction), IORACLE_OK, NULL);
    EXPECT(ioracle_oracle_step(iterator, &prediction), IORACLE_NONE, NULL);
    EXPECT(ioracle_iterator_free(iterator), IORACLE_OK, NULL);
    EXPECT(ioracle_oracle_step(iterator, &prediction), IORACLE_DANGLING, "freed before");
    // What was never a handle: memory of the program, small numbers, all bits.
    char somewhere[64] = { 0 };
    void *wrong[] = { somewhere, (void *)1, (void *)-1, stdout };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        EXPECT(ioracle_oracle_predict(wrong[i], &prediction, 1, &n), IORACLE_DANGLING, "never");
        EXPECT(ioracle_oracle_free(wrong[i]), IORACLE_DANGLING, "never");
        EXPECT(ioracle_oracle_step(wrong[i], &prediction), IORACLE_DANGLING, "never");
    }
    EXPECT(ioracle_oracle_free(other), IORACLE_OK, NULL);
}

static void wrong_structures(void)
{
    ioracle_oracle *oracle = made();
    ioracle_config config = IORACLE_CONFIG_INIT;
    ioracle_oracle *unmade = NULL;
    uint32_t sizes[] = { 0, 1, 8, sizeof config - 1, 4097, UINT32_MAX };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        config.struct_size = sizes[i];
        EXPECT(ioracle_oracle_new(&config, &unmade), IORACLE_INVALID, "struct_size");
        ioracle_observation call = a_read(0, 0);
        call.struct_size = sizes[i];
        EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_INVALID, "struct_size");
    }
    config.struct_size = sizeof config;
    config.max_files = UINT32_MAX;
    EXPECT(ioracle_oracle_new(&config, &unmade), IORACLE_INVALID, "max_files");
    IS_TRUE(unmade == NULL);

    // The smallest of everything works.
    config = (ioracle_config) { sizeof config, 1, 1, 1, 1, 1, 1, 0 };
    EXPECT(ioracle_oracle_new(&config, &unmade), IORACLE_OK, NULL);
    for (int i = 0; i < 2000; i++) {
        ioracle_observation call = a_read(i * 4096, (uint64_t)i * 100);
        char path[16];
        snprintf(path, sizeof path, "f%d", i % 37);
        call.path = path;
        call.context = (uint64_t)(i % 11);
        EXPECT(ioracle_oracle_observe(unmade, &call), IORACLE_OK, NULL);
    }
    ioracle_prediction few[4];
    size_t n = 0;
    EXPECT(ioracle_oracle_predict(unmade, few, 4, &n), IORACLE_OK, NULL);
    IS_TRUE(n >= 1 && n <= 2);
    EXPECT(ioracle_oracle_free(unmade), IORACLE_OK, NULL);
    EXPECT(ioracle_oracle_free(oracle), IORACLE_OK, NULL);
}

static void absurd_numbers(void)
{
    ioracle_oracle *oracle = made();
    ioracle_prediction prediction;
    size_t n = 77;
    EXPECT(ioracle_oracle_predict(oracle, &prediction, 0, &n), IORACLE_INVALID, "room");
    EXPECT(ioracle_oracle_predict(oracle, &prediction, SIZE_MAX, &n), IORACLE_INVALID, "capacity");
    EXPECT(ioracle_oracle_ahead(oracle, SIZE_MAX, &prediction, 1, &n), IORACLE_NONE, NULL);
    IS_TRUE(n == 0);
    char byte = 0;
    ioracle_oracle *unmade = NULL;
    EXPECT(ioracle_oracle_load_bytes(&byte, SIZE_MAX, &unmade), IORACLE_INVALID, "more");

    uint64_t extremes[] = { 0, 1, INT64_MAX - 1, INT64_MAX };
    for (int round = 0; round < 50; round++) {
        for (size_t i = 0; i < 4; i++) {
            for (size_t k = 0; k < 4; k++) {
                ioracle_observation call = a_read((int64_t)extremes[i], extremes[k]);
                call.size = extremes[k];
                call.start_ns = k == 3 ? UINT64_MAX : extremes[k];
                call.end_ns = UINT64_MAX;
                call.access = i % 2 ? IORACLE_READ : IORACLE_WRITE;
                call.file = extremes[k];
                call.context = UINT64_MAX;
                EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_OK, NULL);
            }
        }
    }
    ioracle_prediction ahead[100];
    EXPECT(ioracle_oracle_ahead(oracle, 0, ahead, 100, &n), IORACLE_OK, NULL);
    ioracle_burst burst;
    EXPECT(ioracle_oracle_within(oracle, UINT64_MAX, &burst), IORACLE_OK, NULL);
    ioracle_observation call = a_read(0, 0);
    call.offset = INT64_MIN;
    EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_INVALID, "offset");
    call = a_read(0, 0);
    call.size = UINT64_MAX;
    EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_INVALID, "size");
    const void *frame = &call;
    call = a_read(0, 0);
    call.stack = &frame;
    call.n_frames = SIZE_MAX;
    EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_INVALID, "n_frames");
    call.n_frames = 0;
    EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_OK, NULL);
    call = a_read(0, 0);
    for (uint32_t access = 0; access < 64; access++) {
        call.access = access;
        int is_known = access >= 1 && access <= 8;
        EXPECT(ioracle_oracle_observe(oracle, &call), is_known ? IORACLE_OK : IORACLE_INVALID,
               "access");
    }
    EXPECT(ioracle_oracle_free(oracle), IORACLE_OK, NULL);
}

static void wrong_texts(void)
{
    ioracle_oracle *oracle = made();
    ioracle_observation call = a_read(0, 0);
    const char *wrong[] = { "", "\x01" "7", "\xff\xfe", "caf\xe9", "\xc3", "\xed\xa0\x80" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        call.path = wrong[i];
        EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_INVALID, "path");
        EXPECT(ioracle_oracle_define_file(oracle, 3, wrong[i]), IORACLE_INVALID, "path");
    }
    // A text without an end, up to the last byte before memory that is not there.
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    IS_TRUE(pages != MAP_FAILED);
    mprotect(pages + 2 * page, page, PROT_NONE);
    memset(pages, 'x', 2 * page);
    call.path = pages;
    EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_INVALID, "longer");
    // A long path is learned; its prediction names its length and no other file.
    pages[2 * page - 1] = 0;
    call = a_read(0, 0);
    call.path = pages + 2 * page - 1000;
    for (int i = 0; i < 20; i++) {
        call.offset = i * 4096;
        EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_OK, NULL);
    }
    ioracle_prediction prediction;
    size_t n;
    EXPECT(ioracle_oracle_predict(oracle, &prediction, 1, &n), IORACLE_OK, NULL);
    IS_TRUE(prediction.path_bytes == 999 && prediction.path[0] == 0);
    munmap(pages, 3 * page);
    EXPECT(ioracle_oracle_free(oracle), IORACLE_OK, NULL);
}

static void times_out_of_order(void)
{
    ioracle_oracle *oracle = made();
    ioracle_prediction prediction;
    size_t n;
    for (uint64_t i = 0; i < 500; i++) {
        // Each second call began long before the one before it ended.
        ioracle_observation call = a_read((int64_t)i * 4096, i % 2 ? 5 : 1000000 * i);
        EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_OK, NULL);
    }
    ioracle_observation call = a_read(0, 100);
    call.end_ns = 99;
    EXPECT(ioracle_oracle_observe(oracle, &call), IORACLE_INVALID, "before it began");
    EXPECT(ioracle_oracle_predict(oracle, &prediction, 1, &n), IORACLE_OK, NULL);
    IS_TRUE(prediction.offset == 500 * 4096);
    EXPECT(ioracle_oracle_free(oracle), IORACLE_OK, NULL);
}

enum { N_THREADS = 8 };

// Calls of each thread: an argument, as some tools make them slow.
static int n_calls = 5000;

static void *use(void *shared)
{
    ioracle_oracle *oracle = shared;
    for (int i = 0; i < n_calls; i++) {
        ioracle_observation call = a_read(i * 4096, (uint64_t)i * 1000);
        ioracle_prediction next[4];
        size_t n;
        if (ioracle_oracle_observe(oracle, &call) != IORACLE_OK
            || ioracle_oracle_predict(oracle, next, 4, &n) != IORACLE_OK)
            return "a call failed";
        if (i % 100 == 0) {
            ioracle_iterator *iterator;
            if (ioracle_oracle_iterate(oracle, 0, &iterator) != IORACLE_OK
                || ioracle_oracle_observe(oracle, &call) != IORACLE_OK
                || ioracle_oracle_step(iterator, next) != IORACLE_OK
                || ioracle_iterator_free(iterator) != IORACLE_OK)
                return "an iterator failed";
        }
        // A failure of this thread has this thread's message.
        if (i % 1000 == 0 && (ioracle_oracle_free((void *)next) != IORACLE_DANGLING
                              || !strstr(ioracle_last_error(), "never")))
            return "the message is another thread's";
    }
    return NULL;
}

// Frees while others are calling: they end with a code, not with a crash.
static void *use_until_freed(void *shared)
{
    for (;;) {
        ioracle_observation call = a_read(0, 0);
        ioracle_result result = ioracle_oracle_observe(shared, &call);
        if (result != IORACLE_OK)
            return result == IORACLE_DANGLING ? NULL : "a freed handle was not detected";
    }
}

static void many_threads(void)
{
    pthread_t threads[N_THREADS];
    ioracle_oracle *oracle = made();
    ioracle_info info;
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, use, oracle);
    for (int i = 0; i < N_THREADS; i++) {
        void *complaint = NULL;
        pthread_join(threads[i], &complaint);
        IS_TRUE(complaint == NULL);
    }
    EXPECT(ioracle_oracle_info(oracle, &info), IORACLE_OK, NULL);
    IS_TRUE(info.operations == (uint64_t)(N_THREADS * (n_calls + n_calls / 100)));
    for (int i = 0; i < N_THREADS; i++)
        pthread_create(&threads[i], NULL, use_until_freed, oracle);
    usleep(20000);
    EXPECT(ioracle_oracle_free(oracle), IORACLE_OK, NULL);
    for (int i = 0; i < N_THREADS; i++) {
        void *complaint = NULL;
        pthread_join(threads[i], &complaint);
        IS_TRUE(complaint == NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1)
        n_calls = atoi(argv[1]);
    IS_TRUE(strcmp(ioracle_last_error(), "") == 0);
    null_everywhere();
    dangling_handles();
    wrong_structures();
    absurd_numbers();
    wrong_texts();
    times_out_of_order();
    many_threads();
    printf("%d checks\n", n_checks);
    return 0;
}
