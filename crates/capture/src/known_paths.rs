// SPDX-License-Identifier: MIT OR Apache-2.0

//! Paths that the program has passed before, and the files they led to.
//!
//! Asking the kernel for the path of an open descriptor takes longer than the open. So a
//! path that leads to the same file as it did before keeps its answer. The same file is
//! one of the same device, inode and time of birth (inodes are reused) that has no second
//! name. Everything is forgotten when the working directory or the root changes, or
//! something is renamed ([`forget_all`]).
//!
//! This is a set-associative cache: in a direct-mapped one, a third of 500 paths used in
//! turn would evict each other. A path that is not found costs as much as without the
//! cache. This stream has defined everything in it.

use core::ffi::CStr;
use core::mem;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::files::NamedPath;
use crate::stack::mix;
use crate::sys::FileStatus;

/// Sets of the cache, and paths that a set remembers. Memory that is not used is never
/// touched.
const SETS: usize = 1024;
const WAYS: usize = 4;

/// Changes whenever paths may lead elsewhere.
static EPOCH: AtomicU32 = AtomicU32::new(0);

/// Paths may lead elsewhere from now on.
pub(crate) fn forget_all() {
    EPOCH.fetch_add(1, Ordering::Relaxed);
}

/// A hash of a path as the program has passed it; never 0.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathKey(u64);

impl PathKey {
    /// The key of a path that the kernel has just read, to look up the file it leads to.
    ///
    /// Not inlined, so that its variables take no room in the caller's frame.
    #[inline(never)]
    pub(crate) fn of(named: NamedPath) -> Option<PathKey> {
        if named.path.is_null() {
            return None;
        }
        // SAFETY: the kernel has just read it.
        let path = unsafe { CStr::from_ptr(named.path) }.to_bytes();
        let (words, rest) = path.as_chunks::<8>();
        let mut last = [0; 8];
        last.iter_mut().zip(rest).for_each(|(place, byte)| *place = *byte);
        let words = words.iter().chain([&last]).map(|word| u64::from_ne_bytes(*word));
        let directory = named.directory as u32 as u64;
        let epoch = u64::from(EPOCH.load(Ordering::Relaxed));
        let start = mix(path.len() as u64, directory << 32 | epoch);
        Some(PathKey(words.fold(start, mix).max(1)))
    }

    /// The key of the name alone, whatever it leads to. None where a descriptor that may
    /// be another directory by now is part of the name.
    pub(crate) fn of_name(named: NamedPath) -> Option<PathKey> {
        let PathKey(key) = PathKey::of(named)?;
        // SAFETY: the kernel has just read it, and it has a first byte.
        let is_absolute = unsafe { named.path.cast::<u8>().read() } == b'/';
        let is_whole = is_absolute || named.directory == libc::AT_FDCWD;
        is_whole.then(|| PathKey(mix(key, 1).max(1)))
    }
}

/// What a path led to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileLocation {
    device: u64,
    inode: u64,
    birth_ns: u64,
}

impl FileLocation {
    /// Of a name alone.
    pub(crate) const NOWHERE: FileLocation = FileLocation { device: 0, inode: 0, birth_ns: 0 };

    /// Where an open file is; None if another file may be there later.
    pub(crate) fn of(status: &FileStatus) -> Option<FileLocation> {
        let FileStatus { device, inode, birth_ns, n_links, .. } = *status;
        let is_unique = birth_ns != 0 && n_links == 1;
        is_unique.then_some(FileLocation { device, inode, birth_ns })
    }
}

/// The cache of a thread. All zero: empty.
pub(crate) struct KnownPaths([[KnownPath; WAYS]; SETS]);

struct KnownPath {
    /// 0: nothing is known.
    key: u64,
    location: FileLocation,
    /// Identity of the file; 0: it is not recorded.
    file: u64,
}

impl KnownPaths {
    /// The identity of the file, if it is known; 0 if it is not recorded.
    pub(crate) fn find(&self, PathKey(key): PathKey, location: FileLocation) -> Option<u64> {
        let set = self.0.get(key as usize % SETS)?;
        let known = set.iter().find(|known| known.key == key)?;
        (known.location == location).then_some(known.file)
    }

    /// Puts it first in its set, replacing what was known about the path, or else the
    /// oldest.
    pub(crate) fn insert(&mut self, PathKey(key): PathKey, location: FileLocation, file: u64) {
        let mut moved = KnownPath { key, location, file };
        for place in self.0.get_mut(key as usize % SETS).into_iter().flatten() {
            mem::swap(place, &mut moved);
            if moved.key == key || moved.key == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &CStr) -> NamedPath {
        NamedPath { directory: libc::AT_FDCWD, path: path.as_ptr() }
    }

    #[test]
    fn paths_are_told_apart_by_every_byte_and_by_their_directory() {
        let texts = [c"a", c"b", c"aaaaaaaa", c"aaaaaaaaa", c"aaaaaaaab", c"", c"/a", c"a/"];
        let keys: Vec<u64> = texts.iter().map(|text| PathKey::of(named(text)).unwrap().0).collect();
        for (place, key) in keys.iter().enumerate() {
            assert!(!keys[..place].contains(key), "{:?}", texts[place]);
        }
        let elsewhere = NamedPath { directory: 3, ..named(c"a") };
        assert!(PathKey::of(elsewhere).unwrap().0 != keys[0]);
        assert!(PathKey::of_name(elsewhere).is_none());
        assert!(PathKey::of_name(NamedPath { directory: 3, ..named(c"/a") }).is_some());
        assert!(PathKey::of(NamedPath { directory: 0, path: core::ptr::null() }).is_none());
        forget_all();
        assert!(PathKey::of(named(c"a")).unwrap().0 != keys[0]);
    }

    #[test]
    fn a_path_keeps_its_file_as_long_as_it_leads_there() {
        let mut paths = empty();
        let key = PathKey(77);
        let at = FileLocation { device: 1, inode: 2, birth_ns: 3 };
        assert_eq!(paths.find(key, at), None);
        paths.insert(key, at, 9);
        assert_eq!(paths.find(key, at), Some(9));
        let elsewhere = FileLocation { birth_ns: 4, ..at };
        assert_eq!(paths.find(key, elsewhere), None);
        paths.insert(key, elsewhere, 8);
        assert_eq!((paths.find(key, at), paths.find(key, elsewhere)), (None, Some(8)));
    }

    #[test]
    fn the_oldest_path_of_a_full_set_goes() {
        let mut paths = empty();
        let at = FileLocation { device: 1, inode: 2, birth_ns: 3 };
        let key = |n: usize| PathKey((77 + n * SETS) as u64);
        for n in 0..=WAYS {
            paths.insert(key(n), at, n as u64);
        }
        let known: Vec<_> = (0..=WAYS).map(|n| paths.find(key(n), at)).collect();
        assert_eq!(known, [None, Some(1), Some(2), Some(3), Some(4)]);
    }

    fn empty() -> KnownPaths {
        const NOTHING: KnownPath = KnownPath { key: 0, location: FileLocation::NOWHERE, file: 0 };
        KnownPaths([const { [NOTHING; WAYS] }; SETS])
    }

    #[test]
    fn a_file_with_two_names_or_without_a_birth_has_no_location() {
        let status =
            FileStatus { mode: 0, user: 0, device: 1, inode: 2, size: 0, birth_ns: 3, n_links: 1 };
        assert!(FileLocation::of(&status).is_some());
        assert!(FileLocation::of(&FileStatus { n_links: 2, ..status }).is_none());
        assert!(FileLocation::of(&FileStatus { birth_ns: 0, ..status }).is_none());
    }
}
