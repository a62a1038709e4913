/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Limits that a process sets for itself; nothing of ours may run into them.
 * The argument names the limit. With "fsize" and "as" what the recorder cannot
 * keep is counted: the program must only not notice.
 */
#include "expected.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

static int fd;

static void set(int resource, rlim_t value)
{
    struct rlimit limit = {value, value};
    CHECK(setrlimit(resource, &limit) == 0);
}

static void *work(void *argument)
{
    (void)argument;
    for (long n = 0; n < 3000; n++)
        CHECK(pwrite(fd, "x", 1, n) == 1);
    return NULL;
}

/* In the main thread, and in a thread that needs room of its own. */
static void work_twice(void)
{
    pthread_t thread;
    work(NULL);
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

/* The default action of SIGXFSZ ends the process. */
static void file_size(void)
{
    set(RLIMIT_FSIZE, 5000);
    work_twice();
    set(RLIMIT_FSIZE, 4000);
    CHECK(signal(SIGXFSZ, SIG_IGN) == SIG_DFL);
    CHECK(pwrite(fd, "x", 1, 4000) == -1 && errno == EFBIG);
}

static void address_space(void)
{
    set(RLIMIT_AS, 64 << 20);
    work(NULL);
    while (malloc(4096) != NULL)
        ;
    CHECK(errno == ENOMEM);
    work(NULL);
}

/* Every descriptor is in use. How many there were is printed: it must be the
 * same under capture. */
static void descriptors(void)
{
    set(RLIMIT_NOFILE, 64);
    int n_open = 0;
    while (open("data", O_RDWR) >= 0)
        n_open++;
    CHECK(errno == EMFILE);
    printf("%d more files could be opened\n", n_open);
    work_twice();
    CHECK(fopen("data", "r") == NULL && errno == EMFILE);
    CHECK(close(fd + 1) == 0 && open("data", O_RDWR) == fd + 1);
}

int main(int argc, char **argv)
{
    const char *limit = argc > 1 ? argv[1] : "fsize";
    fd = open("data", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    if (strcmp(limit, "fsize") == 0)
        file_size();
    else if (strcmp(limit, "as") == 0)
        address_space();
    else
        descriptors();
    CHECK(pwrite(fd, "end", 3, 0) == 3 && close(fd) == 0);
    return 0;
}
