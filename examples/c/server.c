/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The loop of a server that recognises the load it is under and chooses its
 * read-ahead by it. Requests come from a toy: two loads that alternate, one
 * sequential, one random. A real server calls add_request where a request
 * arrives, release_request where it was served, and the rest once a second.
 *
 *     server-c [known.db]
 */
#include <inttypes.h>
#include <ioracle.h>
#include <stdio.h>
#include <stdlib.h>

enum { SECONDS = 120, PER_SECOND = 400 };

static const char *const read_ahead[] = {"none", "1 MB"};

static void check(ioracle_result result, const char *what)
{
    if (result < 0) {
        fprintf(stderr, "server: %s: %s\n", what, ioracle_last_error());
        exit(1);
    }
}

/* What the storage would do: read-ahead helps sequential reads, and wastes the
 * disk's time on random ones. */
static double megabytes_per_second(int is_sequential, size_t option)
{
    if (is_sequential) return option == 1 ? 400 : 150;
    return option == 1 ? 20 : 60;
}

static void serve_a_second(ioracle_pattern *pattern, uint64_t second, int is_sequential)
{
    for (uint64_t n = 0; n < PER_SECOND; n++) {
        uint64_t time_ns = second * 1000000000 + n * (1000000000 / PER_SECOND);
        uint64_t block = is_sequential ? second * PER_SECOND + n : (uint64_t)rand() % 1000000;
        char file[32];
        snprintf(file, sizeof file, "/data/%d", is_sequential ? 1 : (int)(n % 20));
        check(ioracle_pattern_add_request(pattern, file, IORACLE_PATTERN_READ,
                                          (int64_t)block * 65536, 65536, time_ns),
              "add");
        check(ioracle_pattern_release_request(pattern, IORACLE_PATTERN_READ, 65536), "release");
    }
}

int main(int argc, char **argv)
{
    ioracle_pattern *pattern = NULL;
    check(ioracle_pattern_new("server", read_ahead, 2, &pattern), "new");
    if (argc > 1) check(ioracle_pattern_load(pattern, argv[1]), "load");

    unsigned right = 0, asked = 0;
    for (uint64_t second = 0; second < SECONDS; second++) {
        int is_sequential = second / 6 % 2 == 0;
        size_t option = 0;
        check(ioracle_pattern_choose(pattern, &option), "choose");
        serve_a_second(pattern, second, is_sequential);

        ioracle_pattern_slice slice;
        check(ioracle_pattern_tick(pattern, &slice), "tick");
        check(ioracle_pattern_reward(pattern, megabytes_per_second(is_sequential, option)), "reward");
        if (second >= SECONDS / 2 && second % 6 != 0) {
            asked++;
            right += (option == 1) == is_sequential;
        }
        if (second % 10 == 0)
            printf("%3" PRIu64 " s  pattern %" PRIu32 " (%s) for %" PRIu64 " s, read-ahead %s\n",
                   second, slice.pattern, slice.is_match ? "known" : "new", slice.since_slices,
                   read_ahead[option]);
    }
    printf("right choices in the second half: %u of %u\n", right, asked);
    if (argc > 1) check(ioracle_pattern_save(pattern, argv[1]), "save");
    check(ioracle_pattern_free(pattern), "free");
    return right * 100 >= asked * 90 ? 0 : 1;
}
