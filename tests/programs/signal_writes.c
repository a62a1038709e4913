/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A timer's handler writes, every 100 microseconds, while the program writes:
 * it interrupts the program and the recorder at any instruction.
 */
#include "expected.h"
#include <signal.h>
#include <sys/time.h>

static int ticks;
static volatile int n_ticks;

static void tick(int number)
{
    (void)number;
    int error = errno;
    CHECK(WRITE("ticks", n_ticks * 5, ticks, "tick\n", 5) == 5);
    n_ticks++;
    errno = error;
}

int main(void)
{
    ticks = OPEN("ticks", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int fd = OPEN("main", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    FILE *stream = FOPEN("text", "w");
    CHECK(stream != NULL);

    struct sigaction action = {.sa_handler = tick, .sa_flags = SA_RESTART};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval every = {{0, 100}, {0, 100}};
    CHECK(setitimer(ITIMER_REAL, &every, NULL) == 0);
    for (long n = 0; n < 20000; n++) {
        CHECK(WRITE("main", n * 4, fd, "main", 4) == 4);
        CHECK(CALL_AS("fputs", "text", n * 4, 4, 4, fputs("abc\n", stream)) >= 0);
    }
    struct itimerval never = {{0, 0}, {0, 0}};
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    CHECK(n_ticks > 10);
    CHECK(FCLOSE("text", stream) == 0 && CLOSE("main", fd) == 0 && CLOSE("ticks", ticks) == 0);
    return 0;
}
