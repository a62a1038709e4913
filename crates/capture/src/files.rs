// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which file a descriptor or a path is, and whether it is recorded.
//!
//! A file is known by its path as the kernel tells it for the open descriptor:
//! absolute, links resolved. A path that could not be opened is taken as the
//! program wrote it, made absolute.

use core::ffi::{CStr, c_char};

use crate::descriptors::{self, Entry, Kind, Opened};
use crate::environment::Text;
use crate::identity;
use crate::patterns::is_kept_out;
use crate::recorder::RECORDER;
use crate::sys;
use crate::thread::{self, ThreadState};

/// A descriptor was opened by a call that we saw; the file's identity, if it
/// is recorded.
pub(crate) fn opened(fd: i32, flags: i32) -> Option<u64> {
    let file = recorded_file(fd);
    let closed_on_exec = flags & libc::O_CLOEXEC != 0;
    let ask = flags & libc::O_APPEND != 0;
    descriptors::opened(fd, Opened { file, ask, closed_on_exec });
    file
}

/// A descriptor that we did not see being opened is used for the first time.
/// It may be shared with whoever opened it.
#[cold]
pub(crate) fn find_out(fd: i32, entry: &'static Entry) -> Option<&'static Entry> {
    let file = recorded_file(fd);
    if file.is_none() && sys::stat(fd).is_err() {
        // Not open: it may be anything by the time it is.
        return None;
    }
    descriptors::opened(fd, Opened { file, ask: true, closed_on_exec: false });
    (entry.kind() == Kind::File).then_some(entry)
}

/// The identity of the file that a descriptor is, if it is a regular file that
/// is recorded.
fn recorded_file(fd: i32) -> Option<u64> {
    let stat = sys::stat(fd).ok()?;
    if stat.st_mode & libc::S_IFMT != libc::S_IFREG {
        return None;
    }
    // Without a state there is no room for the path; the file has no name then.
    let file = thread::with_state(|state| {
        let link = Link::of(fd);
        state.path.fill(|buffer| sys::read_link(link.as_cstr(), buffer).map(<[u8]>::len));
        identity_of_path(state)
    });
    file.unwrap_or(Some(0))
}

/// The identity of a path that the program passed, as far as it is recorded.
///
/// # Safety
///
/// The path is a C string: the kernel has read it.
pub(crate) unsafe fn named(directory: i32, path: *const c_char) -> Option<u64> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    let file = thread::with_state(|state| {
        state.path = Text::EMPTY;
        if path.first() != Some(&b'/') {
            if directory == libc::AT_FDCWD {
                state.path.fill(|buffer| sys::working_directory(buffer).map(<[u8]>::len));
            } else {
                let link = Link::of(directory);
                state.path.fill(|buffer| sys::read_link(link.as_cstr(), buffer).map(<[u8]>::len));
            }
            state.path.push(b"/");
        }
        state.path.push(path);
        identity_of_path(state)
    });
    file.unwrap_or(Some(0))
}

/// Whether a real call has read the path that it was given.
pub(crate) fn was_read(result: i32) -> bool {
    // SAFETY: the thread's own errno, just set by the real call.
    result >= 0 || unsafe { *libc::__errno_location() } != libc::EFAULT
}

fn identity_of_path(state: &mut ThreadState) -> Option<u64> {
    let path = state.path.bytes();
    if !is_recorded(path) {
        return None;
    }
    let id = identity::of(path);
    state.define_file(id);
    Some(id)
}

fn is_recorded(path: &[u8]) -> bool {
    let set_up = RECORDER.set_up();
    !is_kept_out(path)
        && !path.starts_with(set_up.directory.bytes())
        && (set_up.include.is_empty() || set_up.include.matches(path))
        && !set_up.exclude.matches(path)
}

/// The name `/proc/self/fd/<fd>`.
struct Link([u8; 32]);

impl Link {
    fn of(fd: i32) -> Link {
        let mut link = [0; 32];
        let mut digits = [0; 10];
        let mut number = fd.unsigned_abs();
        let mut n_digits = 0;
        for digit in &mut digits {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
            n_digits += 1;
            if number == 0 {
                break;
            }
        }
        let digits = digits.iter().take(n_digits).rev();
        for (place, byte) in link.iter_mut().zip(b"/proc/self/fd/".iter().chain(digits)) {
            *place = *byte;
        }
        Link(link)
    }

    fn as_cstr(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_names_the_descriptor() {
        assert_eq!(Link::of(0).as_cstr(), c"/proc/self/fd/0");
        assert_eq!(Link::of(i32::MAX).as_cstr(), c"/proc/self/fd/2147483647");
    }
}
