/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Children are forked while other threads are at work, in the middle of
 * whatever the recorder does for them; the children write, and some of them
 * execute the program again.
 */
#include "expected.h"
#include <pthread.h>
#include <sys/wait.h>

enum { N_THREADS = 3, N_CHILDREN = 120 };

static volatile int done;

static void *work(void *argument)
{
    char name[16];
    snprintf(name, sizeof name, "thread%ld", (long)argument);
    for (long n = 0; !done || n < 100; n++) {
        int fd = OPEN(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        CHECK(fd >= 0 && WRITE(name, n * 4, fd, "text", 4) == 4 && CLOSE(name, fd) == 0);
        usleep(500);
    }
    return NULL;
}

static int child(const char *name, int at)
{
    int fd = OPEN(name, O_WRONLY | O_CREAT, 0644);
    CHECK(fd >= 0);
    for (int n = 0; n < 5; n++)
        CHECK(CALL("pwrite", name, at + n, 1, pwrite(fd, "c", 1, at + n)) == 1);
    CHECK(CLOSE(name, fd) == 0);
    return 3;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return child(argv[1], 5);
    pthread_t threads[N_THREADS];
    for (long n = 0; n < N_THREADS; n++)
        CHECK(pthread_create(&threads[n], NULL, work, (void *)n) == 0);
    for (int n = 0; n < N_CHILDREN; n++) {
        char name[16];
        snprintf(name, sizeof name, "child%d", n);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            child(name, 0);
            if (n % 3 == 0)
                execl("/proc/self/exe", argv[0], name, (char *)NULL);
            _exit(3);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
    }
    done = 1;
    for (int n = 0; n < N_THREADS; n++)
        CHECK(pthread_join(threads[n], NULL) == 0);
    return 0;
}
