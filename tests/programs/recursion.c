/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Calls from far down: 50,000 frames deep, and on the way back.
 */
#include "expected.h"

static int fd;
static long position;

__attribute__((noinline)) static long descend(long depth)
{
    if (depth % 5000 == 0) {
        CHECK(WRITE("data", position, fd, "down", 4) == 4);
        position += 4;
    }
    long below = depth < 50000 ? descend(depth + 1) : 0;
    if (depth % 10000 == 0) {
        CHECK(WRITE("data", position, fd, "up", 2) == 2);
        position += 2;
    }
    return below + 1;
}

int main(void)
{
    fd = OPEN("data", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    CHECK(descend(0) == 50001);
    CHECK(CLOSE("data", fd) == 0);
    return 0;
}
