// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is remembered of each file between its requests, within a bound.
//!
//! Two generations of a hash table: when the young one is full it becomes the
//! old one, and what was the old one is forgotten. A file found in the old one
//! moves to the young. So at most twice [`MAX_FILES`] are known, those used
//! last among them, and which ones depends on the order of requests only, never
//! on the numbers that files have: renaming files changes nothing.

use std::mem::swap;

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// Files per generation. A slice that goes back and forth over more than this
/// counts some of them twice.
pub(crate) const MAX_FILES: usize = 1 << 16;

/// A file is in use for so many requests, and in any case until the next slice has ended:
/// a slow load over many files does not come to each of them in every slice.
const N_IN_USE: u64 = 256;

/// One file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownFile {
    /// Counts files in the order in which they appeared.
    pub serial: u64,
    /// Where its last request ended.
    pub last_end: u64,
    /// The slice of that request.
    pub slice: u32,
    /// The bytes requested in that slice lie between these.
    pub span: (u64, u64),
    /// Requests in that slice.
    pub n_requests: u32,
    /// Whether the file was in use before that slice, too.
    pub is_carried: bool,
    /// Counts requests; that of the last one.
    pub request: u64,
}

/// What a request to a file means for the slice it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileUse {
    /// The file had a request in this slice already.
    pub is_again: bool,
    /// The file was in use in the slice before.
    pub is_carried: bool,
}

/// Files by number.
#[derive(Clone, Debug)]
pub(crate) struct FileTable {
    young: HashMap<u64, KnownFile, FixedState>,
    old: HashMap<u64, KnownFile, FixedState>,
    n_seen: u64,
    max_files: usize,
}

impl FileTable {
    pub fn new(max_files: usize) -> FileTable {
        let table = || HashMap::with_capacity_and_hasher(1 << 10, FixedState::default());
        FileTable { young: table(), old: table(), n_seen: 0, max_files }
    }

    /// The file of this number, which is known from now on.
    #[inline]
    pub fn get(&mut self, file: u64) -> &mut KnownFile {
        if self.young.len() >= self.max_files {
            swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
        match self.young.entry(file) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => match self.old.remove(&file) {
                Some(known) => entry.insert(known),
                None => {
                    self.n_seen += 1;
                    entry.insert(KnownFile::new(self.n_seen))
                }
            },
        }
    }

    pub fn memory_bytes(&self) -> usize {
        let entry = size_of::<(u64, KnownFile)>() + 1;
        (self.young.capacity() + self.old.capacity()) * 8 / 7 * entry
    }
}

impl KnownFile {
    fn new(serial: u64) -> KnownFile {
        KnownFile {
            serial,
            last_end: 0,
            slice: u32::MAX,
            span: (0, 0),
            n_requests: 0,
            is_carried: false,
            request: 0,
        }
    }

    /// What a request in this slice means.
    #[inline]
    pub fn use_in(&self, slice: u32, request: u64) -> FileUse {
        if self.slice == slice {
            return FileUse { is_again: true, is_carried: self.is_carried };
        }
        let is_recent = self.slice != u32::MAX && request - self.request <= N_IN_USE;
        let is_carried = slice.checked_sub(1) == Some(self.slice) || is_recent;
        FileUse { is_again: false, is_carried }
    }

    /// Takes a request in, from its first byte to the one behind its last.
    #[inline]
    pub fn observe(
        &mut self,
        slice: u32,
        request: u64,
        use_of_file: FileUse,
        offset: u64,
        end: u64,
    ) {
        if use_of_file.is_again {
            self.span = (self.span.0.min(offset), self.span.1.max(end));
            self.n_requests = self.n_requests.saturating_add(1);
        } else {
            self.span = (offset, end);
            self.n_requests = 1;
            self.is_carried = use_of_file.is_carried;
        }
        self.slice = slice;
        self.request = request;
        self.last_end = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_used_last_are_known_and_the_others_forgotten() {
        let mut files = FileTable::new(4);
        // A file that was forgotten gets a new number.
        let mut numbers = [0; 8];
        let mut is_known = |file: usize| {
            let serial = files.get(file as u64).serial;
            std::mem::replace(&mut numbers[file], serial) == serial
        };
        assert!((0..4).all(|file| !is_known(file)));
        assert!((0..4).all(&mut is_known));
        assert!(!is_known(4), "the young generation is full");
        assert!(is_known(0) && is_known(1), "found in the old one");
        assert!((5..7).all(|file| !is_known(file)));
        assert!(!is_known(2), "forgotten with the old one");
    }

    #[test]
    fn a_file_is_in_use_for_some_requests_or_until_the_next_slice_has_ended() {
        let mut file = KnownFile::new(1);
        assert!(!file.use_in(7, 0).is_carried, "never used");
        let first = file.use_in(7, 1000);
        file.observe(7, 1000, first, 0, 1);
        assert!(file.use_in(7, 1001).is_again);
        assert!(file.use_in(8, 1_000_000).is_carried);
        assert!(file.use_in(10, 1000 + N_IN_USE).is_carried);
        assert!(!file.use_in(10, 1001 + N_IN_USE).is_carried);
    }

    #[test]
    fn a_million_files_take_bounded_memory() {
        let mut files = FileTable::new(MAX_FILES);
        (0..1_000_000).for_each(|file| _ = files.get(file));
        assert!(files.memory_bytes() < 40 << 20, "{}", files.memory_bytes());
    }
}
