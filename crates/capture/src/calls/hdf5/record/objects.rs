// SPDX-License-Identifier: MIT OR Apache-2.0

//! Datasets and other objects: opened, created, or led to.

use core::ffi::{CStr, c_char, c_int};

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use super::{When, around, copy, file_of, handle, known, learn_dataset};
use crate::calls::hdf5::functions::{Hdf5, Id};
use crate::calls::hdf5::handles::{self, HandleKind, KnownHandle};
use crate::calls::hdf5::names::{self, DatasetOrigin, NamedObject};
use crate::calls::hdf5::noted;
use crate::observe::call;

/// A dataset, or by `H5Oopen` any object, to be opened or created below `place`.
pub(in super::super) fn open_object(
    library: usize,
    function: Function,
    place: Id,
    real: impl FnOnce() -> Id,
) -> Id {
    around(library, real, |hdf5, id, _, _| {
        let id = hdf5.id(id);
        if id < 0 {
            return failed_below(hdf5, function, place);
        }
        let is_nameless = handles::is_nameless(hdf5, hdf5.id(place));
        if is_nameless {
            handles::keep(hdf5, id, &NAMELESS);
        }
        let opened = hdf5.quietly(|hdf5| {
            if hdf5.is_dataset(id) {
                let origin = match function {
                    _ if is_nameless => DatasetOrigin::Nameless,
                    Function::H5Dcreate => DatasetOrigin::Created,
                    _ => DatasetOrigin::Opened,
                };
                learn_dataset(hdf5, id, origin)
            } else {
                let object = if is_nameless { 0 } else { names::of_object(hdf5, id) };
                (file_of(hdf5, id), NamedObject { object, with_notes: object })
            }
        });
        let (file, named) = opened.unwrap_or((Some(0), NamedObject::default()));
        let call = call(function, file?, handle(id), 0);
        Some(Call { object: named.with_notes, ..call })
    })
}

/// The same, perhaps later: it is known by the name that the program gave, if
/// that was given from the root of the file.
pub(in super::super) fn open_object_async(
    library: usize,
    function: Function,
    (place, name): (Id, *const c_char),
    when: When,
    real: impl FnOnce() -> Id,
) -> Id {
    if when == When::Now {
        return open_object(library, function, place, real);
    }
    around(library, real, |hdf5, id, _, _| {
        if id < 0 {
            return failed_below(hdf5, function, place);
        }
        let known = known(hdf5, place);
        let file = known.map_or(Some(0), |known| known.file);
        let is_file = known.is_some_and(|known| matches!(known.kind, HandleKind::File(_)));
        // SAFETY: HDF5 has just taken the name.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        let object = if is_file { names::from_root(name) } else { 0 };
        if function != Function::H5Oopen {
            handles::keep(hdf5, id, &KnownHandle::new(HandleKind::Dataset(object), file));
        }
        Some(Call { object, ..call(function, file?, handle(id), 0) })
    })
}

/// A dataset to be made without a name.
pub(in super::super) fn create_nameless(
    library: usize,
    place: Id,
    real: impl FnOnce() -> Id,
) -> Id {
    around(library, real, |hdf5, id, _, _| {
        let id = hdf5.id(id);
        if id < 0 {
            return failed_below(hdf5, Function::H5Dcreate, place);
        }
        let learned = hdf5.quietly(|hdf5| learn_dataset(hdf5, id, DatasetOrigin::Nameless));
        let file = learned.map_or(Some(0), |(file, _)| file);
        Some(call(Function::H5Dcreate, file?, handle(id), 0))
    })
}

/// A call that opened nothing: which file it was about follows from the place, if
/// that is one we know. Nothing is asked after a failure.
fn failed_below(hdf5: Hdf5, function: Function, place: Id) -> Option<Call> {
    let file = known(hdf5, place).map_or(Some(0), |known| known.file);
    Some(call(function, file?, -1, -1))
}

/// An object to be opened without a name, by a reference or its address. Not
/// recorded: it is only remembered that HDF5 must not be asked for its name.
pub(in super::super) fn open_nameless(library: usize, real: impl FnOnce() -> Id) -> Id {
    remember_nameless(library, real, |_| true)
}

/// A group or attribute to be opened or created, which has no name where its
/// place has none. Not recorded.
pub(in super::super) fn open_below(library: usize, place: Id, real: impl FnOnce() -> Id) -> Id {
    remember_nameless(library, real, |hdf5| handles::is_nameless(hdf5, hdf5.id(place)))
}

fn remember_nameless(
    library: usize,
    real: impl FnOnce() -> Id,
    is_nameless: impl FnOnce(Hdf5) -> bool,
) -> Id {
    let id = real();
    if let Some(hdf5) = copy(library)
        && hdf5.id(id) >= 0
        && is_nameless(hdf5)
    {
        handles::keep(hdf5, hdf5.id(id), &NAMELESS);
    }
    id
}

const NAMELESS: KnownHandle = KnownHandle::new(HandleKind::Nameless, Some(0));

/// A call after which a name may mean another object. Not recorded.
pub(in super::super) fn change_names(real: impl FnOnce() -> c_int) -> c_int {
    let status = real();
    noted::forget();
    status
}

/// Links of a kind of the program's own may lead anywhere. Not recorded.
pub(in super::super) fn register_links(real: impl FnOnce() -> c_int) -> c_int {
    noted::distrust();
    real()
}
