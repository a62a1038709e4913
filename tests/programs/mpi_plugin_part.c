/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A plug-in that uses the copy of a library it was linked with.
 */
int MPI_File_sync(void *file);
int ask(int with_file);

int ask(int with_file)
{
    static int file;
    /* Not the last thing it does, or nothing would tell who has called. */
    volatile int answer = MPI_File_sync(with_file ? &file : 0);
    return answer;
}
