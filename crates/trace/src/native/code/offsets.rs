// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where in its file a call began: where the last one on the same handle
//! ended, or some distance from where the last one of the same symbol began.

use super::number::{Magnitude, Number};
use super::range::{Chance, Coder};

/// What is learned about the offsets of a symbol.
#[derive(Clone, Debug)]
pub(crate) struct OffsetModel {
    is_there: Chance,
    /// Whether the latest two went on where their handle stood, a bit each.
    past: usize,
    goes_on: [Chance; 4],
    distance: Number,
    last: u64,
}

impl OffsetModel {
    pub(crate) fn new() -> OffsetModel {
        OffsetModel {
            is_there: Chance::EVEN,
            past: 3,
            goes_on: [Chance::EVEN; 4],
            distance: Number::new(),
            last: 0,
        }
    }

    #[inline]
    pub(crate) fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        other: &mut Magnitude,
        position: u64,
        offset: Option<u64>,
    ) -> Option<u64> {
        if !coder.bit(&mut self.is_there, offset.is_some()) {
            return None;
        }
        let offset = offset.unwrap_or_default();
        let goes_on = coder.bit(&mut self.goes_on[self.past], offset == position);
        self.past = (self.past << 1 | usize::from(goes_on)) & 3;
        let found = if goes_on {
            position
        } else {
            let distance = offset.wrapping_sub(self.last) as i64;
            self.last.wrapping_add(self.distance.code(coder, other, distance) as u64)
        };
        self.last = found;
        Some(found)
    }
}
