/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A fork in the middle of a recorded call, in a signal handler there: parent and
 * child both return from the call, which began in the parent and is the parent's.
 * What the child does then is the child's. With `handler` the child goes on with
 * calls inside the handler.
 */
#include "expected.h"
#include <printf.h>
#include <signal.h>
#include <sys/wait.h>

static pid_t child;
static int calls_in_handler;

static void write_some(const char *file, int times)
{
    int fd = OPEN(file, O_RDWR | O_CREAT | O_TRUNC, 0644);
    for (int n = 0; n < times; n++)
        CHECK(WRITE(file, n * 8, fd, "a line.\n", 8) == 8);
    CHECK(CLOSE(file, fd) == 0);
}

static void forks(int signal)
{
    (void)signal;
    child = fork();
    CHECK(child >= 0);
    if (child == 0 && calls_in_handler)
        write_some("inside", 300);
}

static int print_forking(FILE *stream, const struct printf_info *info, const void *const *arguments)
{
    (void)info;
    (void)arguments;
    raise(SIGUSR1);
    return fprintf(stream, "forked");
}

static int takes_nothing(const struct printf_info *info, size_t n, int *types, int *sizes)
{
    (void)info;
    (void)n;
    (void)types;
    (void)sizes;
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    calls_in_handler = argc > 1;
    signal(SIGUSR1, forks);
    register_printf_specifier('Y', print_forking, takes_nothing);
    write_some("first", 10);
    FILE *stream = fopen("formatted", "w");
    CHECK(stream != NULL);
    /* A call that encloses another, so that the parent has both. */
    CHECK(fprintf(stream, "has %Y here\n") == 16);
    if (child == 0) {
        write_some("child", 20);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    write_some("parent", 20);
    fclose(stream);
    return 0;
}
