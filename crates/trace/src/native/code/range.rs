// SPDX-License-Identifier: MIT OR Apache-2.0

//! An adaptive binary range coder: decisions go in with a probability and take
//! as many bits as they were surprising.
//!
//! The interval is 32 bits wide and its lower end may carry into bytes that were
//! written already (Martin, 1979; the arrangement with one byte held back and a count
//! of 0xFF behind it is that of LZMA). A model is written once for both directions: it
//! passes each value to a [`Coder`], which writes it and returns it, or ignores it and
//! returns what it reads; what follows may depend only on the returned value.

/// Writes decisions, or reads them.
pub(crate) trait Coder {
    /// A yes or no with a probability that adapts.
    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool;

    /// The lowest `n_bits` of a number, each bit as likely as not.
    fn raw(&mut self, n_bits: u32, value: u64) -> u64;
}

/// How likely a yes is, learned from those that came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance {
    /// In units of 2^-16.
    yes: u16,
    /// Decisions so far, up to [`LIMIT`]: the more, the smaller the steps.
    n_seen: u8,
}

impl Chance {
    pub(crate) const EVEN: Chance = Chance { yes: 1 << 15, n_seen: 0 };

    fn learn(&mut self, bit: bool) {
        // Never sure: a chance of 0 could not be coded.
        const LEAST: i32 = 24;
        let target = if bit { 0xFFFF - LEAST } else { LEAST };
        let step = ((target - i32::from(self.yes)) * STEPS[usize::from(self.n_seen)]) >> 15;
        self.yes = (i32::from(self.yes) + step).clamp(LEAST, 0xFFFF - LEAST) as u16;
        if usize::from(self.n_seen) < LIMIT {
            self.n_seen += 1;
        }
    }
}

/// Decisions after which a chance forgets as fast as it learns.
const LIMIT: usize = 62;

/// The share of the way to go, 1/(n + 1.6), in units of 2^-15: its product with
/// a difference of 16 bits stays within 32.
static STEPS: [i32; LIMIT + 1] = steps();

const fn steps() -> [i32; LIMIT + 1] {
    let mut steps = [0; LIMIT + 1];
    let mut n = 0;
    while n <= LIMIT {
        steps[n] = 32768 * 10 / (10 * n as i32 + 16);
        n += 1;
    }
    steps
}

const TOP: u32 = 1 << 24;

/// Writes decisions.
#[derive(Debug)]
pub(crate) struct Encoder {
    low: u64,
    range: u32,
    /// The byte that a carry would still change, once there is one.
    held: Option<u8>,
    /// How many bytes of 0xFF follow it.
    n_full: usize,
    out: Vec<u8>,
}

impl Encoder {
    pub(crate) fn new() -> Encoder {
        Encoder { low: 0, range: u32::MAX, held: None, n_full: 0, out: Vec::new() }
    }

    /// All bytes. Trailing zeros are dropped: a reader assumes zeros for what is
    /// missing.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        for _ in 0..5 {
            self.shift();
        }
        while self.out.last() == Some(&0) {
            self.out.pop();
        }
        self.out
    }

    fn normalise(&mut self) {
        while self.range < TOP {
            self.range <<= 8;
            self.shift();
        }
    }

    fn shift(&mut self) {
        let carry = (self.low >> 32) as u8;
        if carry != 0 || self.low < 0xFF00_0000 {
            if let Some(held) = self.held {
                self.out.push(held.wrapping_add(carry));
            }
            for _ in 0..self.n_full {
                self.out.push(0xFF_u8.wrapping_add(carry));
            }
            self.n_full = 0;
            self.held = Some((self.low >> 24) as u8);
        } else {
            self.n_full += 1;
        }
        self.low = (self.low & 0x00FF_FFFF) << 8;
    }
}

impl Coder for Encoder {
    #[inline]
    fn bit(&mut self, chance: &mut Chance, bit: bool) -> bool {
        let bound = (self.range >> 16) * u32::from(chance.yes);
        if bit {
            self.range = bound;
        } else {
            self.low += u64::from(bound);
            self.range -= bound;
        }
        chance.learn(bit);
        self.normalise();
        bit
    }

    #[inline]
    fn raw(&mut self, n_bits: u32, value: u64) -> u64 {
        let mut left = n_bits;
        while left > 0 {
            let n = left.min(RAW_BITS);
            left -= n;
            self.range >>= n;
            let part = (value >> left) & ((1 << n) - 1);
            self.low += part * u64::from(self.range);
            self.normalise();
        }
        value
    }
}

/// Bits that are taken from the interval at once.
const RAW_BITS: u32 = 16;

/// Reads decisions. Behind the end of its bytes there are zeros, so that any
/// bytes can be read, as long as the reader knows when it has enough.
#[derive(Debug)]
pub(crate) struct Decoder {
    bytes: Vec<u8>,
    at: usize,
    range: u32,
    code: u32,
    /// Whether the writer wrote more bytes than are there.
    is_cut: bool,
}

impl Decoder {
    pub(crate) fn new(bytes: Vec<u8>) -> Decoder {
        let mut decoder = Decoder { bytes, at: 0, range: u32::MAX, code: 0, is_cut: false };
        for _ in 0..4 {
            decoder.code = decoder.code << 8 | decoder.next();
        }
        decoder
    }

    /// Reads bytes whose end was cut off.
    pub(crate) fn cut(bytes: Vec<u8>) -> Decoder {
        Decoder { is_cut: true, ..Decoder::new(bytes) }
    }

    /// Whether what was read last may depend on bytes that were cut off.
    pub(crate) fn is_beyond_cut(&self) -> bool {
        self.is_cut && self.at > self.bytes.len()
    }

    fn next(&mut self) -> u32 {
        let byte = self.bytes.get(self.at).copied().unwrap_or(0);
        self.at += 1;
        byte.into()
    }

    fn normalise(&mut self) {
        while self.range < TOP {
            self.range <<= 8;
            self.code = self.code << 8 | self.next();
        }
    }
}

impl Coder for Decoder {
    #[inline]
    fn bit(&mut self, chance: &mut Chance, _: bool) -> bool {
        let bound = (self.range >> 16) * u32::from(chance.yes);
        let bit = self.code < bound;
        if bit {
            self.range = bound;
        } else {
            self.code -= bound;
            self.range -= bound;
        }
        chance.learn(bit);
        self.normalise();
        bit
    }

    #[inline]
    fn raw(&mut self, n_bits: u32, _: u64) -> u64 {
        let mut value = 0;
        let mut left = n_bits;
        while left > 0 {
            let n = left.min(RAW_BITS);
            left -= n;
            self.range >>= n;
            // Bytes that no encoder wrote may lie beyond the interval.
            let part = (self.code / self.range).min((1 << n) - 1);
            self.code -= part * self.range;
            value = value << n | u64::from(part);
            self.normalise();
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_said_is_read(
            said in prop::collection::vec((any::<bool>(), 0..3_usize, 0..=64_u32, any::<u64>()), 0..2000)
        ) {
            let mut encoder = Encoder::new();
            let mut chances = [Chance::EVEN; 3];
            for &(bit, chance, n_bits, value) in &said {
                encoder.bit(&mut chances[chance], bit);
                encoder.raw(n_bits, value);
            }
            let mut decoder = Decoder::new(encoder.finish());
            let mut chances = [Chance::EVEN; 3];
            for &(bit, chance, n_bits, value) in &said {
                prop_assert_eq!(decoder.bit(&mut chances[chance], false), bit);
                let expected = if n_bits == 64 { value } else { value & ((1 << n_bits) - 1) };
                prop_assert_eq!(decoder.raw(n_bits, 0), expected);
            }
        }
    }

    #[test]
    fn what_never_surprises_takes_no_room() {
        let mut encoder = Encoder::new();
        let mut chance = Chance::EVEN;
        for _ in 0..100_000 {
            encoder.bit(&mut chance, true);
        }
        assert!(encoder.finish().len() < 10);
    }

    #[test]
    fn carries_run_through_bytes_that_are_full() {
        let mut encoder = Encoder::new();
        let mut chance = Chance::EVEN;
        let bits: Vec<bool> =
            (0..50_000_u32).map(|n| n.wrapping_mul(2654435761) >> 31 == 1).collect();
        for &bit in &bits {
            encoder.bit(&mut chance, bit);
            encoder.raw(7, 127);
        }
        let mut decoder = Decoder::new(encoder.finish());
        let mut chance = Chance::EVEN;
        for &bit in &bits {
            assert_eq!(decoder.bit(&mut chance, false), bit);
            assert_eq!(decoder.raw(7, 0), 127);
        }
    }
}
