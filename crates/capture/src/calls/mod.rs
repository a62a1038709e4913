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

use crate::interpose::Real;
use crate::loader;

/// Looks up the real function of every row of the C library, before the program needs one where
/// looking it up is not safe, as in a signal handler.
pub(crate) fn find_real_functions() {
    let is_looked_up = loader::look_behind_ours(|find| {
        real_functions().for_each(|real| real.find_by(find));
    });
    if !is_looked_up {
        real_functions().for_each(|real| _ = real.find());
    }
}

fn real_functions() -> impl Iterator<Item = &'static Real> {
    let tables = [posix::REALS, metadata::REALS, stdio::REALS, process::REALS];
    tables.into_iter().flatten().copied()
}

/// Forgets what a copy of a library has open, before another copy gets its number.
fn forget_copy(number: u64) {
    hdf5::forget_copy(number);
    cdf::forget_copy(number);
    pnetcdf::forget_copy(number);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_functions_are_those_that_the_linker_finds() {
        loader::set_up();
        find_real_functions();
        let found: Vec<_> = real_functions().map(Real::known_address).collect();
        real_functions().for_each(|real| _ = real.find());
        let by_linker: Vec<_> = real_functions().map(Real::known_address).collect();
        assert_eq!(found, by_linker);
        assert!(found.iter().filter(|address| !address.is_null()).count() > 100);
    }
}
