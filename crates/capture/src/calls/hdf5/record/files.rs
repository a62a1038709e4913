// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files: opened, flushed, closed; and the closing of all else.

use core::ffi::{CStr, c_char, c_int};

use ioracle_spool::layout::Call;
use ioracle_spool::{Function, identity};

use super::{When, around, around_in, copy, file_of, handle, known};
use crate::calls::hdf5::functions::{Hdf5, Id};
use crate::calls::hdf5::handles::{self, HandleKind, KnownHandle};
use crate::calls::hdf5::noted;
use crate::calls::library_call::code;
use crate::files;
use crate::observe::call;

/// A file to be opened or created.
pub(in super::super) fn open_file(
    library: usize,
    function: Function,
    name: *const c_char,
    real: impl FnOnce() -> Id,
) -> Id {
    around(library, real, |hdf5, id, _, _| {
        let id = hdf5.id(id);
        let file = files::NamedPath { directory: libc::AT_FDCWD, path: name }.identity_of_target();
        if id >= 0 {
            noted::forget();
            // SAFETY: HDF5 has just opened the file of this name.
            let name = identity::of(unsafe { CStr::from_ptr(name) }.to_bytes());
            handles::keep(hdf5, id, &KnownHandle::new(HandleKind::File(name), file));
        }
        Some(call(function, file?, handle(id), code(id >= 0)))
    })
}

/// A file to be opened once more.
pub(in super::super) fn reopen_file(library: usize, file: Id, real: impl FnOnce() -> Id) -> Id {
    around(library, real, |hdf5, id, _, _| {
        let id = hdf5.id(id);
        let known = handles::file(hdf5, hdf5.id(file))?;
        if id >= 0 {
            handles::keep(hdf5, id, &known);
        }
        Some(call(Function::H5Freopen, known.file?, handle(id), code(id >= 0)))
    })
}

/// Any call on a file, or on all of an object's file, that moves no data.
pub(in super::super) fn on_file(
    library: usize,
    function: Function,
    (object, when): (Id, When),
    real: impl FnOnce() -> c_int,
) -> c_int {
    around(library, real, |hdf5, status, _, _| {
        let id = hdf5.id(object);
        let file = match known(hdf5, id) {
            Some(known) => known.file?,
            None if when.may_ask(status >= 0) => {
                hdf5.quietly(|hdf5| file_of(hdf5, id)).unwrap_or(Some(0))?
            }
            None => return None,
        };
        Some(call(function, file, handle(id), code(status >= 0)))
    })
}

/// Says whether a successful call released the last reference.
#[derive(Clone, Copy)]
pub(in super::super) enum Closing {
    /// By asking HDF5, if the call is not deferred.
    Object(When),
    /// By the result, which is the number of references left.
    Reference,
}

impl Closing {
    fn is_last(self, hdf5: Hdf5, id: Id, result: c_int) -> bool {
        match self {
            Closing::Object(When::Now) => !(hdf5.may_be_asked() && hdf5.is_open(id)),
            Closing::Object(When::Later) => true,
            Closing::Reference => result == 0,
        }
    }
}

/// Closes what an identifier stands for, if that is a file or a dataset that we know;
/// other identifiers do not concern us. If there are more references, it stays open and
/// nothing is recorded.
pub(in super::super) fn close(
    library: usize,
    (id, closing): (Id, Closing),
    real: impl FnOnce() -> c_int,
) -> c_int {
    let open = copy(library).and_then(|hdf5| Some((hdf5, known(hdf5, id)?)));
    let Some((hdf5, known)) = open else { return real() };
    around_in(hdf5, real, |hdf5, status, _, _| {
        let id = hdf5.id(id);
        if status >= 0 && !closing.is_last(hdf5, id, status) {
            return None;
        }
        if status >= 0 {
            handles::forget(hdf5, id);
        }
        let (function, object) = match known.kind {
            HandleKind::File(_) => (Function::H5Fclose, 0),
            HandleKind::Dataset(object) => (Function::H5Dclose, object),
            HandleKind::Attribute(_) | HandleKind::Nameless => return None,
        };
        let call = call(function, known.file?, handle(id), code(status >= 0));
        Some(Call { object, ..call })
    })
}
