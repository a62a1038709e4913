/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Programs started through posix_spawn, system and popen. Run with an
 * argument it is the started program, which appends a line of its own.
 */
#include "expected.h"
#include <spawn.h>
#include <sys/wait.h>

extern char **environ;

static int append_line(int at)
{
    int fd = OPEN("lines", O_WRONLY | O_CREAT | O_APPEND, 0644);
    CHECK(fd >= 0 && WRITE("lines", at, fd, "a line\n", 7) == 7);
    CHECK(CLOSE("lines", fd) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        /* The first has a file as its standard output. */
        if (strcmp(argv[1], "7") == 0)
            CALL("fprintf", "spawned", 0, 10, printf("started 7\n"));
        else
            printf("started %s\n", argv[1]);
        return append_line(atoi(argv[1]));
    }
    append_line(0);

    int status;
    pid_t child;
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0);
    CHECK(posix_spawn_file_actions_addopen(&actions, 1, "spawned", O_WRONLY | O_CREAT, 0644) == 0);
    char *arguments[] = {argv[0], "7", NULL};
    CHECK(posix_spawn(&child, argv[0], &actions, NULL, arguments, environ) == 0);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(posix_spawn_file_actions_destroy(&actions) == 0);

    char command[4200];
    snprintf(command, sizeof command, "'%s' 14", argv[0]);
    CHECK(system(command) == 0);

    snprintf(command, sizeof command, "'%s' 21", argv[0]);
    FILE *pipe = popen(command, "r");
    char line[64];
    CHECK(pipe != NULL && fgets(line, sizeof line, pipe) == line);
    CHECK(strcmp(line, "started 21\n") == 0 && pclose(pipe) == 0);

    snprintf(command, sizeof command, "exec '%s' 28 >/dev/null; exit 5", argv[0]);
    CHECK(system(command) == 0);
    CHECK(system("exit 42") == 42 << 8);
    return append_line(35);
}
