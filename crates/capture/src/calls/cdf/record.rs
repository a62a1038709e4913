// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is done around a call of netCDF or PnetCDF.
//!
//! Bytes are those of the selected items in the file, whatever type they have in
//! memory. A failed call selects nothing, unless some numbers did not fit the type
//! (NC_ERANGE): then the library has moved the data.

use core::ffi::{c_char, c_int};

use ioracle_spool::Function;
use ioracle_spool::layout::Call;
use ioracle_spool::selection::Selection;

use super::inquiry::{Cdf, Dialect};
use super::selection::Chosen;
use super::{files, variables};
use crate::calls::library_call::{begin, code, observe};
use crate::files::NamedPath;
use crate::observe::{call, is_on};
use crate::thread::{Begun, begin_in};

/// The real call; not a type of its own for each of two thousand rows.
pub(in crate::calls) type Real<'a> = &'a dyn Fn() -> c_int;

/// A file to be opened or made.
pub(in crate::calls) fn open(
    (dialect, library): (&Dialect, usize),
    function: Function,
    path: *const c_char,
    ncid: *const c_int,
    real: Real<'_>,
) -> c_int {
    let Some(begun) = begin(dialect.library) else { return real() };
    observe(dialect.library, begun, real, |result, _, _| {
        let path = (dialect.local_path)(path)?;
        let file = NamedPath { directory: libc::AT_FDCWD, path }.identity_of_target()?;
        let mut opened = -1;
        if result == 0 && !ncid.is_null() {
            // SAFETY: the library has just stored it there.
            let ncid = unsafe { *ncid };
            files::opened(Cdf::of(dialect, library)?, ncid, file);
            opened = handle(ncid);
        }
        Some(call(function, file, opened, code(result == 0)))
    })
}

/// Opens something that is not recorded, under a number that a file may have had.
pub(in crate::calls) fn open_unseen(
    (dialect, library): (&Dialect, usize),
    ncid: *const c_int,
    real: Real<'_>,
) -> c_int {
    let result = real();
    if result == 0
        && !ncid.is_null()
        && is_on()
        && let Some(cdf) = Cdf::of(dialect, library)
    {
        // SAFETY: the library has just stored it there.
        files::forget(cdf, unsafe { *ncid });
    }
    result
}

/// Closes a file.
pub(in crate::calls) fn close(
    (dialect, library): (&Dialect, usize),
    function: Function,
    ncid: c_int,
    real: Real<'_>,
) -> c_int {
    let Some((begun, cdf, file)) = begin_on(dialect, library, ncid) else { return real() };
    let was_open = files::forget(cdf, ncid).is_some();
    observe(dialect.library, begun, real, |result, _, _| {
        if result != 0 && was_open {
            files::opened(cdf, ncid, file);
        }
        Some(call(function, file, handle(ncid), code(result == 0)))
    })
}

/// Any call on an open file that moves no data.
pub(in crate::calls) fn on_file(
    (dialect, library): (&Dialect, usize),
    function: Function,
    ncid: c_int,
    real: Real<'_>,
) -> c_int {
    let Some((begun, _, file)) = begin_on(dialect, library, ncid) else { return real() };
    observe(dialect.library, begun, real, |result, _, _| {
        Some(call(function, file, handle(ncid), code(result == 0)))
    })
}

/// A call after which variables may have changed.
pub(in crate::calls) fn redefine(
    (dialect, library): (&Dialect, usize),
    function: Function,
    ncid: c_int,
    real: Real<'_>,
) -> c_int {
    forgetting((dialect, library), ncid, &|| on_file((dialect, library), function, ncid, real))
}

/// A call after which variables may have other names; it is not recorded.
pub(in crate::calls) fn forgetting(
    (dialect, library): (&Dialect, usize),
    ncid: c_int,
    real: Real<'_>,
) -> c_int {
    if is_on()
        && let Some(cdf) = Cdf::of(dialect, library)
    {
        variables::forget(cdf, files::number_of_file(cdf, ncid));
    }
    real()
}

/// Reads or writes a part of a variable.
pub(in crate::calls) fn access(
    (dialect, library): (&Dialect, usize),
    function: Function,
    (ncid, varid): (c_int, c_int),
    chosen: &Chosen,
    real: Real<'_>,
) -> c_int {
    let Some((begun, cdf, file)) = begin_on(dialect, library, ncid) else { return real() };
    observe(dialect.library, begun, real, |result, begun, _| {
        let accessed = describe(cdf, ncid, varid, chosen, result);
        if let Some(selection) = &accessed.selection {
            begun.select(selection);
        }
        Some(accessed.call(function, file, ncid, result))
    })
}

/// Begins a call on an open file; None: it is not recorded.
pub(in crate::calls) fn begin_on(
    dialect: &Dialect,
    library: usize,
    ncid: c_int,
) -> Option<(Begun, Cdf, u64)> {
    if !is_on() {
        return None;
    }
    let cdf = Cdf::of(dialect, library)?;
    let file = files::find(cdf, ncid)?;
    Some((begin_in(dialect.library)?, cdf, file))
}

/// What was accessed.
#[derive(Default)]
pub(in crate::calls) struct Accessed {
    pub(in crate::calls) object: u64,
    pub(in crate::calls) bytes: u64,
    pub(in crate::calls) selection: Option<Selection>,
}

impl Accessed {
    /// Its record.
    pub(in crate::calls) fn call(
        &self,
        function: Function,
        file: u64,
        ncid: c_int,
        result: c_int,
    ) -> Call {
        let call = call(function, file, handle(ncid), code(result == 0));
        Call { object: self.object, requested: self.bytes, ..call }
    }
}

/// Describes an access that returned `result`.
pub(in crate::calls) fn describe(
    cdf: Cdf,
    ncid: c_int,
    varid: c_int,
    chosen: &Chosen,
    result: c_int,
) -> Accessed {
    if !has_moved(result) {
        let object = variables::known(cdf, ncid, varid).unwrap_or_default().object;
        return Accessed { object, ..Accessed::default() };
    }
    let Some(variable) = variables::find(cdf, ncid, varid) else { return Accessed::default() };
    let shape = if chosen.needs_shape() { cdf.shape(ncid, varid, variable.n_dims) } else { None };
    let n_items = chosen.n_items(variable.n_dims, shape.as_ref());
    Accessed {
        object: variable.object,
        bytes: n_items.saturating_mul(variable.item_bytes),
        selection: chosen.selection(variable.n_dims, shape.as_ref()),
    }
}

/// Whether the library has looked at the arrays and moved data.
pub(in crate::calls) fn has_moved(result: c_int) -> bool {
    const NC_ERANGE: c_int = -60;
    result == 0 || result == NC_ERANGE
}

/// A library's number as records have it.
pub(in crate::calls) fn handle(ncid: c_int) -> c_int {
    ncid & 0x00ff_ffff
}
