/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Copies that the kernel makes: each is a read of one file and a write of
 * another, recorded as two events.
 */
#include "expected.h"
#include <sys/sendfile.h>

/* The trace has the write first; both have the same size. */
#define COPY(function, from, at, to, to_at, count, result, call)                                    \
    ({                                                                                              \
        struct expected_call *write_ = expected_begin(function, to, to_at, count);                  \
        struct expected_call *read_ = expected_begin(function "_read", from, at, count);            \
        ssize_t copied_ = (call);                                                                   \
        expected_end(read_, copied_);                                                               \
        expected_end(write_, copied_);                                                              \
        CHECK(copied_ == (result));                                                                 \
    })

int main(void)
{
    static char page[4096];
    int from = OPEN("from", O_RDWR | O_CREAT | O_TRUNC, 0644);
    int to = OPEN("to", O_RDWR | O_CREAT | O_TRUNC, 0644);
    CHECK(WRITE("from", 0, from, page, 4096) == 4096);

    off64_t in = 100, out = 2000;
    COPY("copy_file_range", "from", 100, "to", 2000, 500, 500,
         copy_file_range(from, &in, to, &out, 500, 0));
    CHECK(in == 600 && out == 2500);
    CHECK(CALL("lseek", "from", 4096, 0, lseek(from, 1000, SEEK_SET)) == 1000);
    COPY("copy_file_range", "from", 1000, "to", 0, 96, 96,
         copy_file_range(from, NULL, to, NULL, 96, 0));

    off_t at = 3000;
    COPY("sendfile", "from", 3000, "to", 96, 4, 4, sendfile(to, from, &at, 4));
    COPY("sendfile", "from", 1096, "to", 100, 900, 900, sendfile64(to, from, NULL, 900));
    CHECK(READ("from", 1996, from, page, 4) == 4);
    CHECK(WRITE("to", 1000, to, page, 4) == 4);

    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(CALL("splice_read", "from", 2000, 100, splice(from, NULL, ends[1], NULL, 100, 0)) == 100);
    out = 3000;
    CHECK(CALL("splice", "to", 3000, 100, splice(ends[0], NULL, to, &out, 100, 0)) == 100);
    CHECK(CALL("sendfile_read", "from", 2100, 50, sendfile(ends[1], from, NULL, 50)) == 50);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);

    CHECK(CLOSE("from", from) == 0 && CLOSE("to", to) == 0);
    return 0;
}
