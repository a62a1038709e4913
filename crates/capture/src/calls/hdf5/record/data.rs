// SPDX-License-Identifier: MIT OR Apache-2.0

//! Data: read and written; and the extent of what has it.

use core::ffi::c_int;

use ioracle_spool::Function;
use ioracle_spool::layout::Call;
use ioracle_spool::selection::{Selection, SelectionPart};

use super::{When, around, handle, learn_dataset};
use crate::calls::hdf5::functions::{Hdf5, Id};
use crate::calls::hdf5::handles::{self, HandleKind, KnownHandle};
use crate::calls::hdf5::names::DatasetOrigin;
use crate::calls::hdf5::questions::MAX_RANK;
use crate::calls::hdf5::selected::{self, Asked, Lists};
use crate::calls::library_call::code;
use crate::observe::call;

/// Reads or writes a dataset.
pub(in super::super) fn transfer(
    library: usize,
    function: Function,
    asked: Asked,
    real: impl FnOnce() -> c_int,
) -> c_int {
    around(library, real, |hdf5, status, begun, _| {
        let mut part = Selection::new(0);
        let asked = asked.in_version(hdf5);
        let call = transferred(hdf5, function, asked, status >= 0, &mut part)?;
        begun.select(&part);
        Some(call)
    })
}

/// Reads or writes several datasets at once: a record for each.
pub(in super::super) fn transfer_many(
    library: usize,
    function: Function,
    lists: Lists,
    real: impl FnOnce() -> c_int,
) -> c_int {
    around(library, real, |hdf5, status, begun, end_ns| {
        let mut last = None;
        let mut record = |call: Option<Call>, part: Option<&Selection>| {
            let Some(call) = call else { return };
            if let Some(earlier) = last.replace(call) {
                begun.append_part(end_ns, earlier);
            }
            if let Some(part) = part {
                begun.select(part);
            }
        };
        if status < 0 {
            lists.datasets_after_failure(|id| {
                let known = dataset(hdf5, id, false);
                record(known.and_then(|known| call_on(function, &known, id, false)), None);
            });
            return last;
        }
        let mut part = Selection::new(0);
        for place in 0..lists.count {
            // SAFETY: HDF5 has just read all of the lists.
            let asked = unsafe { lists.at(place) };
            let call = transferred(hdf5, function, asked, true, &mut part);
            record(call, Some(&part));
        }
        last
    })
}

/// Describes a read or write; it has no part where that is unknown.
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
    Some(Call { requested: selected::describe(hdf5, asked, &known, part), ..call })
}

/// The dataset that a call was on. After a failure, nothing is asked about an unknown
/// one: it may be closed, or was never open.
fn dataset(hdf5: Hdf5, id: Id, may_ask: bool) -> Option<KnownHandle> {
    let is_nameless = match handles::object(hdf5, id) {
        Some(known) if known.kind != HandleKind::Nameless => return Some(known),
        known => known.is_some(),
    };
    if !may_ask {
        return None;
    }
    let origin = if is_nameless { DatasetOrigin::Nameless } else { DatasetOrigin::Opened };
    hdf5.quietly(|hdf5| learn_dataset(hdf5, id, origin));
    let unknown = KnownHandle::new(HandleKind::Dataset(0), Some(0));
    Some(handles::object(hdf5, id).filter(|it| it.kind != HandleKind::Nameless).unwrap_or(unknown))
}

fn call_on(function: Function, known: &KnownHandle, id: Id, is_success: bool) -> Option<Call> {
    let HandleKind::Dataset(object) = known.kind else { return None };
    Some(Call { object, ..call(function, known.file?, handle(id), code(is_success)) })
}

/// Looks up how large a dataset is, if all of it was requested.
fn with_extent(hdf5: Hdf5, known: KnownHandle, asked: Asked) -> KnownHandle {
    let is_needed = asked.is_for_all() && asked.when == When::Now;
    if known.lengths.is_some() || !is_needed {
        return known;
    }
    learn_extent(hdf5, asked.dataset, known)
}

fn learn_extent(hdf5: Hdf5, dataset: Id, known: KnownHandle) -> KnownHandle {
    let Some(extent) = hdf5.extent_of_dataset(dataset) else { return known };
    let known = known.with_extent(extent);
    handles::keep(hdf5, dataset, &known);
    known
}

/// Reads or writes a chunk as it is in the file, at an offset in items.
pub(in super::super) fn transfer_chunk(
    library: usize,
    function: Function,
    id: Id,
    offset: *const u64,
    real: impl FnOnce() -> c_int,
    bytes: impl FnOnce(Hdf5) -> Option<u64>,
) -> c_int {
    around(library, real, |hdf5, status, begun, _| {
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
        selection.set(SelectionPart::Start, |dimension| unsafe { *offset.add(dimension) } as i64);
        begun.select(&selection);
        Some(Call { requested: bytes(hdf5).unwrap_or(0), ..call })
    })
}

/// Sets the extent of a dataset.
pub(in super::super) fn set_extent(
    library: usize,
    (id, when): (Id, When),
    lengths: *const u64,
    real: impl FnOnce() -> c_int,
) -> c_int {
    around(library, real, |hdf5, status, begun, _| {
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
fn set_to(hdf5: Hdf5, id: Id, known: KnownHandle, when: When, lengths: *const u64) -> KnownHandle {
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

/// Stored extents of datasets may have changed in the file. Not recorded.
pub(in super::super) fn refresh(real: impl FnOnce() -> c_int) -> c_int {
    let status = real();
    handles::forget_extents();
    status
}

/// Any call on a dataset that moves no data.
pub(in super::super) fn on_dataset(
    library: usize,
    function: Function,
    id: Id,
    real: impl FnOnce() -> c_int,
) -> c_int {
    around(library, real, |hdf5, status, _, _| {
        let id = hdf5.id(id);
        call_on(function, &dataset(hdf5, id, status >= 0)?, id, status >= 0)
    })
}
