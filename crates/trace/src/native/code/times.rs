// SPDX-License-Identifier: MIT OR Apache-2.0

//! When calls began and ended.
//!
//! A call is placed after the end of the call before it at the same depth, or
//! after the start of the one around it; that distance and its own duration are
//! magnitudes per symbol. Where times are rounded, what is measured from is
//! what a reader will know, so errors never add up.
//!
//! Depths may skip levels and calls may outlast those around them, as in a trace of
//! which rows are missing: calls still begin in order.

use super::number::{Magnitude, cut_off};
use super::range::{Chance, Coder};

/// How many enclosing calls, from the innermost, a call is kept within when times are
/// rounded.
const MAX_AROUND: usize = 64;

/// How exactly times are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Precision {
    /// Times are multiples of this.
    pub(crate) unit_ns: u64,
    /// Bits behind the first that are kept of a distance or duration.
    pub(crate) n_kept: u32,
}

impl Precision {
    /// Whether distances are cut off, beyond what the unit does.
    fn is_relative(self) -> bool {
        self.n_kept < 64
    }
}

/// The calls that the next one is placed after.
#[derive(Debug)]
pub(crate) struct CallClock {
    precision: Precision,
    previous_start: u64,
    /// The last call at each depth, and those around it: depths increase.
    open: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    depth: u32,
    start: u64,
    end: u64,
    /// When it ended before that was rounded; only a writer knows.
    true_end: u64,
}

/// What is learned about the times of a symbol.
#[derive(Clone, Debug)]
pub(crate) struct TimeModel {
    is_early: Chance,
    distance: Magnitude,
    duration: Magnitude,
}

impl TimeModel {
    pub(crate) fn new() -> TimeModel {
        TimeModel { is_early: Chance::EVEN, distance: Magnitude::new(), duration: Magnitude::new() }
    }
}

impl CallClock {
    /// A clock for a block whose first call begins at `first_start_ns`.
    pub(crate) fn new(precision: Precision, first_start_ns: u64) -> CallClock {
        let previous_start = first_start_ns / precision.unit_ns;
        CallClock { precision, previous_start, open: Vec::new() }
    }

    /// Codes start and end, in nanoseconds.
    #[inline]
    pub(crate) fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        model: &mut TimeModel,
        depth: u32,
        (start_ns, end_ns): (u64, u64),
    ) -> (u64, u64) {
        let Precision { unit_ns, n_kept } = self.precision;
        let (mut start, true_end) = (start_ns / unit_ns, end_ns / unit_ns);
        let mut end = true_end;
        while self.open.last().is_some_and(|span| span.depth > depth) {
            self.open.pop();
        }
        let sibling = self.open.pop_if(|span| span.depth == depth);
        let from = match (sibling, self.open.last()) {
            (Some(sibling), _) => sibling.end,
            (None, Some(around)) => around.start,
            (None, None) => self.previous_start,
        };
        if self.precision.is_relative() {
            start = self.within(start).max(self.previous_start);
            end = self.within(end).max(start);
        }
        // A distance back is stored in full: rounding it would put the call after the
        // one that it came before. So is one ahead that would put the call before the
        // last one if it were cut off; it goes back around the end of the numbers.
        let is_in_full = start < from
            || from.wrapping_add(cut_off(start.wrapping_sub(from), n_kept)) < self.previous_start;
        let start = if coder.bit(&mut model.is_early, is_in_full) {
            from.wrapping_sub(model.distance.code(coder, from.wrapping_sub(start), 64))
        } else {
            from.wrapping_add(model.distance.code(coder, start.wrapping_sub(from), n_kept))
        };
        let end = start.wrapping_add(model.duration.code(coder, end.wrapping_sub(start), n_kept));
        self.previous_start = start;
        self.open.push(Span { depth, start, end, true_end });
        (start.wrapping_mul(unit_ns), end.wrapping_mul(unit_ns))
    }
    /// A time, moved into those of the calls around that it was in before they
    /// were rounded.
    fn within(&self, time: u64) -> u64 {
        let around = self.open.iter().rev().take(MAX_AROUND);
        let ends = around.filter(|span| span.true_end >= time).map(|span| span.end);
        ends.fold(time, u64::min)
    }
}
