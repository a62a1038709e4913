// SPDX-License-Identifier: MIT OR Apache-2.0

//! A seqlock table: words by key, in room that does not grow, for all threads at
//! once and without a lock: what is open in a library, what was asked of it.
//!
//! A key lies near the place that its hash gives. A slot is changed by one thread at a
//! time, and a read during a change finds nothing. So what is kept must be dispensable:
//! it is asked for again, or the call is not recorded.

use core::sync::atomic::{AtomicU64, Ordering, fence};

/// Places in which a key may lie.
const NEAR: usize = 16;

/// The table. Keys are not 0.
pub(super) struct SeqlockTable<const PLACES: usize, const WORDS: usize> {
    /// 0: the place is free. Apart from the words, so that a look for a key that
    /// is not here touches little memory.
    keys: [AtomicU64; PLACES],
    slots: [Slot<WORDS>; PLACES],
    /// The version of the slot that was changed last.
    last_version: AtomicU64,
}

struct Slot<const WORDS: usize> {
    /// Odd while key and words are changed; else higher than that of any slot that
    /// was changed before.
    version: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const PLACES: usize, const WORDS: usize> SeqlockTable<PLACES, WORDS> {
    pub(super) const fn empty() -> SeqlockTable<PLACES, WORDS> {
        SeqlockTable {
            keys: [const { AtomicU64::new(0) }; PLACES],
            slots: [const { Slot::free() }; PLACES],
            last_version: AtomicU64::new(0),
        }
    }

    /// What is kept for a key.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<[u64; WORDS]> {
        self.near(key).find_map(|entry| entry.get(key))
    }

    /// The first value found among keys for which the predicate holds.
    pub(super) fn find_map<R>(
        &self,
        is_wanted: impl Fn(u64) -> bool,
        look: impl Fn([u64; WORDS]) -> Option<R>,
    ) -> Option<R> {
        self.all().find_map(|entry| {
            let key = entry.key.load(Ordering::Relaxed);
            if key == 0 || !is_wanted(key) { None } else { look(entry.get(key)?) }
        })
    }

    /// Whether the predicate holds for a key.
    pub(super) fn any_key(&self, is_wanted: impl Fn(u64) -> bool) -> bool {
        let mut keys = self.keys.iter().map(|key| key.load(Ordering::Relaxed));
        keys.any(|key| key != 0 && is_wanted(key))
    }

    /// Stores words for a key, replacing earlier ones; false if there is no room near
    /// its place. Threads that put the same key at once may both find room, and
    /// either's words are found then.
    pub(super) fn put(&self, key: u64, words: [u64; WORDS]) -> bool {
        let replace = |from| self.near(key).any(|entry| entry.replace(from, key, &words));
        replace(key) || replace(0)
    }

    /// The same, evicting another key if need be: the oldest one nearby. Entries left
    /// behind are more common than things open for long. A slot that another thread is
    /// changing, perhaps for long, is skipped.
    pub(super) fn put_anyway(&self, key: u64, words: [u64; WORDS]) {
        let oldest =
            || self.near(key).filter(DescriptorEntry::is_still).min_by_key(DescriptorEntry::put_at);
        let replace = |entry: DescriptorEntry<WORDS>| {
            entry.replace(entry.key.load(Ordering::Relaxed), key, &words)
        };
        let _ = self.put(key, words) || (0..NEAR).map_while(|_| oldest()).any(replace);
    }

    /// Forgets a key; what was kept for it.
    pub(super) fn take(&self, key: u64) -> Option<[u64; WORDS]> {
        let words = self.get(key)?;
        let is_taken = |entry: &DescriptorEntry<WORDS>| entry.replace(key, 0, &[0; WORDS]);
        (self.near(key).filter(is_taken).count() > 0).then_some(words)
    }

    /// Forgets all keys for which the predicate holds.
    pub(super) fn forget(&self, is_over: impl Fn(u64) -> bool) {
        for entry in self.all() {
            let key = entry.key.load(Ordering::Relaxed);
            if key != 0 && is_over(key) {
                entry.replace(key, 0, &[0; WORDS]);
            }
        }
    }

    fn all(&self) -> impl Iterator<Item = DescriptorEntry<'_, WORDS>> {
        let last_version = &self.last_version;
        self.keys.iter().zip(&self.slots).map(|(key, slot)| DescriptorEntry {
            key,
            slot,
            last_version,
        })
    }

    #[inline]
    fn near(&self, key: u64) -> impl Iterator<Item = DescriptorEntry<'_, WORDS>> {
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        (first..first + NEAR.min(PLACES)).filter_map(|place| {
            let place = place % PLACES;
            let (key, slot) = (self.keys.get(place)?, self.slots.get(place)?);
            Some(DescriptorEntry { key, slot, last_version: &self.last_version })
        })
    }
}

/// A place of the table.
struct DescriptorEntry<'a, const WORDS: usize> {
    key: &'a AtomicU64,
    slot: &'a Slot<WORDS>,
    last_version: &'a AtomicU64,
}

impl<const WORDS: usize> DescriptorEntry<'_, WORDS> {
    #[inline]
    fn get(&self, key: u64) -> Option<[u64; WORDS]> {
        if self.key.load(Ordering::Relaxed) != key {
            return None;
        }
        let version = self.slot.version.load(Ordering::Acquire);
        if self.key.load(Ordering::Relaxed) != key || version % 2 == 1 {
            return None;
        }
        let words = self.slot.words.each_ref().map(|word| word.load(Ordering::Relaxed));
        fence(Ordering::Acquire);
        (self.slot.version.load(Ordering::Relaxed) == version).then_some(words)
    }

    /// Whether no thread is changing it.
    fn is_still(&self) -> bool {
        self.put_at().is_multiple_of(2)
    }

    /// Lower for older entries.
    fn put_at(&self) -> u64 {
        self.slot.version.load(Ordering::Relaxed)
    }

    /// Changes the key and its words; false if another key lies here.
    fn replace(&self, from: u64, to: u64, words: &[u64; WORDS]) -> bool {
        if self.key.load(Ordering::Relaxed) != from {
            return false;
        }
        let Slot { version: changes, words: kept } = self.slot;
        let version = changes.load(Ordering::Acquire);
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if self.key.load(Ordering::Relaxed) != from
            || version % 2 == 1
            || changes.compare_exchange(version, version + 1, acquire, relaxed).is_err()
        {
            return false;
        }
        // If another thread had changed the key after it was read, the version would
        // have changed.
        fence(Ordering::Release);
        for (word, value) in kept.iter().zip(words) {
            word.store(*value, Ordering::Relaxed);
        }
        self.key.store(to, Ordering::Relaxed);
        let version = self.last_version.fetch_add(2, Ordering::Relaxed) + 2;
        changes.store(version, Ordering::Release);
        true
    }
}

impl<const WORDS: usize> Slot<WORDS> {
    const fn free() -> Slot<WORDS> {
        Slot { version: AtomicU64::new(0), words: [const { AtomicU64::new(0) }; WORDS] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_found_until_it_is_taken() {
        static TABLE: SeqlockTable<128, 2> = SeqlockTable::empty();
        for key in 1..=100 {
            assert!(TABLE.put(key, [key, key * key]));
        }
        assert!(TABLE.put(7, [70, 700]));
        assert_eq!(TABLE.take(7), Some([70, 700]));
        assert_eq!((TABLE.get(7), TABLE.take(7)), (None, None));
        assert_eq!(TABLE.get(100), Some([100, 10_000]));
        let square_of = |wanted| {
            TABLE.find_map(|key| key > 50, |[key, square]| (key == wanted).then_some(square))
        };
        assert_eq!((square_of(51), square_of(50)), (Some(2601), None));
        assert!(TABLE.any_key(|key| key == 51) && !TABLE.any_key(|key| key == 7));
        TABLE.forget(|key| key > 50);
        assert_eq!((TABLE.get(50), TABLE.get(51)), (Some([50, 2500]), None));
    }

    #[test]
    fn a_full_table_refuses_or_forgets_as_it_is_told() {
        static TABLE: SeqlockTable<8, 1> = SeqlockTable::empty();
        for key in 1..=8 {
            assert!(TABLE.put(key, [key]));
        }
        assert!(!TABLE.put(9, [9]) && TABLE.get(9).is_none());
        TABLE.put_anyway(9, [9]);
        assert_eq!(TABLE.get(9), Some([9]));
        // The oldest has made room.
        assert_eq!((1..=8).filter(|&key| TABLE.get(key).is_none()).collect::<Vec<_>>(), [1]);
    }

    /// A thread was once suspended during a change, and what others stored was lost.
    #[test]
    fn a_place_that_is_being_changed_is_passed_over() {
        static TABLE: SeqlockTable<8, 1> = SeqlockTable::empty();
        for key in 1..=8 {
            assert!(TABLE.put(key, [key]));
        }
        let oldest = TABLE.near(1).min_by_key(DescriptorEntry::put_at).unwrap();
        oldest.slot.version.fetch_add(1, Ordering::Relaxed);
        TABLE.put_anyway(9, [9]);
        assert_eq!((TABLE.get(9), TABLE.get(2)), (Some([9]), None));
    }

    #[test]
    fn threads_find_whole_entries_or_none() {
        static TABLE: SeqlockTable<4, 4> = SeqlockTable::empty();
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                scope.spawn(move || {
                    for turn in 0..20_000 {
                        let key = 1 + (turn + thread) % 8;
                        TABLE.put_anyway(key, [key, key + turn, key + 2 * turn, key + 3 * turn]);
                        if let Some([same, a, b, c]) = TABLE.get(1 + turn % 8) {
                            assert!(same == 1 + turn % 8 && b - a == a - same && c - b == b - a);
                        }
                    }
                });
            }
        });
    }
}
