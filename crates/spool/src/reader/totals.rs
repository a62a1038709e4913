// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a job's streams amount to.

use crate::layout::UnrecordedCause;

/// Sentences on damaged streams that are kept; more are only counted.
const MAX_SENTENCES: usize = 100;

/// Counts of a job, up to now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpoolTotals {
    /// Images that loaded the library (an exec counts again).
    pub n_processes: u64,
    /// Streams found.
    pub n_streams: u64,
    /// Records delivered.
    pub n_records: u64,
    /// Calls not recorded, by cause, in the order of [`UnrecordedCause::ALL`].
    pub unrecorded: [u64; UnrecordedCause::COUNT],
    /// Records that were begun and never published: their thread was killed, or
    /// left by a jump, in the middle.
    pub n_holes: u64,
    /// Records that an earlier reader had consumed; they are gone.
    pub n_consumed_before: u64,
    /// Requests given to io_uring.
    pub n_io_uring: u64,
    /// Stacks compared with `backtrace()`.
    pub n_stacks_checked: u64,
    /// Stacks among them that differed.
    pub n_stacks_different: u64,
    /// Threads that were not learned in their process to the end.
    pub n_given_up: u64,
    /// Threads none of whose calls could be recorded.
    pub n_unrecorded_threads: u64,
    /// Processes that have such threads and no other.
    pub n_unrecorded_processes: u64,
    /// The first of them.
    pub unrecorded_processes: Vec<UnrecordedProgram>,
    /// What was wrong with files in the directory, a sentence each; the first hundred.
    pub damaged: Vec<String>,
    /// How many sentences there would be.
    pub n_damaged: u64,
}

/// A process of which no call could be recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnrecordedProgram {
    /// Its number.
    pub pid: u32,
    /// The file name of its program.
    pub name: String,
    /// Why.
    pub cause: UnrecordedCause,
}

impl SpoolTotals {
    /// Calls not recorded, of one cause.
    pub fn unrecorded(&self, cause: UnrecordedCause) -> u64 {
        self.unrecorded[cause as usize]
    }

    /// Calls not recorded, of all causes.
    pub fn n_unrecorded(&self) -> u64 {
        self.unrecorded.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Remembers what is wrong with a file.
    pub(super) fn damage(&mut self, name: &str, what: &str) {
        self.n_damaged += 1;
        if self.damaged.len() < MAX_SENTENCES {
            // The name of the file may contain anything.
            self.damaged.push(format!("'{}': {what}", name.escape_debug()));
        }
    }
}
