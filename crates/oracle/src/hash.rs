// SPDX-License-Identifier: MIT OR Apache-2.0

//! Fast hashing without a random seed, so that a model loaded from bytes
//! behaves exactly like the one that was saved.
//!
//! The inputs are small numbers that we gave out ourselves, or are cut down to
//! bounded tables in which a collision costs one prediction: an adversary gains
//! nothing here that a random stream would not.

use std::hash::{BuildHasher, Hasher};

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Spreads the bits of `x` over the whole word.
#[inline]
pub fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 32)).wrapping_mul(MULTIPLIER);
    x ^ (x >> 29)
}

/// A hash of `seed` and one more number.
#[inline]
pub fn combine(seed: u64, x: u64) -> u64 {
    mix(seed.rotate_left(23) ^ x.wrapping_mul(0xD6E8_FEB8_6659_FD93))
}

/// A hash of a text that is the same on every machine and in every version.
pub fn text(text: &str) -> u64 {
    bytes(text.as_bytes())
}

/// The same of bytes.
pub fn bytes(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xCBF2_9CE4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    })
}

/// A map whose keys are a few integers.
pub type SeedlessMap<K, V> = hashbrown::HashMap<K, V, Seedless>;

/// Makes [`SeedlessHasher`]s.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seedless;

impl BuildHasher for Seedless {
    type Hasher = SeedlessHasher;

    fn build_hasher(&self) -> SeedlessHasher {
        SeedlessHasher(0)
    }
}

/// Hashes the integers it is given, in order.
#[derive(Clone, Copy, Debug)]
pub struct SeedlessHasher(u64);

impl Hasher for SeedlessHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u16(&mut self, x: u16) {
        self.write_u64(u64::from(x));
    }

    fn write_u32(&mut self, x: u32) {
        self.write_u64(u64::from(x));
    }

    fn write_u64(&mut self, x: u64) {
        self.0 = combine(self.0, x);
    }
}
