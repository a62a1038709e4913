/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A handler writes on an alternate stack of so many bytes as the argument
 * says, of which the kernel's own frame takes up to 3 KiB: capture must need
 * little stack. The page below is forbidden, so that an overflow ends the
 * program. The thread's first recorded call is in the handler, when most has
 * to be made ready.
 */
#include "expected.h"
#include <pthread.h>
#include <signal.h>

static int fd;

static void handler(int number)
{
    (void)number;
    WRITE("data", ANY, fd, "handler\n", 8);
}

static void *work(void *argument)
{
    size_t room = *(size_t *)argument;
    size_t bytes = (room + 4095) / 4096 * 4096;
    char *memory = mmap(NULL, bytes + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory + 4096, bytes, PROT_READ | PROT_WRITE) == 0);
    stack_t stack = {.ss_sp = memory + 4096, .ss_size = room};
    CHECK(sigaltstack(&stack, NULL) == 0);
    for (int n = 0; n < 3; n++)
        CHECK(raise(SIGUSR1) == 0);
    CHECK(WRITE("data", ANY, fd, "thread\n", 7) == 7);
    return NULL;
}

int main(int argc, char **argv)
{
    size_t room = argc > 1 ? strtoul(argv[1], NULL, 10) : 8192;
    fd = OPEN("data", O_WRONLY | O_CREAT | O_APPEND, 0644);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, &room) == 0 && pthread_join(thread, NULL) == 0);
    work(&room);
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
