/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * A library that has one function of MPI and answers by a number of its own.
 */
int MPI_File_sync(void *file);

int MPI_File_sync(void *file) { return file != 0 ? ANSWER + 1000 : ANSWER; }
