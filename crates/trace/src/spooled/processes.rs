// SPDX-License-Identifier: MIT OR Apache-2.0

//! The processes of a job, in the order of appearance.

use std::collections::HashMap;

use ioracle_events::{APPLICATION_VARIABLES, ProcessIdentity, application};
use ioracle_spool::StreamInfo;

use crate::provenance::MAX_COMMAND_BYTES;
use crate::spooled::observer::ProcessNumber;

/// The most processes that are distinguished. The last one stands for all that follow:
/// it gets their events and threads.
pub const MAX_PROCESSES: usize = 1 << 16;

/// The longest name of an application that a variable may give.
const MAX_NAME_BYTES: usize = 255;

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
    /// Until when it is known to have run, on the system's monotonic clock: the end of
    /// its last call, or of the last thread that ended in order.
    pub end_ns: Option<u64>,
    /// Threads that were seen.
    pub n_threads: u32,
    /// Events so far.
    pub n_events: u64,
    /// End of the latest event, since the start of the process.
    pub last_ns: u64,
    /// Variables of its environment that name the application.
    pub variables: Vec<(String, String)>,
    /// The name that its program exports.
    pub exported: Option<String>,
    /// The arguments as the system gives them, each ended by a zero byte.
    pub argument_bytes: Vec<u8>,
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

    /// Takes executable and arguments from their definition, if they are not known yet;
    /// returns whether they are new.
    pub(crate) fn describe(&mut self, payload: &[u8]) -> bool {
        // No valid definition is longer.
        const MAX_BYTES: usize = 8192;
        if !self.executable.is_empty() {
            return false;
        }
        let payload = payload.get(..MAX_BYTES).unwrap_or(payload);
        let end = payload.iter().position(|&byte| byte == 0).unwrap_or(payload.len());
        self.executable = lossy(&payload[..end]);
        self.argument_bytes = payload.get(end + 1..).unwrap_or_default().to_vec();
        self.split_arguments();
        self.name_application();
        !self.executable.is_empty()
    }

    /// Takes more of the arguments, those from the byte `at` on; returns whether they
    /// are new.
    pub(crate) fn take_arguments(&mut self, at: u64, payload: &[u8]) -> bool {
        let room = MAX_COMMAND_BYTES - self.argument_bytes.len();
        if at != self.argument_bytes.len() as u64 || room == 0 || self.executable.is_empty() {
            return false;
        }
        let payload = payload.get(..room).unwrap_or(payload);
        self.argument_bytes.extend_from_slice(payload);
        self.split_arguments();
        !payload.is_empty()
    }

    /// Takes the variables that name the application. They come before executable
    /// and arguments.
    pub(crate) fn take_variables(&mut self, payload: &[u8]) {
        if !self.variables.is_empty() || !self.executable.is_empty() {
            return;
        }
        let assignments = payload.split(|&byte| byte == 0).take(APPLICATION_VARIABLES.len());
        let assignments = assignments.filter_map(|assignment| {
            let (name, value) = lossy(assignment).split_once('=').map(own)?;
            (value.len() <= MAX_NAME_BYTES).then_some((name, value))
        });
        self.variables = assignments.collect();
    }

    /// The name that the program itself exports, where no variable names it.
    pub(crate) fn take_exported(&mut self, name: String) {
        self.exported = Some(name);
        self.name_application();
    }

    /// A thread has ended, then or later.
    pub(crate) fn thread_ended(&mut self, end_ns: u64) {
        let not_before = end_ns.max(self.start_ns).min(i64::MAX as u64);
        self.end_ns = Some(self.end_ns.map_or(not_before, |before| before.max(not_before)));
    }

    fn split_arguments(&mut self) {
        self.arguments = self.argument_bytes.split(|&byte| byte == 0).map(lossy).collect();
        // Nothing follows the zero byte of the last argument.
        self.arguments.pop_if(|last| last.is_empty());
    }

    fn name_application(&mut self) {
        self.application = application(&ProcessIdentity {
            variables: &self.variables,
            exported: self.exported.as_deref(),
            executable: &self.executable,
            arguments: &self.arguments,
        });
    }

    /// Takes the rank from MPI, if no launcher gave one; returns whether it is new.
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

fn own((name, value): (&str, &str)) -> (String, String) {
    (name.to_owned(), value.to_owned())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// All processes, found by what their streams say.
#[derive(Debug, Default)]
pub(crate) struct JobProcesses {
    all: Vec<JobProcess>,
    /// The system reuses numbers, but not to a process that began at the same
    /// nanosecond.
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
    fn long_command_lines_are_put_together_up_to_a_bound() {
        let mut process = JobProcess::default();
        assert!(!process.take_arguments(0, b"x"), "nothing is known of it");
        process.describe(b"/bin/ld\0ld\0a.o\0b.");
        assert!(process.take_arguments(9, b"o\0c.o\0"));
        assert_eq!(process.arguments, ["ld", "a.o", "b.o", "c.o"]);
        assert!(!process.take_arguments(3, b"x") && !process.take_arguments(99, b"x"));
        let at = process.argument_bytes.len() as u64;
        assert!(process.take_arguments(at, &[b'x'; 2 * MAX_COMMAND_BYTES]));
        assert_eq!(process.argument_bytes.len(), MAX_COMMAND_BYTES);
    }

    #[test]
    fn an_application_goes_by_its_variables_then_by_its_program() {
        let named = |variables: &[u8], exported: Option<&str>| {
            let mut process = JobProcess::default();
            process.take_variables(variables);
            process.describe(b"/usr/bin/python3.11\0python3\0run.py\0");
            if let Some(name) = exported {
                process.take_exported(name.to_owned());
            }
            process.application
        };
        assert_eq!(named(b"", None), "run.py");
        assert_eq!(named(b"", Some("compiled")), "compiled");
        assert_eq!(named(b"IORACLE_APP=mine\0", Some("compiled")), "mine");
        assert_eq!(named(b"IORACLE_APP=a\0CURRENT_ACCUM_APP_NAME=b\0", None), "b");
        assert_eq!(named(b"nonsense\xff\0=", None), "run.py");
        assert_eq!(APPLICATION_VARIABLES, ioracle_spool::settings::APPLICATION_VARIABLES);
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
