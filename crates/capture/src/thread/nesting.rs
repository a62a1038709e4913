// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls into libraries whose functions call each other: only the outermost is made by
//! the application. Fortran's `mpi_file_open_` may call C's `MPI_File_open`, which then
//! does not count.

use core::sync::atomic::Ordering::Relaxed;

use ioracle_spool::layout::Call;

use super::reentrancy_guard::is_void;
use super::{Begun, begin, cell, count_refused, is_caller_of_this};
use crate::recorder::RECORDER;

/// A library whose calls may be nested in each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum NestedLibrary {
    /// MPI.
    Mpi,
    /// HDF5.
    Hdf5,
    /// netCDF.
    NetCdf,
    /// PnetCDF.
    PnetCdf,
}

impl NestedLibrary {
    /// How many there are.
    pub(crate) const COUNT: usize = 4;
}

/// Whether a call of the library is under way on this thread.
pub(crate) fn is_nested_in(library: NestedLibrary) -> bool {
    let cell = cell();
    cell.state().is_some_and(|state| {
        let outer = state.outermost(library).load(Relaxed);
        outer != 0
            && state.generation.load(Relaxed) == RECORDER.generation()
            && !is_void(outer, cell.caller_sp.load(Relaxed))
    })
}

/// Begins a call of a library; None also if another call of the same library is
/// under way on this thread.
pub(crate) fn begin_in(library: NestedLibrary) -> Option<Begun> {
    if is_nested_in(library) {
        return None;
    }
    let Some(begun) = begin() else {
        count_refused();
        return None;
    };
    begun.state().outermost(library).store(begun.sp, Relaxed);
    Some(begun)
}

impl Begun {
    /// Ends a call of a library, with a record or without.
    pub(crate) fn leave(self, library: NestedLibrary, end_ns: u64, call: Option<Call>) {
        self.state().outermost(library).store(0, Relaxed);
        match call {
            Some(call) => self.end(end_ns, call),
            None => self.forget(),
        }
    }
}

/// Keeps the real function of the call that has just come to a row, which is known
/// by its address.
pub(crate) fn keep_real(row: usize, real: usize) {
    let cell = cell();
    cell.real.store(real, Relaxed);
    cell.real_row.store(row, Relaxed);
    cell.real_sp.store(cell.caller_sp.load(Relaxed), Relaxed);
}

/// The real function of this call of the row, once. None if the entry had no need
/// to find it, or a handler that came in between has made calls of its own.
pub(crate) fn take_real(row: usize) -> Option<usize> {
    let cell = cell();
    let sp = cell.caller_sp.load(Relaxed);
    let is_of_this = cell.real_row.load(Relaxed) == row && cell.real_sp.load(Relaxed) == sp;
    if !is_of_this || !is_caller_of_this(sp) {
        return None;
    }
    cell.real_row.store(0, Relaxed);
    Some(cell.real.load(Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_entry_found_is_taken_once_and_by_this_call_alone() {
        let here = 0_u8;
        let set_sp = |sp| cell().caller_sp.store(sp, Relaxed);
        let sp = &raw const here as usize + 256;
        set_sp(sp);
        keep_real(7, 1000);
        assert_eq!((take_real(8), take_real(7), take_real(7)), (None, Some(1000), None));
        // A handler has come in between: it left where it was called.
        keep_real(7, 2000);
        set_sp(sp - 64 * 1024);
        assert_eq!(take_real(7), None);
        keep_real(7, 3000);
        assert_eq!(take_real(7), None);
    }
}
