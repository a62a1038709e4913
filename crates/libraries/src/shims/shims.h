/* SPDX-License-Identifier: MIT OR Apache-2.0 */

/* What Rust sees of MPI, HDF5 and netCDF. Functions return 0, or nonzero after
   they have written a sentence of at most 255 bytes to `error`. */

#ifndef IORACLE_SHIMS_H
#define IORACLE_SHIMS_H

#include <stdint.h>
#include <stdio.h>

#define ERROR_BYTES 256

#ifdef WITH_MPI
#include <mpi.h>
/* The ranks that take part in the current phase. */
extern MPI_Comm ioracle_tasks;
#endif

#endif
