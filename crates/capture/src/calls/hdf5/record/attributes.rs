// SPDX-License-Identifier: MIT OR Apache-2.0

//! Attributes: opened, read and written. Their opening is not recorded; it is
//! where they get their names, because nothing is asked after a failure.

use core::ffi::{CStr, c_char, c_int};

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use super::{When, around, copy, file_of, handle, known};
use crate::calls::hdf5::functions::{Hdf5, Id};
use crate::calls::hdf5::handles::{self, HandleKind, KnownHandle};
use crate::calls::hdf5::names::{self, Owner};
use crate::calls::library_call::code;
use crate::observe::{SavedErrno, call};

/// How a program names an attribute below its place.
#[derive(Clone, Copy)]
pub(in super::super) struct Given {
    /// The object that has it; `.` is the place itself.
    pub(in super::super) object: *const c_char,
    /// Null where it is known by a number.
    pub(in super::super) name: *const c_char,
}

impl Given {
    /// An attribute of the place itself.
    pub(in super::super) fn of_place(name: *const c_char) -> Given {
        Given { object: c".".as_ptr(), name }
    }

    /// One of the object, by a number.
    pub(in super::super) fn numbered(object: *const c_char) -> Given {
        Given { object, name: core::ptr::null() }
    }

    /// The path of the object.
    ///
    /// # Safety
    ///
    /// HDF5 has just taken it.
    unsafe fn object(&self) -> &[u8] {
        // SAFETY: as the caller says.
        unsafe { CStr::from_ptr(self.object) }.to_bytes()
    }
}

/// An attribute to be opened or created below `place`. Not recorded.
pub(in super::super) fn open_attribute(
    library: usize,
    (place, given): (Id, Given),
    when: When,
    real: impl FnOnce() -> Id,
) -> Id {
    let id = real();
    if let Some(hdf5) = copy(library)
        && hdf5.id(id) >= 0
    {
        let errno = SavedErrno::keep();
        let (id, place) = (hdf5.id(id), hdf5.id(place));
        match when {
            When::Now => {
                // SAFETY: HDF5 has opened what it was given.
                let owner = Owner::below(hdf5, place, unsafe { given.object() });
                learn(hdf5, id, owner);
            }
            When::Later => handles::keep(hdf5, id, &as_given(hdf5, place, given)),
        }
        errno.put_back();
    }
    id
}

/// An attribute that HDF5 cannot be asked about yet: named if it was named from
/// the root of the file.
fn as_given(hdf5: Hdf5, place: Id, given: Given) -> KnownHandle {
    let known = known(hdf5, place);
    let is_file = known.is_some_and(|known| matches!(known.kind, HandleKind::File(_)));
    let object = if is_file && !given.name.is_null() {
        // SAFETY: HDF5 has just taken both names.
        let (object, name) = unsafe { (given.object(), CStr::from_ptr(given.name)) };
        names::of_attribute_from_root(object, name.to_bytes())
    } else {
        0
    };
    KnownHandle::new(HandleKind::Attribute(object), known.map_or(Some(0), |known| known.file))
}

/// Finds out about an attribute that HDF5 has just accepted.
#[inline(never)]
fn learn(hdf5: Hdf5, id: Id, owner: Owner<'_>) -> Option<KnownHandle> {
    let known = hdf5.quietly(|hdf5| {
        let object = names::of_attribute(hdf5, id, owner);
        KnownHandle::new(HandleKind::Attribute(object), file_of(hdf5, id))
    })?;
    handles::keep(hdf5, id, &known);
    Some(known)
}

/// Reads or writes an attribute.
pub(in super::super) fn transfer_attribute(
    library: usize,
    function: Function,
    (id, when): (Id, When),
    real: impl FnOnce() -> c_int,
) -> c_int {
    around(library, real, |hdf5, status, _, _| {
        let id = hdf5.id(id);
        let may_ask = when.may_ask(status >= 0);
        let known = match handles::object(hdf5, id) {
            Some(known) if matches!(known.kind, HandleKind::Attribute(_)) => known,
            _ if may_ask => learn(hdf5, id, Owner::of(hdf5, id))?,
            _ => return None,
        };
        let HandleKind::Attribute(object) = known.kind else { return None };
        let asked = if may_ask { hdf5.quietly(|hdf5| hdf5.attribute_bytes(id)) } else { None };
        let requested = asked.flatten().unwrap_or(0);
        let call = call(function, known.file?, handle(id), code(status >= 0));
        Some(Call { object, requested, ..call })
    })
}

/// Closes an attribute. Not recorded; one that has more references is learned again.
pub(in super::super) fn close_attribute(
    library: usize,
    id: Id,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let status = real();
    if status >= 0
        && let Some(hdf5) = copy(library)
    {
        handles::forget(hdf5, hdf5.id(id));
    }
    status
}
