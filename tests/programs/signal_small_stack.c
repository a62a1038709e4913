/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A handler writes on an alternate stack of which as many bytes are left, where
 * it makes its calls, as the argument says: capture must need little stack. The
 * page below is forbidden, so that an overflow ends the program. The thread's
 * first recorded call is in the handler, when most has to be made ready.
 */
#include "expected.h"
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>

static int fd;
static size_t left;
static __thread char *low;

__attribute__((noinline)) static void write_one(void)
{
    WRITE("data", ANY, fd, "handler\n", 8);
}

/* The kernel's frame takes more or less, depending on the processor and on what
 * the program has used of it; the rest is taken here. */
static void handler(int number)
{
    (void)number;
    char *here = __builtin_frame_address(0);
    volatile char *taken = __builtin_alloca((size_t)(here - low) - left);
    taken[0] = 1;
    write_one();
}

static void *work(void *nothing)
{
    size_t room = (getauxval(AT_MINSIGSTKSZ) + left + 1024 + 4095) / 4096 * 4096;
    char *memory = mmap(NULL, room + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory + 4096, room, PROT_READ | PROT_WRITE) == 0);
    low = memory + 4096;
    stack_t stack = {.ss_sp = low, .ss_size = room};
    CHECK(sigaltstack(&stack, NULL) == 0);
    for (int n = 0; n < 3; n++)
        CHECK(raise(SIGUSR1) == 0);
    CHECK(WRITE("data", ANY, fd, "thread\n", 7) == 7);
    return nothing;
}

int main(int argc, char **argv)
{
    left = argc > 1 ? strtoul(argv[1], NULL, 10) : 8192;
    fd = OPEN("data", O_WRONLY | O_CREAT | O_APPEND, 0644);
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, work, NULL) == 0 && pthread_join(thread, NULL) == 0);
    work(NULL);
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
