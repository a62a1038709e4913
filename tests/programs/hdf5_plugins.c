/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A plug-in that brings HDF5 (RTLD_LOCAL) is loaded, used and unloaded again and
 * again; so is a copy of it, which brings the same library from another place.
 */
#include "listed.h"
#include <dlfcn.h>

static void use(void *plugin, int round)
{
    char file[32];
    long long identifier = -1;
    int (*work)(int, long long *) = (int (*)(int, long long *))dlsym(plugin, "plugin_work");
    SURE(work != NULL);
    SURE(work(round, &identifier) == 0);
    snprintf(file, sizeof file, "round%d.h5", round);
    listed_call("H5Fcreate", file, 0, 0, "%s", "");
    listed_call("H5Dcreate", file, 0, 0, "/set%d", round);
    listed_call("H5Dwrite", file, 48, 0, "/set%d start=0:0 count=2:3", round);
    listed_call("H5Dclose", file, 0, 0, "/set%d", round);
    listed_call("H5Oopen", file, 0, 0, "/set%d", round);
    listed_call("H5Dread", file, 48, 0, "/set%d start=0:0 count=2:3", round);
    printf("round %d identifier %llx\n", round, identifier);
}

static void *load(const char *path)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return plugin;
}

int main(int argc, char **argv)
{
    SURE(argc == 3);
    list_into(0);
    for (int round = 0; round < 12; round += 3) {
        void *one = load(argv[1]), *other = load(argv[2]);
        use(one, round);
        use(other, round + 1);
        SURE(dlclose(one) == 0);
        use(other, round + 2);
        SURE(dlclose(other) == 0);
    }
    return 0;
}
