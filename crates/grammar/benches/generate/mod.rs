// SPDX-License-Identifier: MIT OR Apache-2.0

//! The streams that others were measured on, made from a fixed seed.

use std::ops::RangeInclusive;

/// Numbers that look random and are the same in every run (xorshift).
pub struct Random(u64);

impl Random {
    pub fn new() -> Random {
        Random(0x9E37_79B9_7F4A_7C15)
    }

    pub fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(limit)) >> 32) as u32
    }

    fn within(&mut self, range: &RangeInclusive<u32>) -> u32 {
        range.start() + self.below(range.end() - range.start() + 1)
    }
}

pub fn alternating(pairs: usize) -> Vec<u32> {
    (0..2 * pairs as u32).map(|at| at % 2).collect()
}

/// A time step writes 200 different things, four of them in inner loops.
fn checkpoint(random: &mut Random, inner: &RangeInclusive<u32>, stream: &mut Vec<u32>) {
    for symbol in 0..200 {
        let count = if symbol % 50 == 25 { random.within(inner) } else { 1 };
        stream.extend(std::iter::repeat_n(symbol, count as usize));
    }
}

/// A checkpointing application; `noise` is the share of calls replaced at random.
pub fn checkpoints(iterations: usize, inner: RangeInclusive<u32>, noise: f64) -> Vec<u32> {
    let mut next = endless_checkpoints(inner.clone(), noise);
    let mut random = Random::new();
    let mut length = 0;
    let mut one = Vec::new();
    for _ in 0..iterations {
        one.clear();
        checkpoint(&mut random, &inner, &mut one);
        length += one.len();
    }
    (0..length).map(|_| next()).collect()
}

/// The same without end.
pub fn endless_checkpoints(inner: RangeInclusive<u32>, noise: f64) -> impl FnMut() -> u32 {
    let mut random = Random::new();
    let mut noisy = Random(0x1234_5678_9ABC_DEF1);
    let mut iteration = Vec::new();
    let mut at = 0;
    move || {
        if at == iteration.len() {
            iteration.clear();
            checkpoint(&mut random, &inner, &mut iteration);
            at = 0;
        }
        at += 1;
        let replaced = f64::from(noisy.below(1_000_000)) < noise * 1_000_000.0;
        if replaced { noisy.below(200) } else { iteration[at - 1] }
    }
}

pub fn random(length: usize, alphabet: u32) -> Vec<u32> {
    let mut random = Random::new();
    (0..length).map(|_| random.below(alphabet)).collect()
}

/// Open, write^k, close, with k around 13,000 and different each time.
pub fn particles(phases: usize) -> Vec<u32> {
    let mut random = Random::new();
    let mut stream = Vec::new();
    for _ in 0..phases {
        stream.push(0);
        let count = 13_000 - 40 + random.below(81);
        stream.extend(std::iter::repeat_n(1, count as usize));
        stream.push(2);
    }
    stream
}
