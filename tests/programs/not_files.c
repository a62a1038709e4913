/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * What is kept out: sockets, pipes, terminals, devices, /proc and /sys. One
 * real file shows that recording was on.
 */
#include "expected.h"
#include <sys/eventfd.h>
#include <sys/socket.h>

static void both_ways(int to, int from)
{
    char buffer[16];
    CHECK(write(to, "kept out", 8) == 8 && read(from, buffer, 16) == 8);
    CHECK(close(to) == 0 && close(from) == 0);
}

static void only_read(const char *path)
{
    char buffer[64];
    int fd = open(path, O_RDONLY);
    if (fd >= 0)
        CHECK(read(fd, buffer, sizeof buffer) >= 0 && close(fd) == 0);
    FILE *stream = fopen(path, "r");
    if (stream != NULL)
        CHECK(fread(buffer, 1, 8, stream) <= 8 && fclose(stream) == 0);
}

int main(void)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    both_ways(ends[0], ends[1]);
    CHECK(pipe(ends) == 0);
    both_ways(ends[1], ends[0]);

    uint64_t one = 1;
    int event = eventfd(0, 0);
    CHECK(write(event, &one, 8) == 8 && read(event, &one, 8) == 8 && close(event) == 0);

    only_read("/proc/self/status");
    only_read("/proc/meminfo");
    only_read("/sys/kernel/mm/transparent_hugepage/enabled");
    only_read("/dev/zero");
    only_read("/dev/urandom");
    int null = open("/dev/null", O_WRONLY);
    CHECK(write(null, "gone", 4) == 4 && close(null) == 0);
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master >= 0) {
        write(master, "tty", 3);
        close(master);
    }
    printf("to a pipe\n");

    int fd = OPEN("file", O_WRONLY | O_CREAT, 0644);
    CHECK(WRITE("file", 0, fd, "file", 4) == 4 && CLOSE("file", fd) == 0);
    return 0;
}
