/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A periodic program that asks once what comes next, after as many periods as
 * its argument says and before anybody can have learned much of it. Prints the
 * answer: the result, then of what is expected first its function and path, or
 * that it is none of those seen before.
 *
 * A period opens a file, writes three blocks to it and closes it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ioracle.h"

enum { PERIODS = 40, BLOCKS = 3 };

static void ask(void)
{
    ioracle_prediction answer;
    ioracle_basis basis;
    int result = ioracle_next(5000000000, &answer, 1, &basis);
    printf("%s", ioracle_result_name(result));
    if (result == IORACLE_OK && basis.n_predictions > 0)
        printf(" %s %s", answer.is_unseen ? "unseen" : ioracle_function_name(answer.function),
               answer.path);
    printf("\n");
}

int main(int argc, char **argv)
{
    int asks_after = argc > 1 ? atoi(argv[1]) : 0;
    static const char block[512];
    for (int period = 0; period < PERIODS; period++) {
        if (period == asks_after)
            ask();
        int file = open("state", O_RDWR | O_CREAT, 0644);
        for (int place = 0; place < BLOCKS; place++)
            if (pwrite(file, block, sizeof block, place * 4096) != sizeof block)
                return 1;
        close(file);
    }
    return 0;
}
