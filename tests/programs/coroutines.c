/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Coroutines made with makecontext: calls from stacks that are not the
 * thread's, entered and left in the middle.
 */
#include "expected.h"
#include <ucontext.h>

enum { N_COROUTINES = 4, N_ROUNDS = 200 };

static ucontext_t center, coroutines[N_COROUTINES];
static char stacks[N_COROUTINES][64 * 1024] __attribute__((aligned(16)));
static int fd;
static long position;

static void body(int number)
{
    for (int round = 0; round < N_ROUNDS; round++) {
        CHECK(WRITE("data", position, fd, "coroutine", 1 + (size_t)number) == 1 + number);
        position += 1 + number;
        swapcontext(&coroutines[number], &center);
    }
}

int main(void)
{
    fd = OPEN("data", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    for (int n = 0; n < N_COROUTINES; n++) {
        CHECK(getcontext(&coroutines[n]) == 0);
        coroutines[n].uc_stack.ss_sp = stacks[n];
        coroutines[n].uc_stack.ss_size = sizeof stacks[n];
        coroutines[n].uc_link = &center;
        makecontext(&coroutines[n], (void (*)(void))body, 1, n);
    }
    for (int round = 0; round < N_ROUNDS; round++)
        for (int n = 0; n < N_COROUTINES; n++)
            CHECK(swapcontext(&center, &coroutines[n]) == 0);
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
