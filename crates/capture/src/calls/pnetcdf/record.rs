// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is done around calls that only PnetCDF has.

use core::ffi::c_int;

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use super::PNETCDF;
use crate::calls::cdf::{self, Cdf, Chosen, Question, Real, begin_on, describe, handle, has_moved};
use crate::calls::library_call::{code, observe};
use crate::calls::requests::{self, PendingRequest, next_id};
use crate::observe::call;
use crate::sys;

/// Requests in the program's memory, which PnetCDF knows by numbers.
pub(super) type RequestList = *const c_int;

/// Replaces a request that is complete, or that is not needed.
const NC_REQ_NULL: c_int = -1;
/// Instead of a number of requests: all reads, all writes.
const NC_GET_REQ_ALL: c_int = -2;
const NC_PUT_REQ_ALL: c_int = -3;

static UNDER_WAY: requests::RequestTable = requests::RequestTable::none();

/// Closes a file; requests that were not waited for are dropped.
pub(super) fn close(library: usize, function: Function, ncid: c_int, real: Real<'_>) -> c_int {
    if UNDER_WAY.any()
        && let Some(cdf) = Cdf::of(&PNETCDF, library)
    {
        UNDER_WAY.forget(|name| name >> NUMBER_BITS == file_name(cdf, ncid));
    }
    cdf::close((&PNETCDF, library), function, ncid, real)
}

/// Submits a read or write of a part of a variable, done when it is waited for.
pub(super) fn submit(
    library: usize,
    function: Function,
    (ncid, varid): (c_int, c_int),
    chosen: &Chosen,
    request: RequestList,
    real: Real<'_>,
) -> c_int {
    let Some((begun, cdf, file)) = begin_on(&PNETCDF, library, ncid) else { return real() };
    observe(PNETCDF.library, begun, real, |result, begun, _| {
        let accessed = describe(cdf, ncid, varid, chosen, result);
        if let Some(selection) = &accessed.selection {
            begun.select(selection);
        }
        let mut call = accessed.call(function, file, ncid, result);
        if has_moved(result) && !request.is_null() {
            // SAFETY: the library has just stored it there.
            let number = unsafe { *request };
            if number != NC_REQ_NULL {
                call.detail = next_id();
                let Call { object, handle, requested, detail, .. } = call;
                let name = name(cdf, ncid, number, is_read(function));
                UNDER_WAY.submitted(
                    name,
                    PendingRequest {
                        file,
                        object,
                        number: handle,
                        offset: -1,
                        bytes: requested,
                        id: detail,
                    },
                );
            }
        }
        Some(call)
    })
}

/// The requests of a call; all of a kind for counts below 0.
pub(super) struct Waited {
    pub(super) count: c_int,
    pub(super) list: RequestList,
    /// Where the library stores the status of each; null if not wanted.
    pub(super) statuses: RequestList,
}

/// Waits for requests, or cancels them. Each access that completes is recorded; if
/// there is none, the call itself, which ranks may have to make together.
pub(super) fn complete(
    library: usize,
    function: Function,
    ncid: c_int,
    Waited { count, list, statuses }: Waited,
    real: Real<'_>,
) -> c_int {
    let Some((begun, cdf, file)) = begin_on(&PNETCDF, library, ncid) else { return real() };
    // The address of a local of this call is an identity that no other running call
    // has.
    let here = 0_u8;
    let waiter = &raw const here as usize;
    mark(cdf, ncid, (count, list), waiter);
    observe(PNETCDF.library, begun, real, |result, begun, end_ns| {
        // SAFETY: the library has read and written that many.
        let is_given_back = |place| count >= 0 && unsafe { *list.add(place) } == NC_REQ_NULL;
        let is_complete = |place, _| result == 0 || count < 0 || is_given_back(place);
        // One that failed does not make the others fail, as their statuses show. Those
        // of requests that were given back have been stored.
        let has_succeeded = |place| match count {
            // SAFETY: as above.
            0.. if result != 0 && !statuses.is_null() => unsafe { *statuses.add(place) == 0 },
            _ => result == 0,
        };
        let mut last = None;
        UNDER_WAY.completed(waiter, is_complete, |place, request| {
            let PendingRequest { file, object, number, bytes, id, .. } = request;
            let call = call(function, file, number, code(has_succeeded(place)));
            let call = Call { object, requested: bytes, detail: id, ..call };
            if let Some(earlier) = last.replace(call) {
                begun.append_part(end_ns, earlier);
            }
        });
        last.or_else(|| Some(call(function, file, handle(ncid), code(result == 0))))
    })
}

fn mark(cdf: Cdf, ncid: c_int, (count, list): (c_int, RequestList), waiter: usize) {
    if !UNDER_WAY.any() {
        return;
    }
    let Ok(count) = usize::try_from(count) else {
        let is_wanted = |name: usize| {
            let is_read = name & IS_READ != 0;
            name >> NUMBER_BITS == file_name(cdf, ncid)
                && (count != NC_GET_REQ_ALL || is_read)
                && (count != NC_PUT_REQ_ALL || !is_read)
        };
        return UNDER_WAY.mark_all(is_wanted, waiter);
    };
    const AT_ONCE: usize = 64;
    for first in (0..count).step_by(AT_ONCE) {
        // The library need not read them: in define mode it refuses to wait.
        let mut numbers = [[0_u8; size_of::<c_int>()]; AT_ONCE];
        let n_wanted = (count - first).min(AT_ONCE);
        let wanted = numbers.as_flattened_mut().get_mut(..n_wanted * size_of::<c_int>());
        let at = list.wrapping_add(first) as usize;
        let n_bytes = wanted.and_then(|wanted| sys::copy_memory(at, wanted).ok()).unwrap_or(0);
        for (place, number) in numbers.iter().take(n_bytes / size_of::<c_int>()).enumerate() {
            let number = c_int::from_ne_bytes(*number);
            let mark =
                |is_read| UNDER_WAY.mark(name(cdf, ncid, number, is_read), waiter, first + place);
            let _ = mark(false) || mark(true);
        }
        if n_bytes < n_wanted * size_of::<c_int>() {
            return;
        }
    }
}

/// Reads or writes by a filetype of MPI. It is not examined: MPI ends programs that ask
/// about an invalid type. The bytes follow from the library's own count.
pub(super) fn by_filetype(
    library: usize,
    function: Function,
    (ncid, varid): (c_int, c_int),
    real: Real<'_>,
) -> c_int {
    let Some((begun, cdf, file)) = begin_on(&PNETCDF, library, ncid) else { return real() };
    let question = if is_read(function) { Question::BytesRead } else { Question::BytesWritten };
    let before = cdf.bytes_moved(question, ncid);
    observe(PNETCDF.library, begun, real, |result, _, _| {
        let mut accessed = describe(cdf, ncid, varid, &Chosen::undescribed(), result);
        let moved = before.zip(cdf.bytes_moved(question, ncid));
        accessed.bytes = moved.map_or(0, |(before, after)| after.saturating_sub(before));
        Some(accessed.call(function, file, ncid, result))
    })
}

/// Parts of several variables.
pub(super) struct Many<'a> {
    pub(super) ncid: c_int,
    pub(super) n_variables: c_int,
    pub(super) varids: *const c_int,
    /// The part of the variable at a place.
    pub(super) chosen: &'a dyn Fn(usize) -> Chosen,
}

/// Reads or writes them: each is recorded, as if it had been accessed alone.
pub(super) fn access_many(
    library: usize,
    function: Function,
    many: &Many<'_>,
    real: Real<'_>,
) -> c_int {
    let ncid = many.ncid;
    let Some((begun, cdf, file)) = begin_on(&PNETCDF, library, ncid) else { return real() };
    observe(PNETCDF.library, begun, real, |result, begun, end_ns| {
        let n_variables = usize::try_from(many.n_variables).unwrap_or(0);
        if !has_moved(result) || n_variables == 0 || many.varids.is_null() {
            return Some(call(function, file, handle(ncid), code(result == 0)));
        }
        let accessed = |place: usize| {
            // SAFETY: the library has read that many.
            let varid = unsafe { *many.varids.add(place) };
            describe(cdf, ncid, varid, &(many.chosen)(place), result)
        };
        let mut last = None;
        for place in 0..n_variables {
            let accessed = accessed(place);
            let call = accessed.call(function, file, ncid, result);
            if let Some(earlier) = last.replace(call) {
                begun.append_part(end_ns, earlier);
            }
            if let Some(selection) = &accessed.selection {
                begun.select(selection);
            }
        }
        last
    })
}

fn is_read(function: Function) -> bool {
    function.name().contains("get_var")
}

/// What identifies a request: the copy of the library, the file, read or write, and the
/// number, which the library counts for each file.
fn name(cdf: Cdf, ncid: c_int, number: c_int, is_read: bool) -> usize {
    let way = if is_read { IS_READ } else { 0 };
    file_name(cdf, ncid) << NUMBER_BITS | way | number as u32 as usize
}

const NUMBER_BITS: u32 = 33;
const IS_READ: usize = 1 << 32;

const FILE_BITS: u32 = 27;

fn file_name(cdf: Cdf, ncid: c_int) -> usize {
    (cdf.copy.number() as usize) << FILE_BITS | ncid as usize & ((1 << FILE_BITS) - 1)
}

/// Forgets what a copy of the library has under way.
pub(in crate::calls) fn forget_copy(number: u64) {
    UNDER_WAY.forget(|name| (name >> NUMBER_BITS >> FILE_BITS) as u64 == number);
}
