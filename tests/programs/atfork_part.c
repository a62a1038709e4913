/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A library that writes in every forked child, before anything else there: its
 * handler was registered before those of libraries that are set up after it.
 */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static void in_child(void)
{
    int fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (fd >= 0 && write(fd, "forked\n", 7) == 7)
        close(fd);
}

__attribute__((constructor)) static void set_up(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

int atfork_part = 1;
