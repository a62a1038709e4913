// SPDX-License-Identifier: MIT OR Apache-2.0

//! Models of numbers: magnitudes by their length, and numbers that repeat,
//! count up or come back.

use super::range::{Chance, Coder};

/// A number of `BITS` bits, bit by bit from the highest, each with the chances
/// of its own past. `NODES` is 2^BITS.
#[derive(Clone, Debug)]
pub(crate) struct Tree<const NODES: usize> {
    nodes: [Chance; NODES],
}

impl<const NODES: usize> Tree<NODES> {
    pub(crate) fn new() -> Tree<NODES> {
        Tree { nodes: [Chance::EVEN; NODES] }
    }

    #[inline]
    pub(crate) fn code<C: Coder>(&mut self, coder: &mut C, value: usize) -> usize {
        let n_bits = NODES.trailing_zeros();
        let mut node = 1;
        for at in (0..n_bits).rev() {
            let bit = coder.bit(&mut self.nodes[node], value >> at & 1 == 1);
            node = node << 1 | usize::from(bit);
        }
        node - NODES
    }
}

/// How many bits behind the first are learned; those after them are as likely
/// as not.
const LEARNED_BITS: u32 = 4;

/// A number without sign: how long it is, then its bits.
#[derive(Clone, Debug)]
pub(crate) struct Magnitude {
    lengths: Tree<128>,
    /// For each length that has come, its first bits. Few do for one quantity.
    heads: Vec<(u32, [Chance; 1 << LEARNED_BITS])>,
}

impl Magnitude {
    pub(crate) fn new() -> Magnitude {
        Magnitude { lengths: Tree::new(), heads: Vec::new() }
    }

    /// Codes `value`, of which at most `n_kept` bits behind the first count.
    #[inline]
    pub(crate) fn code<C: Coder>(&mut self, coder: &mut C, value: u64, n_kept: u32) -> u64 {
        let length = self.lengths.code(coder, (64 - value.leading_zeros()) as usize).min(64) as u32;
        if length <= 1 {
            return u64::from(length);
        }
        let n_behind = length - 1;
        let head = self.head(length);
        let mut found = 1_u64;
        let n_learned = n_behind.min(LEARNED_BITS);
        for at in 1..=n_learned {
            let bit = value >> (n_behind - at) & 1 == 1;
            found = found << 1 | u64::from(coder.bit(&mut head[found as usize], bit));
        }
        let n_raw = n_behind.min(n_kept) - n_learned.min(n_kept);
        let n_dropped = n_behind - n_learned - n_raw;
        let rest = coder.raw(n_raw, value >> n_dropped & mask(n_raw));
        (found << n_raw | rest) << n_dropped
    }

    #[inline]
    fn head(&mut self, length: u32) -> &mut [Chance; 1 << LEARNED_BITS] {
        let known = self.heads.iter().position(|(of, _)| *of == length);
        let place = known.unwrap_or_else(|| {
            self.heads.push((length, [Chance::EVEN; 1 << LEARNED_BITS]));
            self.heads.len() - 1
        });
        &mut self.heads[place].1
    }
}

/// What [`Magnitude::code`] leaves of a value.
pub(crate) fn cut_off(value: u64, n_kept: u32) -> u64 {
    let n_behind = value.checked_ilog2().unwrap_or(0);
    value & !mask(n_behind.saturating_sub(n_kept.max(LEARNED_BITS)))
}

fn mask(n_bits: u32) -> u64 {
    1_u64.checked_shl(n_bits).map_or(u64::MAX, |bit| bit - 1)
}

/// Numbers with a sign as such without: 0, -1, 1, -2…
pub(crate) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// One column of one symbol: the number it had last, the one as far from it as
/// that from the one before, one of those that came before, or any other.
#[derive(Clone, Debug)]
pub(crate) struct Number {
    last: i64,
    step: i64,
    /// Whether the latest three were the same as those before them, a bit each.
    past: usize,
    same: [Chance; 8],
    steady: [Chance; 2],
    known: Option<Box<RecentValues>>,
}

/// Numbers that came before, most of a column's if there are few.
#[derive(Clone, Debug)]
struct RecentValues {
    values: Vec<i64>,
    /// The next one to be replaced once there is no more room.
    oldest: usize,
    tree: Tree<N_KNOWN>,
}

/// Places of [`RecentValues`], one of which stands for all other numbers.
const N_KNOWN: usize = 16;

impl Number {
    pub(crate) fn new() -> Number {
        Number {
            last: 0,
            step: 0,
            past: 0,
            same: [Chance::EVEN; 8],
            steady: [Chance::EVEN; 2],
            known: None,
        }
    }

    /// Codes `value`; `other` codes numbers that were not expected, as their distance
    /// from the last one.
    #[inline]
    pub(crate) fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        other: &mut Magnitude,
        value: i64,
    ) -> i64 {
        let is_same = coder.bit(&mut self.same[self.past], value == self.last);
        let was_same = self.past & 1;
        self.past = (self.past << 1 | usize::from(is_same)) & 7;
        if is_same {
            return self.last;
        }
        let next = self.last.wrapping_add(self.step);
        let found = if coder.bit(&mut self.steady[was_same], value == next) {
            next
        } else {
            let known = self.known.get_or_insert_with(|| Box::new(RecentValues::new()));
            known.code(coder, other, value, self.last)
        };
        self.step = found.wrapping_sub(self.last);
        self.last = found;
        found
    }
}

impl RecentValues {
    fn new() -> RecentValues {
        RecentValues { values: Vec::new(), oldest: 0, tree: Tree::new() }
    }

    fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        other: &mut Magnitude,
        value: i64,
        last: i64,
    ) -> i64 {
        let place = self.values.iter().position(|known| *known == value).unwrap_or(N_KNOWN - 1);
        let place = self.tree.code(coder, place);
        if let Some(&known) = self.values.get(place) {
            return known;
        }
        let distance = other.code(coder, zigzag(value.wrapping_sub(last)), 64);
        let found = last.wrapping_add(unzigzag(distance));
        if self.values.len() < N_KNOWN - 1 {
            self.values.push(found);
        } else {
            self.values[self.oldest] = found;
            self.oldest = (self.oldest + 1) % (N_KNOWN - 1);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::range::{Decoder, Encoder};
    use super::*;

    fn code<C: Coder>(coder: &mut C, values: &[i64]) -> Vec<i64> {
        let (mut number, mut other) = (Number::new(), Magnitude::new());
        values.iter().map(|&value| number.code(coder, &mut other, value)).collect()
    }

    fn n_bytes(values: &[i64]) -> usize {
        let mut encoder = Encoder::new();
        code(&mut encoder, values);
        let bytes = encoder.finish();
        assert_eq!(code(&mut Decoder::new(bytes.clone()), &vec![0; values.len()]), values);
        bytes.len()
    }

    proptest! {
        #[test]
        fn any_numbers_come_back(values in prop::collection::vec(
            prop_oneof![any::<i64>(), -3..3_i64, Just(i64::MIN), Just(i64::MAX)], 0..300)
        ) {
            n_bytes(&values);
        }

        #[test]
        fn magnitudes_come_back_up_to_the_bits_that_count(
            values in prop::collection::vec((any::<u64>(), 0..64_u32), 0..100),
            n_kept in LEARNED_BITS..=64
        ) {
            let values: Vec<u64> = values.iter().map(|(value, shift)| value >> shift).collect();
            let mut encoder = Encoder::new();
            let mut magnitude = Magnitude::new();
            for &value in &values {
                magnitude.code(&mut encoder, value, n_kept);
            }
            let mut decoder = Decoder::new(encoder.finish());
            let mut magnitude = Magnitude::new();
            for &value in &values {
                let n_dropped = (63_u32.saturating_sub(value.leading_zeros())).saturating_sub(n_kept);
                let found = magnitude.code(&mut decoder, 0, n_kept);
                prop_assert_eq!(found, value >> n_dropped << n_dropped);
            }
        }
    }

    #[test]
    fn what_repeats_counts_up_or_comes_back_is_cheap() {
        assert!(n_bytes(&[4096; 10_000]) < 10);
        assert!(n_bytes(&(0..10_000).map(|n| 512 * n).collect::<Vec<_>>()) < 30);
        // Two values in a random order are a bit each.
        let mixed: Vec<i64> = (0..8000_u32)
            .map(|n| if n.wrapping_mul(2654435761) >> 16 & 1 == 1 { 8 } else { 11 })
            .collect();
        assert!(n_bytes(&mixed) < 1100);
    }
}
