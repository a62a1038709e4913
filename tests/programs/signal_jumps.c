/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A handler that leaves by siglongjmp may abandon a call, and with it the
 * recorder at any instruction; what follows must be recorded all the same.
 * What was being written when it jumped is not known: only the calls to
 * "sure" are expected.
 */
#include "expected.h"
#include <setjmp.h>
#include <signal.h>
#include <sys/time.h>

static sigjmp_buf back;

static void jump(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

int main(void)
{
    int sure = OPEN("sure", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    int busy = OPEN("busy", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    struct sigaction action = {.sa_handler = jump};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0);

    for (volatile long n = 0; n < 300; n++) {
        if (sigsetjmp(back, 1) == 0) {
            struct itimerval once = {{0, 0}, {0, 50 + n % 97}};
            CHECK(setitimer(ITIMER_REAL, &once, NULL) == 0);
            for (;;)
                pwrite(busy, "busy", 4, 0);
        }
        CHECK(WRITE("sure", n * 4, sure, "sure", 4) == 4);
    }
    CHECK(CLOSE("busy", busy) == 0 && CLOSE("sure", sure) == 0);
    return 0;
}
