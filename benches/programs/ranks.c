// SPDX-License-Identifier: MIT OR Apache-2.0

// A parallel program that computes and writes: STEPS times some work that takes the
// processor WORK rounds, then a write of its part of a shared file with MPI-IO; every
// hundredth time all ranks wait for each other. 'rounds' prints how many rounds take
// a microsecond.
//
//   ranks STEPS WORK FILE
//   ranks rounds

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static volatile double sink;

static void work(long rounds) {
    double x = 1.0;
    for (long i = 0; i < rounds; i++)
        x = x * 1.0000001 + 1e-9;
    sink = x;
}

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "rounds")) {
        double start = now_us();
        work(100000000);
        printf("%.3f\n", 1e8 / (now_us() - start));
        return 0;
    }
    if (argc != 4)
        return 2;
    long steps = atol(argv[1]), rounds = atol(argv[2]);
    static char data[256];
    int rank, ranks;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File file;
    if (MPI_File_open(MPI_COMM_WORLD, argv[3], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) != MPI_SUCCESS)
        return 1;
    for (long i = 0; i < steps; i++) {
        work(rounds);
        MPI_Offset at = (MPI_Offset)sizeof data * (rank + ranks * (i % 4096));
        if (MPI_File_write_at(file, at, data, sizeof data, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return 1;
        if (i % 100 == 99)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
