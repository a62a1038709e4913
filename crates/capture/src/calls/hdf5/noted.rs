// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was learned about datasets when they were opened, by file and name: to ask for
//! it, HDF5 has to copy a list of properties, which takes longer than the opening.
//!
//! Chunks and filters of a dataset never change. But its name may come to mean another
//! one: once a link was taken away or moved, a file mounted, or a file opened that
//! others may have written meanwhile. Then all is forgotten, and a dataset that is
//! created is always asked for. Two kinds are never kept, because others may change
//! them at any time: datasets of files that the program has not opened itself (behind
//! external links), and those of connectors other than HDF5's own. Nor is anything kept
//! if the program defines its own kinds of links, which may lead anywhere.

use core::sync::atomic::{AtomicU64, Ordering};

use super::functions::Hdf5;
use crate::calls::seqlock_table::SeqlockTable;

/// For which value of [`NAMES`] it holds, and the identity of name and notes.
static NOTED: SeqlockTable<1024, 2> = SeqlockTable::empty();
/// Changes when a name may mean another dataset.
static NAMES: AtomicU64 = AtomicU64::new(0);
/// Marks that no value is valid.
const NEVER: u64 = u64::MAX;

/// A dataset of a file that the program has opened.
#[derive(Clone, Copy)]
pub(super) struct DatasetPlace {
    key: u64,
    names: u64,
}

impl DatasetPlace {
    /// Create it before asking HDF5, so that a change in the meantime is noticed.
    pub(super) fn new(hdf5: Hdf5, file: u64, name: u64) -> DatasetPlace {
        let key = (file.rotate_left(32) ^ name).wrapping_mul(0xd6e8_feb8_6659_fd93) ^ hdf5.number();
        DatasetPlace { key: key.max(1), names: NAMES.load(Ordering::Acquire) }
    }

    /// Identity of its name with what was noted, if that is still valid.
    pub(super) fn noted(self) -> Option<u64> {
        let [names, noted] = NOTED.get(self.key)?;
        (names == self.names && names != NEVER).then_some(noted)
    }

    /// Keeps what was noted.
    pub(super) fn keep(self, noted: u64) {
        if self.names != NEVER {
            NOTED.put_anyway(self.key, [self.names, noted]);
        }
    }
}

/// Names may now mean other datasets.
pub(super) fn forget() {
    // There is no value above NEVER.
    let more = |names: u64| names.checked_add(1);
    let _ = NAMES.fetch_update(Ordering::Release, Ordering::Relaxed, more);
}

/// From now on names may change their meaning at any time.
pub(super) fn distrust() {
    NAMES.store(NEVER, Ordering::Release);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_holds_until_names_change() {
        let [one, other] = [3, 4].map(Hdf5::numbered);
        let place = || DatasetPlace::new(one, 70, 71);
        let early = place();
        early.keep(100);
        assert_eq!((place().noted(), DatasetPlace::new(one, 71, 70).noted()), (Some(100), None));
        assert_eq!(DatasetPlace::new(other, 70, 71).noted(), None);
        forget();
        assert_eq!(place().noted(), None);
        // Asked before the change, kept after it.
        early.keep(100);
        assert_eq!(place().noted(), None);
        place().keep(200);
        assert_eq!(place().noted(), Some(200));
        distrust();
        place().keep(300);
        forget();
        assert_eq!(place().noted(), None);
    }
}
