// SPDX-License-Identifier: MIT OR Apache-2.0

//! What followed the last few symbols, whatever the grammar makes of them.
//!
//! Predictors follow single places, which is right for programs and wrong for data:
//! where branches depend on what cannot be seen, counts over all places with the same
//! recent past say more. A table keeps, for the last 1, 4 and 16 symbols, which symbols
//! came next and how often, in the spirit of prediction by partial matching: the
//! longest past that was seen before predicts, and only it and longer ones learn. Its
//! size is fixed; a new past replaces the rarer one of two.

use serde::{Deserialize, Serialize};

use crate::recent::Recent;
use crate::symbol::Terminal;

/// How many symbols back the pasts reach, the longest first.
const ORDERS: [usize; 3] = [16, 4, 1];

/// Different symbols that are counted after one past.
const MAX_FOLLOWERS: usize = 3;

/// Base of the rolling hash: odd, and its powers look random.
const BASE: u64 = 0x9E37_79B9_7F4A_7C15;

/// The table; see the module.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Successors {
    /// A power of two of them, or none.
    slots: Vec<SuccessorSlot>,
    /// A rolling hash of the past, for each order.
    hashes: [u64; ORDERS.len()],
    /// The longest past that was seen before, as an index of `ORDERS`.
    speaking: Option<u8>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct SuccessorSlot {
    /// 0 if the slot is free.
    check: u32,
    followers: [Follower; MAX_FOLLOWERS],
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Follower {
    terminal: Terminal,
    times: u16,
}

/// The most frequent follower of the longest past seen before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Successor {
    pub terminal: Terminal,
    /// Its share of all that was counted.
    pub share: f32,
    /// How much past agrees: 0 for the shortest order, 2 for the longest.
    pub length: u8,
}

impl Successors {
    pub fn new(max_slots: usize) -> Successors {
        let slots = if max_slots == 0 { 0 } else { max_slots.next_power_of_two() };
        Successors {
            slots: vec![SuccessorSlot::default(); slots],
            hashes: [0; ORDERS.len()],
            speaking: None,
        }
    }

    /// Learns what followed the past, and moves on to the past that ends in it.
    /// `recent` does not hold the symbol yet.
    pub fn push(&mut self, terminal: Terminal, recent: &Recent) {
        if self.slots.is_empty() {
            return;
        }
        let shortest = self.speaking.map_or(ORDERS.len(), |order| usize::from(order) + 1);
        for (order, &length) in ORDERS.iter().enumerate().take(shortest) {
            if length <= recent.len() {
                let (at, check) = self.place_of(order);
                self.slot_for(at, check).count(terminal);
            }
        }
        for (order, hash) in self.hashes.iter_mut().enumerate() {
            let length = ORDERS[order];
            let leaving = recent.get(length - 1).map_or(0, |symbol| u64::from(symbol) + 1);
            *hash = hash
                .wrapping_mul(BASE)
                .wrapping_add(u64::from(terminal) + 1)
                .wrapping_sub(leaving.wrapping_mul(POWERS[order]));
        }
        self.speaking = (0..ORDERS.len() as u8).find(|&order| {
            let (at, check) = self.place_of(usize::from(order));
            self.slots[at].check == check || self.slots[at ^ 1].check == check
        });
    }

    /// What came most often after the longest past seen before.
    pub fn best(&self) -> Option<Successor> {
        let order = usize::from(self.speaking?);
        let (at, check) = self.place_of(order);
        let at = if self.slots[at].check == check { at } else { at ^ 1 };
        let followers = &self.slots[at].followers;
        let best = followers.iter().max_by_key(|follower| follower.times)?;
        let total: u32 = followers.iter().map(|follower| u32::from(follower.times)).sum();
        Some(Successor {
            terminal: best.terminal,
            share: f32::from(best.times) / total.max(1) as f32,
            length: (ORDERS.len() - 1 - order) as u8,
        })
    }

    /// All that came after the pasts seen before, the longest past first, with
    /// its share of what was counted there.
    pub fn all(&self) -> impl Iterator<Item = (Terminal, f32)> + '_ {
        let longest = self.speaking.map_or(ORDERS.len(), usize::from);
        (longest..ORDERS.len()).filter_map(|order| self.followers(order)).flat_map(|followers| {
            let total: u32 = followers.iter().map(|follower| u32::from(follower.times)).sum();
            let came = followers.iter().filter(|follower| follower.times > 0);
            came.map(move |it| (it.terminal, f32::from(it.times) / total.max(1) as f32))
        })
    }

    fn followers(&self, order: usize) -> Option<&[Follower; MAX_FOLLOWERS]> {
        let (at, check) = self.place_of(order);
        let slot = [at, at ^ 1].into_iter().map(|at| &self.slots[at]);
        slot.filter(|slot| slot.check == check).map(|slot| &slot.followers).next()
    }

    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<SuccessorSlot>()
    }

    pub fn is_sound(&self) -> bool {
        (self.slots.is_empty() || (self.slots.len().is_power_of_two() && self.slots.len() > 1))
            && self
                .speaking
                .is_none_or(|order| usize::from(order) < ORDERS.len() && !self.slots.is_empty())
    }

    fn place_of(&self, order: usize) -> (usize, u32) {
        let mixed = (self.hashes[order] ^ ORDERS[order] as u64).wrapping_mul(BASE);
        let check = (mixed as u32) | 1;
        ((mixed >> 40) as usize & (self.slots.len() - 1), check)
    }

    /// The slot of a past: its own, or the less used one of two, emptied.
    fn slot_for(&mut self, at: usize, check: u32) -> &mut SuccessorSlot {
        let at = match (self.slots[at].check == check, self.slots[at ^ 1].check == check) {
            (true, _) => at,
            (_, true) => at ^ 1,
            _ => {
                let at =
                    if self.slots[at].seen() <= self.slots[at ^ 1].seen() { at } else { at ^ 1 };
                self.slots[at] = SuccessorSlot { check, ..SuccessorSlot::default() };
                at
            }
        };
        &mut self.slots[at]
    }
}

impl SuccessorSlot {
    fn seen(&self) -> u16 {
        self.followers[0].times.saturating_add(self.followers[1].times)
    }

    fn count(&mut self, terminal: Terminal) {
        let known = self.followers.iter().position(|f| f.times > 0 && f.terminal == terminal);
        let at = known.unwrap_or_else(|| {
            let least = (0..MAX_FOLLOWERS).min_by_key(|&at| self.followers[at].times).unwrap_or(0);
            self.followers[least] = Follower { terminal, times: 0 };
            least
        });
        self.followers[at].times += 1;
        // Halving keeps the counts small and lets the recent past weigh more.
        if self.followers[at].times >= 1 << 10 {
            self.followers.iter_mut().for_each(|follower| follower.times /= 2);
        }
    }
}

/// `BASE` to the power of each order, to take the oldest symbol out of a hash.
const POWERS: [u64; ORDERS.len()] = {
    let mut powers = [1u64; ORDERS.len()];
    let mut order = 0;
    while order < ORDERS.len() {
        let mut exponent = 0;
        while exponent < ORDERS[order] {
            powers[order] = powers[order].wrapping_mul(BASE);
            exponent += 1;
        }
        order += 1;
    }
    powers
};

#[cfg(test)]
mod tests {
    use super::*;

    fn learn(stream: &[u32]) -> Successors {
        let mut successors = Successors::new(1024);
        let mut recent = Recent::new();
        for &symbol in stream {
            successors.push(symbol, &recent);
            recent.push(symbol);
        }
        successors
    }

    #[test]
    fn the_longest_past_speaks() {
        // After 1 comes 2 or 3; after 8 1 comes 2, after 9 1 comes 3.
        let stream = [8, 1, 2, 9, 1, 3].repeat(4);
        let best = |past: &[u32]| learn(&[&stream[..], past].concat()).best().map(|b| b.terminal);
        assert_eq!(best(&[8, 1]), Some(2));
        assert_eq!(best(&[8, 1, 2, 9, 1]), Some(3));
    }

    #[test]
    fn a_past_never_seen_says_nothing() {
        assert_eq!(learn(&[1, 2, 3, 4]).best(), None);
        assert_eq!(learn(&[]).best(), None);
    }

    #[test]
    fn rolling_hashes_forget_what_is_out_of_reach() {
        let tail: Vec<u32> = (0..40).collect();
        let one = learn(&[&[77; 9][..], &tail].concat());
        let other = learn(&[&[5; 30][..], &tail].concat());
        assert_eq!(one.hashes, other.hashes);
    }
}
