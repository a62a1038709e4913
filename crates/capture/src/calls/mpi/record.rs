// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is done around a call of MPI-IO: everything that the rows of both languages
//! have in common, on C's handles.

use core::ffi::c_char;
use core::sync::atomic::{AtomicBool, Ordering};

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use super::files::{self, Open};
use super::helpers::{Handle, MpiLibrary};
use crate::calls::library_call::{self, code};
use crate::calls::requests::{PendingRequest, RequestTable, next_id};
use crate::files::NamedPath;
use crate::observe::{call, is_on};
use crate::recorder::RECORDER;
use crate::thread::{self, Begun, NestedLibrary, begin_in, is_nested_in};

/// A request is complete when the program's handle has changed: MPI sets it to
/// MPI_REQUEST_NULL in all its forms.
static REQUESTS: RequestTable = RequestTable::none();

/// The outcome of a real call.
pub(super) trait MpiOutcome: Copy {
    /// Whether it succeeded.
    fn is_success(self) -> bool;
}

impl MpiOutcome for i32 {
    fn is_success(self) -> bool {
        self == 0
    }
}

/// Begins a call on an open file; None: it is not recorded.
fn begin_on(file: Option<Handle>) -> Option<(Begun, Open)> {
    if !is_on() {
        return None;
    }
    let open = files::find(file?)?;
    Some((begin_in(NestedLibrary::Mpi)?, open))
}

/// Begins a call that is on no open file.
pub(super) fn begin() -> Option<Begun> {
    library_call::begin(NestedLibrary::Mpi)
}

/// Makes a real call that has begun and records it as described.
pub(super) fn observe<R: MpiOutcome>(
    begun: Begun,
    real: impl FnOnce() -> R,
    describe: impl FnOnce(bool, &Begun, u64) -> Option<Call>,
) -> R {
    library_call::observe(NestedLibrary::Mpi, begun, real, |result, begun, end_ns| {
        describe(result.is_success(), begun, end_ns)
    })
}

/// A file to be opened, by C's or Fortran's name of it.
pub(super) fn open<R: MpiOutcome>(
    library: usize,
    path: *const c_char,
    mode: i32,
    real: impl FnOnce() -> R,
    handle: impl FnOnce() -> Option<Handle>,
) -> R {
    let Some(begun) = begin() else { return real() };
    observe(begun, real, |is_success, _, _| {
        let named = NamedPath { directory: libc::AT_FDCWD, path: without_driver(path) };
        let file = named.identity_of_target()?;
        if is_success {
            tell_rank(library);
        }
        // A call that failed need not have stored a handle.
        let handle = if is_success { handle() } else { None };
        let number = handle.map_or(-1, |handle| files::opened(handle, file, mode));
        let call = call(Function::MpiOpen, file, number, code(is_success));
        Some(Call { offset: 0, detail: mode as u32, ..call })
    })
}

/// Reports to the reader, once, which rank this is, if the launcher did not.
fn tell_rank(library: usize) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    if RECORDER.set_up().rank >= 0 || IS_TOLD.load(Ordering::Relaxed) {
        return;
    }
    let Some((rank, size)) = MpiLibrary::of(library).and_then(MpiLibrary::rank_in_world) else {
        return;
    };
    // A single process is not a rank.
    let is_told =
        size == 1 || thread::with_state(|state| state.define_rank(rank, size)) == Some(true);
    IS_TOLD.store(is_told, Ordering::Relaxed);
}

/// A file to be deleted.
pub(super) fn delete<R: MpiOutcome>(path: *const c_char, real: impl FnOnce() -> R) -> R {
    let Some(begun) = begin() else { return real() };
    let named = NamedPath { directory: libc::AT_FDCWD, path: without_driver(path) };
    // While it exists, its links can be resolved.
    let file = named.identity_of_target();
    observe(begun, real, |is_success, _, _| {
        Some(call(Function::MpiDelete, file?, -1, code(is_success)))
    })
}

/// Closes a file.
pub(super) fn close<R: MpiOutcome>(file: Option<Handle>, real: impl FnOnce() -> R) -> R {
    let Some((begun, open)) = begin_on(file) else { return real() };
    // While the number still belongs to the file: the program completes all requests
    // before it closes the file.
    if REQUESTS.any() {
        REQUESTS.forget_file(open.number);
    }
    let Some(open) = file.and_then(files::forget) else { return real() };
    observe(begun, real, |is_success, _, _| {
        Some(call(Function::MpiClose, open.file, open.number, code(is_success)))
    })
}

/// Any call on an open file that moves no data. `length` is the new length of
/// truncations and preallocations.
pub(super) fn on_file<R: MpiOutcome>(
    function: Function,
    file: Option<Handle>,
    length: i64,
    real: impl FnOnce() -> R,
) -> R {
    let Some((begun, open)) = begin_on(file) else { return real() };
    observe(begun, real, |is_success, _, _| {
        let call = call(function, open.file, open.number, code(is_success));
        Some(Call { requested: length.max(0) as u64, ..call })
    })
}

/// A view of a file as the program asked for it.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// The byte of the file where it begins.
    pub(super) displacement: i64,
    /// The etype and the filetype.
    pub(super) types: [Option<Handle>; 2],
}

impl View {
    /// Whether it has bytes, once MPI has accepted it. ROMIO divides by the sizes
    /// of both types when it is asked for a position.
    fn has_bytes(&self, mpi: Option<MpiLibrary>) -> bool {
        let size = |datatype: Option<Handle>| mpi?.type_size(datatype?);
        self.types.iter().all(|&datatype| size(datatype).is_some_and(|size| size > 0))
    }
}

/// Sets a view.
pub(super) fn set_view<R: MpiOutcome>(
    library: usize,
    file: Option<Handle>,
    view: View,
    real: impl FnOnce() -> R,
) -> R {
    let Some((begun, open)) = begin_on(file) else { return real() };
    observe(begun, real, |is_success, _, _| {
        // After a failure it is unknown which view is set.
        files::viewed(open.handle, is_success && view.has_bytes(MpiLibrary::of(library)));
        let call = call(Function::MpiSetView, open.file, open.number, code(is_success));
        Some(Call { offset: view.displacement, ..call })
    })
}

/// Moves the file's pointer.
pub(super) fn seek<R: MpiOutcome>(
    library: usize,
    file: Option<Handle>,
    whence: i32,
    real: impl FnOnce() -> R,
) -> R {
    let Some((begun, open)) = begin_on(file) else { return real() };
    let mpi = MpiLibrary::of(library);
    let before = position(mpi, &open);
    observe(begun, real, |is_success, _, _| {
        let result = if is_success { position(mpi, &open).unwrap_or(0) } else { -1 };
        let call = call(Function::MpiSeek, open.file, open.number, result);
        Some(Call { offset: before.unwrap_or(-1), detail: posix_whence(whence), ..call })
    })
}

/// Where a data access starts.
#[derive(Clone, Copy)]
pub(super) enum AccessStart {
    /// At the file's own pointer.
    Pointer,
    /// At the pointer that all ranks share: it is not known without asking them.
    Shared,
    /// At an offset of its own, in units of the view's etype.
    At(i64),
}

/// A data access as the program asked for it.
#[derive(Clone, Copy)]
pub(super) struct Transfer {
    pub(super) function: Function,
    pub(super) file: Option<Handle>,
    pub(super) place: AccessStart,
    pub(super) count: i64,
    pub(super) datatype: Option<Handle>,
}

/// Reads or writes.
pub(super) fn transfer<R: MpiOutcome>(
    library: usize,
    transfer: Transfer,
    real: impl FnOnce() -> R,
) -> R {
    submit(library, transfer, real, || None)
}

/// Reads or writes; with `request`, the transfer continues after the call.
pub(super) fn submit<R: MpiOutcome>(
    library: usize,
    transfer: Transfer,
    real: impl FnOnce() -> R,
    request: impl FnOnce() -> Option<Handle>,
) -> R {
    let Some((begun, open)) = begin_on(transfer.file) else { return real() };
    let mpi = MpiLibrary::of(library);
    let started = match transfer.place {
        // If nothing is moved, a view that we did not see being set may be empty.
        AccessStart::Pointer if transfer.count > 0 => position(mpi, &open),
        AccessStart::Pointer | AccessStart::Shared | AccessStart::At(_) => None,
    };
    observe(begun, real, |is_success, _, _| {
        let call = call(transfer.function, open.file, open.number, code(is_success));
        if !is_success {
            return Some(call);
        }
        let offset = match transfer.place {
            AccessStart::At(offset) if transfer.count > 0 || !open.is_viewed() => {
                byte_offset(mpi, &open, offset)
            }
            AccessStart::At(_) | AccessStart::Pointer | AccessStart::Shared => started,
        };
        let item = mpi.zip(transfer.datatype).and_then(|(mpi, of)| mpi.type_size(of));
        let bytes = item.unwrap_or(0).saturating_mul(transfer.count.max(0) as u64);
        let call = Call { offset: offset.unwrap_or(-1), requested: bytes, ..call };
        let Some(handle) = request() else { return Some(call) };
        let id = next_id();
        let (Call { file, offset, .. }, number) = (call, open.number);
        REQUESTS.submitted(handle, PendingRequest { file, object: 0, number, offset, bytes, id });
        Some(Call { detail: id, ..call })
    })
}

/// A list of requests in the program's memory.
#[derive(Clone, Copy)]
pub(super) struct List<F> {
    pub(super) count: i32,
    /// The request at a place, as it is now.
    pub(super) at: F,
}

/// Waits for requests or tests them; records each access that completes.
pub(super) fn complete<R: MpiOutcome>(
    function: Function,
    list: &List<impl Fn(usize) -> Option<Handle>>,
    real: impl FnOnce() -> R,
) -> R {
    // Fortran's call in MPICH makes C's, which must not take over its requests.
    if !REQUESTS.any() || is_nested_in(NestedLibrary::Mpi) {
        return real();
    }
    complete_some(function, list, real)
}

fn complete_some<R: MpiOutcome>(
    function: Function,
    list: &List<impl Fn(usize) -> Option<Handle>>,
    real: impl FnOnce() -> R,
) -> R {
    // The address of a local of this call is an identity that no other running call
    // has.
    let here = 0_u8;
    let waiter = &raw const here as usize;
    let places = 0..usize::try_from(list.count).unwrap_or(0);
    let marked = places
        .filter(|&place| (list.at)(place).is_some_and(|it| REQUESTS.mark(it, waiter, place)))
        .count();
    if marked == 0 {
        return real();
    }
    let is_complete = |place, handle| (list.at)(place) != Some(handle);
    let Some(begun) = begin() else {
        let result = real();
        REQUESTS.completed(waiter, is_complete, |_, _| {});
        return result;
    };
    observe(begun, real, |is_success, begun, end_ns| {
        let mut last = None;
        REQUESTS.completed(waiter, is_complete, |_, request| {
            let call = call(function, request.file, request.number, code(is_success));
            let PendingRequest { offset, bytes, id, .. } = request;
            let call = Call { offset, requested: bytes, detail: id, ..call };
            if let Some(earlier) = last.replace(call) {
                begun.append_part(end_ns, earlier);
            }
        });
        last
    })
}

/// The byte at which the file's own pointer stands.
fn position(mpi: Option<MpiLibrary>, open: &Open) -> Option<i64> {
    if !open.has_positions() {
        return None;
    }
    byte_offset(mpi, open, mpi?.position(open.handle)?)
}

/// The byte that an offset in units of the view means.
fn byte_offset(mpi: Option<MpiLibrary>, open: &Open, offset: i64) -> Option<i64> {
    if !open.is_viewed() {
        return Some(offset);
    }
    if open.has_positions() { mpi?.byte_offset(open.handle, offset) } else { None }
}

/// MPI_SEEK_SET, _CUR and _END, which have the same numbers in all MPIs.
fn posix_whence(whence: i32) -> u32 {
    let whence = match whence {
        600 => libc::SEEK_SET,
        602 => libc::SEEK_CUR,
        604 => libc::SEEK_END,
        _ => -1,
    };
    whence as u32
}

/// A path without the file system's driver that ROMIO takes before it: `ufs:a`.
pub(in crate::calls) fn without_driver(path: *const c_char) -> *const c_char {
    let mut start = [0_u8; 16];
    let n_copied = crate::sys::copy_memory(path as usize, &mut start).unwrap_or(0);
    let name = start.get(..n_copied).unwrap_or_default();
    match name.iter().position(|byte| !byte.is_ascii_lowercase()) {
        Some(length @ 2..) if name.get(length) == Some(&b':') => path.wrapping_add(length + 1),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_is_no_part_of_the_path() {
        let check = |path: &core::ffi::CStr, expected: &str| {
            // SAFETY: points into the C string.
            let rest = unsafe { core::ffi::CStr::from_ptr(without_driver(path.as_ptr())) };
            assert_eq!(rest.to_str(), Ok(expected));
        };
        check(c"ufs:out/a.dat/with/a/long/path", "out/a.dat/with/a/long/path");
        check(c"lustre:/scratch/a", "/scratch/a");
        for path in [c"/scratch/a:b", c"out/a", c"a:b", c"Run:7", c""] {
            check(path, path.to_str().unwrap());
        }
    }
}
