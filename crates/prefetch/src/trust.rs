// SPDX-License-Identifier: MIT OR Apache-2.0

//! How far predictions are relied on.
//!
//! Reading beside a program that goes on as expected hides the latency of its
//! storage; reading the wrong bytes beside it makes it wait longer. So requests
//! run beside the program only after predictions have proved right, and a read
//! that was not expected takes that trust away, unless it is a single one among
//! many. Each loss doubles what it takes to win it back.

use serde::Serialize;

/// Reads in a row that must have been expected, at first and at most.
const FIRST_NEEDED: u32 = 4;
const MAX_NEEDED: u32 = 1024;
/// As long as nothing that was read ahead has been used, it takes this many times as
/// many: a program that never pauses leaves no room to prove it otherwise. Where earlier
/// runs tell what comes, fewer show that this one is like them. Ranks of a job are inside
/// a collective call all the time, and would read half of a file before they have help.
const UNUSED_FACTOR: u32 = 8;
const FOREKNOWN_FACTOR: u32 = 2;
/// Of the last 64 reads, so many expected ones carry over a single one that was not:
/// programs that read file after file do something else now and then.
const MOST_OF_64: u32 = 56;
/// So many expected reads in a row make up for a loss.
const FORGIVEN_AFTER: u32 = 256;

/// Why a planner has given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Most of what was read ahead was not used.
    WrongPredictions,
    /// What was read ahead was still on its way when the program asked for it.
    TooLate,
    /// Reads of bytes that were there took as long as others: the storage is not
    /// cached on this machine.
    NotFaster,
}

impl StopReason {
    /// In words, for the summary.
    pub fn in_words(self) -> &'static str {
        match self {
            StopReason::WrongPredictions => "most of what it read ahead was not used",
            StopReason::TooLate => "what it read ahead came too late to help",
            StopReason::NotFaster => "reading ahead did not make reads faster",
        }
    }
}

/// Whether predictions have proved right lately.
#[derive(Clone, Debug)]
pub struct Trust {
    expected_in_a_row: u32,
    needed: u32,
    has_been_used: bool,
    /// Earlier runs tell what comes.
    has_foreknowledge: bool,
    /// Whether each of the last 64 reads was expected, the newest in the lowest bit.
    recent: u64,
}

impl Default for Trust {
    fn default() -> Trust {
        Trust {
            expected_in_a_row: 0,
            needed: FIRST_NEEDED,
            has_been_used: false,
            has_foreknowledge: false,
            recent: 0,
        }
    }
}

impl Trust {
    /// The program has read what was expected.
    pub fn confirm(&mut self) {
        self.expected_in_a_row = self.expected_in_a_row.saturating_add(1);
        self.recent = self.recent << 1 | 1;
        if self.expected_in_a_row.is_multiple_of(FORGIVEN_AFTER) {
            self.needed = (self.needed / 2).max(FIRST_NEEDED);
        }
    }

    /// The program has read something else.
    pub fn lose(&mut self) {
        let was_proven = self.is_proven();
        self.expected_in_a_row = 0;
        self.recent <<= 1;
        if was_proven && !self.is_proven() {
            self.needed = (self.needed * 2).min(MAX_NEEDED);
        }
    }

    /// Earlier runs tell what comes.
    pub fn begin_with_foreknowledge(&mut self) {
        self.has_foreknowledge = true;
    }

    /// Bytes that were read ahead have been used.
    pub fn verify(&mut self) {
        self.has_been_used = true;
    }

    /// Whether requests may run beside the program.
    pub fn is_proven(&self) -> bool {
        let factor = match (self.has_been_used, self.has_foreknowledge) {
            (true, _) => 1,
            (false, true) => FOREKNOWN_FACTOR,
            (false, false) => UNUSED_FACTOR,
        };
        // Two that were not expected, one after the other, are a change of plan.
        let is_single_loss = self.recent & 0b11 != 0 && self.recent.count_ones() >= MOST_OF_64;
        is_single_loss || self.expected_in_a_row >= self.needed.saturating_mul(factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(expected: u32) -> Trust {
        let mut trust = Trust::default();
        trust.verify();
        (0..expected).for_each(|_| trust.confirm());
        trust
    }

    #[test]
    fn trust_needs_expected_reads_and_more_while_no_bytes_were_used() {
        assert!(!after(FIRST_NEEDED - 1).is_proven());
        assert!(after(FIRST_NEEDED).is_proven());
        let mut unused = Trust::default();
        (1..UNUSED_FACTOR * FIRST_NEEDED).for_each(|_| unused.confirm());
        assert!(!unused.is_proven());
        unused.confirm();
        assert!(unused.is_proven());
        let mut foreknown = Trust::default();
        foreknown.begin_with_foreknowledge();
        (1..FOREKNOWN_FACTOR * FIRST_NEEDED).for_each(|_| foreknown.confirm());
        assert!(!foreknown.is_proven());
        foreknown.confirm();
        assert!(foreknown.is_proven());
    }

    #[test]
    fn a_long_record_carries_over_single_losses_but_not_over_two_in_a_row() {
        let mut trust = after(64);
        for _ in 0..8 {
            trust.lose();
            assert!(trust.is_proven());
            (0..10).for_each(|_| trust.confirm());
        }
        trust.lose();
        trust.lose();
        assert!(!trust.is_proven());
    }

    #[test]
    fn every_loss_doubles_what_is_needed_and_long_runs_make_up_for_it() {
        let mut trust = after(FIRST_NEEDED);
        trust.lose();
        (0..FIRST_NEEDED).for_each(|_| trust.confirm());
        assert!(!trust.is_proven());
        (0..FIRST_NEEDED).for_each(|_| trust.confirm());
        assert!(trust.is_proven());
        (0..FORGIVEN_AFTER).for_each(|_| trust.confirm());
        trust.lose();
        assert_eq!(trust.needed, FIRST_NEEDED);
        trust.lose();
        assert_eq!(trust.needed, 2 * FIRST_NEEDED);
    }
}
