/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * First calls of a library's functions while another thread loads and unloads
 * plug-ins. The first argument is the plug-in, the second the way:
 *
 *   wait   the plug-in's constructor waits for a thread that makes its first call:
 *          binding a function takes no lock that is held while constructors run
 *   loop   plug-ins come and go all the time beside the calls
 *   tail   the same with calls by a plug-in, the third argument, that has a library
 *          of its own and ends in the call, so that the program seems to make it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TURNS = 2000 };

__attribute__((unused)) static int (*flush)(long object, int scope);

#ifndef UNLINKED
extern int H5Fclose(long file);
extern int H5Fflush(long object, int scope);
#else
/* As a program that only plug-ins bring the library. */
#define H5Fclose(file) (flush(file, 0))
#define H5Fflush(object, scope) (flush(object, scope))
#endif

static sem_t is_loading, is_called;
static atomic_int is_over, waits;

void wait_for_first_call(void)
{
    if (!waits)
        return;
    sem_post(&is_loading);
    sem_wait(&is_called);
}

static void *calls_while_loading(void *unused)
{
    sem_wait(&is_loading);
    printf("%d\n", H5Fclose(4711));
    sem_post(&is_called);
    return unused;
}

static void *loads(void *plugin)
{
    while (!is_over) {
        void *handle = dlopen(plugin, RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL || dlclose(handle) != 0)
            _exit(3);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    alarm(60);
    pthread_t thread;
    if (strcmp(argv[2], "wait") == 0) {
        waits = 1;
        sem_init(&is_loading, 0, 0);
        sem_init(&is_called, 0, 0);
        pthread_create(&thread, NULL, calls_while_loading, NULL);
        printf("%s\n", dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) != NULL ? "loaded" : dlerror());
        pthread_join(thread, NULL);
        return 0;
    }
    if (argc > 3)
        flush = dlsym(dlopen(argv[3], RTLD_NOW | RTLD_LOCAL), "flush");
    pthread_create(&thread, NULL, loads, argv[1]);
    int sum = 0;
    /* What was found is looked for again whenever something was unloaded. */
    for (int turn = 0; turn < TURNS; turn++)
        sum += H5Fclose(turn) + H5Fclose(4711) + H5Fflush(4711, 3);
    is_over = 1;
    pthread_join(thread, NULL);
    printf("%d\n", sum);
    return 0;
}
