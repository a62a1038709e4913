/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Prints how many bytes of stack each kind of call takes, what capture needs
 * included: the most, and the last of three calls from one place. The stack below
 * the call is painted and looked at afterwards. Each kind has a new thread, so
 * that there is everything to make ready, and as many bytes of its stack are left
 * as the argument says. To be linked with -z now: binding takes stack, too.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK (256 << 10)
#define AMPLE (64 << 10)
#define PAGE 4096
#define PAINT 0x5a

static int fd;
static FILE *text;

static void check(int is_right, const char *what)
{
    if (!is_right) {
        perror(what);
        exit(1);
    }
}

static void write_one(void)
{
    check(write(fd, "x", 1) == 1, "write");
}

static void open_one(void)
{
    int own = open("own", O_WRONLY | O_CREAT, 0644);
    check(own >= 0 && close(own) == 0, "open");
}

static void open_none(void)
{
    check(open("nowhere/none", O_RDONLY) < 0, "open");
}

static void rename_one(void)
{
    check(rename("old", "new") == 0 && rename("new", "old") == 0, "rename");
}

static void truncate_one(void)
{
    check(truncate("old", 1) == 0, "truncate");
}

static void print_one(void)
{
    check(fputs("text\n", text) >= 0 && fflush(text) == 0, "fputs");
}

/* Fills the stream's segments, so that more have to be made. */
static void write_many(void)
{
    for (int n = 0; n < 2000; n++)
        check(write(fd, "x", 1) == 1, "write");
}

static const struct kind {
    const char *name;
    void (*call)(void);
} kinds[] = {
    {"write", write_one}, {"open", open_one}, {"failing", open_none}, {"rename", rename_one},
    {"truncate", truncate_one}, {"stdio", print_one}, {"many", write_many},
};

/* A stack over a page that cannot be touched. */
static char *stack;
static size_t left;
static size_t most, last;

/* The red zone and what this function keeps itself are not painted. */
__attribute__((noinline)) static size_t used_by(void (*call)(void))
{
    volatile char *here = __builtin_frame_address(0);
    volatile char *end = here - left;
    for (volatile char *at = end; at < here - 128; at++)
        *at = PAINT;
    call();
    while (end < here && *end == PAINT)
        end++;
    return (size_t)(here - end);
}

static void *measure(void *argument)
{
    const struct kind *kind = argument;
    char *here = __builtin_frame_address(0);
    /* This function keeps some more below what it takes. */
    volatile char *taken = __builtin_alloca((size_t)(here - stack) - left - 256);
    taken[0] = 1;
    most = 0;
    for (int n = 0; n < 3; n++) {
        last = used_by(kind->call);
        most = last > most ? last : most;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    left = argc > 1 ? strtoul(argv[1], NULL, 10) : AMPLE;
    fd = open("data", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    text = fopen("text", "w");
    check(fd >= 0 && text != NULL && close(creat("old", 0644)) == 0, "files");
    stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(stack != MAP_FAILED && mprotect(stack, PAGE, PROT_NONE) == 0, "stack");
    stack += PAGE;
    pthread_attr_t attributes;
    check(pthread_attr_init(&attributes) == 0, "attributes");
    check(pthread_attr_setstack(&attributes, stack, STACK - PAGE) == 0, "stack");
    for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
        pthread_t thread;
        check(pthread_create(&thread, &attributes, measure, (void *)&kinds[n]) == 0, "thread");
        check(pthread_join(thread, NULL) == 0, "join");
        printf("%s %zu %zu\n", kinds[n].name, most, last);
    }
    return 0;
}
