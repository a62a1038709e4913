/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * How a program can end; what it did before, and in its handlers on the way
 * out, is recorded in each case. The argument names the way.
 */
#include "expected.h"
#include <signal.h>

static int fd;
static int position;
static void *volatile nowhere = (void *)8;

static void note(const char *text)
{
    WRITE("data", position, fd, text, 4);
    position += 4;
}

__attribute__((destructor)) static void destructor(void)
{
    if (fd > 0)
        note("dtor");
}

static void at_exit(void)
{
    note("atex");
}

static void exit_again(void)
{
    note("agai");
    exit(8);
}

static void leave(int number)
{
    note("hand");
    if (number == SIGUSR1)
        exit(9);
    if (number == SIGUSR2)
        _exit(10);
    if (number == SIGTERM)
        abort();
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "return";
    fd = OPEN("data", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(fd > 0);
    note("main");
    FILE *stream = FOPEN("text", "w");
    CHECK(CALL_AS("fputs", "text", 0, 5, 5, fputs("text\n", stream)) >= 0);
    atexit(at_exit);
    signal(SIGUSR1, leave);
    signal(SIGUSR2, leave);
    signal(SIGTERM, leave);

    if (strcmp(way, "return") == 0)
        return 2;
    if (strcmp(way, "exit") == 0)
        exit(3);
    if (strcmp(way, "_exit") == 0)
        _exit(4);
    if (strcmp(way, "quick_exit") == 0)
        quick_exit(5);
    if (strcmp(way, "exit_in_atexit") == 0) {
        atexit(exit_again);
        exit(6);
    }
    if (strcmp(way, "exit_in_handler") == 0)
        raise(SIGUSR1);
    if (strcmp(way, "_exit_in_handler") == 0)
        raise(SIGUSR2);
    if (strcmp(way, "abort_in_handler") == 0)
        raise(SIGTERM);
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(way, "segv") == 0)
        *(volatile int *)nowhere = 0;
    if (strcmp(way, "syscall") == 0)
        syscall(SYS_exit_group, 11);
    return 99;
}
