/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Reads its input, then writes checkpoints, as simulations do: the program that
 * models are learned from. The first argument is the number of checkpoints
 * (default 20); of a second one, 'crash', it dies in the middle.
 *
 * -DREBUILT inserts functions and moves others, as a new version of a program
 * does. -DREORDERED also calls them in another order.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CHECK(what) do { if (!(what)) abort(); } while (0)

static char block[4096];

#ifdef REBUILT
static void remember(const char *what)
{
    int fd = open("history", O_WRONLY | O_CREAT | O_APPEND, 0644);
    CHECK(fd >= 0);
    CHECK(write(fd, what, strlen(what)) == (ssize_t)strlen(what));
    CHECK(close(fd) == 0);
}
#endif

static void read_input(void)
{
    char line[100];
    FILE *input = fopen("input", "r");
    if (!input)
        return;
    while (fgets(line, sizeof line, input))
        ;
    fclose(input);
}

static void write_header(int fd)
{
    CHECK(write(fd, block, 64) == 64);
    CHECK(write(fd, block, 128) == 128);
}

static void write_fields(int fd, int n_fields)
{
    for (int field = 0; field < n_fields; field++)
        CHECK(write(fd, block, sizeof block) == sizeof block);
}

static void write_checkpoint(int number)
{
    char name[64];
    snprintf(name, sizeof name, "checkpoint_%04d.dat", number);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd >= 0);
#ifdef REORDERED
    write_fields(fd, 6);
    write_header(fd);
#else
    write_header(fd);
    write_fields(fd, 6);
#endif
    CHECK(close(fd) == 0);
}

static void write_log(int number)
{
    FILE *log = fopen("log", number == 0 ? "w" : "a");
    CHECK(log);
    fprintf(log, "checkpoint %d\n", number);
    fclose(log);
}

int main(int argc, char **argv)
{
    int n_checkpoints = argc > 1 ? atoi(argv[1]) : 20;
    int crash_at = argc > 2 && strcmp(argv[2], "crash") == 0 ? n_checkpoints / 2 : -1;
#ifdef REBUILT
    if (n_checkpoints < 0)
        remember("nothing to do\n");
#endif
    read_input();
    for (int number = 0; number < n_checkpoints; number++) {
        write_checkpoint(number);
        write_log(number);
        if (number == crash_at)
            raise(SIGKILL);
    }
    return 0;
}
