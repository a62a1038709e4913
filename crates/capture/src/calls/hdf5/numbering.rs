// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whether a copy of HDF5 has restarted the numbering of its files.
//!
//! HDF5 issues each identifier once, until the library is closed or unloaded; then it
//! starts over. If a file gets a number that is not higher than an earlier one, the
//! library has started over.

use core::sync::atomic::{AtomicU64, Ordering};

use super::functions::{Hdf5, Id};
use crate::calls::copies::COPIES;

/// A file was given an identifier: returns whether the copy has started over.
///
/// A thread may be held up between the open and here while others open so many
/// files that it is unknown whether its number has come before. Then
/// the copy goes on if a file with a higher number is still open.
pub(super) fn begins_anew(hdf5: Hdf5, file: Id, is_later_open: impl FnOnce() -> bool) -> bool {
    static GIVEN: [AtomicU64; COPIES] = [const { AtomicU64::new(0) }; COPIES];
    let Some(given) = GIVEN.get((hdf5.number() as usize).wrapping_sub(1)) else { return false };
    let number = file as u32;
    let before = given.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |given| {
        Some(Given::from(given).with(number).0.into())
    });
    match before.map(|before| Given::from(before).with(number).1) {
        Ok(Numbering::GoesOn) | Err(_) => false,
        Ok(Numbering::Anew) => true,
        Ok(Numbering::TooOldToTell) if is_later_open() => false,
        Ok(Numbering::TooOldToTell) => {
            given.store(Given::only(number).into(), Ordering::Relaxed);
            true
        }
    }
}

/// The numbers that files were given lately. Threads that open files at once may arrive
/// here in a different order than their numbers.
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
    /// It lies before the last numbers that are remembered.
    TooOldToTell,
}

impl Given {
    /// A first number.
    fn only(number: u32) -> Given {
        Given { after_last: number.wrapping_add(1), seen: 1 }
    }

    /// The same with a number more, and whether it was given before.
    fn with(self, number: u32) -> (Given, Numbering) {
        let Given { after_last, seen } = self;
        let after = number.wrapping_add(1);
        if number >= after_last {
            let seen = seen.checked_shl(after.wrapping_sub(after_last)).unwrap_or(0) | 1;
            return (Given { after_last: after, seen }, Numbering::GoesOn);
        }
        match 1_u32.checked_shl(after_last.wrapping_sub(after)) {
            None => (self, Numbering::TooOldToTell),
            Some(late) if seen & late == 0 => {
                (Given { after_last, seen: seen | late }, Numbering::GoesOn)
            }
            Some(_) => (Given::only(number), Numbering::Anew),
        }
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
        let check = |numbers: &[u32], expected: &[(u32, Numbering)]| {
            let mut given = Given::from(0);
            let mut found = Vec::new();
            for &number in numbers {
                let (next, numbering) = given.with(number);
                if numbering != Numbering::GoesOn {
                    found.push((number, numbering));
                }
                given = Given::from(u64::from(next));
            }
            assert_eq!(found, expected, "{numbers:?}");
        };
        check(&[0, 1, 2, 3], &[]);
        check(&[0, 3, 1, 2, 4], &[]);
        check(&[0, 1, 0, 1], &[(0, Numbering::Anew)]);
        check(&[1, 0, 1, 0], &[(1, Numbering::Anew)]);
        check(&[5, 100, 6, 101], &[(6, Numbering::TooOldToTell)]);
        check(&[0, 40, 20, 20], &[(20, Numbering::Anew)]);
        check(&[0, 31, 0], &[(0, Numbering::Anew)]);
        check(&[0, 32, 0, 33], &[(0, Numbering::TooOldToTell)]);
    }

    /// A thread held up after its open, while others opened 32 files, once made all
    /// open files and datasets be forgotten.
    #[test]
    fn a_number_too_old_to_tell_goes_on_where_a_later_file_is_open() {
        let copy = Hdf5::numbered(COPIES);
        let must_not_ask = || unreachable!("the numbers tell");
        for number in (0..100).filter(|number| *number != 7) {
            assert!(!begins_anew(copy, number, must_not_ask));
        }
        assert!(!begins_anew(copy, 7, || true));
        assert!(!begins_anew(copy, 100, must_not_ask));
        assert!(begins_anew(copy, 0, || false));
        assert!(!begins_anew(copy, 1, must_not_ask));
    }
}
