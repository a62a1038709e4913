// SPDX-License-Identifier: MIT OR Apache-2.0

//! The latest values of a quantity, as small hashes: contexts need to distinguish
//! sequences apart, not to know them.

use serde::{Deserialize, Serialize};

use crate::hash::combine;

/// How many of its latest values a symbol keeps in view.
pub const LATEST: usize = 8;

/// Hashes of the latest values, the last first.
pub type Latest = [u16; LATEST];

/// A hash of the last `n` values.
pub fn last(latest: &Latest, n: usize) -> u64 {
    latest[..n].iter().fold(n as u64, |hash, &value| combine(hash, u64::from(value)))
}

/// How often in a row a value was the same: `a^15 b a^15 b` is as regular as it
/// is common (blocks of a shared file), and no short context sees it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Times in a row, without the first.
    pub length: u32,
    /// Hash of the value before the run.
    pub before: u16,
}

impl Run {
    /// No run yet.
    pub const NEW: Run = Run { length: 0, before: 0 };

    /// A hash of the run.
    pub fn context(&self) -> u64 {
        combine(u64::from(self.before), u64::from(self.length))
    }

    pub fn advance(&mut self, latest: &Latest) {
        *self = if latest[0] == latest[1] {
            Run { length: self.length.saturating_add(1), ..*self }
        } else {
            Run { length: 0, before: latest[1] }
        };
    }
}

/// Takes in the value that came.
pub fn push(latest: &mut Latest, value: u64) {
    latest.copy_within(..LATEST - 1, 1);
    latest[0] = (combine(1, value) >> 24) as u16;
}
