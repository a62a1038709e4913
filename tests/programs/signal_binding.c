/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A timer's handler writes while the dynamic linker binds functions at their
 * first call, in code whose frames count from a register of its own. The
 * argument is the library with the functions, built from signal_binding_part.c.
 */
#include "expected.h"
#include <dlfcn.h>
#include <signal.h>
#include <sys/time.h>

static int ticks;
static volatile int n_ticks;

/* Not periodical: the program goes on between ticks, however long one takes. */
static void wind_up(int microseconds)
{
    struct itimerval once = {{0, 0}, {0, microseconds}};
    CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0);
}

static void tick(int number)
{
    (void)number;
    int error = errno;
    CHECK(WRITE("ticks", n_ticks * 5, ticks, "tick\n", 5) == 5);
    n_ticks++;
    wind_up(20);
    errno = error;
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    ticks = OPEN("ticks", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    for (int round = 0; round < 50; round++) {
        void *library = dlopen(argv[1], RTLD_LAZY);
        CHECK(library != NULL);
        long (*call_all)(long) = (long (*)(long))dlsym(library, "call_all");
        CHECK(call_all != NULL);
        wind_up(20);
        CHECK(call_all(round) == round + 1000);
        wind_up(0);
        CHECK(dlclose(library) == 0);
    }
    CHECK(n_ticks > 10);
    CHECK(CLOSE("ticks", ticks) == 0);
    return 0;
}
