// SPDX-License-Identifier: MIT OR Apache-2.0

//! What followed a context last time: a bounded table from hashed contexts to
//! values, each with a count of how often in a row it was right.
//!
//! One table serves all symbols, so its size is bounded whatever the program
//! does. It starts small, doubles while it fills, and at its ceiling a new
//! context must wear down the confidence of the one whose place it wants: what
//! is used stays, what is not goes.

use serde::{Deserialize, Serialize};

/// A value that some context suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The value that came last time (or mostly).
    pub value: i64,
    /// How often it has been right since it was stored, at most
    /// [`MAX_CONFIDENCE`].
    pub confidence: u8,
}

/// Confidence does not count further.
pub const MAX_CONFIDENCE: u8 = 15;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Slot {
    /// The hashed context; 0 where the slot is empty.
    key: u32,
    confidence: u8,
    value: i64,
}

impl Slot {
    /// Learns the value that came. One that was right often survives a few
    /// exceptions.
    #[inline]
    fn learn(&mut self, value: i64) {
        if self.value == value {
            self.confidence = (self.confidence + 1).min(MAX_CONFIDENCE);
        } else if self.confidence >= 2 {
            self.confidence /= 2;
        } else {
            *self = Slot { confidence: 0, value, ..*self };
        }
    }
}

/// Where a context stands, until the table changes; then it is looked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecallIndex(u32);

impl RecallIndex {
    /// No place at all.
    pub const NONE: RecallIndex = RecallIndex(u32::MAX);
}

/// The table.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Recall {
    /// A power of two of them.
    slots: Vec<Slot>,
    n_used: u32,
    max_slots: u32,
}

const FIRST_SLOTS: usize = 256;

impl Recall {
    /// A table of at most `max_slots` contexts, rounded up to a power of two.
    pub fn new(max_slots: usize) -> Recall {
        let max_slots = max_slots.clamp(FIRST_SLOTS, 1 << 24).next_power_of_two();
        Recall { slots: vec![Slot::default(); FIRST_SLOTS], n_used: 0, max_slots: max_slots as u32 }
    }

    /// What the context suggests, if it was seen.
    #[inline]
    pub fn get(&self, context: u64) -> Option<Guess> {
        self.find(context).map(|(_, guess)| guess)
    }

    /// The same, and where it stands for now.
    #[inline]
    pub fn find(&self, context: u64) -> Option<(RecallIndex, Guess)> {
        let key = key_of(context);
        let place = self.place(key);
        [place, place ^ 1].into_iter().find_map(|place| {
            let slot = &self.slots[place];
            let guess = Guess { value: slot.value, confidence: slot.confidence };
            (slot.key == key).then_some((RecallIndex(place as u32), guess))
        })
    }

    /// Learns that `value` followed a context that stood at `place` when it was
    /// last looked up.
    #[inline]
    pub fn learn_at(&mut self, place: RecallIndex, context: u64, value: i64) {
        match self.slots.get_mut(place.0 as usize) {
            Some(slot) if slot.key == key_of(context) => slot.learn(value),
            _ => self.learn(context, value),
        }
    }

    /// Learns that `value` followed the context.
    #[inline]
    pub fn learn(&mut self, context: u64, value: i64) {
        let key = key_of(context);
        let Some(slot) = self.slot_for(key) else { return };
        if slot.key == key {
            slot.learn(value);
        } else {
            *slot = Slot { key, confidence: 0, value };
            self.grow_when_half_full();
        }
    }

    /// Learns a quantity of which the halving mean is kept (equation 1 of the
    /// report) instead of the exact value.
    #[inline]
    pub fn learn_mean(&mut self, context: u64, value: i64) {
        let key = key_of(context);
        let Some(slot) = self.slot_for(key) else { return };
        if slot.key == key {
            slot.value = slot.value / 2 + value / 2;
            slot.confidence = (slot.confidence + 1).min(MAX_CONFIDENCE);
        } else {
            *slot = Slot { key, confidence: 0, value };
        }
        self.grow_when_half_full();
    }

    /// Stores a value whatever the context had before.
    pub fn replace(&mut self, context: u64, value: i64) {
        let key = key_of(context);
        let Some(slot) = self.slot_for(key) else { return };
        let confidence =
            if slot.key == key { (slot.confidence + 1).min(MAX_CONFIDENCE) } else { 0 };
        *slot = Slot { key, confidence, value };
        self.grow_when_half_full();
    }

    /// Joins the contexts of another table, with their values translated. Where
    /// both know a context, agreement adds confidence and else the more
    /// confident value stays.
    pub fn merge(&mut self, other: &Recall, translate: impl Fn(i64) -> Option<i64>) {
        for theirs in other.slots.iter().filter(|slot| slot.key != 0) {
            let Some(value) = translate(theirs.value) else { continue };
            let theirs = Slot { value, ..*theirs };
            let Some(slot) = self.slot_for(theirs.key) else { continue };
            if slot.key != theirs.key {
                *slot = theirs;
            } else if slot.value == value {
                slot.confidence = (slot.confidence + theirs.confidence).min(MAX_CONFIDENCE);
            } else if theirs.confidence > slot.confidence {
                *slot = theirs;
            }
            self.grow_when_half_full();
        }
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
    }

    /// Whether the table could have been made by this code; one that was read
    /// from bytes must be asked.
    pub fn is_valid(&self) -> bool {
        self.slots.len().is_power_of_two()
            && self.slots.len() >= FIRST_SLOTS
            && self.n_used as usize <= self.slots.len()
            && self.slots.iter().all(|slot| slot.confidence <= MAX_CONFIDENCE)
            && self.max_slots <= 1 << 24
    }

    #[inline]
    fn place(&self, key: u32) -> usize {
        key as usize & (self.slots.len() - 1)
    }

    /// The slot of a key, or one that it may take: each key has two places, and
    /// takes the one with less confidence. If both are confident they lose some
    /// and the key goes without, so that noise does not wash out what is used.
    #[inline]
    fn slot_for(&mut self, key: u32) -> Option<&mut Slot> {
        let first = self.place(key);
        let second = first ^ 1;
        let [a, b] = [self.slots[first], self.slots[second]];
        if a.key == key || b.key == key {
            return Some(&mut self.slots[if a.key == key { first } else { second }]);
        }
        if a.key == 0 || b.key == 0 {
            self.n_used += 1;
            return Some(&mut self.slots[if a.key == 0 { first } else { second }]);
        }
        let weaker = if b.confidence < a.confidence { second } else { first };
        let slot = &mut self.slots[weaker];
        if slot.confidence > 0 {
            slot.confidence -= 1;
            return None;
        }
        Some(slot)
    }

    #[inline]
    fn grow_when_half_full(&mut self) {
        if (self.n_used as usize) * 2 >= self.slots.len() {
            self.grow();
        }
    }

    #[cold]
    fn grow(&mut self) {
        let n_slots = self.slots.len();
        if n_slots >= self.max_slots as usize {
            return;
        }
        let old = std::mem::replace(&mut self.slots, vec![Slot::default(); n_slots * 2]);
        self.n_used = 0;
        for slot in old.into_iter().filter(|slot| slot.key != 0) {
            // A pair of places becomes two pairs: there is room for all.
            if let Some(place) = self.slot_for(slot.key) {
                *place = slot;
            }
        }
    }
}

#[inline]
fn key_of(context: u64) -> u32 {
    ((context >> 32) as u32 ^ context as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    #[test]
    fn a_value_that_was_often_right_survives_one_exception() {
        let mut recall = Recall::new(1024);
        for value in [7, 7, 7, 7, 9] {
            recall.learn(mix(1), value);
        }
        assert_eq!(recall.get(mix(1)).map(|guess| guess.value), Some(7));
        recall.learn(mix(1), 9);
        recall.learn(mix(1), 9);
        assert_eq!(recall.get(mix(1)).map(|guess| guess.value), Some(9));
    }

    #[test]
    fn growing_keeps_what_was_learned() {
        let mut recall = Recall::new(1 << 12);
        for context in 0..300 {
            recall.learn(mix(context), context as i64);
        }
        let kept = (0..300)
            .filter(|&context| {
                recall.get(mix(context)).is_some_and(|guess| guess.value == context as i64)
            })
            .count();
        assert!(kept > 200, "{kept}");
    }

    #[test]
    fn the_table_stops_growing_at_its_ceiling() {
        let mut recall = Recall::new(1024);
        for context in 0..100_000 {
            recall.learn(mix(context), 1);
        }
        assert_eq!(recall.memory_bytes(), 1024 * size_of::<Slot>());
        assert!(recall.is_valid());
    }
}
