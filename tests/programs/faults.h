/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What the programs with faults share: each runs the one that its first argument
 * names, or with "fixed" behind it the same work without the fault.
 */
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Not inlined, so that advice can name it. */
#define FAULT __attribute__((noinline)) static void

struct fault {
    const char *name;
    void (*run)(bool fixed);
};

static const char *fault_name(int argc, char **argv)
{
    return argc > 1 ? argv[1] : "";
}

static bool is_fixed(int argc, char **argv)
{
    return argc > 2 && strcmp(argv[2], "fixed") == 0;
}

/* Whether there is such a fault, which is run. */
static bool run_fault(const struct fault *faults, size_t n_faults, int argc, char **argv)
{
    for (size_t n = 0; n < n_faults; n++)
        if (strcmp(faults[n].name, fault_name(argc, argv)) == 0) {
            faults[n].run(is_fixed(argc, argv));
            return true;
        }
    return false;
}
