// SPDX-License-Identifier: MIT OR Apache-2.0

//! What happens around a real call, as ordinary functions.
//!
//! The program's results and errno are those of the real call alone. Memory that the
//! program passes is read only after the real call has accepted it: rejecting a bad
//! pointer is up to the kernel.

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use crate::clock;
use crate::descriptors::{self, DescriptorEntry, DescriptorKind};
use crate::files;
use crate::recorder::RECORDER;
use crate::thread::{self, Begun};

/// Whether calls of this thread are observed.
#[inline]
pub(crate) fn is_on() -> bool {
    RECORDER.is_on() && !thread::is_vfork_child()
}

/// The row of a descriptor that is a recorded file.
#[inline]
pub(crate) fn file_of(fd: i32) -> Option<&'static DescriptorEntry> {
    if !is_on() {
        return None;
    }
    let entry = descriptors::entry(fd)?;
    match entry.kind() {
        DescriptorKind::File => Some(entry),
        DescriptorKind::Ignored => None,
        DescriptorKind::Unknown => files::find_out(fd, entry),
    }
}

/// Makes the real call and records it as described.
#[inline(always)]
pub(crate) fn observe<R: Copy>(
    real: impl FnOnce() -> R,
    describe: impl FnOnce(R) -> Option<Call>,
) -> R {
    observe_with(real, |result, _, _| describe(result))
}

/// The same, for calls that record others within themselves.
#[inline(always)]
pub(crate) fn observe_with<R: Copy>(
    real: impl FnOnce() -> R,
    describe: impl FnOnce(R, Option<&Begun>, u64) -> Option<Call>,
) -> R {
    finish(thread::begin(), real, describe)
}

#[inline(always)]
fn finish<R: Copy>(
    begun: Option<Begun>,
    real: impl FnOnce() -> R,
    describe: impl FnOnce(R, Option<&Begun>, u64) -> Option<Call>,
) -> R {
    let result = real();
    let end_ns = clock::now_ns();
    let errno = SavedErrno::keep();
    let call = describe(result, begun.as_ref(), end_ns);
    if begun.is_none() && call.is_some() {
        thread::count_refused();
    }
    if let Some(begun) = begun {
        let is_outermost = begun.is_outermost();
        match call {
            Some(call) => begun.end(end_ns, call),
            None => begun.forget(),
        }
        if is_outermost {
            thread::learning::learn();
        }
    }
    errno.put_back();
    result
}

/// The same, for calls that record others within themselves before the real one.
pub(crate) fn observe_within<R: Copy>(
    before: impl FnOnce(Option<&Begun>),
    real: impl FnOnce() -> R,
    describe: impl FnOnce(R) -> Option<Call>,
) -> R {
    let begun = thread::begin();
    before(begun.as_ref());
    finish(begun, real, |result, _, _| describe(result))
}

/// The program's errno after the real call.
pub(crate) struct SavedErrno(i32);

impl SavedErrno {
    /// Keeps it.
    #[inline]
    pub(crate) fn keep() -> SavedErrno {
        // SAFETY: the thread's own errno.
        SavedErrno(unsafe { *libc::__errno_location() })
    }

    /// Whether it is one of those that the kernel returns after it has read the path.
    pub(crate) fn is_of_read_path() -> bool {
        let SavedErrno(errno) = SavedErrno::keep();
        matches!(errno, libc::ENOENT | libc::ENOTDIR | libc::EACCES | libc::EEXIST)
    }

    /// Puts it back.
    #[inline]
    pub(crate) fn put_back(self) {
        SavedErrno::set(self.0);
    }

    /// Sets it.
    #[inline]
    pub(crate) fn set(errno: i32) {
        // SAFETY: the thread's own errno.
        unsafe { *libc::__errno_location() = errno };
    }
}

/// A call without a position or a size.
pub(crate) fn call(function: Function, file: u64, handle: i32, result: i64) -> Call {
    Call { function: function as u16, file, handle, offset: -1, result, ..Call::default() }
}

/// Where a data access starts.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    /// At the position of the descriptor, which it moves.
    Position,
    /// At an offset of its own.
    Offset(i64),
}

impl Start {
    /// Like `preadv2`: -1 means the position.
    pub(crate) fn position_if_negative(offset: i64) -> Start {
        if offset < 0 { Start::Position } else { Start::Offset(offset) }
    }

    fn resolve(self, entry: &DescriptorEntry, fd: i32, moved: i64) -> i64 {
        match self {
            Start::Position => entry.advance(fd, moved),
            Start::Offset(offset) => offset,
        }
    }
}

/// A read or write of a descriptor.
#[inline(always)]
pub(crate) fn data(
    function: Function,
    fd: i32,
    start: Start,
    requested: usize,
    real: impl FnOnce() -> isize,
) -> isize {
    data_of(function, fd, start, real, |_| requested as u64)
}

/// A read or write of several buffers, described by the vectors that were passed to
/// the real call.
#[inline(always)]
pub(crate) fn vectored(
    function: Function,
    fd: i32,
    start: Start,
    (vectors, count): (*const libc::iovec, i32),
    real: impl FnOnce() -> isize,
) -> isize {
    data_of(function, fd, start, real, |result| {
        if result < 0 {
            return 0;
        }
        (0..usize::try_from(count).unwrap_or(0))
            // SAFETY: the kernel has just read them.
            .map(|place| unsafe { (*vectors.add(place)).iov_len as u64 })
            .fold(0, u64::saturating_add)
    })
}

#[inline(always)]
fn data_of(
    function: Function,
    fd: i32,
    start: Start,
    real: impl FnOnce() -> isize,
    requested: impl FnOnce(isize) -> u64,
) -> isize {
    let Some(entry) = file_of(fd) else { return real() };
    observe(real, |result| {
        let offset = start.resolve(entry, fd, result as i64);
        let call = call(function, entry.file(), fd, result as i64);
        Some(Call { offset, requested: requested(result), ..call })
    })
}

/// A call on a descriptor that moves no data. `requested` is the new length of
/// truncations, and the length of ranges.
pub(crate) fn on_file<R: Copy + Into<i64>>(
    function: Function,
    fd: i32,
    (offset, requested): (i64, u64),
    real: impl FnOnce() -> R,
) -> R {
    let Some(entry) = file_of(fd) else { return real() };
    observe(real, |result| {
        let call = call(function, entry.file(), fd, result.into());
        Some(Call { offset, requested, ..call })
    })
}

/// A write whose result says how much was requested.
pub(crate) fn formatted(fd: i32, real: impl FnOnce() -> i32) -> i32 {
    let Some(entry) = file_of(fd) else { return real() };
    observe(real, |count| {
        let call = call(Function::Write, entry.file(), fd, count.into());
        let offset = entry.advance(fd, count.into());
        Some(Call { offset, requested: count.max(0) as u64, ..call })
    })
}

/// A call that returns an error number instead of -1.
pub(crate) fn on_file_with_error(
    function: Function,
    fd: i32,
    range: (i64, u64),
    real: impl FnOnce() -> i32,
) -> i32 {
    on_range(function, fd, range, 0, real)
}

/// A call that says what to do with a range of a file. Any result other than 0 is a
/// failure.
pub(crate) fn on_range(
    function: Function,
    fd: i32,
    (offset, requested): (i64, u64),
    purpose: i32,
    real: impl FnOnce() -> i32,
) -> i32 {
    let Some(entry) = file_of(fd) else { return real() };
    observe(real, |error| {
        let result = if error == 0 { 0 } else { -1 };
        let call = call(function, entry.file(), fd, result);
        Some(Call { offset, requested, detail: purpose as u32, ..call })
    })
}
