// SPDX-License-Identifier: MIT OR Apache-2.0

// A rank whose launcher tells it nothing: it hides the launcher's variables and
// starts itself anew, and brings them back when the library has looked. Each rank
// writes 100 bytes at 1000 times its number.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const variables[] = {
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_SIZE", "PMI_RANK", "PMI_SIZE",
};

static void move_variables(const char *before, const char *after) {
    for (size_t n = 0; n < sizeof variables / sizeof *variables; n++) {
        char from[64], to[64];
        snprintf(from, sizeof from, "%s%s", before, variables[n]);
        snprintf(to, sizeof to, "%s%s", after, variables[n]);
        const char *value = getenv(from);
        if (value == NULL)
            continue;
        setenv(to, value, 1);
        unsetenv(from);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    if (getenv("RANKS_HIDDEN") == NULL) {
        move_variables("", "HIDDEN_");
        setenv("RANKS_HIDDEN", "1", 1);
        execv("/proc/self/exe", argv);
        return 3;
    }
    move_variables("HIDDEN_", "");
    MPI_Init(NULL, NULL);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, "ranks.dat", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file)
        != MPI_SUCCESS)
        return 1;
    char bytes[100];
    memset(bytes, 'a' + rank, sizeof bytes);
    for (int n = 0; n < 3; n++)
        MPI_File_write_at(file, rank * 1000 + n * 100, bytes, sizeof bytes, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
