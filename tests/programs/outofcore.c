// SPDX-License-Identifier: MIT OR Apache-2.0
//
// An out-of-core matrix program with the four steps of MADbench2 (Borrill et al.,
// "HPC global file system performance analysis using a scientific-application derived
// benchmark", 2009), written anew:
//
//   1. for each of the matrices: calculate it, write it
//   2. calculate alone (no I/O)
//   3. for each of them: read it, calculate, write the result in its place
//   4. for each of them: read the result, calculate
//
// Each task holds a part of every matrix, and a gang of tasks works on its own
// matrices. Calculations are busy work of n^(2 * exponent) operations for n*n elements.
//
//   outofcore [-n PIXELS] [-m MATRICES] [-b BLOCK] [-x EXPONENT] [-g GANGS] [-r RMOD]
//             [-w WMOD] [-t TASKS] [-a] [-s] [-u] [-c] [-i posix|mpiio] FILE
//
// -b: parts begin at multiples of so many bytes (default 1 MiB)
// -r, -w: only every RMODth (WMODth) task of a gang reads (writes) at a time
// -a: asynchronous: a read of the next matrix, a write of the last one, while it calculates
// -s: every matrix is forced to storage when it is written
// -u: a file for each task instead of one for all
// -c: parts are dropped from the cache once they are on storage, as if memory were full
// -t: tasks without MPI, as processes; with MPI, its ranks are the tasks
//
// Compiled with -DWITH_MPI it can do MPI-IO, and must be run by mpirun for that.

#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <pthread.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

static long pixels = 1024, matrices = 8, gangs = 1, rmod = 1, wmod = 1, tasks = 1;
static long block = 1 << 20;
static double exponent = 0.01;
static int asynchronous, synced, own_files, dropping, mpiio;
static int rank;
static const char *name;

#ifndef WITH_MPI
// What the tasks share.
struct shared {
    pthread_barrier_t barrier;
};
static struct shared *shared;
#endif

static void fail(const char *what)
{
    fprintf(stderr, "outofcore: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void barrier(void)
{
#ifdef WITH_MPI
    MPI_Barrier(MPI_COMM_WORLD);
#else
    if (shared)
        pthread_barrier_wait(&shared->barrier);
#endif
}

// Keeps the compiler from leaving the work out.
static volatile double result;

static void busy_work(const double *part, long elements)
{
    double sum = 0;
    long operations = (long)pow((double)elements, exponent);
    for (long n = 0; n < operations; n++)
        sum += part[n % elements] * 1.000001;
    result = sum;
}

static int descriptor = -1;
static struct aiocb request;
static int is_waiting;
#ifdef WITH_MPI
static MPI_File mpi_file;
static MPI_Request mpi_request;
#endif

static void complete(void)
{
    if (!is_waiting)
        return;
    is_waiting = 0;
#ifdef WITH_MPI
    if (mpiio) {
        MPI_Wait(&mpi_request, MPI_STATUS_IGNORE);
        return;
    }
#endif
    const struct aiocb *list[1] = {&request};
    while (aio_error(&request) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
    if (aio_return(&request) < 0)
        fail("asynchronous access");
}

static void move(int writes, void *part, size_t bytes, off_t offset)
{
    complete();
#ifdef WITH_MPI
    if (mpiio) {
        if (asynchronous) {
            if (writes)
                MPI_File_iwrite_at(mpi_file, offset, part, bytes, MPI_BYTE, &mpi_request);
            else
                MPI_File_iread_at(mpi_file, offset, part, bytes, MPI_BYTE, &mpi_request);
            is_waiting = 1;
        } else if (writes) {
            MPI_File_write_at(mpi_file, offset, part, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        } else {
            MPI_File_read_at(mpi_file, offset, part, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        }
        return;
    }
#endif
    if (asynchronous) {
        memset(&request, 0, sizeof request);
        request.aio_fildes = descriptor;
        request.aio_buf = part;
        request.aio_nbytes = bytes;
        request.aio_offset = offset;
        if ((writes ? aio_write(&request) : aio_read(&request)) != 0)
            fail("submit");
        is_waiting = 1;
        return;
    }
    for (size_t done = 0; done < bytes;) {
        char *at = (char *)part + done;
        ssize_t moved = writes ? pwrite(descriptor, at, bytes - done, offset + done)
                               : pread(descriptor, at, bytes - done, offset + done);
        if (moved <= 0)
            fail(writes ? "write" : "read");
        done += moved;
    }
}

// All tasks of a gang, modulus of them in turn.
static void in_turn(long modulus, int writes, void *part, size_t bytes, off_t offset)
{
    for (long turn = 0; turn < modulus; turn++) {
        if (rank % modulus == turn)
            move(writes, part, bytes, offset);
        if (modulus > 1)
            barrier();
    }
    if (!writes)
        complete();
}

static void keep(off_t offset, size_t bytes)
{
    if (synced || dropping) {
        complete();
#ifdef WITH_MPI
        if (mpiio)
            MPI_File_sync(mpi_file);
        else
#endif
        if (fdatasync(descriptor) != 0)
            fail("sync");
    }
    if (dropping && descriptor >= 0)
        posix_fadvise(descriptor, offset, bytes, POSIX_FADV_DONTNEED);
}

static void steps(void)
{
    long in_gang = tasks / gangs, gang = rank / in_gang, place = rank % in_gang;
    size_t bytes = (size_t)(pixels * pixels / in_gang) * sizeof(double);
    bytes = (bytes + block - 1) / block * block;
    long elements = bytes / sizeof(double);
    double *part = NULL, *other = NULL;
    if (posix_memalign((void **)&part, 4096, bytes) || posix_memalign((void **)&other, 4096, bytes))
        fail("memory");
    for (long n = 0; n < elements; n++)
        part[n] = (double)((n * 7919 + rank) % 104729);
    long mine = matrices / gangs;
    // Matrices of a gang one after the other, parts of its tasks within them.
    off_t base = own_files ? 0 : (off_t)gang * mine * in_gang * bytes;
#define PLACE(m) (base + (own_files ? (off_t)(m) * bytes : ((off_t)(m) * in_gang + place) * bytes))
    for (long m = 0; m < mine; m++) {
        busy_work(part, elements);
        in_turn(wmod, 1, part, bytes, PLACE(m));
        keep(PLACE(m), bytes);
    }
    complete();
    barrier();
    busy_work(part, elements);
    barrier();
    for (long m = 0; m < mine; m++) {
        in_turn(rmod, 0, other, bytes, PLACE(m));
        busy_work(other, elements);
        in_turn(wmod, 1, other, bytes, PLACE(m));
        keep(PLACE(m), bytes);
    }
    complete();
    barrier();
    for (long m = 0; m < mine; m++) {
        in_turn(rmod, 0, other, bytes, PLACE(m));
        busy_work(other, elements);
    }
    complete();
    free(part);
    free(other);
}

static void run(void)
{
    char path[4096];
    if (own_files)
        snprintf(path, sizeof path, "%s.%d", name, rank);
    else
        snprintf(path, sizeof path, "%s", name);
#ifdef WITH_MPI
    if (mpiio) {
        MPI_Comm group = own_files ? MPI_COMM_SELF : MPI_COMM_WORLD;
        int mode = MPI_MODE_RDWR | MPI_MODE_CREATE;
        if (MPI_File_open(group, path, mode, MPI_INFO_NULL, &mpi_file) != MPI_SUCCESS)
            fail(path);
        // To drop from the cache with.
        if (dropping)
            descriptor = open(path, O_RDWR);
        steps();
        MPI_File_close(&mpi_file);
        return;
    }
#endif
    if (rank == 0 || own_files) {
        descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
        barrier();
    } else {
        barrier();
        descriptor = open(path, O_RDWR);
    }
    if (descriptor < 0)
        fail(path);
    steps();
    if (close(descriptor) != 0)
        fail("close");
}

#ifndef WITH_MPI
static void start_tasks(void)
{
    pthread_barrierattr_t attributes;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        fail("memory");
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&shared->barrier, &attributes, tasks);
    for (long task = 1; task < tasks; task++) {
        pid_t child = fork();
        if (child < 0)
            fail("fork");
        if (child == 0) {
            rank = task;
            run();
            exit(0);
        }
    }
    run();
    for (int status, failed = 0;;) {
        if (wait(&status) < 0) {
            if (failed)
                exit(1);
            return;
        }
        failed |= status != 0;
    }
}
#endif

int main(int argc, char **argv)
{
#ifdef WITH_MPI
    int n_ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    tasks = n_ranks;
    mpiio = 1;
#endif
    for (int option; (option = getopt(argc, argv, "n:m:b:x:g:r:w:t:i:asuc")) != -1;) {
        switch (option) {
        case 'n': pixels = atol(optarg); break;
        case 'm': matrices = atol(optarg); break;
        case 'b': block = atol(optarg); break;
        case 'x': exponent = atof(optarg); break;
        case 'g': gangs = atol(optarg); break;
        case 'r': rmod = atol(optarg); break;
        case 'w': wmod = atol(optarg); break;
        case 't': tasks = atol(optarg); break;
        case 'i': mpiio = strcmp(optarg, "mpiio") == 0; break;
        case 'a': asynchronous = 1; break;
        case 's': synced = 1; break;
        case 'u': own_files = 1; break;
        case 'c': dropping = 1; break;
        default: return 2;
        }
    }
    name = optind < argc ? argv[optind] : "outofcore.data";
    if (pixels < 1 || matrices < 1 || block < 8 || gangs < 1 || tasks < 1 || tasks % gangs ||
        matrices % gangs || rmod < 1 || wmod < 1 || tasks / gangs > pixels) {
        fprintf(stderr, "outofcore: impossible sizes\n");
        return 2;
    }
#ifdef WITH_MPI
    run();
    MPI_Finalize();
#else
    if (mpiio) {
        fprintf(stderr, "outofcore: compiled without MPI\n");
        return 2;
    }
    if (tasks > 1)
        start_tasks();
    else
        run();
#endif
    return 0;
}
