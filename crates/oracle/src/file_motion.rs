// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where a file stands: position, size, and what accesses left open.

use ioracle_events::Access;
use serde::{Deserialize, Serialize};

use crate::latest::{LATEST, Latest, Run, push};
use crate::motion::{Move, NONE};

/// Where a file stands.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileMotion {
    /// A hash of the name, the same in every model.
    pub tag: u32,
    /// End of the last access; where a contiguous one would start.
    pub end: u64,
    /// Where a seek has put it since the last access.
    pub sought: Option<u64>,
    /// The size, as far as accesses, opens and truncations show it.
    pub size: u64,
    /// Whether nothing can be read beyond `size`: the file was cut or made by
    /// this stream, a read found its end, or the source said how long it is.
    pub size_known: bool,
    /// How many opens are not closed.
    pub n_open: u32,
    /// Whether an open of it was seen; if not, closing means nothing.
    pub was_opened: bool,
    /// The symbol that opened it last.
    pub opener: u32,
    /// The last distances between an access and the end of the one before,
    /// whichever symbol made it.
    pub distances: Latest,
    /// How often in a row the distance was the same.
    pub distance_run: Run,
    /// Gaps that accesses left behind, the latest first.
    pub gaps: [Gap; MAX_GAPS],
}

/// Gaps that are kept in view; the oldest is forgotten.
pub const MAX_GAPS: usize = 8;
/// Longer gaps are not waiting to be filled, they are where others write.
const MAX_GAP_BYTES: u64 = 1 << 16;

/// A range that was jumped over. Structures that are written by kind rather
/// than by place leave gaps of each other's sizes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// First byte.
    pub start: u64,
    /// Bytes; 0 for no gap.
    pub length: u64,
}

impl FileMotion {
    /// A file that nothing is known about.
    pub const NEW: FileMotion = FileMotion {
        tag: 0,
        end: 0,
        sought: None,
        size: 0,
        size_known: false,
        n_open: 0,
        was_opened: false,
        opener: NONE,
        distances: [0; LATEST],
        distance_run: Run::NEW,
        gaps: [Gap { start: 0, length: 0 }; MAX_GAPS],
    };

    /// Whether an access to it can be expected.
    pub fn is_open(&self) -> bool {
        self.n_open > 0 || !self.was_opened
    }

    /// Takes in how long the file is, by whoever can tell.
    pub fn know_size(&mut self, bytes: u64) {
        (self.size, self.size_known) = (bytes, true);
    }

    /// The latest gap of exactly this length, else the latest that has room.
    pub fn gap_for(&self, size: u64) -> Option<Gap> {
        let with_room = || self.gaps.iter().find(|gap| gap.length >= size && size > 0);
        self.gaps.iter().find(|gap| gap.length == size && size > 0).or_else(with_room).copied()
    }

    /// Whether the known end of the file has cut an access short, or may have
    /// where it is not known how much was asked for.
    pub fn cuts_short(&self, step: &Move) -> bool {
        if step.access != Access::Read || !self.size_known {
            return false;
        }
        if let Some(requested) = step.requested {
            return step.size < requested;
        }
        let end = step.offset.map(|offset| offset.saturating_add(step.size));
        end.is_some_and(|end| end == self.size || (step.size == 0 && end > self.size))
    }

    /// Takes in what a read says about the end of the file.
    pub fn look_for_end(&mut self, offset: u64, step: &Move) {
        let end = offset.saturating_add(step.size);
        let is_short = step.requested.is_some_and(|requested| step.size < requested);
        if is_short && step.size > 0 {
            self.size = end;
            self.size_known = true;
            return;
        }
        self.size_known &= end <= self.size || step.size == 0;
        self.size_known |= step.size == 0 && end == self.size;
    }

    /// Moves the file on by one data access.
    pub fn access(&mut self, offset: u64, size: u64) {
        let distance = offset.wrapping_sub(self.end);
        push(&mut self.distances, distance);
        self.distance_run.advance(&self.distances);
        self.end = offset.saturating_add(size);
        self.sought = None;
        self.size = self.size.max(self.end);
        if let Some(gap) = self.gaps.iter_mut().find(|gap| gap.length > 0 && gap.start == offset) {
            gap.start = gap.start.saturating_add(size);
            gap.length = gap.length.saturating_sub(size);
        }
    }

    /// Notes that a symbol went from `start` to `end` and may come back.
    pub fn leave_gap(&mut self, start: u64, end: u64) {
        let length = end.saturating_sub(start);
        if length > 0 && length <= MAX_GAP_BYTES {
            self.gaps.copy_within(..MAX_GAPS - 1, 1);
            self.gaps[0] = Gap { start, length };
        }
    }
}
