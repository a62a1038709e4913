// SPDX-License-Identifier: MIT OR Apache-2.0

//! Words by key, in room that does not grow, for all threads at once and
//! without a lock: what is open in a library, what was asked of it.
//!
//! A key lies near the place that its hash tells. A slot is changed by one
//! thread at a time, and who reads it while it changes finds nothing there. So
//! what is kept must be dispensable: it is asked for again, or the call is not
//! recorded.

use core::sync::atomic::{AtomicU64, Ordering, fence};

/// Slots in which a key may lie.
const NEAR: usize = 64;

/// The table. Keys are not 0.
pub(crate) struct Kept<const SLOTS: usize, const WORDS: usize> {
    slots: [Slot<WORDS>; SLOTS],
}

struct Slot<const WORDS: usize> {
    /// Odd while the slot is changed.
    version: AtomicU64,
    /// 0: the slot is free.
    key: AtomicU64,
    words: [AtomicU64; WORDS],
}

impl<const SLOTS: usize, const WORDS: usize> Kept<SLOTS, WORDS> {
    pub(crate) const fn nothing() -> Kept<SLOTS, WORDS> {
        Kept { slots: [const { Slot::free() }; SLOTS] }
    }

    /// What is kept for a key.
    pub(crate) fn get(&self, key: u64) -> Option<[u64; WORDS]> {
        self.near(key).find_map(|slot| slot.get(key))
    }

    /// Keeps words for a key, in the place of those kept before; false if there
    /// is no room near its place.
    pub(crate) fn put(&self, key: u64, words: [u64; WORDS]) -> bool {
        self.replace(key, key, words) || self.replace(0, key, words)
    }

    /// The same, if need be in the place of another key's.
    pub(crate) fn put_anyway(&self, key: u64, words: [u64; WORDS]) {
        if !self.put(key, words)
            && let Some(slot) = self.near(key).next()
        {
            slot.replace(slot.key.load(Ordering::Relaxed), key, words);
        }
    }

    /// Forgets a key; what was kept for it.
    pub(crate) fn take(&self, key: u64) -> Option<[u64; WORDS]> {
        let words = self.get(key)?;
        self.replace(key, 0, words).then_some(words)
    }

    /// Forgets all keys of which the answer is true.
    pub(crate) fn forget(&self, is_over: impl Fn(u64) -> bool) {
        for slot in &self.slots {
            let key = slot.key.load(Ordering::Relaxed);
            if key != 0 && is_over(key) {
                slot.replace(key, 0, [0; WORDS]);
            }
        }
    }

    fn replace(&self, from: u64, to: u64, words: [u64; WORDS]) -> bool {
        self.near(to | from).any(|slot| slot.replace(from, to, words))
    }

    fn near(&self, key: u64) -> impl Iterator<Item = &Slot<WORDS>> {
        let first = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % SLOTS.max(1);
        self.slots.iter().skip(first).chain(self.slots.iter().take(first)).take(NEAR)
    }
}

impl<const WORDS: usize> Slot<WORDS> {
    const fn free() -> Slot<WORDS> {
        Slot {
            version: AtomicU64::new(0),
            key: AtomicU64::new(0),
            words: [const { AtomicU64::new(0) }; WORDS],
        }
    }

    fn get(&self, key: u64) -> Option<[u64; WORDS]> {
        let version = self.version.load(Ordering::Acquire);
        if self.key.load(Ordering::Relaxed) != key || version % 2 == 1 {
            return None;
        }
        let words = core::array::from_fn(|n| {
            self.words.get(n).map_or(0, |word| word.load(Ordering::Relaxed))
        });
        fence(Ordering::Acquire);
        (self.version.load(Ordering::Relaxed) == version).then_some(words)
    }

    /// Changes the key and its words; false if the slot has another key.
    fn replace(&self, from: u64, to: u64, words: [u64; WORDS]) -> bool {
        let version = self.version.load(Ordering::Acquire);
        let (acquire, relaxed) = (Ordering::Acquire, Ordering::Relaxed);
        if self.key.load(Ordering::Relaxed) != from
            || version % 2 == 1
            || self.version.compare_exchange(version, version + 1, acquire, relaxed).is_err()
        {
            return false;
        }
        // Between the look at the key and the change of the version another
        // thread would have changed the version.
        fence(Ordering::Release);
        for (word, value) in self.words.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        self.key.store(to, Ordering::Relaxed);
        self.version.store(version + 2, Ordering::Release);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_found_until_it_is_taken() {
        static TABLE: Kept<128, 2> = Kept::nothing();
        for key in 1..=100 {
            assert!(TABLE.put(key, [key, key * key]));
        }
        assert!(TABLE.put(7, [70, 700]));
        assert_eq!(TABLE.take(7), Some([70, 700]));
        assert_eq!((TABLE.get(7), TABLE.take(7)), (None, None));
        assert_eq!(TABLE.get(100), Some([100, 10_000]));
        TABLE.forget(|key| key > 50);
        assert_eq!((TABLE.get(50), TABLE.get(51)), (Some([50, 2500]), None));
    }

    #[test]
    fn a_full_table_refuses_or_forgets_as_it_is_told() {
        static TABLE: Kept<8, 1> = Kept::nothing();
        for key in 1..=8 {
            assert!(TABLE.put(key, [key]));
        }
        assert!(!TABLE.put(9, [9]) && TABLE.get(9).is_none());
        TABLE.put_anyway(9, [9]);
        assert_eq!(TABLE.get(9), Some([9]));
        assert_eq!((1..=8).filter(|&key| TABLE.get(key).is_some()).count(), 7);
    }

    #[test]
    fn threads_find_whole_entries_or_none() {
        static TABLE: Kept<4, 4> = Kept::nothing();
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
