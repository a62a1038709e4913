// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is known about HDF5's open files, datasets, attributes and nameless objects,
//! by their identifiers, so that calls on them need not ask again.
//!
//! A copy that restarts its numbering was closed in between, and everything known about
//! it is forgotten.
//!
//! 512 files and 2048 objects are known at once. A dataset that was evicted is asked
//! for again when it is next used.

use core::sync::atomic::{AtomicU32, Ordering};

use super::functions::{Hdf5, Id};
use super::numbering;
use super::questions::{Extents, MAX_RANK};
use crate::calls::seqlock_table::SeqlockTable;

/// Dimensions of a dataset that are kept; those of one with more are asked for.
pub(super) const KEPT_RANK: usize = 8;

static FILES: SeqlockTable<512, WORDS> = SeqlockTable::empty();
static OBJECTS: SeqlockTable<2048, WORDS> = SeqlockTable::empty();
/// Changes when a stored extent may no longer be right.
static EXTENTS: AtomicU32 = AtomicU32::new(0);

/// What an identifier stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandleKind {
    /// A file; the hash of the name it was opened by.
    File(u64),
    /// A dataset; the identity of its name, 0 if it has none.
    Dataset(u64),
    /// A group or other object that HDF5 knows no name of; what is opened below
    /// it has none either.
    Nameless,
    /// An attribute; the identity of its name, 0 if that is not known.
    Attribute(u64),
}

/// What is known about an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownHandle {
    pub(super) kind: HandleKind,
    /// Identity of the file's path; None: it is not recorded.
    pub(super) file: Option<u64>,
    /// A dataset's dimensions, once they were asked for and if they can be kept.
    pub(super) rank: Option<usize>,
    /// Their lengths, as long as nothing can have changed them.
    pub(super) lengths: Option<[u64; KEPT_RANK]>,
}

impl KnownHandle {
    /// What is known by the name alone.
    pub(super) const fn new(kind: HandleKind, file: Option<u64>) -> KnownHandle {
        KnownHandle { kind, file, rank: None, lengths: None }
    }

    /// The same with a dataset's extent, if it has no more dimensions than are kept.
    pub(super) fn with_extent(self, (rank, extents): (usize, Extents)) -> KnownHandle {
        let lengths = extents.first_chunk().copied().filter(|_| rank <= KEPT_RANK);
        KnownHandle { rank: lengths.map(|_| rank), lengths, ..self }
    }

    /// The extent, if it is known.
    pub(super) fn extent(&self) -> Option<(usize, Extents)> {
        let (rank, lengths) = (self.rank?, self.lengths?);
        let mut extents = [0; MAX_RANK];
        for (extent, length) in extents.iter_mut().zip(lengths) {
            *extent = length;
        }
        Some((rank, extents))
    }

    /// As the tables keep it.
    fn words(&self) -> [u64; WORDS] {
        let (kind, name) = match self.kind {
            HandleKind::File(name) => (0, name),
            HandleKind::Dataset(name) => (1, name),
            HandleKind::Nameless => (2, 0),
            HandleKind::Attribute(name) => (3, name),
        };
        let is_recorded = if self.file.is_some() { IS_RECORDED } else { 0 };
        let has_lengths = if self.lengths.is_some() { HAS_LENGTHS } else { 0 };
        let rank = self.rank.map_or(0, |rank| rank as u64 + 1) << RANK_BIT;
        let extents = u64::from(EXTENTS.load(Ordering::Relaxed)) << EXTENTS_BIT;
        let what = kind | is_recorded | has_lengths | rank | extents;
        let [a, b, c, d, e, f, g, h] = self.lengths.unwrap_or([0; KEPT_RANK]);
        [what, self.file.unwrap_or(0), name, a, b, c, d, e, f, g, h]
    }

    /// What tables have kept.
    #[inline]
    fn from_words([what, file, name, lengths @ ..]: [u64; WORDS]) -> KnownHandle {
        let kind = match what & KIND {
            0 => HandleKind::File(name),
            1 => HandleKind::Dataset(name),
            2 => HandleKind::Nameless,
            _ => HandleKind::Attribute(name),
        };
        let has_lengths = what & HAS_LENGTHS != 0
            && what >> EXTENTS_BIT == u64::from(EXTENTS.load(Ordering::Relaxed));
        KnownHandle {
            kind,
            file: (what & IS_RECORDED != 0).then_some(file),
            rank: (what >> RANK_BIT & 0xff).checked_sub(1).map(|rank| rank as usize),
            lengths: has_lengths.then_some(lengths),
        }
    }
}

/// The first word: the kind in the lowest bits, then whether the file is recorded,
/// whether there are lengths, the rank plus one, and for which value of
/// [`EXTENTS`] the lengths hold. Then the file, what the kind holds, the lengths.
const WORDS: usize = 3 + KEPT_RANK;
const KIND: u64 = 0b11;
const IS_RECORDED: u64 = 0b100;
const HAS_LENGTHS: u64 = 0b1000;
const RANK_BIT: u32 = 8;
const EXTENTS_BIT: u32 = 32;

/// Keeps what is known about an identifier.
pub(super) fn keep(hdf5: Hdf5, id: Id, known: &KnownHandle) {
    let (key, words) = (key(hdf5, id), known.words());
    if !matches!(known.kind, HandleKind::File(_)) {
        return OBJECTS.put_anyway(key, words);
    }
    if numbering::begins_anew(hdf5, id, || is_later_open(hdf5, id)) {
        forget_copy(hdf5.number());
    }
    FILES.put_anyway(key, words);
}

/// Whether a file that is known and has a higher number than another is open.
fn is_later_open(hdf5: Hdf5, id: Id) -> bool {
    let first = key(hdf5, id);
    let is_later = |other| copy_of(other) == hdf5.number() && other > first;
    hdf5.may_be_asked()
        && FILES.any_key(|other| is_later(other) && hdf5.is_open(id_of(hdf5, other)))
}

/// What is known about a file's identifier.
pub(super) fn file(hdf5: Hdf5, id: Id) -> Option<KnownHandle> {
    FILES.get(key(hdf5, id)).map(KnownHandle::from_words)
}

/// What is known about another object's identifier.
#[inline]
pub(super) fn object(hdf5: Hdf5, id: Id) -> Option<KnownHandle> {
    OBJECTS.get(key(hdf5, id)).map(KnownHandle::from_words)
}

/// Whether an identifier is that of an object without a name.
pub(super) fn is_nameless(hdf5: Hdf5, id: Id) -> bool {
    object(hdf5, id)
        .is_some_and(|known| matches!(known.kind, HandleKind::Nameless | HandleKind::Dataset(0)))
}

/// The open file of a copy that was opened by a name, by the name's hash.
pub(super) fn file_named(hdf5: Hdf5, name: u64) -> Option<KnownHandle> {
    let is_it = |known: &KnownHandle| known.kind == HandleKind::File(name);
    let is_here = |key| copy_of(key) == hdf5.number();
    FILES.find_map(is_here, |words| Some(KnownHandle::from_words(words)).filter(is_it))
}

/// An identifier is no longer valid.
pub(super) fn forget(hdf5: Hdf5, id: Id) {
    FILES.take(key(hdf5, id));
    OBJECTS.take(key(hdf5, id));
}

/// Forgets all identifiers of a copy.
pub(in crate::calls) fn forget_copy(number: u64) {
    FILES.forget(|key| copy_of(key) == number);
    OBJECTS.forget(|key| copy_of(key) == number);
}

/// The extent of some dataset has changed, through any of its identifiers: no stored
/// extent is valid any more.
pub(super) fn forget_extents() {
    EXTENTS.fetch_add(1, Ordering::Relaxed);
}

/// Copies are distinguished in bits that no count of identifiers reaches; the type
/// of an identifier is above them.
const COPY_BIT: u32 = 48;

fn key(hdf5: Hdf5, id: Id) -> u64 {
    id as u64 ^ hdf5.number() << COPY_BIT
}

fn id_of(hdf5: Hdf5, key: u64) -> Id {
    (key ^ hdf5.number() << COPY_BIT) as Id
}

fn copy_of(key: u64) -> u64 {
    key >> COPY_BIT & 0xff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(name: u64) -> KnownHandle {
        KnownHandle::new(HandleKind::Dataset(name), Some(7)).with_extent((2, [name; MAX_RANK]))
    }

    #[test]
    fn identifiers_of_two_copies_are_told_apart_until_one_begins_anew() {
        let [one, other] = [1, 2].map(Hdf5::numbered);
        let file_of = |name| KnownHandle::new(HandleKind::File(name), Some(name));
        for copy in [one, other] {
            keep(copy, 0x0100_0000_0000_0000, &file_of(100 + copy.number()));
            keep(copy, 0x0500_0000_0000_0003, &dataset(200 + copy.number()));
        }
        assert_eq!(object(one, 0x0500_0000_0000_0003), Some(dataset(201)));
        assert_eq!(object(other, 0x0500_0000_0000_0003), Some(dataset(202)));
        assert_eq!(object(other, 0x0500_0000_0000_0004), None);
        assert_eq!(file_named(other, 102), Some(file_of(102)));
        assert_eq!(file_named(other, 101), None);
        // The numbering continues with another file, and restarts with one that has the
        // first number.
        keep(one, 0x0100_0000_0000_0001, &file_of(103));
        assert!(object(one, 0x0500_0000_0000_0003).is_some());
        keep(one, 0x0100_0000_0000_0000, &file_of(104));
        assert_eq!(object(one, 0x0500_0000_0000_0003), None);
        assert_eq!(object(other, 0x0500_0000_0000_0003), Some(dataset(202)));
        forget(other, 0x0500_0000_0000_0003);
        assert_eq!(object(other, 0x0500_0000_0000_0003), None);

        // What is kept makes room for what comes.
        for n in 0..5000 {
            keep(other, 0x0500_0000_0000_0000 + n, &dataset(n as u64 + 1));
        }
        assert_eq!(object(other, 0x0500_0000_0000_0000 + 4999), Some(dataset(5000)));
        forget_extents();
        let last = object(other, 0x0500_0000_0000_0000 + 4999).unwrap();
        assert_eq!((last.kind, last.rank), (HandleKind::Dataset(5000), Some(2)));
        assert_eq!((last.lengths, last.extent()), (None, None));
        assert_eq!(dataset(9).extent().map(|(rank, it)| (rank, it[1], it[8])), Some((2, 9, 0)));
        assert_eq!(dataset(9).with_extent((9, [1; MAX_RANK])).rank, None);

        keep(other, 0x0200_0000_0000_0009, &KnownHandle::new(HandleKind::Nameless, None));
        assert!(is_nameless(other, 0x0200_0000_0000_0009));
        assert!(!is_nameless(one, 0x0200_0000_0000_0009));
        let attribute = KnownHandle::new(HandleKind::Attribute(77), Some(7));
        keep(one, 0x0600_0000_0000_0001, &attribute);
        assert_eq!(object(one, 0x0600_0000_0000_0001), Some(attribute));
    }
}
