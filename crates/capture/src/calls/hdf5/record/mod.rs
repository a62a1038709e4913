// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is done around a call of HDF5.

mod attributes;
mod data;
mod files;
mod objects;

use ioracle_spool::identity;
use ioracle_spool::layout::Call;

use super::functions::{Hdf5, Id};
use super::handles::{self, HandleKind, KnownHandle};
use super::names::{self, DatasetOrigin, NamedObject};
use super::noted::DatasetPlace;
use crate::calls::library_call::observe;
use crate::files::NamedPath;
use crate::observe::is_on;
use crate::thread::{Begun, NestedLibrary, begin_in};
pub(super) use attributes::{Given, close_attribute, open_attribute, transfer_attribute};
pub(super) use data::{on_dataset, refresh, set_extent, transfer, transfer_chunk, transfer_many};
pub(super) use files::{Closing, close, on_file, open_file, reopen_file};
pub(super) use objects::{
    change_names, create_nameless, open_below, open_nameless, open_object, open_object_async,
    register_links,
};

/// When a call does its work.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before it returns.
    Now,
    /// Possibly later (`_async` with an event set), so that a question about what it
    /// opens or moves would have to wait for it.
    Later,
}

impl When {
    /// For a call with this event set; `H5ES_NONE` means at once.
    pub(super) fn of(events: Id) -> When {
        if events == 0 { When::Now } else { When::Later }
    }

    /// Whether HDF5 may be asked about the object of a call.
    fn may_ask(self, is_success: bool) -> bool {
        is_success && self == When::Now
    }
}

/// The copy that a call goes to; None: it is not recorded.
fn copy(library: usize) -> Option<Hdf5> {
    if is_on() { Hdf5::of(library) } else { None }
}

/// Makes the real call and records it as described, if it is recorded.
fn around<R: Copy>(
    library: usize,
    real: impl FnOnce() -> R,
    describe: impl FnOnce(Hdf5, R, &Begun, u64) -> Option<Call>,
) -> R {
    match copy(library) {
        Some(hdf5) => around_in(hdf5, real, describe),
        None => real(),
    }
}

/// The same, in a copy that is known.
fn around_in<R: Copy>(
    hdf5: Hdf5,
    real: impl FnOnce() -> R,
    describe: impl FnOnce(Hdf5, R, &Begun, u64) -> Option<Call>,
) -> R {
    let Some(begun) = begin_in(NestedLibrary::Hdf5) else { return real() };
    observe(NestedLibrary::Hdf5, begun, real, |result, begun, end_ns| {
        describe(hdf5, result, begun, end_ns)
    })
}

/// The number by which traces know an identifier.
fn handle(id: Id) -> i32 {
    if id < 0 { -1 } else { (id & 0xff_ffff) as i32 }
}

fn known(hdf5: Hdf5, id: Id) -> Option<KnownHandle> {
    let id = hdf5.id(id);
    handles::file(hdf5, id).or_else(|| handles::object(hdf5, id))
}

/// Finds out about a dataset that was just opened, or is used without having
/// been seen before: its file, if it is recorded, and its name.
#[inline(never)]
fn learn_dataset(hdf5: Hdf5, dataset: Id, origin: DatasetOrigin) -> (Option<u64>, NamedObject) {
    let found = find_file(hdf5, dataset);
    let (FileOf::Opened(file) | FileOf::Other(file)) = found;
    let place = |name| match found {
        FileOf::Opened(file) => Some(DatasetPlace::new(hdf5, file?, name)),
        FileOf::Other(_) => None,
    };
    let named = match file {
        Some(_) if origin != DatasetOrigin::Nameless => {
            names::of_dataset(hdf5, dataset, (origin, place))
        }
        _ => NamedObject::default(),
    };
    handles::keep(hdf5, dataset, &KnownHandle::new(HandleKind::Dataset(named.object), file));
    (file, named)
}

/// The identity of an object's file; None: it is not recorded.
fn file_of(hdf5: Hdf5, object: Id) -> Option<u64> {
    let (FileOf::Opened(file) | FileOf::Other(file)) = find_file(hdf5, object);
    file
}

/// The file that an object lies in.
#[derive(Clone, Copy)]
enum FileOf {
    /// One that the program has opened.
    Opened(Option<u64>),
    /// One that HDF5 has opened itself, behind a link, or that is not known.
    Other(Option<u64>),
}

fn find_file(hdf5: Hdf5, object: Id) -> FileOf {
    let mut room = [0; 1024];
    let Some(name) = hdf5.file_name(object, &mut room) else { return FileOf::Other(Some(0)) };
    if let Some(known) = handles::file_named(hdf5, identity::of(name)) {
        return FileOf::Opened(known.file);
    }
    let path = room.as_ptr().cast();
    FileOf::Other(NamedPath { directory: libc::AT_FDCWD, path }.identity_of_target())
}
