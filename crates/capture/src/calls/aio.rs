// SPDX-License-Identifier: MIT OR Apache-2.0

//! POSIX asynchronous I/O: recorded when it is submitted, as if it moved all
//! that was asked for. Its completion is not followed.
//!
//! Control blocks are looked at before the real call, which looks at them too:
//! after it another thread may have completed the request and freed its block.

use core::ffi::c_int;

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use crate::clock;
use crate::observe::{call, file_of, is_on, observe, observe_within};
use crate::thread::Begun;

/// Submits one request.
pub(super) fn submit(
    function: Function,
    control: *mut libc::aiocb,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if !is_on() {
        return real();
    }
    // SAFETY: the real call reads it next.
    let request = unsafe { describe(function, control) };
    observe(real, |result| {
        let request = request?;
        Some(Call { result: if result == 0 { request.result } else { -1 }, ..request })
    })
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
    let submit = |begun: Option<&Begun>| {
        for place in 0..usize::try_from(count).unwrap_or(0) {
            // SAFETY: the real call reads the list and what it points to next.
            let request = unsafe { describe_listed(*list.add(place)) };
            if let (Some(begun), Some(request)) = (begun, request) {
                begun.append_within(clock::now_ns(), request);
            }
        }
    };
    observe_within(submit, real, |result| Some(call(Function::LioListio, 0, -1, result.into())))
}

/// # Safety
///
/// A control block, or null.
unsafe fn describe_listed(control: *const libc::aiocb) -> Option<Call> {
    if control.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    unsafe {
        match (*control).aio_lio_opcode {
            libc::LIO_READ => describe(Function::AioRead, control),
            libc::LIO_WRITE => describe(Function::AioWrite, control),
            _ => None,
        }
    }
}

/// # Safety
///
/// A control block.
unsafe fn describe(function: Function, control: *const libc::aiocb) -> Option<Call> {
    // SAFETY: the caller's promise.
    let (fd, bytes, offset) =
        unsafe { ((*control).aio_fildes, (*control).aio_nbytes, (*control).aio_offset) };
    let entry = file_of(fd)?;
    let call = call(function, entry.file(), fd, bytes as i64);
    Some(Call { offset, requested: bytes as u64, ..call })
}
