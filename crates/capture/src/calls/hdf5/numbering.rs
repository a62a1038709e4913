// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether a copy of HDF5 has begun to number its files anew.
//!
//! HDF5 gives each identifier once, until the library is closed or unloaded; then
//! it begins anew. A file that is given a number no higher than one before is of
//! a library that has begun anew.

use core::sync::atomic::{AtomicU64, Ordering};

use super::functions::{Hdf5, Id};
use crate::calls::copies::COPIES;

/// A file was given an identifier: whether the copy has begun anew.
pub(super) fn begins_anew(hdf5: Hdf5, file: Id) -> bool {
    static GIVEN: [AtomicU64; COPIES] = [const { AtomicU64::new(0) }; COPIES];
    let Some(given) = GIVEN.get((hdf5.number() as usize).wrapping_sub(1)) else { return false };
    let before = given.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |given| {
        Some(Given::from(given).with(file as u32).0.into())
    });
    before.is_ok_and(|before| Given::from(before).with(file as u32).1 == Numbering::Anew)
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
