// SPDX-License-Identifier: MIT OR Apache-2.0

//! Takes what is told of a job and makes a trace of it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use foldhash::fast::RandomState;
use ioracle_events::{ContextId, Event, FileId, StreamId};

use crate::error::Error;
use crate::spooled::{Observer, Process, ProcessNumber, UNKNOWN_FRAMES};
use crate::writing::description::Description;
use crate::writing::earlier::{self, Earlier};
use crate::writing::finish::{self, Written};
use crate::writing::log::{Entry, LogWriter, MAGIC, Row, Seen, line};
use crate::writing::numbers::Numbers;
use crate::writing::part::unwritable;

/// The log, in the directory of the trace.
pub(crate) const LOG: &str = "recording.part";

/// Files whose presence means that a directory holds a trace.
const TRACE: [&str; 7] = [
    "events.csv.zst",
    "events.csv",
    "stacks.csv.zst",
    "stacks.csv",
    "files.csv.zst",
    "files.csv",
    "meta.json",
];

/// Writes a trace in the CSV form into a directory of its own.
///
/// A failure to write is kept and given by the next [`CsvWriter::flush`]; what
/// is told after it is not written. Dropped before it is finished, it leaves a
/// recording that [`CsvWriter::reopen`] takes up again.
#[derive(Debug)]
pub struct CsvWriter {
    directory: PathBuf,
    log: LogWriter,
    failure: Option<Failure>,
    /// Numbers of the log by those that are told: they differ if the log was
    /// begun by another writer.
    contexts: Numbers,
    files: Numbers,
    processes: Vec<u32>,
    threads: HashMap<StreamId, u32, RandomState>,
    /// All processes of the log.
    seen: Vec<Seen>,
    earlier: Earlier,
}

impl CsvWriter {
    /// Begins a trace in `directory`, which is made if it is not there and must
    /// not hold one.
    pub fn create(directory: &Path) -> Result<CsvWriter, Error> {
        let path = directory.join(LOG);
        fs::create_dir_all(directory).map_err(|source| unwritable(directory, source))?;
        refuse_trace(directory)?;
        let file =
            File::options().write(true).create_new(true).open(&path).map_err(
                |source| match source.kind() {
                    io::ErrorKind::AlreadyExists => Error::Unfinished { path: directory.into() },
                    _ => unwritable(&path, source),
                },
            )?;
        let mut writer = CsvWriter::new(directory, file, Earlier::default());
        writer.note(|log| log.write(MAGIC));
        writer.begin()
    }

    /// Takes up a recording whose writer ended before it was finished.
    pub fn reopen(directory: &Path) -> Result<CsvWriter, Error> {
        refuse_trace(directory)?;
        let (file, earlier) = earlier::open(&directory.join(LOG))?;
        CsvWriter::new(directory, file, earlier).begin()
    }

    /// Whether `directory` holds a recording that was not finished.
    pub fn is_unfinished(directory: &Path) -> bool {
        directory.join(LOG).is_file()
    }

    /// The directory of the trace.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Hands all that was told to the system, so that it outlives this process.
    /// To be called once a second: the spool may be lost together with it.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.note(LogWriter::flush);
        match self.failure {
            Some(failure) => Err(unwritable(&self.directory.join(LOG), failure.error())),
            None => Ok(()),
        }
    }

    /// Makes the trace.
    pub fn finish(mut self, description: &Description) -> Result<Written, Error> {
        self.flush()?;
        let path = self.directory.join(LOG);
        let log = File::open(&path).map_err(|source| unwritable(&path, source))?;
        let written = finish::finish(&self.directory, log, &self.seen, description)?;
        fs::remove_file(&path).map_err(|source| unwritable(&path, source))?;
        Ok(written)
    }

    /// Gives the recording up and deletes what there is of it.
    pub fn discard(self) -> Result<(), Error> {
        let path = self.directory.join(LOG);
        fs::remove_file(&path).map_err(|source| unwritable(&path, source))
    }

    fn new(directory: &Path, file: File, mut earlier: Earlier) -> CsvWriter {
        CsvWriter {
            directory: directory.into(),
            log: LogWriter::new(file),
            failure: None,
            contexts: std::mem::take(&mut earlier.contexts),
            files: std::mem::take(&mut earlier.files),
            processes: Vec::new(),
            threads: HashMap::default(),
            seen: std::mem::take(&mut earlier.seen),
            earlier,
        }
    }

    fn begin(mut self) -> Result<CsvWriter, Error> {
        self.push(&Entry::Writer { pid: std::process::id() });
        self.flush()?;
        Ok(self)
    }

    fn push(&mut self, entry: &Entry) {
        self.note(|log| log.push(entry));
    }

    /// Writes, unless that has failed before.
    fn note(&mut self, write: impl FnOnce(&mut LogWriter) -> io::Result<()>) {
        if self.failure.is_none() {
            self.failure = write(&mut self.log).err().map(Failure::from);
        }
    }

    /// The log's number of a process, a new one if need be.
    fn process_number(&mut self, number: ProcessNumber, process: &Process) -> u32 {
        if let Some(&known) = self.processes.get(number.index()) {
            return known;
        }
        let known = self.earlier.processes.get(&(process.pid, process.start_ns)).copied();
        let known = known.unwrap_or_else(|| {
            self.seen.push(Seen::default());
            self.seen.len() as u32 - 1
        });
        self.processes.push(known);
        known
    }
}

impl Observer for CsvWriter {
    fn process(&mut self, number: ProcessNumber, process: &Process) {
        let number = self.process_number(number, process);
        let seen = Seen {
            number,
            pid: process.pid,
            rank: process.rank,
            start_ns: process.start_ns,
            executable: line(&process.executable),
            command: line(&process.arguments.join(" ")),
        };
        self.push(&Entry::Process(seen.clone()));
        if let Some(place) = self.seen.get_mut(number as usize) {
            *place = seen;
        }
    }

    fn stream_began(&mut self, id: StreamId, tid: u32) {
        let Some(&process) = self.processes.get(id.rank as usize) else { return };
        let (thread, is_new) = self.earlier.thread(process, tid);
        self.threads.insert(id, thread);
        if is_new {
            self.push(&Entry::Stream { process, thread, tid });
        }
    }

    fn context(&mut self, id: ContextId, frames: &str) {
        let frames = line(frames);
        if let Some(id) = self.contexts.add(id.0, &frames) {
            self.push(&Entry::Context { id, frames });
        }
    }

    fn file(&mut self, id: FileId, path: &str) {
        let path = line(path);
        if let Some(id) = self.files.add(id.0, &path) {
            self.push(&Entry::File { id, path });
        }
    }

    fn event(&mut self, process: ProcessNumber, event: &Event) {
        let Some(&process) = self.processes.get(process.index()) else { return };
        let thread = self.threads.get(&event.stream).copied().unwrap_or(event.stream.thread);
        if self.contexts.get(event.context.0).is_none() {
            self.context(event.context, UNKNOWN_FRAMES);
        }
        let mut row = Row::new(process, thread, event);
        row.context = self.contexts.get(row.context).unwrap_or_default();
        row.file = self.files.get(row.file).unwrap_or(FileId::UNKNOWN.0);
        self.push(&Entry::Event(row));
    }

    fn stream_ended(&mut self, id: StreamId) {
        self.threads.remove(&id);
    }

    fn keep(&mut self) {
        self.note(LogWriter::flush);
    }
}

fn refuse_trace(directory: &Path) -> Result<(), Error> {
    match TRACE.iter().find(|name| directory.join(name).exists()) {
        Some(_) => Err(Error::Occupied { path: directory.into() }),
        None => Ok(()),
    }
}

/// An error of the system that can be told more than once.
#[derive(Clone, Copy, Debug)]
struct Failure {
    kind: io::ErrorKind,
    code: Option<i32>,
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure { kind: error.kind(), code: error.raw_os_error() }
    }
}

impl Failure {
    fn error(self) -> io::Error {
        self.code.map_or(self.kind.into(), io::Error::from_raw_os_error)
    }
}
