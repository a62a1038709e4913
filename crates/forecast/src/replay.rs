// SPDX-License-Identifier: MIT OR Apache-2.0

//! Plans a replay: which process makes which calls on which files, and when.
//!
//! The calls that touch storage are made again: opens, closes, reads, writes,
//! syncs, truncations, allocations, renames, removals and questions about files, at any depth, by the same process and thread,
//! with the same offsets and sizes. Seeks are left out, as every access is given its
//! offset, and so is what a library does in memory: it becomes part of the time
//! before the next call.
//!
//! Processes and threads wait for each other where the trace shows that they must: in
//! collective calls, and where one reads or opens what another one has written or
//! created before. Threads begin where the first one of their process has come to. All
//! these go forward in time, so they cannot wait in a circle.
//!
//! Names of files are made safe ([`names`]): none leaves the directory in which
//! the replay takes place, whatever the trace says.

mod names;
mod order;
mod planner;

use std::collections::BTreeMap;

use ioracle_events::{Event, Function};
use ioracle_trace::Trace;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::class::IoClass;
use crate::profile::Storage;

/// The most calls that a plan may have.
pub const MAX_STEPS: usize = 1 << 24;

/// What to do, by whom.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReplayPlan {
    /// The files, by number.
    pub files: Vec<PlannedFile>,
    /// The processes.
    pub processes: Vec<PlannedProcess>,
    /// The classes that steps refer to.
    pub classes: Vec<IoClass>,
    /// Bytes that all calls of each class move, or that wait when they are made.
    pub class_bytes: Vec<u64>,
    /// How often each signal must be given before those who wait for it go on.
    pub signals: Vec<u32>,
    /// Calls that are not made again, by function.
    pub left_out: BTreeMap<String, u64>,
    /// Bytes that all files together will have.
    pub bytes_needed: u64,
    /// All the time in I/O calls of the trace on this storage, nanoseconds, also
    /// that of calls that are left out.
    pub original_ns: u64,
    /// Time that collective calls spent waiting for each other, nanoseconds.
    pub original_waiting_ns: u64,
}

/// A file of the replay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedFile {
    /// Its path below the directory: relative, without `.`, `..` or links.
    pub name: String,
    /// Bytes that must be there before the replay begins; `None` if the replay
    /// makes the file.
    pub before: Option<u64>,
}

/// What one process does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlannedProcess {
    /// Its number in the trace.
    pub number: u32,
    /// When its first call began, after that of the first process, nanoseconds.
    pub start_ns: u64,
    /// Open files that it has in all.
    pub slots: u32,
    /// The steps of its threads.
    pub streams: Vec<Vec<Step>>,
}

/// One step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// From the end of the step before to the beginning of this one.
    pub think_ns: u64,
    /// What to do.
    pub action: Action,
    /// Number of the class that its time counts for; `None` if it does not count.
    pub class: Option<u16>,
    /// How long the call took when it was recorded.
    pub original_ns: u64,
    /// Whether the buffer of a stream served the call when it was recorded. It counts
    /// only if it moves data here.
    pub is_buffered: bool,
}

impl Step {
    /// One that stands for no recorded call.
    fn uncounted(action: Action) -> Step {
        Step { think_ns: 0, action, class: None, original_ns: 0, is_buffered: false }
    }

    /// Whether it is one of the recorded calls that reached the system.
    fn is_counted(&self) -> bool {
        self.class.is_some() && !self.is_buffered
    }
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Opens a file and keeps it in a slot.
    Open {
        /// The slot, used for this open only.
        slot: u32,
        /// The file.
        file: u32,
        /// How.
        mode: OpenMode,
    },
    /// Tries to open a file that is not there.
    Probe {
        /// The file.
        file: u32,
    },
    /// Closes a slot.
    Close {
        /// The slot.
        slot: u32,
    },
    /// Reads.
    Read {
        /// The slot.
        slot: u32,
        /// Where.
        offset: u64,
        /// How much.
        bytes: u64,
    },
    /// Writes.
    Write {
        /// The slot.
        slot: u32,
        /// Where.
        offset: u64,
        /// How much.
        bytes: u64,
    },
    /// Forces to storage.
    Sync {
        /// The slot.
        slot: u32,
        /// What.
        depth: SyncDepth,
    },
    /// Sets the length of a file, by its name.
    Truncate {
        /// The file.
        file: u32,
        /// Its new length.
        bytes: u64,
    },
    /// Sets the length of an open file.
    Resize {
        /// The slot.
        slot: u32,
        /// Its new length.
        bytes: u64,
    },
    /// Reserves room for a part of a file.
    Allocate {
        /// The slot.
        slot: u32,
        /// Where.
        offset: u64,
        /// How much.
        bytes: u64,
        /// The file does not become longer by it.
        keeps_length: bool,
    },
    /// Says how a part of a file is going to be used.
    Advise {
        /// The slot.
        slot: u32,
        /// Where.
        offset: u64,
        /// How much; 0 for the rest of the file.
        bytes: u64,
        /// How.
        advice: CacheAdvice,
    },
    /// Removes a file.
    Delete {
        /// The file.
        file: u32,
    },
    /// Renames a file, to a name that nothing else has: a trace does not say the new
    /// one.
    Rename {
        /// The file.
        file: u32,
        /// Which rename of the replay this is.
        number: u32,
    },
    /// Asks what a file is, by its name.
    Stat {
        /// The file.
        file: u32,
    },
    /// Asks what an open file is.
    StatOpen {
        /// The slot.
        slot: u32,
    },
    /// Tells others that this point is reached.
    Signal(u32),
    /// Waits until a signal was given often enough.
    Wait(u32),
    /// The same in a collective call, where the program itself waited.
    Meet(u32),
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenMode {
    /// For writing too.
    pub write: bool,
    /// It is created if it is not there.
    pub create: bool,
    /// It is cut to length 0.
    pub truncate: bool,
    /// The cache is bypassed.
    pub direct: bool,
    /// Every write reaches storage before it returns.
    pub durable: bool,
    /// Accesses go through a buffer, as those of stdio do.
    pub buffered: bool,
}

/// What a program says about its use of a file (`posix_fadvise`). It decides what is
/// cached, so replays say it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "as POSIX names them")]
pub enum CacheAdvice {
    Normal,
    Random,
    Sequential,
    WillNeed,
    DontNeed,
    NoReuse,
}

impl CacheAdvice {
    /// What a call says, if it is one that succeeded and the trace knows.
    pub(crate) fn of(event: &Event) -> Option<CacheAdvice> {
        if event.function != Function::PosixFadvise || event.failed() {
            return None;
        }
        Some(match &*event.detail {
            "NORMAL" => CacheAdvice::Normal,
            "RANDOM" => CacheAdvice::Random,
            "SEQUENTIAL" => CacheAdvice::Sequential,
            "WILLNEED" => CacheAdvice::WillNeed,
            "DONTNEED" => CacheAdvice::DontNeed,
            "NOREUSE" => CacheAdvice::NoReuse,
            _ => return None,
        })
    }
}

/// What a sync forces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SyncDepth {
    /// A buffer of the process, to the system.
    Buffer,
    /// The data, to storage.
    Data,
    /// Data and metadata.
    All,
}

/// Why there is no plan.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum ReplayError {
    #[error(transparent)]
    Trace(#[from] ioracle_trace::Error),
    #[error(
        "the trace '{trace}' has no calls that can be made again on {storage}; \
         name the storage that it used with --storage DIR, or all with --storage /"
    )]
    Nothing { trace: String, storage: String },
    #[error(
        "the trace '{trace}' has more than {MAX_STEPS} calls, which is more than a replay can hold"
    )]
    TooLong { trace: String },
}

impl ReplayPlan {
    /// Plans the replay of a trace. `progress` learns how many events were read
    /// since the last time.
    pub fn of(
        trace: &Trace,
        storage: &Storage,
        progress: impl FnMut(u64),
    ) -> Result<ReplayPlan, ReplayError> {
        planner::plan(trace, storage, progress)
    }

    /// Calls in all.
    pub fn n_calls(&self) -> usize {
        self.steps().filter(|step| step.is_counted()).count()
    }

    /// The recorded time of each class, nanoseconds, by its number.
    pub fn original_by_class(&self) -> Vec<(u64, u64)> {
        let mut sums = vec![(0, 0); self.classes.len()];
        for step in self.steps().filter(|step| step.is_counted()) {
            if let Some(sum) = step.class.and_then(|class| sums.get_mut(usize::from(class))) {
                sum.0 += 1;
                sum.1 += step.original_ns;
            }
        }
        sums
    }

    /// The pauses of the thread that makes the longest ones, with the time before it
    /// begins, nanoseconds.
    pub fn pauses_ns(&self) -> u64 {
        let of_stream = |steps: &Vec<Step>| {
            steps.iter().fold(0, |sum: u64, step| sum.saturating_add(step.think_ns))
        };
        let of_process = |process: &PlannedProcess| {
            let longest = process.streams.iter().map(of_stream).max().unwrap_or(0);
            process.start_ns.saturating_add(longest)
        };
        self.processes.iter().map(of_process).max().unwrap_or(0)
    }

    /// The longest read or write.
    pub fn largest_access(&self) -> u64 {
        let sizes = self.steps().map(|step| match step.action {
            Action::Read { bytes, .. } | Action::Write { bytes, .. } => bytes,
            _ => 0,
        });
        sizes.max().unwrap_or(0)
    }

    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.processes.iter().flat_map(|process| process.streams.iter().flatten())
    }
}
