/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Plug-ins that bring copies of one library, each for itself (RTLD_LOCAL): what
 * a plug-in calls is its own copy, also when plug-ins come and go and another
 * one lies where one was, and when a copy for all comes later.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int question(int);

static void *load(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        printf("%s\n", dlerror());
        exit(1);
    }
    return plugin;
}

static int ask(void *plugin)
{
    question *ask = (question *)dlsym(plugin, "ask");
    return ask(0) + ask(1);
}

/* Two plug-ins, and a library that one of them was linked with. */
int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    for (int round = 0; round < 5; round++) {
        void *first = load(argv[1 + round % 2]);
        printf("alone %d\n", ask(first));
        void *second = load(argv[1 + (round + 1) % 2]);
        printf("beside %d %d\n", ask(first), ask(second));
        dlclose(first);
        printf("after %d\n", ask(second));
        dlclose(second);
    }
    void *kept = load(argv[1]);
    printf("kept %d\n", ask(kept));
    if (dlopen(argv[3], RTLD_NOW | RTLD_GLOBAL) == NULL)
        return 1;
    printf("still %d\n", ask(kept));
    void *late = load(argv[2]);
    printf("late %d\n", ask(late));
    return 0;
}
