// SPDX-License-Identifier: MIT OR Apache-2.0

//! Takes what is told of a job and makes a trace of it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use foldhash::fast::RandomState;
use ioracle_events::{ContextId, Event, FileId, StreamId};

use crate::error::Error;
use crate::native::{
    BlockRoom, ChunkWriter, EVENTS, EventOrder, FileHead, Storage, StreamKey, StreamWriters,
    TimePrecision, VERSION,
};
use crate::spooled::{JobProcess, Observer, ProcessNumber, UNKNOWN_FRAMES};
use crate::writing::description::{Counts, Description};
use crate::writing::directory::Directory;
use crate::writing::earlier::{self, Earlier};
use crate::writing::finish::{self, Written};
use crate::writing::log::{LogEntry, LogWriter, LoggedEvent, LoggedProcess, LossMarker, line};
use crate::writing::numbers::Numbers;
use crate::writing::part::unwritable;
use crate::writing::pending::Pending;

/// The log, in the directory of the trace.
pub(crate) const LOG: &str = "recording.part";

/// A log that takes the place of the one before.
const NEXT_LOG: &str = "recording.next";
/// A log that could not be read to its end is kept under this name.
const DAMAGED_LOG: &str = "recording.damaged";

/// Bytes of a log, some two million events. Then all goes into blocks, and
/// another log begins.
const MAX_LOG_BYTES: u64 = 1 << 26;

/// Files whose presence means that a directory holds a trace.
const TRACE: [&str; 8] = [
    EVENTS,
    "events.csv.zst",
    "events.csv",
    "stacks.csv.zst",
    "stacks.csv",
    "files.csv.zst",
    "files.csv",
    "meta.json",
];

/// Writes a trace in the native form into a directory of its own.
///
/// A failure to write is kept and given by the next [`TraceRecorder::flush`]; what
/// is told after it is not written. Dropped before it is finished, it leaves a
/// recording that [`TraceRecorder::reopen`] takes up again.
#[derive(Debug)]
pub struct TraceRecorder {
    directory: PathBuf,
    times: TimePrecision,
    out: ChunkWriter,
    pending: Pending,
    streams: StreamWriters,
    log: LogWriter,
    marker: Option<LossMarker>,
    max_log_bytes: u64,
    failure: Option<Failure>,
    /// Numbers of the trace by those that are told: they differ if it was begun
    /// by another writer.
    contexts: Numbers,
    files: Numbers,
    processes: Vec<u32>,
    threads: HashMap<StreamId, Thread, RandomState>,
    /// Numbers of streams in the trace.
    numbers: HashMap<StreamKey, u32>,
    /// All processes of the trace.
    seen: Vec<LoggedProcess>,
    earlier: Earlier,
    /// Not known if another writer has written some of it.
    counts: Option<Counts>,
    n_damaged: u64,
    /// Why an earlier writer could not write all of it.
    incomplete: Option<String>,
}

/// A stream that is told.
#[derive(Clone, Copy, Debug)]
struct Thread {
    stream: StreamKey,
    number: u32,
    /// Up to which event another writer was told it.
    told: Option<u64>,
}

impl TraceRecorder {
    /// Begins a trace in `directory`, which is made if it is not there and must
    /// not hold one.
    pub fn create(directory: &Path, times: TimePrecision) -> Result<TraceRecorder, Error> {
        let _made = Directory::create(directory)?;
        if TraceRecorder::is_unfinished(directory) {
            return Err(Error::Unfinished { path: directory.into() });
        }
        refuse_trace(directory)?;
        let log = new_file(directory, LOG)?;
        let begun = new_file(directory, EVENTS).and_then(|file| {
            let head = FileHead { version: VERSION, order: EventOrder::ByTime };
            let out = ChunkWriter::create(Storage::File(file), head);
            let out = out.map_err(|source| unwritable(&directory.join(EVENTS), source))?;
            let log = begin_log(log, 0, times);
            Ok((out, log.map_err(|source| unwritable(&directory.join(LOG), source))?))
        });
        if begun.is_err() {
            // Nothing of it was good.
            let _ = fs::remove_file(directory.join(LOG));
        }
        let (out, (log, marker)) = begun?;
        Ok(TraceRecorder {
            directory: directory.into(),
            times,
            out,
            pending: Pending::new(),
            streams: StreamWriters::new(times, EventOrder::ByTime, 0),
            log,
            marker: Some(marker),
            max_log_bytes: MAX_LOG_BYTES,
            failure: None,
            contexts: Numbers::default(),
            files: Numbers::default(),
            processes: Vec::new(),
            threads: HashMap::default(),
            numbers: HashMap::new(),
            seen: Vec::new(),
            earlier: Earlier::default(),
            counts: Some(Counts::default()),
            n_damaged: 0,
            incomplete: None,
        })
    }

    /// Takes up a recording whose writer ended before it was finished, or a
    /// trace that was cut off: all that is good of it is kept.
    pub fn reopen(directory: &Path) -> Result<TraceRecorder, Error> {
        let earlier::ResumedRecording {
            out,
            streams,
            times,
            mut earlier,
            damaged,
            generation,
            incomplete,
        } = earlier::open(directory)?;
        let fail = |source| unwritable(&directory.join(LOG), source);
        if damaged.log {
            // Somebody may know how to read more of it.
            fs::rename(directory.join(LOG), directory.join(DAMAGED_LOG)).map_err(fail)?;
        }
        let n_damaged = damaged.n_chunks + u64::from(damaged.log);
        let (log, marker) = next_log(directory, generation, times).map_err(fail)?;
        Ok(TraceRecorder {
            directory: directory.into(),
            times,
            out,
            pending: Pending::new(),
            streams,
            log,
            marker: Some(marker),
            max_log_bytes: MAX_LOG_BYTES,
            failure: None,
            contexts: std::mem::take(&mut earlier.contexts),
            files: std::mem::take(&mut earlier.files),
            processes: Vec::new(),
            threads: HashMap::default(),
            numbers: std::mem::take(&mut earlier.numbers),
            seen: std::mem::take(&mut earlier.seen),
            earlier,
            counts: None,
            n_damaged,
            incomplete,
        })
    }

    /// Whether `directory` holds a recording that was not finished, or a trace
    /// that was cut off.
    pub fn is_unfinished(directory: &Path) -> bool {
        directory.join(LOG).is_file() || earlier::is_cut(&directory.join(EVENTS))
    }

    /// The directory of the trace.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Hands all that was told to the system, so that it outlives this process.
    /// To be called once a second: the spool may be lost together with it.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.note(LOG, |recorder| recorder.log.flush());
        match &self.failure {
            Some(failure) => Err(unwritable(&self.directory.join(failure.file), failure.error())),
            None => Ok(()),
        }
    }

    /// Makes the trace.
    pub fn finish(mut self, description: &Description) -> Result<Written, Error> {
        self.flush()?;
        self.cut(None);
        self.flush()?;
        let TraceRecorder { directory, out, seen, counts, contexts, files, n_damaged, .. } = self;
        let incomplete = self.incomplete;
        out.finish().map_err(|source| unwritable(&directory.join(EVENTS), source))?;
        let counts = match counts {
            Some(counts) => counts,
            None => Counts::of_trace(&directory)?,
        };
        let about = finish::About {
            directory: &directory,
            processes: &seen,
            counts,
            n_contexts: contexts.last().into(),
            n_files: files.last().into(),
            n_damaged,
            incomplete,
        };
        let written = finish::describe(about, description)?;
        let log = directory.join(LOG);
        fs::remove_file(&log).map_err(|source| unwritable(&log, source))?;
        Ok(written)
    }

    /// Gives the recording up and deletes what there is of it.
    pub fn discard(self) -> Result<(), Error> {
        remove(&self.directory, &[EVENTS, LOG])
    }

    /// Deletes a recording that was not finished, or a trace that was cut off,
    /// unless somebody still writes it. Gives the bytes that were freed.
    pub fn discard_unfinished(directory: &Path) -> Result<u64, Error> {
        if !TraceRecorder::is_unfinished(directory) {
            let path = directory.join(LOG).to_string_lossy().into();
            return Err(Error::NotARecording { path });
        }
        earlier::refuse_written(&directory.join(LOG))?;
        let there = |name: &&str| directory.join(name).is_file();
        let names: Vec<&str> =
            [EVENTS, "meta.json", NEXT_LOG, DAMAGED_LOG, LOG].into_iter().filter(there).collect();
        let n_bytes = |name: &&str| fs::metadata(directory.join(name)).map_or(0, |it| it.len());
        let freed = names.iter().map(n_bytes).sum();
        remove(directory, &names)?;
        Ok(freed)
    }

    /// Lets logs grow to this length only, for tests.
    #[doc(hidden)]
    pub fn with_log_limit(mut self, max_log_bytes: u64) -> TraceRecorder {
        self.max_log_bytes = max_log_bytes;
        self
    }

    /// Writes a definition to the log, and to the trace before its next block.
    fn define(&mut self, entry: &LogEntry) {
        self.note(LOG, |recorder| {
            recorder.pending.add(entry)?;
            recorder.log.push(entry)
        });
    }

    /// Writes the blocks of a stream, or of all.
    fn cut(&mut self, number: Option<u32>) {
        self.note(EVENTS, |recorder| {
            let TraceRecorder { pending, streams, out, .. } = recorder;
            pending.write(out)?;
            match number {
                Some(number) => streams.cut(number, out),
                None => streams.cut_all(out),
            }
        });
    }

    /// Begins another log, once all of this one is in blocks on the disk.
    fn rotate(&mut self) {
        self.cut(None);
        self.note(EVENTS, |recorder| recorder.out.sync());
        self.note(NEXT_LOG, |recorder| {
            let generation = recorder.streams.next_generation();
            let (log, marker) = next_log(&recorder.directory, generation, recorder.times)?;
            (recorder.log, recorder.marker) = (log, Some(marker));
            Ok(())
        });
    }

    /// Writes, unless that has failed before.
    fn note(
        &mut self,
        file: &'static str,
        write: impl FnOnce(&mut TraceRecorder) -> io::Result<()>,
    ) {
        if self.failure.is_none()
            && let Err(error) = write(self)
        {
            self.failure = Some(Failure::new(file, &error, self.marker.take()));
        }
    }

    /// The trace's number of a process, a new one if need be.
    fn process_number(&mut self, number: ProcessNumber, process: &JobProcess) -> u32 {
        if let Some(&known) = self.processes.get(number.index()) {
            return known;
        }
        let known = self.earlier.processes.get(&(process.pid, process.start_ns)).copied();
        let known = known.unwrap_or_else(|| {
            self.seen.push(LoggedProcess::default());
            self.seen.len() as u32 - 1
        });
        self.processes.push(known);
        known
    }

    /// Takes a stream up under its number in the trace.
    fn begin_stream(&mut self, id: StreamId, stream: StreamKey, tid: u32) -> Thread {
        let StreamKey { process, thread } = stream;
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(stream).or_insert(next);
        if number == next {
            self.define(&LogEntry::Stream { process, thread, tid });
        }
        let thread = Thread { stream, number, told: self.streams.last_told(number) };
        self.threads.insert(id, thread);
        thread
    }

    fn push(&mut self, Thread { number, .. }: Thread, row: LoggedEvent) {
        let function = row.function;
        self.note(LOG, |recorder| recorder.pending.name(function));
        let entry = LogEntry::Event(row);
        self.note(LOG, |recorder| recorder.log.push(&entry));
        let LogEntry::Event(row) = entry else { return };
        let process = row.process;
        let event = Event::from(row);
        if let Some(counts) = &mut self.counts {
            counts.count(process, &event);
        }
        if self.streams.push(number, &event) == BlockRoom::Full {
            self.cut(Some(number));
        }
        if self.log.n_bytes() > self.max_log_bytes {
            self.rotate();
        }
    }
}

impl Observer for TraceRecorder {
    fn process(&mut self, number: ProcessNumber, process: &JobProcess) {
        let number = self.process_number(number, process);
        let seen = LoggedProcess {
            number,
            pid: process.pid,
            rank: process.rank,
            start_ns: process.start_ns,
            executable: line(&process.executable),
            command: line(&process.arguments.join(" ")),
        };
        self.define(&LogEntry::Process(seen.clone()));
        if let Some(place) = self.seen.get_mut(number as usize) {
            *place = seen;
        }
    }

    fn stream_began(&mut self, id: StreamId, tid: u32) {
        let Some(&process) = self.processes.get(id.rank as usize) else { return };
        let thread = self.earlier.thread(process, tid);
        self.begin_stream(id, StreamKey { process, thread }, tid);
    }

    fn context(&mut self, id: ContextId, frames: &str) {
        let frames = self.contexts.fitting(line(frames));
        if let Some(id) = self.contexts.add(id.0, &frames) {
            self.define(&LogEntry::Context { id, frames });
        }
    }

    fn file(&mut self, id: FileId, path: &str) {
        let path = self.files.fitting(line(path));
        if let Some(id) = self.files.add(id.0, &path) {
            self.define(&LogEntry::File { id, path });
        }
    }

    fn event(&mut self, process: ProcessNumber, event: &Event) {
        let Some(&process) = self.processes.get(process.index()) else { return };
        let thread = self.threads.get(&event.stream).copied().unwrap_or_else(|| {
            let stream = StreamKey { process, thread: event.stream.thread };
            self.begin_stream(event.stream, stream, 0)
        });
        // A second reader of a spool finds what the first one had read but not
        // yet given back.
        if thread.told.is_some_and(|told| event.sequence <= told) {
            return;
        }
        if let Some(failure) = &mut self.failure {
            failure.n_lost += 1;
            return;
        }
        if self.contexts.get(event.context.0).is_none() {
            self.context(event.context, UNKNOWN_FRAMES);
        }
        let mut row = LoggedEvent::new(process, thread.stream.thread, event);
        row.context = self.contexts.get(row.context).unwrap_or_default();
        row.file = self.files.get(row.file).unwrap_or(FileId::UNKNOWN.0);
        self.push(thread, row);
    }

    fn stream_ended(&mut self, id: StreamId) {
        if let Some(thread) = self.threads.remove(&id) {
            self.cut(Some(thread.number));
        }
    }

    fn keep(&mut self) {
        self.note(LOG, |recorder| recorder.log.flush());
    }
}

/// Removes files of a directory.
fn remove(directory: &Path, names: &[&str]) -> Result<(), Error> {
    for path in names.iter().map(|name| directory.join(name)) {
        fs::remove_file(&path).map_err(|source| unwritable(&path, source))?;
    }
    Ok(())
}

/// Refuses a directory that holds a trace.
pub(crate) fn refuse_trace(directory: &Path) -> Result<(), Error> {
    match TRACE.iter().find(|name| directory.join(name).exists()) {
        Some(_) => Err(Error::Occupied { path: directory.into() }),
        None => Ok(()),
    }
}

/// Makes a file that must not be there.
fn new_file(directory: &Path, name: &str) -> Result<File, Error> {
    let path = directory.join(name);
    let file = File::options().read(true).write(true).create_new(true).open(&path);
    file.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Error::Unfinished { path: directory.into() },
        _ => unwritable(&path, source),
    })
}

fn begin_log(
    file: File,
    generation: u32,
    times: TimePrecision,
) -> io::Result<(LogWriter, LossMarker)> {
    let mut log = LogWriter::begin(file, generation)?;
    log.push(&LogEntry::Writer { pid: std::process::id(), times })?;
    let marker = log.reserve_mark()?;
    log.flush()?;
    Ok((log, marker))
}

/// Puts an empty log into the place of the one that is there.
fn next_log(
    directory: &Path,
    generation: u32,
    times: TimePrecision,
) -> io::Result<(LogWriter, LossMarker)> {
    let path = directory.join(NEXT_LOG);
    let log = begin_log(File::create(&path)?, generation, times)?;
    fs::rename(&path, directory.join(LOG))?;
    Ok(log)
}

/// An error of the system that can be told more than once. The log says that
/// there was one, and at the end what it cost.
#[derive(Debug)]
struct Failure {
    file: &'static str,
    kind: io::ErrorKind,
    code: Option<i32>,
    /// Events that came after it.
    n_lost: u64,
    marker: Option<LossMarker>,
}

impl Failure {
    fn new(file: &'static str, error: &io::Error, marker: Option<LossMarker>) -> Failure {
        let failure =
            Failure { file, kind: error.kind(), code: error.raw_os_error(), n_lost: 0, marker };
        failure.mark();
        failure
    }

    fn error(&self) -> io::Error {
        self.code.map_or(self.kind.into(), io::Error::from_raw_os_error)
    }

    fn mark(&self) {
        if let Some(marker) = &self.marker {
            // Errors without a number are our own, of input or output.
            const EIO: i32 = 5;
            marker.mark(self.code.unwrap_or(EIO), self.n_lost);
        }
    }
}

impl Drop for Failure {
    fn drop(&mut self) {
        self.mark();
    }
}
