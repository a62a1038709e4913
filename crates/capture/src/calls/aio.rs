// SPDX-License-Identifier: MIT OR Apache-2.0

//! POSIX asynchronous I/O: recorded when it is submitted, as if it moved all
//! that was asked for. Its completion is not followed.

use core::ffi::c_int;

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use crate::observe::{call, file_of, is_on, observe, observe_with};

/// Submits one request.
pub(super) fn submit(
    function: Function,
    control: *mut libc::aiocb,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if !is_on() {
        return real();
    }
    // SAFETY: libc itself has read it.
    observe(real, |result| unsafe { describe(function, control, result) })
}

/// Submits several requests; each is recorded inside the call.
pub(super) fn submit_list(
    list: *const *mut libc::aiocb,
    count: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if !is_on() {
        return real();
    }
    observe_with(real, |result, begun, end_ns| {
        for place in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: libc itself has read the list and what it points to.
            let described = unsafe {
                let control = *list.add(place);
                if control.is_null() {
                    continue;
                }
                match (*control).aio_lio_opcode {
                    libc::LIO_READ => describe(Function::AioRead, control, result),
                    libc::LIO_WRITE => describe(Function::AioWrite, control, result),
                    _ => None,
                }
            };
            if let (Some(begun), Some(call)) = (begun, described) {
                begun.append_within(end_ns, call);
            }
        }
        Some(call(Function::LioListio, 0, -1, result.into()))
    })
}

/// # Safety
///
/// libc has read the control block.
unsafe fn describe(function: Function, control: *const libc::aiocb, result: c_int) -> Option<Call> {
    // SAFETY: the caller's promise.
    let (fd, bytes, offset) =
        unsafe { ((*control).aio_fildes, (*control).aio_nbytes, (*control).aio_offset) };
    let entry = file_of(fd)?;
    let moved = if result == 0 { bytes as i64 } else { -1 };
    let call = call(function, entry.file(), fd, moved);
    Some(Call { offset, requested: bytes as u64, ..call })
}
