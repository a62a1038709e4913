/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Five processes of nine threads, which all live at the same time: none leaves
 * room for another.
 */
#include "expected.h"
#include <pthread.h>
#include <sys/wait.h>

enum { CHILDREN = 4, WRITES = 2000 };

static pthread_barrier_t *all;

static void write_file(const char *name)
{
    int fd = OPEN(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (int i = 0; i < WRITES; i++)
        CHECK(WRITE(name, i * 8L, fd, "8 bytes\n", 8) == 8);
    pthread_barrier_wait(all);
    CHECK(CLOSE(name, fd) == 0);
}

static void *work(void *name)
{
    write_file(name);
    return NULL;
}

static void child(int number)
{
    char one[16], two[16];
    snprintf(one, sizeof one, "one-%d", number);
    snprintf(two, sizeof two, "two-%d", number);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, two) == 0);
    write_file(one);
    CHECK(pthread_join(thread, NULL) == 0);
    /* Such calls are not recorded, and so not missing either. */
    CHECK(close(open("/proc/self/status", O_RDONLY)) == 0);
    _exit(0);
}

int main(void)
{
    all = (void *)syscall(SYS_mmap, 0, sizeof *all, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0L);
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    CHECK(pthread_barrier_init(all, &shared, 2 * CHILDREN + 1) == 0);
    for (int i = 0; i < CHILDREN; i++)
        if (fork() == 0)
            child(i);
    write_file("parent");
    for (int i = 0; i < CHILDREN; i++)
        CHECK(wait(NULL) > 0);
    return 0;
}
