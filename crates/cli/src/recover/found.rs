// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was found, for people and for scripts.

use std::path::{Path, PathBuf};

use ioracle_trace::{Follower, NotRecorded, Written};

/// What a job or a recording held.
pub struct RecoveredTrace {
    /// What was recovered.
    pub source: PathBuf,
    /// The trace that was written.
    pub written: Written,
    /// What is known only about jobs.
    pub job: Option<RecoveredJob>,
    /// Whether the job's directory was deleted, if that was asked for.
    pub removed: Option<bool>,
}

/// What was there of the trace before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EarlierRecording {
    /// Nothing.
    New,
    /// What the reader of the job had recorded until it was killed.
    Continued,
}

/// What a job held besides events.
pub struct RecoveredJob {
    /// Programs that recorded.
    pub n_processes: u64,
    /// Their threads.
    pub n_streams: u64,
    /// Events, those that an earlier reader had written included.
    pub n_events: u64,
    /// Calls that were not recorded, by cause.
    pub not_recorded: Vec<NotRecorded>,
    /// Calls whose record was started and never finished.
    pub n_holes: u64,
    /// Records that an earlier reader had taken.
    pub n_taken_before: u64,
    /// Whether the trace continues what that reader had recorded.
    pub continued: bool,
    /// Requests to io_uring, which are not recorded.
    pub n_io_uring: u64,
    /// What is wrong with the files, a sentence each, the first of them.
    pub damaged: Vec<String>,
    /// How many sentences there would be.
    pub n_damaged: u64,
}

impl RecoveredTrace {
    /// A recording that was finished.
    pub fn recording(directory: &Path, written: Written) -> RecoveredTrace {
        RecoveredTrace { source: directory.into(), written, job: None, removed: None }
    }

    /// A job that was read to its end.
    pub fn job(
        directory: &Path,
        follower: &Follower,
        recording: EarlierRecording,
        written: Written,
    ) -> RecoveredTrace {
        let totals = follower.totals();
        let job = RecoveredJob {
            n_processes: follower.processes().len() as u64,
            n_streams: totals.spool.n_streams,
            n_events: totals.n_events,
            not_recorded: totals.not_recorded(),
            n_holes: totals.spool.n_holes,
            n_taken_before: totals.spool.n_consumed_before,
            continued: recording == EarlierRecording::Continued,
            n_io_uring: totals.spool.n_io_uring,
            damaged: totals.spool.damaged,
            n_damaged: totals.spool.n_damaged,
        };
        RecoveredTrace { source: directory.into(), written, job: Some(job), removed: None }
    }
}
