// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls into libraries whose functions call each other: only the outermost is
//! the application's. Fortran's `mpi_file_open_` may call C's `MPI_File_open`,
//! which is then no call of its own.

use core::ptr::NonNull;

use ioracle_spool::layout::Call;

use super::guard::is_void;
use super::{Begun, begin};
use crate::arch;
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
pub(crate) fn is_inside(library: Library) -> bool {
    // SAFETY: cell and state are this thread's own; plain words are read.
    let (sp, state) = unsafe {
        let cell = arch::thread_cell();
        ((*cell).caller_sp, (*cell).state.as_ref())
    };
    state.is_some_and(|state| {
        let outer = state.inside.get(library as usize).copied().unwrap_or(0);
        state.generation == RECORDER.generation() && outer != 0 && !is_void(outer, sp)
    })
}

/// Begins a call of a library; None also if another call of the same library is
/// under way on this thread.
pub(crate) fn begin_in(library: Library) -> Option<Begun> {
    if is_inside(library) {
        return None;
    }
    let begun = begin()?;
    set_inside(begun.state, library, begun.sp);
    Some(begun)
}

impl Begun {
    /// Ends a call of a library, with a record or without.
    pub(crate) fn leave(self, library: Library, end_ns: u64, call: Option<Call>) {
        set_inside(self.state, library, 0);
        match call {
            Some(call) => self.end(end_ns, call),
            None => self.forget(),
        }
    }
}

fn set_inside(state: NonNull<super::ThreadState>, library: Library, sp: usize) {
    // SAFETY: the state is this thread's own and lives until the thread ends.
    if let Some(inside) = unsafe { (*state.as_ptr()).inside.get_mut(library as usize) } {
        *inside = sp;
    }
}
