// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is done around a call of HDF5.

use core::ffi::{CStr, c_char, c_int};

use ioracle_spool::layout::Call;
use ioracle_spool::selection::{Part, Selection};
use ioracle_spool::{Function, identity};

use super::copies::{Hdf5, Id};
use super::handles::{self, Kind, Known};
use super::names::{self, Named};
use super::questions::MAX_RANK;
use super::selected::{self, Asked, Lists};
use crate::calls::library_call::{code, observe};
use crate::files;
use crate::observe::{call, is_on};
use crate::thread::{Begun, Library, begin_in};

/// When a call does what it was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before it returns.
    Now,
    /// It may only be noted down (`_async` with a set of events), so that a
    /// question about what it opens or moves would have to wait for it.
    Later,
}

impl When {
    /// Of a call that was given a set of events, if it is not `H5ES_NONE`.
    pub(super) fn of(events: Id) -> When {
        if events == 0 { When::Now } else { When::Later }
    }

    /// Whether HDF5 may be asked about the object of a call.
    fn may_ask(self, is_success: bool) -> bool {
        is_success && self == When::Now
    }
}

/// Begins a call; None: it is not recorded.
fn begin(library: usize) -> Option<(Begun, Hdf5)> {
    if !is_on() {
        return None;
    }
    let hdf5 = Hdf5::of(library)?;
    Some((begin_in(Library::Hdf5)?, hdf5))
}

/// The number by which traces know an identifier.
fn handle(id: Id) -> i32 {
    if id < 0 { -1 } else { (id & 0xff_ffff) as i32 }
}

/// A file to be opened or created.
pub(super) fn open_file(
    library: usize,
    function: Function,
    name: *const c_char,
    real: impl FnOnce() -> Id,
) -> Id {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |id, _, _| {
        let id = hdf5.id(id);
        let file = files::Named { directory: libc::AT_FDCWD, path: name }.identity_of_target();
        if id >= 0 {
            // SAFETY: HDF5 has just opened the file of this name.
            let name = identity::of(unsafe { CStr::from_ptr(name) }.to_bytes());
            handles::keep(hdf5, id, &Known::new(Kind::File(name), file));
        }
        Some(call(function, file?, handle(id), code(id >= 0)))
    })
}

/// A file to be opened once more.
pub(super) fn reopen_file(library: usize, file: Id, real: impl FnOnce() -> Id) -> Id {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |id, _, _| {
        let id = hdf5.id(id);
        let known = handles::file(hdf5, hdf5.id(file))?;
        if id >= 0 {
            handles::keep(hdf5, id, &known);
        }
        Some(call(Function::H5Freopen, known.file?, handle(id), code(id >= 0)))
    })
}

/// Any call on a file, or on all of an object's file, that moves no data.
pub(super) fn on_file(
    library: usize,
    function: Function,
    (object, when): (Id, When),
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |status, _, _| {
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

/// Closes what an identifier stands for, if that is a file or a dataset that we
/// know; other identifiers are none of ours. `is_closed` tells by the result.
pub(super) fn close(
    library: usize,
    id: Id,
    real: impl FnOnce() -> c_int,
    is_closed: impl FnOnce(c_int) -> bool,
) -> c_int {
    let hdf5 = if is_on() { Hdf5::of(library) } else { None };
    let Some(known) = hdf5.and_then(|hdf5| known(hdf5, id)) else { return real() };
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |status, _, _| {
        let id = hdf5.id(id);
        if status >= 0 && !is_closed(status) {
            return None;
        }
        if status >= 0 {
            handles::forget(hdf5, id);
        }
        let (function, object) = match known.kind {
            Kind::File(_) => (Function::H5Fclose, 0),
            Kind::Dataset(object) => (Function::H5Dclose, object),
            Kind::Nameless => return None,
        };
        let call = call(function, known.file?, handle(id), code(status >= 0));
        Some(Call { object, ..call })
    })
}

/// A dataset, or by `H5Oopen` any object, to be opened or created below `place`.
pub(super) fn open_object(
    library: usize,
    function: Function,
    place: Id,
    real: impl FnOnce() -> Id,
) -> Id {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |id, _, _| {
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
                learn_dataset(hdf5, id, is_nameless)
            } else {
                let object = if is_nameless { 0 } else { names::of_object(hdf5, id) };
                (file_of(hdf5, id), Named { object, with_notes: object })
            }
        });
        let (file, named) = opened.unwrap_or((Some(0), Named::default()));
        let call = call(function, file?, handle(id), 0);
        Some(Call { object: named.with_notes, ..call })
    })
}

/// The same, perhaps later: it is known by the name that the program gave, if
/// that was given from the root of the file.
pub(super) fn open_object_async(
    library: usize,
    function: Function,
    (place, name): (Id, *const c_char),
    when: When,
    real: impl FnOnce() -> Id,
) -> Id {
    if when == When::Now {
        return open_object(library, function, place, real);
    }
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |id, _, _| {
        if id < 0 {
            return failed_below(hdf5, function, place);
        }
        let known = known(hdf5, place);
        let file = known.map_or(Some(0), |known| known.file);
        let is_file = known.is_some_and(|known| matches!(known.kind, Kind::File(_)));
        // SAFETY: HDF5 has just taken the name.
        let name = unsafe { CStr::from_ptr(name) }.to_bytes();
        let object = if is_file { names::from_root(name) } else { 0 };
        if function != Function::H5Oopen {
            handles::keep(hdf5, id, &Known::new(Kind::Dataset(object), file));
        }
        Some(Call { object, ..call(function, file?, handle(id), 0) })
    })
}

/// A dataset to be made without a name.
pub(super) fn create_nameless(library: usize, place: Id, real: impl FnOnce() -> Id) -> Id {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |id, _, _| {
        let id = hdf5.id(id);
        if id < 0 {
            return failed_below(hdf5, Function::H5Dcreate, place);
        }
        let learned = hdf5.quietly(|hdf5| learn_dataset(hdf5, id, true));
        let file = learned.map_or(Some(0), |(file, _)| file);
        Some(call(Function::H5Dcreate, file?, handle(id), 0))
    })
}

/// A call that opened nothing: which file it was about is told by the place, if
/// that is one we know. Nothing is asked after a failure.
fn failed_below(hdf5: Hdf5, function: Function, place: Id) -> Option<Call> {
    let file = known(hdf5, place).map_or(Some(0), |known| known.file);
    Some(call(function, file?, -1, -1))
}

fn known(hdf5: Hdf5, id: Id) -> Option<Known> {
    let id = hdf5.id(id);
    handles::file(hdf5, id).or_else(|| handles::object(hdf5, id))
}

/// An object to be opened without a name, by a reference or its address. Not
/// recorded: it is only remembered that HDF5 must not be asked for its name.
pub(super) fn open_nameless(library: usize, real: impl FnOnce() -> Id) -> Id {
    remember_nameless(library, real, |_| true)
}

/// A group or attribute to be opened or created, which has no name where its
/// place has none. Not recorded.
pub(super) fn open_below(library: usize, place: Id, real: impl FnOnce() -> Id) -> Id {
    remember_nameless(library, real, |hdf5| handles::is_nameless(hdf5, hdf5.id(place)))
}

fn remember_nameless(
    library: usize,
    real: impl FnOnce() -> Id,
    is_nameless: impl FnOnce(Hdf5) -> bool,
) -> Id {
    let id = real();
    if is_on()
        && let Some(hdf5) = Hdf5::of(library)
        && hdf5.id(id) >= 0
        && is_nameless(hdf5)
    {
        handles::keep(hdf5, hdf5.id(id), &NAMELESS);
    }
    id
}

const NAMELESS: Known = Known::new(Kind::Nameless, Some(0));

/// Finds out about a dataset that was just opened, or is used without having
/// been seen before: its file, if it is recorded, and its name.
#[inline(never)]
fn learn_dataset(hdf5: Hdf5, dataset: Id, is_nameless: bool) -> (Option<u64>, Named) {
    let file = file_of(hdf5, dataset);
    let named = match file {
        Some(_) if !is_nameless => names::of_dataset(hdf5, dataset),
        _ => Named::default(),
    };
    handles::keep(hdf5, dataset, &Known::new(Kind::Dataset(named.object), file));
    (file, named)
}

/// The identity of an object's file; None: it is not recorded.
fn file_of(hdf5: Hdf5, object: Id) -> Option<u64> {
    let mut room = [0; 1024];
    let Some(name) = hdf5.file_name(object, &mut room) else { return Some(0) };
    if let Some(known) = handles::file_named(hdf5, identity::of(name)) {
        return known.file;
    }
    // A file that HDF5 has opened itself, behind a link.
    let path = room.as_ptr().cast();
    files::Named { directory: libc::AT_FDCWD, path }.identity_of_target()
}

/// The dataset that a call was on. After a failure nothing is asked of one that
/// is not known: it may be closed, or never have been open.
fn dataset(hdf5: Hdf5, id: Id, may_ask: bool) -> Option<Known> {
    let is_nameless = match handles::object(hdf5, id) {
        Some(known) if known.kind != Kind::Nameless => return Some(known),
        known => known.is_some(),
    };
    if !may_ask {
        return None;
    }
    hdf5.quietly(|hdf5| learn_dataset(hdf5, id, is_nameless));
    let unknown = Known::new(Kind::Dataset(0), Some(0));
    Some(handles::object(hdf5, id).filter(|it| it.kind != Kind::Nameless).unwrap_or(unknown))
}

fn call_on(function: Function, known: &Known, id: Id, is_success: bool) -> Option<Call> {
    let Kind::Dataset(object) = known.kind else { return None };
    Some(Call { object, ..call(function, known.file?, handle(id), code(is_success)) })
}

/// Reads or writes a dataset.
pub(super) fn transfer(
    library: usize,
    function: Function,
    asked: Asked,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |status, begun, _| {
        let mut part = Selection::new(0);
        let asked = asked.in_version(hdf5);
        let call = transferred(hdf5, function, asked, status >= 0, &mut part)?;
        begun.select(&part);
        Some(call)
    })
}

/// Reads or writes several datasets at once: a record for each. Of a call that
/// failed there is none, because nothing says that its lists can be read.
pub(super) fn transfer_many(
    library: usize,
    function: Function,
    lists: Lists,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |status, begun, end_ns| {
        if status < 0 {
            return None;
        }
        let (mut last, mut part) = (None, Selection::new(0));
        for place in 0..lists.count {
            // SAFETY: HDF5 has just read all of the lists.
            let asked = unsafe { lists.at(place) };
            let call = transferred(hdf5, function, asked, true, &mut part);
            let Some(call) = call else { continue };
            if let Some(earlier) = last.replace(call) {
                begun.append_beside(end_ns, earlier);
            }
            begun.select(&part);
        }
        last
    })
}

/// Describes a read or write; its part is nothing where it cannot be told.
fn transferred(
    hdf5: Hdf5,
    function: Function,
    asked: Asked,
    is_success: bool,
    part: &mut Selection,
) -> Option<Call> {
    part.clear(0);
    let known = dataset(hdf5, asked.dataset, asked.when.may_ask(is_success))?;
    let call = call_on(function, &known, asked.dataset, is_success)?;
    if !is_success || !hdf5.may_be_asked() {
        return Some(call);
    }
    let known = with_extent(hdf5, known, asked);
    Some(Call { requested: selected::tell(hdf5, asked, &known, part), ..call })
}

/// Looks how large a dataset is, where all of it was asked for.
fn with_extent(hdf5: Hdf5, known: Known, asked: Asked) -> Known {
    let is_needed = asked.is_for_all() && asked.when == When::Now;
    if known.lengths.is_some() || !is_needed {
        return known;
    }
    learn_extent(hdf5, asked.dataset, known)
}

fn learn_extent(hdf5: Hdf5, dataset: Id, known: Known) -> Known {
    let Some(extent) = hdf5.extent_of_dataset(dataset) else { return known };
    let known = known.with_extent(extent);
    handles::keep(hdf5, dataset, &known);
    known
}

/// Reads or writes a chunk as it is in the file, at an offset in items.
pub(super) fn transfer_chunk(
    library: usize,
    function: Function,
    id: Id,
    offset: *const u64,
    real: impl FnOnce() -> c_int,
    bytes: impl FnOnce(Hdf5) -> Option<u64>,
) -> c_int {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |status, begun, _| {
        let id = hdf5.id(id);
        let known = dataset(hdf5, id, status >= 0)?;
        let call = call_on(function, &known, id, status >= 0)?;
        if status < 0 {
            return Some(call);
        }
        if !hdf5.may_be_asked() {
            return Some(call);
        }
        let known = if known.rank.is_some() { known } else { learn_extent(hdf5, id, known) };
        let mut selection = Selection::new(known.rank.unwrap_or(0));
        // SAFETY: HDF5 has just read as many numbers as the dataset has dimensions.
        selection.set(Part::Start, |dimension| unsafe { *offset.add(dimension) } as i64);
        begun.select(&selection);
        Some(Call { requested: bytes(hdf5).unwrap_or(0), ..call })
    })
}

/// Sets the extent of a dataset.
pub(super) fn set_extent(
    library: usize,
    (id, when): (Id, When),
    lengths: *const u64,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |status, begun, _| {
        let id = hdf5.id(id);
        let known = dataset(hdf5, id, when.may_ask(status >= 0))?;
        if status >= 0 {
            handles::forget_extents();
            let known = set_to(hdf5, id, known, when, lengths);
            if let Some((rank, extents)) = known.extent() {
                begun.select(&selected::lengths(rank, &extents));
            }
        }
        call_on(Function::H5DsetExtent, &known, id, status >= 0)
    })
}

/// The dataset with the extent that was set: its lengths are the program's if
/// it is known how many there are.
fn set_to(hdf5: Hdf5, id: Id, known: Known, when: When, lengths: *const u64) -> Known {
    let Some(rank) = known.rank else {
        let may_ask = when == When::Now && hdf5.may_be_asked();
        return if may_ask { learn_extent(hdf5, id, known) } else { known };
    };
    let mut extents = [0; MAX_RANK];
    for (dimension, length) in extents.iter_mut().take(rank).enumerate() {
        // SAFETY: HDF5 has just read as many numbers as the dataset has dimensions.
        *length = unsafe { *lengths.add(dimension) };
    }
    let known = known.with_extent((rank, extents));
    handles::keep(hdf5, id, &known);
    known
}

/// What is kept of datasets' extents may have changed in the file. Not recorded.
pub(super) fn refresh(real: impl FnOnce() -> c_int) -> c_int {
    let status = real();
    handles::forget_extents();
    status
}

/// Any call on a dataset that moves no data.
pub(super) fn on_dataset(
    library: usize,
    function: Function,
    id: Id,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |status, _, _| {
        let id = hdf5.id(id);
        call_on(function, &dataset(hdf5, id, status >= 0)?, id, status >= 0)
    })
}

/// Reads or writes an attribute.
pub(super) fn transfer_attribute(
    library: usize,
    function: Function,
    id: Id,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some((begun, hdf5)) = begin(library) else { return real() };
    observe(Library::Hdf5, begun, real, |status, _, _| {
        let id = hdf5.id(id);
        if status < 0 {
            return None;
        }
        let (file, object, bytes) = hdf5.quietly(|hdf5| {
            let object = names::of_attribute(hdf5, id, handles::is_nameless(hdf5, id));
            (file_of(hdf5, id), object, hdf5.attribute_bytes(id))
        })?;
        let call = call(function, file?, handle(id), 0);
        Some(Call { object, requested: bytes.unwrap_or(0), ..call })
    })
}
