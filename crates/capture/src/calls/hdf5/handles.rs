// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is known of HDF5's open files, datasets and nameless objects, by their
//! identifiers, so that calls on them need not ask again.
//!
//! HDF5 gives each identifier once, until the library is closed or unloaded; then
//! it begins anew. Files tell that: a file that is given a number no higher than
//! one before is of a library that has begun anew, and what was known of the
//! copy is forgotten.
//!
//! 512 files and 2048 objects are known at once. A dataset that has made room
//! for another is asked for again when it is next used.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use super::copies::{COPIES, Hdf5, Id};
use super::questions::{Extents, MAX_RANK};

const SLOTS: usize = 16;
/// Dimensions of a dataset that are kept; those of one with more are asked for.
pub(super) const KEPT_RANK: usize = 8;

static FILES: [Bucket; 32] = [const { Bucket::empty() }; 32];
static OBJECTS: [Bucket; 128] = [const { Bucket::empty() }; 128];

/// What an identifier stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file; the hash of the name it was opened by.
    File(u64),
    /// A dataset; the identity of its name, 0 if it has none.
    Dataset(u64),
    /// A group or other object that HDF5 knows no name of; what is opened below
    /// it has none either.
    Nameless,
}

/// What is known of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) kind: Kind,
    /// Identity of the file's path; None: it is not to be recorded.
    pub(super) file: Option<u64>,
    /// A dataset's dimensions, once they were asked for and if they can be kept.
    pub(super) rank: Option<usize>,
    /// Their lengths, as long as nothing can have changed them.
    pub(super) lengths: Option<[u64; KEPT_RANK]>,
}

impl Known {
    /// What is known by the name alone.
    pub(super) const fn new(kind: Kind, file: Option<u64>) -> Known {
        Known { kind, file, rank: None, lengths: None }
    }

    /// The same with a dataset's extent, if it has no more dimensions than are kept.
    pub(super) fn with_extent(self, (rank, extents): (usize, Extents)) -> Known {
        let lengths = extents.first_chunk().copied().filter(|_| rank <= KEPT_RANK);
        Known { rank: lengths.map(|_| rank), lengths, ..self }
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
}

/// Keeps what is known of an identifier.
pub(super) fn keep(hdf5: Hdf5, id: Id, known: &Known) {
    let is_file = matches!(known.kind, Kind::File(_));
    if is_file {
        note_file(hdf5, id);
    }
    let key = key(hdf5, id);
    if let Some(bucket) = bucket_of(if is_file { &FILES } else { &OBJECTS }, key) {
        bucket.keep(key, known);
    }
}

/// What is known of a file's identifier.
pub(super) fn file(hdf5: Hdf5, id: Id) -> Option<Known> {
    find(&FILES, key(hdf5, id))
}

/// What is known of another object's identifier.
#[inline]
pub(super) fn object(hdf5: Hdf5, id: Id) -> Option<Known> {
    find(&OBJECTS, key(hdf5, id))
}

/// Whether an identifier is that of an object without a name.
pub(super) fn is_nameless(hdf5: Hdf5, id: Id) -> bool {
    object(hdf5, id).is_some_and(|known| matches!(known.kind, Kind::Nameless | Kind::Dataset(0)))
}

/// The open file of a copy that was opened by a name, by the name's hash.
pub(super) fn file_named(hdf5: Hdf5, name: u64) -> Option<Known> {
    let is_it = |known: &Known| known.kind == Kind::File(name);
    let is_here = |key| copy_of(key) == hdf5.number();
    slots(&FILES).find_map(|slot| slot.get_if(is_here).filter(is_it))
}

/// An identifier stands for nothing any more.
pub(super) fn forget(hdf5: Hdf5, id: Id) {
    let key = key(hdf5, id);
    for bucket in [bucket_of(&FILES, key), bucket_of(&OBJECTS, key)].into_iter().flatten() {
        bucket.slots.iter().for_each(|slot| slot.forget_if(|it| it == key));
    }
}

/// Forgets all identifiers of a copy.
pub(super) fn forget_copy(number: usize) {
    let is_here = |key| copy_of(key) == number;
    slots(&FILES).chain(slots(&OBJECTS)).for_each(|slot| slot.forget_if(is_here));
}

/// The extent of some dataset has changed, by whatever identifier of it: no
/// extent holds that was kept before.
pub(super) fn forget_extents() {
    EXTENTS.fetch_add(1, Ordering::Relaxed);
}

/// Copies are told apart in bits that no count of identifiers reaches; the type
/// of an identifier is above them.
const COPY_BIT: u32 = 48;
/// While a slot is being filled.
const BEING_FILLED: u64 = u64::MAX;
/// Changes when a kept extent may not hold any more.
static EXTENTS: AtomicU32 = AtomicU32::new(0);

fn key(hdf5: Hdf5, id: Id) -> u64 {
    id as u64 ^ (hdf5.number() as u64 + 1) << COPY_BIT
}

fn copy_of(key: u64) -> usize {
    ((key >> COPY_BIT & 0xff) as usize).wrapping_sub(1)
}

fn bucket_of(table: &'static [Bucket], key: u64) -> Option<&'static Bucket> {
    table.get((key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize % table.len().max(1))
}

fn find(table: &'static [Bucket], key: u64) -> Option<Known> {
    bucket_of(table, key)?.slots.iter().find_map(|slot| slot.get_if(|it| it == key))
}

fn slots(table: &'static [Bucket]) -> impl Iterator<Item = &'static Slot> {
    table.iter().flat_map(|bucket| &bucket.slots)
}

/// Looks whether a copy has begun to number its files anew.
fn note_file(hdf5: Hdf5, id: Id) {
    static GIVEN: [AtomicU64; COPIES] = [const { AtomicU64::new(0) }; COPIES];
    let Some(given) = GIVEN.get(hdf5.number()) else { return };
    let before = given.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |given| {
        Some(Given::from(given).with(id as u32).0.into())
    });
    if before.is_ok_and(|before| Given::from(before).with(id as u32).1 == Numbering::Anew) {
        forget_copy(hdf5.number());
    }
}

/// The numbers that files were given lately. Threads that open files at once
/// come here in another order than that of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Given {
    /// The highest number plus one; 0: none.
    after_last: u32,
    /// A bit for each of the last numbers that was seen, the highest lowest.
    seen: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbering {
    GoesOn,
    Anew,
}

impl Given {
    /// The same with a number more, and whether it was given before.
    fn with(self, number: u32) -> (Given, Numbering) {
        let Given { after_last, seen } = self;
        let after = number.wrapping_add(1);
        if number >= after_last {
            let seen = seen.checked_shl(after.wrapping_sub(after_last)).unwrap_or(0) | 1;
            return (Given { after_last: after, seen }, Numbering::GoesOn);
        }
        let late = 1_u32.checked_shl(after_last.wrapping_sub(after)).unwrap_or(0);
        if late != 0 && seen & late == 0 {
            return (Given { after_last, seen: seen | late }, Numbering::GoesOn);
        }
        (Given { after_last: after, seen: 1 }, Numbering::Anew)
    }
}

impl From<u64> for Given {
    fn from(word: u64) -> Given {
        Given { after_last: (word >> 32) as u32, seen: word as u32 }
    }
}

impl From<Given> for u64 {
    fn from(given: Given) -> u64 {
        u64::from(given.after_last) << 32 | u64::from(given.seen)
    }
}

struct Bucket {
    slots: [Slot; SLOTS],
    /// Which slot makes room next when all are taken.
    next: AtomicU32,
}

impl Bucket {
    const fn empty() -> Bucket {
        Bucket { slots: [const { Slot::free() }; SLOTS], next: AtomicU32::new(0) }
    }

    fn keep(&self, key: u64, known: &Known) {
        let with =
            |wanted| self.slots.iter().find(move |slot| slot.key.load(Ordering::Relaxed) == wanted);
        let any = || {
            let next = self.next.fetch_add(1, Ordering::Relaxed) as usize;
            self.slots.get(next % SLOTS)
        };
        if let Some(slot) = with(key).or_else(|| with(0)).or_else(any) {
            slot.fill(key, known);
        }
    }
}

/// Written by whoever comes, one at a time; a reader looks at the key before
/// and after.
struct Slot {
    /// 0: free.
    key: AtomicU64,
    /// The kind in the lowest bits, then whether the file is recorded, whether
    /// there are lengths, the rank plus one, and for which value of [`EXTENTS`]
    /// the lengths hold.
    what: AtomicU64,
    file: AtomicU64,
    /// What the kind holds.
    name: AtomicU64,
    lengths: [AtomicU64; KEPT_RANK],
}

const KIND: u64 = 0b11;
const IS_RECORDED: u64 = 0b100;
const HAS_LENGTHS: u64 = 0b1000;
const RANK_BIT: u32 = 8;
const EXTENTS_BIT: u32 = 32;

impl Slot {
    const fn free() -> Slot {
        Slot {
            key: AtomicU64::new(0),
            what: AtomicU64::new(0),
            file: AtomicU64::new(0),
            name: AtomicU64::new(0),
            lengths: [const { AtomicU64::new(0) }; KEPT_RANK],
        }
    }

    fn fill(&self, key: u64, known: &Known) {
        if self.key.swap(BEING_FILLED, Ordering::Acquire) == BEING_FILLED {
            return;
        }
        let (kind, name) = match known.kind {
            Kind::File(name) => (0, name),
            Kind::Dataset(name) => (1, name),
            Kind::Nameless => (2, 0),
        };
        let is_recorded = if known.file.is_some() { IS_RECORDED } else { 0 };
        let has_lengths = if known.lengths.is_some() { HAS_LENGTHS } else { 0 };
        let rank = known.rank.map_or(0, |rank| rank as u64 + 1) << RANK_BIT;
        let extents = u64::from(EXTENTS.load(Ordering::Relaxed)) << EXTENTS_BIT;
        self.what.store(kind | is_recorded | has_lengths | rank | extents, Ordering::Relaxed);
        self.file.store(known.file.unwrap_or(0), Ordering::Relaxed);
        self.name.store(name, Ordering::Relaxed);
        for (place, length) in self.lengths.iter().zip(known.lengths.iter().flatten()) {
            place.store(*length, Ordering::Relaxed);
        }
        self.key.store(key, Ordering::Release);
    }

    #[inline]
    fn get_if(&self, wanted: impl Fn(u64) -> bool) -> Option<Known> {
        let key = self.key.load(Ordering::Acquire);
        if key == 0 || key == BEING_FILLED || !wanted(key) {
            return None;
        }
        let known = self.known();
        fence(Ordering::Acquire);
        (self.key.load(Ordering::Relaxed) == key).then_some(known)
    }

    fn known(&self) -> Known {
        let [what, file, name] =
            [&self.what, &self.file, &self.name].map(|word| word.load(Ordering::Relaxed));
        let kind = match what & KIND {
            0 => Kind::File(name),
            1 => Kind::Dataset(name),
            _ => Kind::Nameless,
        };
        let has_lengths = what & HAS_LENGTHS != 0
            && what >> EXTENTS_BIT == u64::from(EXTENTS.load(Ordering::Relaxed));
        let lengths = || self.lengths.each_ref().map(|length| length.load(Ordering::Relaxed));
        Known {
            kind,
            file: (what & IS_RECORDED != 0).then_some(file),
            rank: (what >> RANK_BIT & 0xff).checked_sub(1).map(|rank| rank as usize),
            lengths: has_lengths.then(lengths),
        }
    }

    fn forget_if(&self, unwanted: impl Fn(u64) -> bool) {
        let key = self.key.load(Ordering::Relaxed);
        if key != 0 && key != BEING_FILLED && unwanted(key) {
            let _ = self.key.compare_exchange(key, 0, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dataset(name: u64) -> Known {
        Known::new(Kind::Dataset(name), Some(7)).with_extent((2, [name; MAX_RANK]))
    }

    #[test]
    fn numbers_that_come_late_are_told_from_those_that_come_again() {
        let check = |numbers: &[u32], anew: &[u32]| {
            let mut given = Given::from(0);
            let mut found = Vec::new();
            for &number in numbers {
                let (next, numbering) = given.with(number);
                if numbering == Numbering::Anew {
                    found.push(number);
                }
                given = Given::from(u64::from(next));
            }
            assert_eq!(found, anew, "{numbers:?}");
        };
        check(&[0, 1, 2, 3], &[]);
        check(&[0, 3, 1, 2, 4], &[]);
        check(&[0, 1, 0, 1], &[0]);
        check(&[1, 0, 1, 0], &[1]);
        check(&[5, 100, 6, 101], &[6]);
        check(&[0, 40, 20, 20], &[20]);
    }

    #[test]
    fn identifiers_of_two_copies_are_told_apart_until_one_begins_anew() {
        let [one, other] = [0, 1].map(|number| Hdf5::numbered(number).unwrap());
        let file_of = |name| Known::new(Kind::File(name), Some(name));
        for copy in [one, other] {
            let number = copy.number() as u64;
            keep(copy, 0x0100_0000_0000_0000, &file_of(100 + number));
            keep(copy, 0x0500_0000_0000_0003, &dataset(200 + number));
        }
        assert_eq!(object(one, 0x0500_0000_0000_0003), Some(dataset(200)));
        assert_eq!(object(other, 0x0500_0000_0000_0003), Some(dataset(201)));
        assert_eq!(object(other, 0x0500_0000_0000_0004), None);
        assert_eq!(file_named(other, 101), Some(file_of(101)));
        assert_eq!(file_named(other, 100), None);
        // Another file goes on; one with the first number does not.
        keep(one, 0x0100_0000_0000_0001, &file_of(102));
        assert!(object(one, 0x0500_0000_0000_0003).is_some());
        keep(one, 0x0100_0000_0000_0000, &file_of(103));
        assert_eq!(object(one, 0x0500_0000_0000_0003), None);
        assert_eq!(object(other, 0x0500_0000_0000_0003), Some(dataset(201)));
        forget(other, 0x0500_0000_0000_0003);
        assert_eq!(object(other, 0x0500_0000_0000_0003), None);

        // What is kept makes room for what comes.
        for n in 0..5000 {
            keep(other, 0x0500_0000_0000_0000 + n, &dataset(n as u64 + 1));
        }
        assert_eq!(object(other, 0x0500_0000_0000_0000 + 4999), Some(dataset(5000)));
        forget_extents();
        let last = object(other, 0x0500_0000_0000_0000 + 4999).unwrap();
        assert_eq!((last.kind, last.rank), (Kind::Dataset(5000), Some(2)));
        assert_eq!((last.lengths, last.extent()), (None, None));
        assert_eq!(dataset(9).extent().map(|(rank, it)| (rank, it[1], it[8])), Some((2, 9, 0)));
        assert_eq!(dataset(9).with_extent((9, [1; MAX_RANK])).rank, None);

        keep(other, 0x0200_0000_0000_0009, &Known::new(Kind::Nameless, None));
        assert!(is_nameless(other, 0x0200_0000_0000_0009));
        assert!(!is_nameless(one, 0x0200_0000_0000_0009));
    }
}
