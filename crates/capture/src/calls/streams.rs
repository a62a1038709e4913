// SPDX-License-Identifier: MIT OR Apache-2.0

//! stdio streams. A stream is known by its descriptor; positions and sizes that the
//! call does not contain are read from the stream itself.

use core::ffi::{CStr, c_char, c_int};

use ioracle_spool::Function;
use ioracle_spool::layout::Call;
use libc::FILE;

use crate::calls::descriptors::forget;
use crate::calls::stream_state::{
    asked_position_of, descriptor_of, goes_to_end, position_of, state_of,
};
use crate::descriptors::DescriptorEntry;
use crate::files::{self, NamedPath};
use crate::observe::{call, file_of, is_on, observe};
use crate::sys;

unsafe extern "C" {
    fn ferror_unlocked(stream: *mut FILE) -> c_int;
}

/// Opens a stream on a path, or on another path (`freopen`).
pub(super) fn open(
    function: Function,
    (path, mode): (*const c_char, *const c_char),
    replaced: *mut FILE,
    real: impl FnOnce() -> *mut FILE,
) -> *mut FILE {
    if !is_on() {
        return real();
    }
    if !replaced.is_null() {
        forget(descriptor_of(replaced));
    }
    observe(real, |stream| {
        let mode = Mode::after(mode, !stream.is_null());
        let named = NamedPath { directory: libc::AT_FDCWD, path };
        let (file, fd) = if stream.is_null() {
            (named.identity_after(false), -1)
        } else {
            let fd = descriptor_of(stream);
            let file = files::opened(fd, mode.flags(), named);
            if let Some(entry) = file_of(fd) {
                entry.share_position();
            }
            (file, fd)
        };
        let call = call(function, file?, fd, fd.into());
        Some(Call { offset: 0, detail: mode.0, ..call })
    })
}

/// Opens a stream on a file that has no name (`tmpfile`), as `fopen` with this mode.
pub(super) fn open_nameless(real: impl FnOnce() -> *mut FILE) -> *mut FILE {
    open(Function::Fopen, (core::ptr::null(), c"w+".as_ptr()), core::ptr::null_mut(), real)
}

/// Puts a stream over a descriptor.
pub(super) fn open_descriptor(
    fd: c_int,
    mode: *const c_char,
    real: impl FnOnce() -> *mut FILE,
) -> *mut FILE {
    let Some(entry) = file_of(fd) else { return real() };
    observe(real, |stream| {
        let result = if stream.is_null() { -1 } else { i64::from(fd) };
        entry.share_position();
        let detail = Mode::after(mode, !stream.is_null()).0;
        let call = call(Function::Fdopen, entry.file(), fd, result);
        Some(Call { offset: entry.position(fd), detail, ..call })
    })
}

/// Closes a stream.
pub(super) fn close(stream: *mut FILE, real: impl FnOnce() -> c_int) -> c_int {
    let Some((fd, entry)) = file_of_stream(stream) else {
        if is_on() && !stream.is_null() {
            forget(descriptor_of(stream));
        }
        return real();
    };
    let offset = position_of(stream, entry);
    let Some(file) = forget(fd) else { return real() };
    observe(real, |result| Some(Call { offset, ..call(Function::Fclose, file, fd, result.into()) }))
}

/// What a data call of a stream moved, according to its result.
#[derive(Clone, Copy)]
pub(super) enum StreamAdvance {
    /// This many bytes.
    Bytes(u64),
    /// As far as the position has moved.
    AsFar,
    /// Nothing: the end, or an error.
    Nothing,
}

impl StreamAdvance {
    /// Items of a size; if not all of the `asked` came, a part of one may have.
    pub(super) fn items(size: usize, items: usize, asked: usize) -> StreamAdvance {
        if items == asked || size == 1 {
            StreamAdvance::Bytes((size as u64).saturating_mul(items as u64))
        } else {
            StreamAdvance::AsFar
        }
    }

    /// What formatted output and `getline` return.
    pub(super) fn count(count: isize) -> StreamAdvance {
        u64::try_from(count).map_or(StreamAdvance::Nothing, StreamAdvance::Bytes)
    }

    /// One character, unless it is EOF.
    pub(super) fn character(character: c_int) -> StreamAdvance {
        if character < 0 { StreamAdvance::Nothing } else { StreamAdvance::Bytes(1) }
    }

    /// The string that was passed to the real call, unless its result is EOF.
    pub(super) fn string(string: *const c_char, result: c_int) -> StreamAdvance {
        if result < 0 {
            return StreamAdvance::Nothing;
        }
        // SAFETY: the real call has just read it.
        StreamAdvance::Bytes(unsafe { libc::strlen(string) } as u64)
    }

    /// A line read into a buffer. Its length says how much was read, unless
    /// the line has zero bytes in it or ends with the file.
    pub(super) fn line(line: *mut c_char, room: c_int) -> StreamAdvance {
        if line.is_null() {
            return StreamAdvance::Nothing;
        }
        // SAFETY: the real call has just ended the line with a zero byte.
        let line = unsafe { CStr::from_ptr(line) }.to_bytes();
        let is_whole = line.last() == Some(&b'\n') || line.len() as i64 + 1 == i64::from(room);
        if is_whole { StreamAdvance::Bytes(line.len() as u64) } else { StreamAdvance::AsFar }
    }
}

/// A data call of a stream. `asked` is what it asked for in bytes, if the call says it.
#[inline]
pub(super) fn data<R: Copy>(
    function: Function,
    stream: *mut FILE,
    asked: Option<u64>,
    real: impl FnOnce() -> R,
    moved: impl FnOnce(R) -> StreamAdvance,
) -> R {
    let Some((fd, entry)) = file_of_stream(stream) else { return real() };
    let offset = position_of(stream, entry);
    let goes_to_end = writes(function) && goes_to_end(stream);
    observe(real, |result| {
        let moved = match moved(result) {
            StreamAdvance::Bytes(bytes) => bytes as i64,
            StreamAdvance::AsFar => asked_position_of(stream).saturating_sub(offset).max(0),
            // SAFETY: the stream is open.
            StreamAdvance::Nothing if unsafe { ferror_unlocked(stream) } != 0 => -1,
            StreamAdvance::Nothing => 0,
        };
        let offset = match goes_to_end && moved > 0 {
            true => asked_position_of(stream).saturating_sub(moved),
            false => offset,
        };
        if moved >= 0 && offset >= 0 {
            entry.keep_stream_position(state_of(stream), offset.saturating_add(moved));
        }
        let requested = asked.unwrap_or(moved.max(0) as u64);
        Some(Call { offset, requested, ..call(function, entry.file(), fd, moved) })
    })
}

/// Moves the position of a stream.
pub(super) fn seek<R: Copy>(
    stream: *mut FILE,
    whence: c_int,
    real: impl FnOnce() -> R,
    succeeded: impl FnOnce(R) -> bool,
) -> R {
    let Some((fd, entry)) = file_of_stream(stream) else { return real() };
    let offset = position_of(stream, entry);
    observe(real, |result| {
        let position = if succeeded(result) { asked_position_of(stream) } else { -1 };
        if position >= 0 {
            entry.keep_stream_position(state_of(stream), position);
        }
        let call = call(Function::Fseek, entry.file(), fd, position);
        Some(Call { offset, detail: whence as u32, ..call })
    })
}

/// A call on a stream that moves no data; a null stream means all of them.
pub(super) fn on_stream(
    function: Function,
    stream: *mut FILE,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if stream.is_null() {
        if !is_on() {
            return real();
        }
        return observe(real, |result| Some(call(function, 0, -1, result.into())));
    }
    let Some((fd, entry)) = file_of_stream(stream) else { return real() };
    let offset = position_of(stream, entry);
    observe(real, |result| {
        if offset >= 0 {
            entry.keep_stream_position(state_of(stream), offset);
        }
        let result = if result == 0 { 0 } else { -1 };
        Some(Call { offset, ..call(function, entry.file(), fd, result) })
    })
}

#[inline]
fn file_of_stream(stream: *mut FILE) -> Option<(c_int, &'static DescriptorEntry)> {
    if stream.is_null() || !is_on() {
        return None;
    }
    let fd = descriptor_of(stream);
    Some((fd, file_of(fd)?))
}

fn writes(function: Function) -> bool {
    matches!(function, Function::Fwrite | Function::Fprintf | Function::Fputs | Function::Fputc)
}

/// The first four characters of a mode.
struct Mode(u32);

impl Mode {
    /// The mode of a call. A successful call has read all of it; one that failed may
    /// have looked at the first character, or at nothing.
    fn after(mode: *const c_char, is_success: bool) -> Mode {
        let mut first = [0; 4];
        for (place, byte) in first.iter_mut().enumerate() {
            let at = mode.wrapping_add(place);
            if is_success {
                // SAFETY: libc has read it up to here: no further than its end.
                *byte = unsafe { *at } as u8;
            } else if sys::copy_memory(at as usize, core::slice::from_mut(byte)) != Ok(1) {
                break;
            }
            if *byte == 0 {
                break;
            }
        }
        Mode(u32::from_ne_bytes(first))
    }

    /// What matters for following the descriptor.
    fn flags(&self) -> c_int {
        let first = self.0.to_ne_bytes();
        let closed_on_exec = if first.contains(&b'e') { libc::O_CLOEXEC } else { 0 };
        let append = if first.contains(&b'a') { libc::O_APPEND } else { 0 };
        closed_on_exec | append
    }
}
