// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was found in a job, and what is missing.

use ioracle_spool::layout::UnrecordedCause;

/// Counts of a job so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobTotals {
    /// Events that were passed to the observer.
    pub n_events: u64,
    /// What the spool counted.
    pub spool: ioracle_spool::SpoolTotals,
}

/// Calls that were seen but not recorded, for one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotRecorded {
    /// The cause, as documents name it.
    pub cause: &'static str,
    /// The cause in words, to follow "because".
    pub because: &'static str,
    /// How many calls.
    pub n_calls: u64,
}

impl JobTotals {
    /// The causes that occurred, each with its calls.
    pub fn not_recorded(&self) -> Vec<NotRecorded> {
        let all = UnrecordedCause::ALL.into_iter().map(|cause| {
            let n_calls = self.spool.unrecorded(cause);
            let (cause, because) = words(cause);
            NotRecorded { cause, because, n_calls }
        });
        all.filter(|missing| missing.n_calls > 0).collect()
    }
}

fn words(cause: UnrecordedCause) -> (&'static str, &'static str) {
    match cause {
        UnrecordedCause::NoRoom => ("no_room", "there was no room on the file system of the job"),
        UnrecordedCause::Limit => ("limit", "the job had reached its space limit"),
        UnrecordedCause::NoFile => ("no_file", "no file could be made for their thread"),
        UnrecordedCause::Interrupted => {
            ("interrupted", "they interrupted the recording of another")
        }
        UnrecordedCause::Borrowed => ("borrowed", "they were made in a child of vfork"),
        UnrecordedCause::Sandboxed => ("sandboxed", "their process had shut itself into a sandbox"),
        UnrecordedCause::LittleStack => ("little_stack", "little of their thread's stack was left"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_causes_with_calls_are_named() {
        let mut totals = JobTotals::default();
        assert_eq!(totals.not_recorded(), []);
        totals.spool.unrecorded[UnrecordedCause::Limit as usize] = 5;
        let found: Vec<_> =
            totals.not_recorded().iter().map(|missing| (missing.cause, missing.n_calls)).collect();
        assert_eq!(found, [("limit", 5)]);
    }
}
