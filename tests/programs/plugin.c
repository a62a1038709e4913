/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A plug-in that does I/O is loaded, used and unloaded again and again; another
 * may get its addresses. The argument is the plug-in, built from plugin_part.c.
 */
#include "expected.h"
#include <dlfcn.h>

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    int fd = OPEN("data", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (int round = 0; round < 50; round++) {
        void *plugin = dlopen(argv[1], RTLD_NOW | (round % 2 ? RTLD_LOCAL : RTLD_GLOBAL));
        CHECK(plugin != NULL);
        long (*work)(int) = (long (*)(int))dlsym(plugin, "plugin_work");
        CHECK(work != NULL);
        struct expected_call *call = expected_begin("write", "data", round * 6, 6);
        expected_end(call, work(fd));
        CHECK(dlclose(plugin) == 0);
        /* Moves the next load to another address now and then. */
        if (round % 3 == 0)
            CHECK(mmap(NULL, 4096 * (size_t)(round + 1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                  != MAP_FAILED);
    }
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
