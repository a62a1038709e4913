/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Mappings of files are recorded, those of memory are not. The mapping
 * outlives its descriptor.
 */
#include "expected.h"

int main(void)
{
    int fd = OPEN("mapped", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(CALL("ftruncate", "mapped", ANY, 65536, ftruncate(fd, 65536)) == 0);
    char *a = CALL_AS("mmap", "mapped", 0, 65536, ANY,
                      mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    char *b = CALL_AS("mmap", "mapped", 8192, 4096, ANY,
                      mmap64(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 8192));
    CHECK(a != MAP_FAILED && b != MAP_FAILED);
    CHECK(CLOSE("mapped", fd) == 0);
    memset(a, 'm', 65536);
    CHECK(b[0] == 'm');
    CHECK(CALL("msync", "mapped", ANY, 4096, msync(a + 4096, 4096, MS_SYNC)) == 0);
    CHECK(CALL("munmap", "mapped", ANY, 4096, munmap(b, 4096)) == 0);
    CHECK(CALL("munmap", "mapped", ANY, 65536, munmap(a, 65536)) == 0);

    char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && munmap(memory, 8192) == 0);
    CHECK(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, 9999, 0) == MAP_FAILED && errno == EBADF);
    return 0;
}
