// SPDX-License-Identifier: MIT OR Apache-2.0

//! POSIX asynchronous I/O: recorded when it is submitted, as if it moved everything
//! requested. Its completion is not tracked.
//!
//! Control blocks are copied before the real call: after it another thread may have
//! completed the request and freed its block. The kernel makes the copies, because the
//! blocks may not be mapped: the real call rejects a bad mode or priority before it
//! looks at anything else.

use core::ffi::c_int;

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use crate::clock;
use crate::observe::{call, file_of, is_on, observe, observe_within};
use crate::sys;
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
    let request = Block::at(control).and_then(|block| block.describe(function));
    observe(real, |result| {
        let request = request?;
        Some(Call { result: if result == 0 { request.result } else { -1 }, ..request })
    })
}

/// Submits several requests; each is recorded inside the call.
pub(super) fn submit_list(
    mode: c_int,
    (list, count): (*const *mut libc::aiocb, c_int),
    real: impl FnOnce() -> c_int,
) -> c_int {
    if !is_on() {
        return real();
    }
    let submit = |begun: Option<&Begun>| {
        if mode != libc::LIO_WAIT && mode != libc::LIO_NOWAIT {
            return;
        }
        for place in 0..usize::try_from(count).unwrap_or(0) {
            // If the list is too short, the real call rejects it.
            let Some(control) = pointer_at(list.wrapping_add(place)) else { return };
            let request = Block::at(control).and_then(Block::describe_listed);
            if let (Some(begun), Some(request)) = (begun, request) {
                begun.append_within(clock::now_ns(), request);
            }
        }
    };
    observe_within(submit, real, |result| Some(call(Function::LioListio, 0, -1, result.into())))
}

/// What is recorded of a control block.
#[derive(Clone, Copy)]
struct Block {
    fd: c_int,
    opcode: c_int,
    bytes: usize,
    offset: i64,
}

impl Block {
    /// A copy of the program's block; None where there is none.
    fn at(control: *const libc::aiocb) -> Option<Block> {
        const BYTES: usize = size_of::<libc::aiocb>();
        if control.is_null() {
            return None;
        }
        let mut copy = [0_u8; BYTES];
        if sys::copy_memory(control as usize, &mut copy) != Ok(BYTES) {
            return None;
        }
        let block = copy.as_ptr().cast::<libc::aiocb>();
        // SAFETY: all bytes of a block, of which numbers are read.
        unsafe {
            Some(Block {
                fd: (&raw const (*block).aio_fildes).read_unaligned(),
                opcode: (&raw const (*block).aio_lio_opcode).read_unaligned(),
                bytes: (&raw const (*block).aio_nbytes).read_unaligned(),
                offset: (&raw const (*block).aio_offset).read_unaligned(),
            })
        }
    }

    fn describe(self, function: Function) -> Option<Call> {
        let entry = file_of(self.fd)?;
        let call = call(function, entry.file(), self.fd, self.bytes as i64);
        Some(Call { offset: self.offset, requested: self.bytes as u64, ..call })
    }

    /// In a list, its own opcode decides.
    fn describe_listed(self) -> Option<Call> {
        match self.opcode {
            libc::LIO_READ => self.describe(Function::AioRead),
            libc::LIO_WRITE => self.describe(Function::AioWrite),
            _ => None,
        }
    }
}

fn pointer_at(place: *const *mut libc::aiocb) -> Option<*const libc::aiocb> {
    let mut address = [0; size_of::<usize>()];
    let is_there = sys::copy_memory(place as usize, &mut address) == Ok(address.len());
    is_there.then(|| usize::from_ne_bytes(address) as *const libc::aiocb)
}
