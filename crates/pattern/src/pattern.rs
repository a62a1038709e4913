// SPDX-License-Identifier: MIT OR Apache-2.0

//! A pattern: what a server was asked for in one slice of time.

use crate::profile::LoadProfile;
use crate::request::RequestKind;

/// How many of what a pattern has; what equation 2 compares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatternCounts {
    /// Files that were accessed.
    pub files: u64,
    /// Requests that read.
    pub reads: u64,
    /// Requests that write.
    pub writes: u64,
}

/// The requests of one slice.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// What most requests did; reads if there are as many of both.
    pub kind: RequestKind,
    /// How many of what.
    pub counts: PatternCounts,
    /// The offset distances, compressed.
    pub series: Box<[f32]>,
    /// What the series does not show.
    pub profile: Box<LoadProfile>,
}

impl PatternCounts {
    /// Reads and writes.
    pub fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// The largest relative difference of a count (equation 2).
    ///
    /// The paper divides by the smaller count, which may be 0. Two counts of 0
    /// do not differ; with one of 0 the other is divided by 1.
    pub fn difference(&self, other: &PatternCounts) -> f64 {
        let relative = |a: u64, b: u64| a.abs_diff(b) as f64 / a.min(b).max(1) as f64;
        relative(self.files, other.files)
            .max(relative(self.reads, other.reads))
            .max(relative(self.writes, other.writes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(files: u64, reads: u64, writes: u64) -> PatternCounts {
        PatternCounts { files, reads, writes }
    }

    #[test]
    fn the_difference_is_that_of_the_count_that_differs_most() {
        let difference = counts(4, 100, 10).difference(&counts(5, 110, 10));
        assert!((difference - 0.25).abs() < 1e-12);
    }

    /// A division by zero made patterns without reads, or without writes,
    /// different from themselves.
    #[test]
    fn a_pattern_without_reads_does_not_differ_from_itself() {
        assert_eq!(counts(1, 0, 500).difference(&counts(1, 0, 500)), 0.0);
        assert_eq!(counts(1, 0, 500).difference(&counts(1, 1, 500)), 1.0);
        assert!(counts(0, u64::MAX, 0).difference(&counts(0, 0, 0)).is_finite());
    }
}
