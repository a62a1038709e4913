// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Reports what a small application does to an oracle, then prints what comes next.
// The application writes a checkpoint every second: a file of its own, opened,
// written in three pieces, closed.

#include <stdio.h>
#include <stdlib.h>

#include <ioracle.h>

static void check(ioracle_result result, const char *what)
{
    if (result < IORACLE_OK) {
        fprintf(stderr, "%s: %s\n", what, ioracle_last_error());
        exit(1);
    }
}

// One finished call. A middleware takes the times around the real one.
static void observe(ioracle_oracle *oracle, ioracle_access access, const char *path,
                    int64_t offset, uint64_t size, uint64_t start_ns, const char *where)
{
    ioracle_observation call = IORACLE_OBSERVATION_INIT;
    call.access = (uint32_t)access;
    call.path = path;
    call.handle = 3; // the files after the open are found by it
    call.offset = offset;
    call.size = size;
    call.start_ns = start_ns;
    call.end_ns = start_ns + 200 * 1000;
    call.context_text = where;
    check(ioracle_oracle_observe(oracle, &call), "observe");
}

static void checkpoint(ioracle_oracle *oracle, int step)
{
    static const uint64_t sizes[] = { 512, 1048576, 4096 };
    static const char *const places[] = { "header", "state", "index" };
    uint64_t now = (uint64_t)step * 1000000000u;
    char path[64];
    snprintf(path, sizeof path, "checkpoint_%03d.dat", step);

    observe(oracle, IORACLE_OPEN, path, -1, 0, now, "open");
    int64_t offset = 0;
    for (int piece = 0; piece < 3; piece++) {
        now += 1000000;
        observe(oracle, IORACLE_WRITE, NULL, offset, sizes[piece], now, places[piece]);
        offset += (int64_t)sizes[piece];
    }
    observe(oracle, IORACLE_CLOSE, NULL, -1, 0, now + 1000000, "close");
}

int main(void)
{
    ioracle_oracle *oracle = NULL;
    check(ioracle_oracle_new(NULL, &oracle), "new");
    for (int step = 0; step < 20; step++)
        checkpoint(oracle, step);

    ioracle_prediction next[6];
    size_t n = 0;
    check(ioracle_oracle_ahead(oracle, 0, next, 6, &n), "ahead");
    for (size_t i = 0; i < n; i++) {
        printf("in %8.3f ms  %-6s %s", (double)next[i].from_now_ns * 1e-6,
               ioracle_function_name(next[i].function), next[i].path);
        if (next[i].has_offset)
            printf("  %llu bytes at %llu", (unsigned long long)next[i].size,
                   (unsigned long long)next[i].offset);
        printf("  (probability %.2f)\n", next[i].probability);
    }

    ioracle_burst burst;
    if (ioracle_oracle_burst(oracle, &burst) == IORACLE_OK)
        printf("next burst in %.0f ms: %llu operations, %llu bytes\n",
               (double)burst.starts_in_ns * 1e-6, (unsigned long long)burst.operations,
               (unsigned long long)burst.bytes);
    check(ioracle_oracle_free(oracle), "free");
    return 0;
}
