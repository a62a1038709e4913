// SPDX-License-Identifier: MIT OR Apache-2.0

//! The tables of intercepted functions, and what their rows do.
//!
//! `posix.rs`, `metadata.rs`, `stdio.rs`, `process.rs`, `mpi/`, `hdf5/`, `netcdf/` and `pnetcdf/`
//! are the tables. Nothing else names an intercepted function; the other files
//! here hold what their rows have in common.

mod hdf5;
mod metadata;
mod mpi;
mod netcdf;
mod pnetcdf;
mod posix;
mod process;
mod stdio;

mod aio;
mod cdf;
mod copies;
mod copying;
mod descriptors;
mod library_call;
mod memory;
mod paths;
mod requests;
mod seqlock_table;
mod stream_state;
mod streams;

/// Looks up the real function of every row of the C library, before the program needs one where
/// looking it up is not safe, as in a signal handler.
pub(crate) fn find_real_functions() {
    for table in [posix::REALS, metadata::REALS, stdio::REALS, process::REALS] {
        for real in table {
            real.find();
        }
    }
}

/// Forgets what a copy of a library has open, before another copy gets its number.
fn forget_copy(number: u64) {
    hdf5::forget_copy(number);
    cdf::forget_copy(number);
    pnetcdf::forget_copy(number);
}
