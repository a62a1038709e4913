// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a running job reports about itself: a file of bounded size in its directory.
//!
//! ```text
//!  offset  bytes
//!       0      8  magic "ioraSTAT"
//!       8      4  version, 1
//!      12      4  length of the document
//!      16      8  sequence          odd while the document is being written
//!      24      8  wanted_until_ns   CLOCK_MONOTONIC; stored by readers
//!      64      …  the document, JSON, at most 64 KiB
//! ```
//!
//! The document is written a few times a second while `wanted_until_ns` lies ahead, and
//! not at all otherwise. Numbers are in native byte order. A reader takes the sequence
//! before and after the document: if it is even and the same, the document is complete.
//! Everything is read and written by system calls, so truncating the file only causes
//! an error.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ioracle_spool::layout::STATUS_FILE;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::shared::numbers::{bytes, counted, duration, grouped};
use crate::shared::text::without_control_characters;

/// Shown instead of an unknown path.
pub const UNKNOWN_FILE: &str = "?";

const MAGIC: [u8; 8] = *b"ioraSTAT";
const VERSION: u32 = 1;
/// Where the words of the header and the document are.
const LENGTH_AT: u64 = 12;
const SEQUENCE_AT: u64 = 16;
const WANTED_AT: u64 = 24;
const DOCUMENT_AT: u64 = 64;
/// The longest document.
const MAX_BYTES: usize = 64 * 1024;
/// How long a job continues to write after a look.
const WANTED_FOR: Duration = Duration::from_secs(3);
/// How long to wait for a job to write, and between two looks.
const PATIENCE: Duration = Duration::from_millis(1500);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The state of a job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobStatus {
    /// Name of the application.
    pub application: String,
    /// The `ioracle run` that watches it.
    pub pid: u32,
    /// Seconds since the program was started.
    pub elapsed_s: f64,
    /// Processes seen so far.
    pub processes: u64,
    /// Threads that have made calls and have not ended.
    pub streams: u64,
    /// Calls seen so far, and per second since the last document.
    pub events: u64,
    pub events_per_s: f64,
    /// Bytes moved so far, and per second since the last document.
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub read_bytes_per_s: f64,
    pub written_bytes_per_s: f64,
    /// Whether learning is postponed, so that these figures lag behind.
    pub learns_later: bool,
    /// How well operations were predicted so far, in percent.
    pub score: Option<StatusScore>,
    /// What was read ahead of the program, if that is done.
    pub prefetch: Option<PrefetchStatus>,
    /// The busiest processes.
    pub busiest_processes: Vec<ProcessStatus>,
    /// The busiest threads.
    pub busiest: Vec<ThreadStatus>,
}

/// How well operations were predicted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StatusScore {
    pub operations: u64,
    pub context_accuracy: f64,
    pub hit_ratio: f64,
}

/// What was read ahead of the program so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PrefetchStatus {
    /// Bytes that were read ahead, and that the program has read of them.
    pub bytes: u64,
    pub used: u64,
    /// Requests under way.
    pub in_flight: u64,
    /// Estimated time that reads did not have to wait.
    pub saved_s: f64,
    /// Whether prefetching has given up.
    pub stopped: bool,
}

/// What a process is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessStatus {
    /// Its number in the order of appearance, and in the system.
    pub process: u32,
    pub pid: u32,
    pub rank: Option<u32>,
    /// Name of its executable.
    pub name: String,
    /// Calls so far, and per second since the last document.
    pub events: u64,
    pub events_per_s: f64,
    /// Bytes moved by file operations so far, and per second since then.
    pub bytes_read: u64,
    pub bytes_written: u64,
    pub read_bytes_per_s: f64,
    pub written_bytes_per_s: f64,
}

/// What a thread is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadStatus {
    /// Number of the process, in the order of appearance, and of its thread.
    pub process: u32,
    pub thread: u32,
    /// Operations so far.
    pub operations: u64,
    /// How long it has been inside a call.
    pub inside_s: Option<f64>,
    /// The loops it is in, outermost first.
    pub loops: Vec<LoopStatus>,
    /// What it does next.
    pub next: Vec<NextStatus>,
    /// The next burst.
    pub next_burst: Option<BurstStatus>,
}

/// A loop, and how far it has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoopStatus {
    /// The turn it is in, from 1.
    pub turn: u64,
    /// How many turns it has had before, or typically has; `None` if it has never ended.
    pub turns: Option<u64>,
    /// Operations of a turn.
    pub operations: u64,
}

impl LoopStatus {
    /// `turn 3 of 30`; just `turn 3` if the loop has never ended.
    pub fn in_words(&self) -> String {
        let of = self.turns.map(|turns| format!(" of {}", grouped(turns))).unwrap_or_default();
        format!("turn {}{of}", grouped(self.turn))
    }
}

/// An operation that is expected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NextStatus {
    pub function: String,
    pub file: String,
    pub offset: Option<u64>,
    pub size: u64,
    /// From now to its start; 0 if it is late.
    pub in_s: f64,
    pub probability: f64,
}

/// A burst that is expected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BurstStatus {
    pub in_s: f64,
    pub operations: u64,
    pub bytes: u64,
}

/// The file of a job, for its writer.
pub struct StatusFile {
    file: File,
    sequence: u64,
}

impl StatusFile {
    /// Makes it in the directory of a job.
    pub fn create(directory: &Path) -> io::Result<StatusFile> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600);
        let file = options.open(directory.join(STATUS_FILE))?;
        let mut header = [0; DOCUMENT_AT as usize];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_ne_bytes());
        file.write_all_at(&header, 0)?;
        Ok(StatusFile { file, sequence: 0 })
    }

    /// Whether somebody has looked a moment ago.
    pub fn is_wanted(&self) -> bool {
        read_u64(&self.file, WANTED_AT).is_ok_and(|until_ns| now_ns() < until_ns)
    }

    /// Writes a document. Of one that is too long, only what the job does as a whole is
    /// kept.
    pub fn write(&mut self, status: &JobStatus) -> io::Result<()> {
        let mut document = serde_json::to_vec(status)?;
        if document.len() > MAX_BYTES {
            let (busiest, busiest_processes) = (Vec::new(), Vec::new());
            document =
                serde_json::to_vec(&JobStatus { busiest, busiest_processes, ..status.clone() })?;
        }
        let length = document.len() as u32;
        self.advance()?;
        self.file.write_all_at(&document, DOCUMENT_AT)?;
        self.file.write_all_at(&length.to_ne_bytes(), LENGTH_AT)?;
        self.advance()
    }

    fn advance(&mut self) -> io::Result<()> {
        self.sequence += 1;
        self.file.write_all_at(&self.sequence.to_ne_bytes(), SEQUENCE_AT)
    }
}

/// Why a job has no status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Silence {
    /// Its directory is gone.
    Ended,
    /// There is no file, or none of this version.
    NoStatus,
    /// Nothing new was written although it was asked for.
    NoAnswer,
    /// The document was not written completely.
    Torn,
    /// The document makes no sense.
    Damaged,
    /// The directory is another user's.
    NotOurs,
}

impl Silence {
    /// The sentence about a job.
    pub fn sentence(self) -> &'static str {
        match self {
            Silence::Ended => "it has ended",
            Silence::NoStatus => "it has no status; is it from another version of ioracle?",
            Silence::NoAnswer => "it does not answer; is it stopped, or the machine very busy?",
            Silence::Torn => "its status is incomplete; it seems to have stopped while writing it",
            Silence::Damaged => "its status makes no sense; something else has written to the file",
            Silence::NotOurs => "it belongs to another user, who alone can look at it",
        }
    }
}

/// Asks a job for its state, and waits for the answer.
pub fn ask(directory: &Path) -> Result<JobStatus, Silence> {
    let mut reader = StatusReader::open(directory)?;
    let started = Instant::now();
    let mut answer = Err(Silence::NoAnswer);
    while started.elapsed() < PATIENCE {
        match reader.news() {
            // The first document has no rates, as nothing was counted for them before.
            Ok(status) if answer.is_ok() => return Ok(status),
            Ok(status) => answer = Ok(status),
            Err(why) if answer.is_err() => answer = Err(why),
            Err(_) => {}
        }
        std::thread::sleep(LOOK_EVERY);
    }
    answer
}

/// The file of a job, for a reader.
pub struct StatusReader {
    file: File,
    directory: PathBuf,
    /// The sequence of the last document.
    seen: u64,
}

impl StatusReader {
    /// Begins to look at a job.
    pub fn open(directory: &Path) -> Result<StatusReader, Silence> {
        let file = open(directory)?;
        let seen = read_u64(&file, SEQUENCE_AT).map_err(|_| Silence::NoStatus)?;
        let reader = StatusReader { file, directory: directory.to_owned(), seen };
        reader.want()?;
        Ok(reader)
    }

    /// A document that was written since the last one; ask at least every three
    /// seconds.
    pub fn news(&mut self) -> Result<JobStatus, Silence> {
        self.want()?;
        match self.read() {
            Err(_) if !self.directory.exists() => Err(Silence::Ended),
            read => read,
        }
    }

    /// Notes that somebody is watching.
    fn want(&self) -> Result<(), Silence> {
        let until_ns = now_ns().saturating_add(WANTED_FOR.as_nanos() as u64);
        let wanted = self.file.write_all_at(&until_ns.to_ne_bytes(), WANTED_AT);
        wanted.map_err(|_| Silence::NoStatus)
    }

    fn read(&mut self) -> Result<JobStatus, Silence> {
        let sequence = read_u64(&self.file, SEQUENCE_AT).map_err(|_| Silence::Torn)?;
        if !sequence.is_multiple_of(2) {
            return Err(Silence::Torn);
        }
        if sequence == self.seen {
            return Err(Silence::NoAnswer);
        }
        let mut length = [0; 4];
        self.file.read_exact_at(&mut length, LENGTH_AT).map_err(|_| Silence::Torn)?;
        let length = u32::from_ne_bytes(length) as usize;
        if length > MAX_BYTES {
            return Err(Silence::Damaged);
        }
        let mut document = vec![0; length];
        self.file.read_exact_at(&mut document, DOCUMENT_AT).map_err(|_| Silence::Torn)?;
        let is_same = read_u64(&self.file, SEQUENCE_AT).is_ok_and(|after| after == sequence);
        if !is_same {
            return Err(Silence::Torn);
        }
        let status = serde_json::from_slice(&document).map_err(|_| Silence::Damaged)?;
        self.seen = sequence;
        Ok(printable(status))
    }
}

/// A status that is safe to print on any terminal: names come from the program, and
/// anything could have written the file.
fn printable(mut status: JobStatus) -> JobStatus {
    let clean = |text: &mut String| *text = without_control_characters(text);
    clean(&mut status.application);
    for process in &mut status.busiest_processes {
        clean(&mut process.name);
    }
    for next in status.busiest.iter_mut().flat_map(|stream| &mut stream.next) {
        clean(&mut next.file);
        clean(&mut next.function);
    }
    status
}

/// What a job has done, and does a second.
pub fn traffic(status: &JobStatus) -> String {
    format!(
        "{} ({}/s), read {} ({}/s), wrote {} ({}/s)",
        counted(status.events, "call"),
        grouped(whole(status.events_per_s)),
        bytes(status.bytes_read),
        bytes(whole(status.read_bytes_per_s)),
        bytes(status.bytes_written),
        bytes(whole(status.written_bytes_per_s)),
    )
}

/// When something is expected.
pub fn soon(in_s: f64) -> String {
    if in_s > 0.0 { format!("in {}", duration(in_s)) } else { "now".to_owned() }
}

/// A time such as `1:02:03`.
pub fn clock(elapsed_s: f64) -> String {
    let s = whole(elapsed_s);
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

/// A number without its fraction, whatever a file says.
pub fn whole(value: f64) -> u64 {
    value.clamp(0.0, 1e18) as u64
}

/// Opens the status file of a directory, whose content is not trusted.
fn open(directory: &Path) -> Result<File, Silence> {
    let about = directory.symlink_metadata().map_err(|_| Silence::Ended)?;
    let us = rustix::process::geteuid().as_raw();
    if !about.is_dir() {
        return Err(Silence::NoStatus);
    }
    if about.uid() != us {
        return Err(Silence::NotOurs);
    }
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let opened = OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(flags.bits().cast_signed())
        .open(directory.join(STATUS_FILE));
    let file = opened.map_err(|_| Silence::NoStatus)?;
    let is_ours = file.metadata().is_ok_and(|about| about.is_file() && about.uid() == us);
    let mut head = [0; 12];
    let is_status = is_ours && file.read_exact_at(&mut head, 0).is_ok() && head[..8] == MAGIC;
    if is_status && head[8..] == VERSION.to_ne_bytes() { Ok(file) } else { Err(Silence::NoStatus) }
}

fn read_u64(file: &File, at: u64) -> io::Result<u64> {
    let mut word = [0; 8];
    file.read_exact_at(&mut word, at)?;
    Ok(u64::from_ne_bytes(word))
}

/// The system's monotonic clock, which all processes of a machine share.
pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec
        .cast_unsigned()
        .saturating_mul(1_000_000_000)
        .saturating_add(now.tv_nsec.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn status(events: u64) -> JobStatus {
        JobStatus { application: "app".to_owned(), events, ..JobStatus::default() }
    }

    #[test]
    fn a_job_writes_when_it_is_asked_and_not_before() {
        let here = tempfile::tempdir().unwrap();
        let mut file = StatusFile::create(here.path()).unwrap();
        assert!(!file.is_wanted());
        thread::scope(|scope| {
            let asked = scope.spawn(|| ask(here.path()));
            while !file.is_wanted() {
                thread::sleep(Duration::from_millis(1));
            }
            file.write(&status(7)).unwrap();
            thread::sleep(10 * LOOK_EVERY);
            file.write(&status(8)).unwrap();
            assert_eq!(asked.join().unwrap(), Ok(status(8)), "the one with rates");
        });
    }

    #[test]
    fn what_was_not_written_to_its_end_is_told_from_no_answer() {
        let here = tempfile::tempdir().unwrap();
        let mut file = StatusFile::create(here.path()).unwrap();
        file.write(&status(1)).unwrap();
        assert_eq!(ask(here.path()), Err(Silence::NoAnswer), "nobody writes any more");
        file.advance().unwrap();
        assert_eq!(ask(here.path()), Err(Silence::Torn), "killed in the middle");
    }

    #[test]
    fn files_that_are_none_and_directories_that_are_gone_are_told_apart() {
        let here = tempfile::tempdir().unwrap();
        assert_eq!(ask(here.path()), Err(Silence::NoStatus));
        std::fs::write(here.path().join(STATUS_FILE), "something").unwrap();
        assert_eq!(ask(here.path()), Err(Silence::NoStatus));
        assert_eq!(ask(&here.path().join("gone")), Err(Silence::Ended));
    }

    #[test]
    fn a_document_that_lies_is_refused_or_made_harmless() {
        let here = tempfile::tempdir().unwrap();
        let mut file = StatusFile::create(here.path()).unwrap();
        let mut reader = StatusReader::open(here.path()).unwrap();
        let escapes = "\u{1b}[2J\u{7}\u{202e}name".to_owned();
        file.write(&JobStatus { application: escapes, ..status(1) }).unwrap();
        assert_eq!(reader.news().unwrap().application, "?[2J??name");
        for (at, word) in [(LENGTH_AT, u32::MAX), (LENGTH_AT, 7), (DOCUMENT_AT, 0)] {
            file.write(&status(2)).unwrap();
            file.file.write_all_at(&word.to_ne_bytes(), at).unwrap();
            assert_eq!(reader.news(), Err(Silence::Damaged), "{word} at {at}");
        }
        file.write(&status(3)).unwrap();
        file.file.set_len(100).unwrap();
        assert_eq!(reader.news(), Err(Silence::Torn), "cut short");
    }

    #[test]
    fn a_document_that_is_too_long_keeps_what_is_said_of_the_job() {
        let here = tempfile::tempdir().unwrap();
        let mut file = StatusFile::create(here.path()).unwrap();
        let mut reader = StatusReader::open(here.path()).unwrap();
        let process = ProcessStatus { name: "x".repeat(MAX_BYTES), ..ProcessStatus::default() };
        file.write(&JobStatus { busiest_processes: vec![process], ..status(4) }).unwrap();
        assert_eq!(reader.news(), Ok(status(4)));
    }

    /// While one thread keeps writing, every document that is read is complete.
    #[test]
    fn no_document_is_ever_half_of_one_and_half_of_another() {
        let here = tempfile::tempdir().unwrap();
        let mut file = StatusFile::create(here.path()).unwrap();
        let mut reader = StatusReader::open(here.path()).unwrap();
        let whole = |n: u64| {
            let stream = ThreadStatus { operations: n, ..ThreadStatus::default() };
            JobStatus { busiest: vec![stream; (n % 20) as usize], ..status(n) }
        };
        file.write(&whole(0)).unwrap();
        thread::scope(|scope| {
            let writing = scope.spawn(|| (1..3000).for_each(|n| file.write(&whole(n)).unwrap()));
            while !writing.is_finished() {
                if let Ok(read) = reader.news() {
                    assert_eq!(read, whole(read.events));
                }
            }
        });
    }
}
