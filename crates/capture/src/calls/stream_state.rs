// SPDX-License-Identifier: MIT OR Apache-2.0

//! The position of a stdio stream, read from the stream itself.
//!
//! `ftello` would return it, but costs a system call for most streams, and takes the
//! stream's lock, which another thread may hold while this one makes an `_unlocked`
//! call.

use core::ffi::c_int;

use libc::FILE;

use crate::descriptors::DescriptorEntry;
use crate::observe::SavedErrno;
use crate::sys;

/// The fields of glibc's `FILE` that matter here. They are part of its ABI:
/// functions that use them are inlined into programs.
#[repr(C)]
struct Fields {
    flags: c_int,
    read_ptr: usize,
    read_end: usize,
    _read_base: usize,
    write_base: usize,
    write_ptr: usize,
    _between: [usize; 18],
    /// Above 0 for wide characters.
    mode: c_int,
}

const _: () = assert!(core::mem::offset_of!(Fields, mode) == 192);

/// Such a stream is back at the same place in its buffer after every call.
const UNBUFFERED: c_int = 0x2;
/// Characters were pushed back.
const IN_BACKUP: c_int = 0x100;
const WRITING: c_int = 0x800;
const APPENDING: c_int = 0x1000;

/// The position of a stream over a recorded file: as we left it, or asked for.
#[inline]
pub(super) fn position_of(stream: *mut FILE, entry: &DescriptorEntry) -> i64 {
    match entry.stream_position(state_of(stream)) {
        Some(position) => position,
        None => asked_position_of(stream),
    }
}

/// Where the stream reads and writes in its buffer. It changes with whatever moves the
/// position, including what we do not see, such as an inlined `putc_unlocked`.
#[inline]
pub(super) fn state_of(stream: *mut FILE) -> [usize; 2] {
    let fields = stream.cast::<Fields>();
    // SAFETY: an open stream. Another thread may be at work on it; then the
    // state is not the one that was kept, and the position is asked.
    unsafe {
        if (&raw const (*fields).flags).read_volatile() & UNBUFFERED != 0 {
            return [0, 0];
        }
        [
            (&raw const (*fields).read_ptr).read_volatile(),
            (&raw const (*fields).write_ptr).read_volatile(),
        ]
    }
}

/// Whether a write would be the first of an appending stream after something
/// else: the stream says where it is only once it has gone to the end.
#[inline]
pub(super) fn goes_to_end(stream: *mut FILE) -> bool {
    // SAFETY: an open stream, which begins with its flags.
    let flags = unsafe { stream.cast::<c_int>().read_volatile() };
    flags & (APPENDING | WRITING) == APPENDING
}

/// The position as `ftello` would return it: that of the descriptor, and what is in the
/// buffer.
pub(super) fn asked_position_of(stream: *mut FILE) -> i64 {
    // SAFETY: an open stream; see `state_of`.
    let fields = unsafe { stream.cast::<Fields>().read_volatile() };
    if fields.flags & IN_BACKUP != 0 || fields.mode > 0 {
        // Only libc can count pushed-back and wide characters.
        return position_by_libc(stream);
    }
    let fd = descriptor_of(stream);
    let has_unwritten = fields.write_ptr > fields.write_base;
    let writes = has_unwritten || fields.flags & WRITING != 0;
    let (base, in_buffer) = if has_unwritten && fields.flags & APPENDING != 0 {
        let size = sys::status(fd).map(|status| status.size as i64);
        (size, fields.write_ptr.wrapping_sub(fields.write_base))
    } else {
        let position = sys::position(fd).map(|position| position as i64);
        let at = if writes { fields.write_ptr } else { fields.read_ptr };
        (position, at.wrapping_sub(fields.read_end))
    };
    base.map_or(-1, |base| base.saturating_add(in_buffer as isize as i64))
}

fn position_by_libc(stream: *mut FILE) -> i64 {
    let errno = SavedErrno::keep();
    // SAFETY: the program passes an open stream. It is over a recorded file, so
    // nothing of the program's is called.
    let position = unsafe { libc::ftello64(stream) };
    errno.put_back();
    position
}

/// The descriptor of a stream; negative for those that have none (fmemopen,
/// fopencookie).
#[inline]
pub(super) fn descriptor_of(stream: *mut FILE) -> c_int {
    unsafe extern "C" {
        fn fileno_unlocked(stream: *mut FILE) -> c_int;
    }
    let errno = SavedErrno::keep();
    // SAFETY: the program passes an open stream.
    let fd = unsafe { fileno_unlocked(stream) };
    errno.put_back();
    fd
}
