// SPDX-License-Identifier: MIT OR Apache-2.0

//! Opening, closing, duplicating, seeking.

use core::ffi::{c_char, c_int, c_long};

use ioracle_spool::Function;
use ioracle_spool::layout::Call;

use crate::descriptors::{self, DescriptorKind};
use crate::files::{self, NamedPath};
use crate::observe::{call, file_of, is_on, observe, observe_with};

/// Opens a path; a failure is recorded too.
pub(super) fn open(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if !is_on() {
        return real();
    }
    observe(real, |fd| {
        let named = NamedPath { directory, path };
        let file =
            if fd >= 0 { files::opened(fd, flags, named) } else { named.identity_after(false) }?;
        let call = call(Function::Open, file, fd, fd.into());
        Some(Call { offset: 0, detail: flags as u32, ..call })
    })
}

/// Opens a file that did not exist, under a name made of a template.
pub(super) fn open_temporary(
    template: *mut c_char,
    flags: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let made = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
    open(libc::AT_FDCWD, template, (flags & !libc::O_ACCMODE) | made, real)
}

/// Opens shared memory. Its name is not a path, so a failure has none and is
/// not recorded; the kernel knows the path of an open one.
pub(super) fn open_memory(flags: c_int, real: impl FnOnce() -> c_int) -> c_int {
    open(libc::AT_FDCWD, core::ptr::null(), flags | libc::O_CLOEXEC, real)
}

/// Closes a descriptor.
pub(super) fn close(fd: c_int, real: impl FnOnce() -> c_int) -> c_int {
    let Some(file) = forget(fd) else { return real() };
    observe(real, |result| Some(call(Function::Close, file, fd, result.into())))
}

/// Forgets a descriptor that is about to be closed; returns its file, if it was
/// recorded. Before the real close: once that returns, another thread may be given the
/// same descriptor.
pub(super) fn forget(fd: c_int) -> Option<u64> {
    if !is_on() {
        return None;
    }
    let entry = descriptors::entry(fd)?;
    let file = (entry.kind() == DescriptorKind::File).then(|| entry.file());
    entry.forget();
    file
}

/// Closes all descriptors of a range: one close for each recorded file.
pub(super) fn close_range(
    first: u32,
    last: u32,
    flags: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    const CLOSE_RANGE_UNSHARE: c_int = 2;
    const CLOSE_RANGE_CLOEXEC: c_int = 4;
    if flags & !(CLOSE_RANGE_UNSHARE | CLOSE_RANGE_CLOEXEC) != 0 {
        // Refused before anything is closed.
        return real();
    }
    if flags & CLOSE_RANGE_CLOEXEC != 0 {
        let result = real();
        if result == 0 && is_on() {
            for (_, entry) in descriptors::known_between(first, last) {
                entry.set_closed_on_exec(true);
            }
        }
        return result;
    }
    close_all(first, last, real)
}

/// Closes all descriptors from one on.
pub(super) fn close_from(first: c_int, real: impl FnOnce()) {
    close_all(first.max(0) as u32, u32::MAX, || {
        real();
        0
    });
}

/// Forgets the descriptors before the real call, as [`forget`] does, and reports their
/// files after it.
fn close_all(first: u32, last: u32, real: impl FnOnce() -> c_int) -> c_int {
    // A range that ends before it begins is refused.
    if !is_on() || first > last {
        return real();
    }
    let real = || {
        descriptors::known_between(first, last).for_each(|(_, entry)| entry.begin_close());
        real()
    };
    observe_with(real, |result, begun, end_ns| {
        for (fd, entry) in descriptors::all_between(first, last) {
            if result != 0 {
                entry.undo_close();
            } else if let (Some(file), Some(begun)) = (entry.end_close(), begun) {
                begun.append_part(end_ns, call(Function::Close, file, fd, 0));
            }
        }
        None
    })
}

/// Gives an open file another descriptor.
pub(super) fn duplicate(
    function: Function,
    fd: c_int,
    to: Option<c_int>,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let Some(entry) = file_of(fd) else {
        let result = real();
        if result >= 0 && Some(result) != Some(fd) && is_on() {
            // Whatever the new descriptor was, it is now something that is not
            // recorded.
            if let Some(entry) = descriptors::entry(result) {
                entry.forget();
            }
        }
        return result;
    };
    observe(real, |result| {
        if result >= 0 {
            descriptors::duplicated(fd, result);
        }
        let call = call(function, entry.file(), fd, result.into());
        Some(Call { detail: to.unwrap_or(-1) as u32, ..call })
    })
}

/// The commands of `fcntl` that concern us: those that duplicate are recorded,
/// those that set flags are noticed.
pub(super) fn control(
    fd: c_int,
    command: c_int,
    argument: c_long,
    real: impl FnOnce() -> c_int,
) -> c_int {
    match command {
        libc::F_DUPFD | libc::F_DUPFD_CLOEXEC => duplicate(Function::Fcntl, fd, None, real),
        libc::F_SETFL | libc::F_SETFD => {
            let result = real();
            if result == 0
                && let Some(entry) = file_of(fd)
            {
                if command == libc::F_SETFD {
                    entry.set_closed_on_exec(argument & c_long::from(libc::FD_CLOEXEC) != 0);
                } else {
                    // O_APPEND may have been set or cleared.
                    entry.share_position();
                }
            }
            result
        }
        _ => real(),
    }
}

/// Moves the position.
pub(super) fn seek(fd: c_int, whence: c_int, real: impl FnOnce() -> i64) -> i64 {
    let Some(entry) = file_of(fd) else { return real() };
    let before = entry.position(fd);
    observe(real, |position| {
        if position >= 0 {
            entry.moved_to(position);
        }
        let call = call(Function::Lseek, entry.file(), fd, position);
        Some(Call { offset: before, detail: whence as u32, ..call })
    })
}
