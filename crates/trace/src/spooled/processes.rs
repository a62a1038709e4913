// SPDX-License-Identifier: MIT OR Apache-2.0

//! The processes of a job, in the order of appearance.

use std::collections::HashMap;

use ioracle_spool::StreamInfo;

use crate::spooled::observer::ProcessNumber;

/// The most processes that are distinguished. The last one stands for all that
/// follow: its events are theirs too, each of their threads is one of its own.
pub const MAX_PROCESSES: usize = 1 << 16;

/// A process of the job; a program that replaced itself by another is two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobProcess {
    /// Its number in the system.
    pub pid: u32,
    /// The process that started it.
    pub parent_pid: u32,
    /// Path of the executable; empty while it is not known.
    pub executable: String,
    /// Its arguments, beginning with the name it was called by, as far as
    /// [`MAX_COMMAND_BYTES`](crate::MAX_COMMAND_BYTES) hold them.
    pub arguments: Vec<String>,
    /// MPI rank, from the launcher or else from MPI.
    pub rank: Option<u32>,
    /// Ranks of the launcher's job, if it or MPI gave the number.
    pub world_size: Option<u32>,
    /// When it began, on the system's monotonic clock.
    pub start_ns: u64,
    /// The same instant since 1970.
    pub start_realtime_ns: u64,
    /// The application it belongs to; empty while it is not known.
    pub application: String,
    /// When the last of its threads ended that ended in order, on the system's
    /// monotonic clock.
    pub end_ns: Option<u64>,
    /// Threads that were seen.
    pub n_threads: u32,
    /// Events so far.
    pub n_events: u64,
    /// End of the latest event, since the start of the process.
    pub last_ns: u64,
}

impl JobProcess {
    fn new(info: &StreamInfo) -> JobProcess {
        JobProcess {
            pid: info.pid,
            parent_pid: info.parent_pid,
            rank: info.rank,
            world_size: (info.world_size > 0).then_some(info.world_size),
            start_ns: info.process_start_ns,
            start_realtime_ns: info.process_start_realtime_ns,
            ..JobProcess::default()
        }
    }

    /// Takes executable and arguments from their definition, if they are not
    /// known yet; says whether they are news.
    pub(crate) fn describe(&mut self, payload: &[u8]) -> bool {
        // No honest definition is longer.
        const MAX_BYTES: usize = 8192;
        if !self.executable.is_empty() {
            return false;
        }
        let payload = payload.get(..MAX_BYTES).unwrap_or(payload);
        let mut parts = payload.split(|&byte| byte == 0).map(lossy);
        self.executable = parts.next().unwrap_or_default();
        self.arguments = parts.collect();
        // Behind the zero byte of the last argument there is nothing.
        self.arguments.pop_if(|last| last.is_empty());
        !self.executable.is_empty()
    }

    /// Takes the rank from MPI, if no launcher gave one; says whether it is news.
    pub(crate) fn take_rank(&mut self, payload: &[u8]) -> bool {
        let Some((rank, size)) = rank_and_size(payload) else { return false };
        let is_news = self.rank.is_none() && rank < size;
        if is_news {
            (self.rank, self.world_size) = (Some(rank), Some(size));
        }
        is_news
    }
}

/// The two numbers that a definition of a rank holds.
fn rank_and_size(payload: &[u8]) -> Option<(u32, u32)> {
    let (rank, rest) = payload.split_first_chunk()?;
    let (size, _) = rest.split_first_chunk()?;
    Some((u32::from_ne_bytes(*rank), u32::from_ne_bytes(*size)))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All processes, found by what their streams say.
#[derive(Debug, Default)]
pub(crate) struct JobProcesses {
    all: Vec<JobProcess>,
    /// A system gives numbers again, but not to a process that began at the
    /// same nanosecond.
    by_identity: HashMap<(u32, u64), ProcessNumber>,
}

impl JobProcesses {
    pub(crate) fn all(&self) -> &[JobProcess] {
        &self.all
    }

    pub(crate) fn get_mut(&mut self, number: ProcessNumber) -> Option<&mut JobProcess> {
        self.all.get_mut(number.index())
    }

    /// The process of a stream, and whether it was seen for the first time.
    pub(crate) fn enter(&mut self, info: &StreamInfo) -> (ProcessNumber, Appearance) {
        let identity = (info.pid, info.process_start_ns);
        if let Some(&number) = self.by_identity.get(&identity) {
            return (number, Appearance::Again);
        }
        if self.all.len() >= MAX_PROCESSES {
            return (ProcessNumber(MAX_PROCESSES as u32 - 1), Appearance::Again);
        }
        let number = ProcessNumber(self.all.len() as u32);
        self.all.push(JobProcess::new(info));
        self.by_identity.insert(identity, number);
        (number, Appearance::First)
    }
}

/// Whether a process was known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appearance {
    First,
    Again,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executable_and_arguments_are_taken_once() {
        let mut process = JobProcess::default();
        assert!(process.describe(b"/bin/cat\0cat\0a b\0\xff\0"));
        assert!(!process.describe(b"/bin/other\0other\0"));
        assert_eq!(process.executable, "/bin/cat");
        assert_eq!(process.arguments, ["cat", "a b", "\u{fffd}"]);
    }

    #[test]
    fn a_rank_is_taken_once_and_only_where_none_was_given() {
        let rank_and_size =
            |rank: u32, size: u32| [rank.to_ne_bytes(), size.to_ne_bytes()].concat();
        let mut process = JobProcess::default();
        for senseless in [&rank_and_size(4, 4)[..], &rank_and_size(1, 4)[..7], b""] {
            assert!(!process.take_rank(senseless));
        }
        assert!(
            process.take_rank(&rank_and_size(1, 4)) && !process.take_rank(&rank_and_size(2, 4))
        );
        assert_eq!((process.rank, process.world_size), (Some(1), Some(4)));
    }

    #[test]
    fn arguments_may_be_empty_or_cut_off() {
        let mut process = JobProcess::default();
        assert!(!process.describe(b""));
        assert!(process.describe(b"/bin/cat\0cat\0\0half"));
        assert_eq!(process.arguments, ["cat", "", "half"]);
    }
}
