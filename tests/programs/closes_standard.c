/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * Standard input, output and error are closed, and their numbers given to
 * files: nothing of ours may then be written there.
 */
#include "expected.h"

int main(void)
{
    close(0);
    close(1);
    close(2);
    int zero = OPEN("zero", O_RDWR | O_CREAT | O_TRUNC, 0644);
    int one = OPEN("one", O_RDWR | O_CREAT | O_TRUNC, 0644);
    int two = OPEN("two", O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (zero != 0 || one != 1 || two != 2)
        return 1;
    char buffer[32];
    WRITE("zero", 0, zero, "number zero\n", 12);
    WRITE("one", 0, one, "number one\n", 11);
    WRITE("two", 0, two, "number two\n", 11);
    CALL("lseek", "two", 11, 0, lseek(two, 0, SEEK_SET));
    if (READ("two", 0, two, buffer, 32) != 11)
        return 2;
    int three = OPEN("three", O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (three != 3)
        return 3;
    CLOSE("three", three);
    CLOSE("zero", zero);
    return 0;
}
