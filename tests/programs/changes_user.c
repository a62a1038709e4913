/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A server that root starts, and whose workers become somebody else before they
 * do anything, as those of nginx do. Each starts its threads after that.
 */
#include "expected.h"
#include <grp.h>
#include <pthread.h>
#include <sys/wait.h>

enum { NOBODY = 65534, WORKERS = 2, THREADS = 4, WRITES = 1500 };

static void write_file(const char *name)
{
    int fd = OPEN(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
    for (int i = 0; i < WRITES; i++)
        CHECK(WRITE(name, i * 8L, fd, "8 bytes\n", 8) == 8);
    CHECK(CLOSE(name, fd) == 0);
}

static void *work(void *name)
{
    write_file(name);
    return NULL;
}

static void become_somebody_else(const char *way)
{
    if (geteuid() != 0)
        return;
    if (strcmp(way, "chroot") == 0)
        CHECK(chroot(".") == 0 && chdir("/") == 0);
    CHECK(setgroups(0, NULL) == 0 && setgid(NOBODY) == 0);
    if (strcmp(way, "setresuid") == 0)
        CHECK(setresuid(NOBODY, NOBODY, NOBODY) == 0);
    else if (strcmp(way, "raw") == 0)
        CHECK(syscall(SYS_setuid, NOBODY) == 0);
    else
        CHECK(setuid(NOBODY) == 0);
}

/* A child of a worker is on its own, and can make no file. */
static void child_of_worker(void)
{
    if (fork() == 0) {
        int fd = open("forsaken", O_WRONLY | O_CREAT, 0644);
        CHECK(fd >= 0 && write(fd, "x", 1) == 1 && close(fd) == 0);
        _exit(0);
    }
    CHECK(wait(NULL) > 0);
}

static void worker(int number, const char *way)
{
    become_somebody_else(way);
    char names[THREADS + 1][16];
    pthread_t threads[THREADS];
    for (int i = 0; i <= THREADS; i++)
        snprintf(names[i], sizeof names[i], "%d-%d", number, i);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, work, names[i]) == 0);
    write_file(names[THREADS]);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    if (strcmp(way, "child") == 0)
        child_of_worker();
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "setuid";
    write_file("master");
    for (int i = 0; i < WORKERS; i++)
        if (fork() == 0)
            worker(i, way);
    for (int i = 0; i < WORKERS; i++) {
        int status;
        CHECK(wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    return 0;
}
