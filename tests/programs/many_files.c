/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * 10,000 open files at once, or as many as the argument says and the hard
 * limit allows.
 */
#include "expected.h"
#include <sys/resource.h>

int main(int argc, char **argv)
{
    int n_files = argc > 1 ? atoi(argv[1]) : 10000;
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max != RLIM_INFINITY && (rlim_t)n_files + 100 > limit.rlim_max)
        n_files = (int)limit.rlim_max - 100;
    limit.rlim_cur = (rlim_t)n_files + 100;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);

    int *fds = malloc((size_t)n_files * sizeof *fds);
    char name[16];
    for (int n = 0; n < n_files; n++) {
        snprintf(name, sizeof name, "f%d", n % 100);
        fds[n] = OPEN(name, O_RDWR | O_CREAT, 0644);
        CHECK(fds[n] >= 0);
    }
    for (int n = n_files - 1; n >= 0; n--) {
        snprintf(name, sizeof name, "f%d", n % 100);
        CHECK(WRITE(name, 0, fds[n], "0123456789", 1 + (size_t)n % 10) == 1 + n % 10);
    }
    for (int n = 0; n < n_files; n++) {
        snprintf(name, sizeof name, "f%d", n % 100);
        CHECK(CALL("lseek", name, 1 + n % 10, 0, lseek(fds[n], 0, SEEK_CUR)) == 1 + n % 10);
        CHECK(CLOSE(name, fds[n]) == 0);
    }
    free(fds);
    return 0;
}
