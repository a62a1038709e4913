// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls into libraries whose functions call each other: only the outermost is
//! the application's. Fortran's `mpi_file_open_` may call C's `MPI_File_open`,
//! which is then no call of its own.

use core::sync::atomic::Ordering::Relaxed;

use ioracle_spool::layout::Call;

use super::guard::is_void;
use super::{Begun, begin, cell, count_refused};
use crate::recorder::RECORDER;

/// A library whose calls may be nested in each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Library {
    /// MPI.
    Mpi,
    /// HDF5.
    Hdf5,
    /// netCDF.
    NetCdf,
    /// PnetCDF.
    PnetCdf,
}

impl Library {
    /// How many there are.
    pub(crate) const COUNT: usize = 4;
}

/// Whether a call of the library is under way on this thread.
pub(crate) fn is_nested_in(library: Library) -> bool {
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
pub(crate) fn begin_in(library: Library) -> Option<Begun> {
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
    pub(crate) fn leave(self, library: Library, end_ns: u64, call: Option<Call>) {
        self.state().outermost(library).store(0, Relaxed);
        match call {
            Some(call) => self.end(end_ns, call),
            None => self.forget(),
        }
    }
}
