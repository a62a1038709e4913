/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A program that would use MPI if it had it, and finds out in the usual ways.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int MPI_Init(int *, char ***) __attribute__((weak));
int MPI_Initialized(int *) __attribute__((weak));
int MPI_Comm_rank(void *, int *) __attribute__((weak));
int MPI_Finalize(void) __attribute__((weak));
int MPI_File_sync(void *) __attribute__((weak));
int MPI_Wait(void *, void *) __attribute__((weak));

int main(void)
{
    if (MPI_Init != NULL || MPI_Initialized != NULL || MPI_Comm_rank != NULL || MPI_Finalize != NULL)
        printf("MPI\n");
    else if (dlsym(RTLD_DEFAULT, "MPI_Init") != NULL || dlsym(RTLD_DEFAULT, "PMPI_File_open") != NULL)
        printf("MPI by name\n");
    else
        printf("no MPI\n");
    /* Who tests for these finds them, and gets an error. */
    if (MPI_File_sync != NULL && MPI_File_sync(NULL) == 0)
        printf("MPI_File_sync succeeded\n");
    if (MPI_Wait != NULL && MPI_Wait(NULL, NULL) == 0)
        printf("MPI_Wait succeeded\n");
    return 0;
}
