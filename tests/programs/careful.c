/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Programs that would hang or crash if the recorder took a lock, or looked at
 * memory after the call that gave it away.
 *
 *   careful lock      an unlocked write while another thread holds the lock
 *   careful aio       a request whose control block is gone when it completes
 *   careful dlsym     a dlsym of the program's own
 */
#define _GNU_SOURCE
#include <aio.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static FILE *stream;

static void *writes_unlocked(void *unused)
{
    fwrite_unlocked("x", 1, 1, stream);
    fputc_unlocked('y', stream);
    return unused;
}

static void lock(void)
{
    stream = fopen("locked", "w");
    flockfile(stream);
    pthread_t thread;
    pthread_create(&thread, NULL, writes_unlocked, NULL);
    pthread_join(thread, NULL);
    funlockfile(stream);
    fclose(stream);
}

static atomic_int n_completed;

static void completes(union sigval value)
{
    munmap(value.sival_ptr, 4096);
    n_completed++;
}

static void requests(void)
{
    char buffer[16];
    int fd = open("/etc/passwd", O_RDONLY);
    for (int i = 0; i < 500; i++) {
        struct aiocb *control =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        control->aio_fildes = fd;
        control->aio_buf = buffer;
        control->aio_nbytes = sizeof buffer;
        control->aio_sigevent.sigev_notify = SIGEV_THREAD;
        control->aio_sigevent.sigev_notify_function = completes;
        control->aio_sigevent.sigev_value.sival_ptr = control;
        if (aio_read(control) != 0)
            perror("aio_read");
        while (n_completed <= i)
            usleep(10);
    }
    printf("%d completed\n", n_completed);
}

void *dlsym(void *handle, const char *name)
{
    static void *(*real)(void *, const char *);
    if (!real)
        real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    if (!real)
        real = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    return real(handle, name);
}

int main(int argc, char **argv)
{
    char word[4];
    if (argc != 2)
        return 2;
    if (!strcmp(argv[1], "lock"))
        lock();
    else if (!strcmp(argv[1], "aio"))
        requests();
    else
        printf("%zd read\n", read(open("/etc/passwd", O_RDONLY), word, sizeof word));
    return 0;
}
