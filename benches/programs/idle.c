/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Threads that each write once and then sleep: idle THREADS SECONDS DIRECTORY */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *directory;
static unsigned seconds;

static void *write_and_sleep(void *number) {
    char path[4096];
    snprintf(path, sizeof path, "%s/idle-%zu", directory, (size_t)number);
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || write(file, "x", 1) != 1)
        exit(1);
    close(file);
    unlink(path);
    sleep(seconds);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    size_t n_threads = strtoul(argv[1], NULL, 10);
    seconds = (unsigned)strtoul(argv[2], NULL, 10);
    directory = argv[3];
    pthread_t *threads = calloc(n_threads, sizeof *threads);
    for (size_t i = 0; i < n_threads; i++)
        if (pthread_create(&threads[i], NULL, write_and_sleep, (void *)i) != 0)
            return 1;
    for (size_t i = 0; i < n_threads; i++)
        pthread_join(threads[i], NULL);
}
