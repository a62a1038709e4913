// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which file a descriptor or a path is, and whether it is recorded.
//!
//! A file is known by its path as the kernel reports it for the open descriptor: absolute,
//! links resolved; asked for once ([`known_paths`](crate::known_paths)). A path that could
//! not be opened is taken as the program wrote it, made absolute.

use core::ffi::{CStr, c_char};

use ioracle_spool::identity;

use crate::descriptors::{self, DescriptorEntry, DescriptorKind, OpenedDescriptor};
use crate::environment::{SHARED_ROOM, Text};
use crate::known_paths::{FileLocation, PathKey};
use crate::observe::SavedErrno;
use crate::patterns::is_kept_out;
use crate::recorder::RECORDER;
use crate::sys::{self, FileStatus};
use crate::thread::{self, Guarded, GuardedState};

/// A path as the program passed it, relative to a directory. It may point
/// anywhere: until the kernel has read it, it is only ever copied by the kernel.
#[derive(Clone, Copy)]
pub(crate) struct NamedPath {
    /// A descriptor, or AT_FDCWD.
    pub(crate) directory: i32,
    /// The path.
    pub(crate) path: *const c_char,
}

/// A descriptor was opened by a call that we saw; the file's identity, if it
/// is recorded.
pub(crate) fn opened(fd: i32, flags: i32, named: NamedPath) -> Option<u64> {
    let closed_on_exec = flags & libc::O_CLOEXEC != 0;
    let ask = flags & libc::O_APPEND != 0;
    let (file, defined) = match Found::of(fd, Some(named)) {
        Found::Recorded { file, defined } => (Some(file), defined),
        Found::KeptOut => (None, true),
        Found::Passing => {
            if let Some(entry) = descriptors::entry(fd) {
                entry.forget();
            }
            return None;
        }
    };
    descriptors::opened(fd, OpenedDescriptor { file, ask, closed_on_exec, defined });
    file
}

/// A descriptor that we did not see being opened is used for the first time. It may be
/// shared with the process that opened it.
#[cold]
pub(crate) fn find_out(
    fd: i32,
    entry: &'static DescriptorEntry,
) -> Option<&'static DescriptorEntry> {
    let (file, defined) = match Found::of(fd, None) {
        Found::Recorded { file, defined } => (Some(file), defined),
        Found::KeptOut => (None, true),
        Found::Passing => return None,
    };
    descriptors::opened(fd, OpenedDescriptor { file, ask: true, closed_on_exec: false, defined });
    (entry.kind() == DescriptorKind::File).then_some(entry)
}

/// What a descriptor turned out to be.
enum Found {
    /// A file to record, by its identity, 0 if its path cannot be found out, and
    /// whether its path could be defined.
    Recorded { file: u64, defined: bool },
    /// Nothing to record, for as long as it is open.
    KeptOut,
    /// Not open, or a directory, which libc closes without our seeing it: it may be
    /// something else the next time.
    Passing,
}

impl Found {
    fn of(fd: i32, named: Option<NamedPath>) -> Found {
        let Ok(status) = sys::status(fd) else { return Found::Passing };
        match status.mode & libc::S_IFMT {
            libc::S_IFREG => {}
            libc::S_IFDIR => return Found::Passing,
            _ => return Found::KeptOut,
        }
        Found::known(named, &status).unwrap_or_else(|| Found::ask(fd, named, &status))
    }

    /// What is known about a path that led to this file before.
    ///
    /// Not inlined, like the next function, so that neither takes stack while the other
    /// runs.
    #[inline(never)]
    fn known(named: Option<NamedPath>, status: &FileStatus) -> Option<Found> {
        let (key, location) = known_place(named, status)?;
        let file = thread::with_state(|state| state.known_paths.find(key, location))??;
        Some(if file == 0 { Found::KeptOut } else { Found::Recorded { file, defined: true } })
    }

    /// Asks the kernel for the path of a regular file.
    #[inline(never)]
    fn ask(fd: i32, named: Option<NamedPath>, status: &FileStatus) -> Found {
        let find = |path: &mut Text| {
            let link = Link::of(fd);
            path.fill(|buffer| sys::read_link(link.as_cstr(), buffer).map(<[u8]>::len));
            // Otherwise there is no /proc to ask.
            !path.bytes().is_empty() || named.is_some_and(|named| named.put_into(path, true))
        };
        match identify(find, Some(status), || known_place(named, status)) {
            Identified::Path { file, defined } => Found::Recorded { file, defined },
            Identified::KeptOut => Found::KeptOut,
            Identified::Unknown => Found::Recorded { file: 0, defined: false },
        }
    }
}

/// Where to remember the file that a path leads to.
fn known_place(named: Option<NamedPath>, status: &FileStatus) -> Option<(PathKey, FileLocation)> {
    PathKey::of(named?).zip(FileLocation::of(status))
}

impl NamedPath {
    /// The identity of the path, if it can be read and is recorded, after a call that
    /// may have failed. If the kernel has read it and it was seen before, it is known.
    pub(crate) fn identity_after(self, has_succeeded: bool) -> Option<u64> {
        let is_read = has_succeeded || SavedErrno::is_of_read_path();
        let key = if is_read { PathKey::of_name(self) } else { None };
        let place = key.map(|key| (key, FileLocation::NOWHERE));
        if let Some((key, location)) = place
            && let Some(Some(file)) =
                thread::with_state(|state| state.known_paths.find(key, location))
        {
            return (file != 0).then_some(file);
        }
        identify(|path| self.put_into(path, is_read), None, || place).file()
    }

    /// The identity of the file that the path leads to, its links resolved; of
    /// the path itself where there is nothing.
    pub(crate) fn identity_of_target(self) -> Option<u64> {
        thread::with_state(|state| {
            if !self.put_into(&mut state.path, false) {
                return None;
            }
            state.resolve_path();
            identity_of_path(state, None).file()
        })?
    }

    /// Makes the path absolute in a room for it. `is_read`: the kernel has just read it.
    fn put_into(self, path: &mut Text, is_read: bool) -> bool {
        let Some(first) = self.first_byte(is_read) else { return false };
        path.set(b"");
        if first != b'/' {
            if self.directory == libc::AT_FDCWD {
                path.fill(|buffer| sys::working_directory(buffer).map(<[u8]>::len));
            } else {
                let link = Link::of(self.directory);
                path.fill(|buffer| sys::read_link(link.as_cstr(), buffer).map(<[u8]>::len));
            }
            path.push(b"/");
        }
        if !is_read {
            return path.push_string_at(self.path as usize);
        }
        // SAFETY: the kernel has just read it.
        path.push(unsafe { CStr::from_ptr(self.path) }.to_bytes());
        true
    }

    fn first_byte(self, is_read: bool) -> Option<u8> {
        if is_read {
            // SAFETY: the kernel has just read it.
            return unsafe { self.path.cast::<u8>().as_ref() }.copied();
        }
        let mut first = [0];
        (sys::copy_memory(self.path as usize, &mut first) == Ok(1)).then_some(first[0])
    }
}

impl Guarded {
    /// Follows the links of the path, if it leads anywhere.
    fn resolve_path(&mut self) {
        let Guarded { path, resolved_path: resolved, .. } = self;
        let found = sys::with_file(path.as_cstr(), libc::O_PATH, 0, |file| {
            let link = Link::of(file.0);
            resolved.fill(|buffer| sys::read_link(link.as_cstr(), buffer).map(<[u8]>::len));
        });
        if found.is_ok() && !resolved.bytes().is_empty() {
            path.set(resolved.bytes());
        }
    }
}

/// What a path turned out to be.
enum Identified {
    Path {
        file: u64,
        defined: bool,
    },
    KeptOut,
    /// It could not be read.
    Unknown,
}

impl Identified {
    /// What is worth remembering: the identity, or 0 for what is not recorded.
    fn remembered(&self) -> Option<u64> {
        match *self {
            Identified::Path { file, defined: true } => Some(file),
            Identified::KeptOut => Some(0),
            Identified::Path { .. } | Identified::Unknown => None,
        }
    }

    fn file(self) -> Option<u64> {
        match self {
            Identified::Path { file, .. } => Some(file),
            Identified::KeptOut | Identified::Unknown => None,
        }
    }
}

/// Finds out what a path is that `find` puts into the room it is given, and remembers it
/// at its place. A thread of which nothing can be recorded has none of its own: which of
/// its calls are worth counting is found out in one that all threads share.
fn identify(
    find: impl Fn(&mut Text) -> bool,
    opened: Option<&FileStatus>,
    place: impl Fn() -> Option<(PathKey, FileLocation)>,
) -> Identified {
    // On the spare stack: a first open needs the most stack here.
    let identify = |state: &mut GuardedState<'_>| {
        // Looked up first, so that a result from before paths changed is not remembered
        // as a result from after.
        let place = place();
        if !find(&mut state.path) {
            return Identified::Unknown;
        }
        let identified = identity_of_path(state, opened);
        if let (Some((key, location)), Some(file)) = (place, identified.remembered()) {
            state.known_paths.insert(key, location, file);
        }
        identified
    };
    let identified = thread::with_state(|state| state.on_spare_stack(identify));
    match identified {
        Some(identified) => identified,
        None => identify_without_state(&find),
    }
}

#[cold]
#[inline(never)]
fn identify_without_state(find: &dyn Fn(&mut Text) -> bool) -> Identified {
    let shared = SHARED_ROOM.with(|path| match find(path) {
        true if is_recorded(path.bytes()) => {
            Identified::Path { file: identity::of(path.bytes()), defined: false }
        }
        true => Identified::KeptOut,
        false => Identified::Unknown,
    });
    shared.unwrap_or(Identified::Unknown)
}

fn identity_of_path(state: &mut GuardedState<'_>, opened: Option<&FileStatus>) -> Identified {
    let path = state.path.bytes();
    if !is_recorded(path) {
        return Identified::KeptOut;
    }
    let file = identity::of(path);
    Identified::Path { file, defined: state.define_file(file, opened) }
}

fn is_recorded(path: &[u8]) -> bool {
    let set_up = RECORDER.set_up();
    !is_kept_out(path)
        && !path.starts_with(set_up.directory.bytes())
        && (set_up.include.is_empty() || set_up.include.matches(path))
        && !set_up.exclude.matches(path)
}

/// The identity of a dataset or variable by its name in the file; the reader learns it
/// once per stream. After a zero byte there may be more about it, as `chunk=100:10`. 0
/// where the thread cannot be asked (see [`thread`]).
pub(crate) fn object_identity(text: &[u8]) -> u64 {
    let id = identity::of(text);
    thread::with_state(|state| state.define_object(id, text)).map_or(0, |()| id)
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
