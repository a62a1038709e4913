// SPDX-License-Identifier: MIT OR Apache-2.0

//! Identities: 64-bit hashes that are the same in every process and run.

/// FNV-1a with a last mixing step, which spreads short inputs over all bits.
/// Never 0, which means 'unknown'. Two of a million paths share an identity
/// with a probability of 3 in 10^8.
pub fn of(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^= hash >> 29;
    hash.max(1)
}
