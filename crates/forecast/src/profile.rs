// SPDX-License-Identifier: MIT OR Apache-2.0

//! The profile of a trace: how much time it spends in each class of calls.
//!
//! A call's own time is its duration without that of the recorded calls inside it,
//! so every moment counts once and the own times add up to the time that the
//! program spends in I/O calls. The own time of a call that touches storage goes to
//! its [`IoClass`]. Everything else is kept apart, because another storage system
//! changes it differently or not at all ([`OwnTime`]).
//!
//! The events are read twice: which files are shared, how many calls overlap and
//! which bytes were touched before is known only at the end. Memory goes with the
//! number of files, classes and touched extents, each within a limit.

mod builder;
mod extents;
mod mixture;
mod overlap;
mod stream_buffer;

use std::collections::{BTreeMap, BTreeSet};

use ioracle_events::{ContextId, FileId};
use ioracle_trace::{MountId, Trace};

use crate::class::{IoClass, Kind};

pub(crate) use builder::{CallPart, Finished, Sorted, sort_calls};
pub use mixture::TwoSpeeds;

/// The most classes that a profile distinguishes; calls of further ones count as
/// [`OwnTime::Unclassified`].
pub const MAX_CLASSES: usize = 4096;

/// Call sites that are kept for each class.
pub const MAX_CALL_SITES: usize = 64;

/// Which files are on the storage in question.
#[derive(Clone, Debug, Default)]
pub enum Storage {
    /// Those on the file system that most bytes were moved to or from; if the trace
    /// does not know file systems, those outside of the system's own directories
    /// (`/usr`, `/etc`, `/dev`, …).
    #[default]
    Busiest,
    /// Those whose path, or whose mount point, begins with this one.
    Below(String),
    /// All of them.
    Everything,
}

/// Directories that no program keeps its data in.
const SYSTEM: [&str; 7] = ["/dev", "/etc", "/proc", "/run", "/sys", "/usr", "<sys>"];

/// Time that is in no class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OwnTime {
    /// Calls on files that lie elsewhere: the system's own disk, /tmp.
    Elsewhere,
    /// Calls that touch no storage: seeks, what MPI does for itself.
    Memory,
    /// Calls that the buffer of a stream serves, with the formatting of text.
    Buffered,
    /// A library's own work in calls that make others: conversion, packing.
    Library,
    /// The same in collective calls, where it is mostly waiting for other ranks.
    Waiting,
    /// Calls of too many classes.
    Unclassified,
}

/// What a trace did, by class.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Name of the trace.
    pub trace: String,
    /// The application, if the trace names it.
    pub application: String,
    /// The classes, that with the most time first.
    pub classes: Vec<ProfiledClass>,
    /// The rest of the time in I/O calls, nanoseconds.
    pub own_ns: BTreeMap<OwnTime, u64>,
    /// By number of the process.
    pub processes: BTreeMap<u32, ProcessTime>,
    /// From the first call to the end of the last one, nanoseconds.
    pub span_ns: u64,
    /// Duration of the whole run, if the trace tells it.
    pub wall_s: Option<f64>,
    /// Threads that made calls.
    pub streams: usize,
    /// The storage that counts, in words.
    pub storage: String,
}

/// The calls of one class.
#[derive(Clone, Debug)]
pub struct ProfiledClass {
    /// How they were made.
    pub class: IoClass,
    /// How many there were.
    pub calls: u64,
    /// Bytes that they moved, or that waited when they were made.
    pub bytes: u64,
    /// Their own time, nanoseconds.
    pub time_ns: u64,
    /// Median, and the 95th percentile, of one call.
    pub percentiles_ns: (u64, u64),
    /// Two speeds in the times of its calls, if there are two: the fast ones were
    /// likely served by a cache.
    pub two_speeds: Option<TwoSpeeds>,
    /// Where they came from, the place with the most time first.
    pub call_sites: Vec<CallSite>,
}

/// A place in the program that made calls of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The call stack.
    pub context: ContextId,
    /// Calls from there.
    pub calls: u64,
    /// Their own time, nanoseconds.
    pub time_ns: u64,
}

/// The time of one process in I/O calls, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessTime {
    /// Its rank, if it has one.
    pub rank: Option<u32>,
    /// Reads.
    pub read_ns: u64,
    /// Writes, and what makes them durable.
    pub write_ns: u64,
    /// Other calls on the storage in question.
    pub metadata_ns: u64,
    /// Time that is in no class.
    pub other_ns: u64,
}

/// Whether a time counts as reading, writing or neither, in the paper's tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes, syncs, and closes of files that were written.
    Write,
    /// Other metadata.
    Metadata,
}

impl IoClass {
    /// Whether its time counts as reading or writing.
    pub fn direction(&self) -> Direction {
        match self.kind {
            Kind::Read => Direction::Read,
            Kind::Write | Kind::Sync => Direction::Write,
            Kind::Close if self.size.bytes() > 0 => Direction::Write,
            _ => Direction::Metadata,
        }
    }
}

impl ProfiledClass {
    /// Mean bytes of a call: what to measure for this class.
    pub fn mean_bytes(&self) -> u64 {
        self.bytes.checked_div(self.calls).unwrap_or(0)
    }

    /// Mean own time of a call, seconds.
    pub fn mean_s(&self) -> f64 {
        self.time_s() / self.calls.max(1) as f64
    }

    /// Own time of all calls, seconds.
    pub fn time_s(&self) -> f64 {
        self.time_ns as f64 * 1e-9
    }
}

impl Profile {
    /// Reads a trace, twice. `progress` learns how many events were read since the
    /// last time.
    pub fn of(
        trace: &Trace,
        storage: &Storage,
        mut progress: impl FnMut(u64),
    ) -> Result<Profile, ioracle_trace::Error> {
        let on_storage = StorageFiles::find(trace, storage, &mut progress)?;
        sort_calls(trace, &on_storage, &mut progress, |_, _| {})
    }

    /// All the time in I/O calls, of all processes and threads, seconds.
    pub fn total_s(&self) -> f64 {
        let classes: u64 = self.classes.iter().map(|class| class.time_ns).sum();
        (classes + self.own_ns.values().sum::<u64>()) as f64 * 1e-9
    }

    /// The time in calls of one direction, seconds.
    pub fn direction_s(&self, direction: Direction) -> f64 {
        let matching = self.classes.iter().filter(|row| row.class.direction() == direction);
        // The sum of nothing is -0.
        matching.map(ProfiledClass::time_s).sum::<f64>() + 0.0
    }

    /// Seconds of one kind of time that is in no class.
    pub fn own_s(&self, own: OwnTime) -> f64 {
        self.own_ns.get(&own).copied().unwrap_or(0) as f64 * 1e-9
    }

    /// The classes to measure: those that together have this share of the time in
    /// classes (0 to 1), the largest first, and the largest of each kind of call, whose
    /// share may be another one elsewhere.
    pub fn significant(&self, share: f64) -> impl Iterator<Item = &ProfiledClass> {
        let all: u64 = self.classes.iter().map(|row| row.time_ns).sum();
        let (mut before, mut kinds) = (0, BTreeSet::new());
        self.classes.iter().filter(move |row| {
            let is_needed = (before as f64) < share * all as f64;
            before += row.time_ns;
            let is_something = row.time_ns > 0 && !(row.class.kind.is_data() && row.bytes == 0);
            is_needed || is_something && kinds.insert(row.class.kind)
        })
    }
}

/// The files of a trace that are on the storage in question.
pub(crate) struct StorageFiles<'trace> {
    trace: &'trace Trace,
    choice: Choice,
}

enum Choice {
    All,
    Ordinary,
    Mount(MountId),
    Below(String),
}

impl<'trace> StorageFiles<'trace> {
    pub(crate) fn find(
        trace: &'trace Trace,
        storage: &Storage,
        progress: &mut impl FnMut(u64),
    ) -> Result<StorageFiles<'trace>, ioracle_trace::Error> {
        let choice = match storage {
            Storage::Everything => Choice::All,
            Storage::Below(path) => Choice::Below(path.clone()),
            Storage::Busiest => match busiest_mount(trace, progress)? {
                Some(mount) => Choice::Mount(mount),
                None => Choice::Ordinary,
            },
        };
        Ok(StorageFiles { trace, choice })
    }

    /// Whether a file counts. One whose name is not known counts with all others.
    pub(crate) fn contains(&self, file: FileId) -> bool {
        let mount = || self.trace.provenance().file_place(file).mount;
        let path = || self.trace.files().get(file).unwrap_or("");
        match &self.choice {
            Choice::All => true,
            Choice::Ordinary => !SYSTEM.iter().any(|system| lies_below(path(), system)),
            Choice::Mount(wanted) => mount() == Some(*wanted),
            Choice::Below(prefix) => {
                let point = mount().and_then(|mount| self.trace.provenance().mount(mount));
                lies_below(path(), prefix) || point.is_some_and(|it| lies_below(&it.point, prefix))
            }
        }
    }

    /// The storage in words.
    pub(crate) fn describe(&self) -> String {
        match &self.choice {
            Choice::All => "all files".to_owned(),
            Choice::Ordinary => "files outside of the system's directories".to_owned(),
            Choice::Below(prefix) => format!("files below {prefix}"),
            Choice::Mount(id) => match self.trace.provenance().mount(*id) {
                Some(mount) => format!("{} at {}", mount.kind, mount.point),
                None => "one file system".to_owned(),
            },
        }
    }
}

fn lies_below(path: &str, prefix: &str) -> bool {
    let prefix = prefix.trim_end_matches('/');
    path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The mount that most bytes were moved to or from; of none, that with most calls.
fn busiest_mount(
    trace: &Trace,
    progress: &mut impl FnMut(u64),
) -> Result<Option<MountId>, ioracle_trace::Error> {
    if trace.provenance().mounts().is_empty() {
        return Ok(None);
    }
    let mut loads: BTreeMap<MountId, (u64, u64)> = BTreeMap::new();
    for event in trace.events_by_process()? {
        let event = event?;
        progress(1);
        if let Some(mount) = trace.provenance().file_place(event.file).mount {
            let (bytes, calls) = loads.entry(mount).or_default();
            *bytes += event.transferred();
            *calls += 1;
        }
    }
    Ok(loads.into_iter().max_by_key(|(_, load)| *load).map(|(mount, _)| mount))
}
