// SPDX-License-Identifier: MIT OR Apache-2.0

//! Writes what a job does into a trace.

use std::collections::{BTreeMap, HashMap};
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
use crate::provenance::{Mount, SourcePlace, TABLES};
use crate::raw::{self, RawTail};
use crate::spooled::{
    JobProcess, ModuleLoaded, Observer, OpenedFile, ProcessNumber, UNKNOWN_FRAMES, escaped,
};
use crate::writing::description::{Counts, Description};
use crate::writing::directory::Directory;
use crate::writing::earlier::{self, Earlier, ResumedRecording};
use crate::writing::finish::{self, Written};
use crate::writing::log::{
    LogEntry, LogWriter, LoggedEvent, LoggedProcess, LossMarker, ProcessDetails, cell, commands,
    line,
};
use crate::writing::mounts::MountTable;
use crate::writing::numbers::Numbers;
use crate::writing::part::unwritable;
use crate::writing::pending::Pending;

/// The log, in the directory of the trace.
pub(crate) const LOG: &str = "recording.part";

/// A log that replaces the previous one.
const NEXT_LOG: &str = "recording.next";
/// A log that could not be read to its end is kept under this name.
const DAMAGED_LOG: &str = "recording.damaged";

/// Bytes of a log, some two million events. Then all goes into blocks, and
/// another log begins.
const MAX_LOG_BYTES: u64 = 1 << 26;

/// Files that show that a directory contains a trace.
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
/// A failure to write is kept and returned by the next [`TraceRecorder::flush`]; what
/// arrives after it is not written. Dropped before it is finished, it leaves a
/// recording that [`TraceRecorder::reopen`] takes up again.
#[derive(Debug)]
pub struct TraceRecorder {
    directory: PathBuf,
    times: TimePrecision,
    out: ChunkWriter,
    pending: Pending,
    streams: StreamWriters,
    /// None where blocks are made in memory.
    log: Option<LogWriter>,
    marker: Option<LossMarker>,
    max_log_bytes: u64,
    failure: Option<Failure>,
    /// Numbers of the trace by those of the job's reader: they differ if it was begun
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
    /// Whether the version of the trace contains more than events.
    keeps_provenance: bool,
    /// Processes about which there is something new, by number in the trace.
    news: BTreeMap<u32, JobProcess>,
    /// How much of the commands of processes was written.
    n_command_bytes: HashMap<u32, usize>,
    /// Where files lie, if that is looked for, and the numbers of mounts so far.
    mount_table: Option<MountTable>,
    mounts: HashMap<Mount, u32>,
}

/// A stream that is being recorded.
#[derive(Clone, Copy, Debug)]
struct Thread {
    stream: StreamKey,
    number: u32,
    /// The last event that another writer has recorded.
    recorded_up_to: Option<u64>,
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
            // Nothing in it was valid.
            let _ = fs::remove_file(directory.join(LOG));
        }
        let (out, (log, marker)) = begun?;
        Ok(TraceRecorder {
            directory: directory.into(),
            times,
            out,
            pending: Pending::new(),
            streams: StreamWriters::new(times, EventOrder::ByTime, 0),
            log: Some(log),
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
            keeps_provenance: true,
            news: BTreeMap::new(),
            n_command_bytes: HashMap::new(),
            mount_table: None,
            mounts: HashMap::new(),
        })
    }

    /// Takes up a recording whose writer ended before it was finished, or a trace that
    /// was cut off: everything valid in it is kept, and what exists in raw form is
    /// coded.
    pub fn reopen(directory: &Path) -> Result<TraceRecorder, Error> {
        let coded = RawTail::open(directory)?.map(|tail| code(directory, tail)).transpose()?;
        let mut recorder = TraceRecorder::reopen_coded(directory)?;
        if let Some((n_damaged, incomplete)) = coded {
            recorder.n_damaged += n_damaged;
            recorder.incomplete = incomplete.or(recorder.incomplete);
        }
        Ok(recorder)
    }

    fn reopen_coded(directory: &Path) -> Result<TraceRecorder, Error> {
        let found = earlier::open(directory)?;
        let fail = |source| unwritable(&directory.join(LOG), source);
        if found.damaged.log {
            // Some other tool may be able to read more of it.
            fs::rename(directory.join(LOG), directory.join(DAMAGED_LOG)).map_err(fail)?;
        }
        let log = next_log(directory, found.generation, found.times).map_err(fail)?;
        Ok(TraceRecorder::resume(directory, found, Some(log)))
    }

    /// Continues a recording in memory, for [`into_chunks`](Self::into_chunks).
    pub(crate) fn in_memory(found: ResumedRecording) -> TraceRecorder {
        TraceRecorder::resume(Path::new(""), found, None)
    }

    /// What was written in memory since.
    pub(crate) fn into_chunks(mut self) -> io::Result<Storage> {
        // What is known about a process may have come after its last event.
        while let Some((number, process)) = self.news.pop_first() {
            self.describe(number, &process);
        }
        self.cut(None);
        match &self.failure {
            Some(failure) => Err(failure.error()),
            None => Ok(self.out.into_storage()),
        }
    }

    fn resume(
        directory: &Path,
        found: ResumedRecording,
        log: Option<(LogWriter, LossMarker)>,
    ) -> TraceRecorder {
        let earlier::ResumedRecording { out, streams, times, mut earlier, damaged, .. } = found;
        let (log, marker) = log.unzip();
        TraceRecorder {
            directory: directory.into(),
            times,
            out,
            pending: Pending::new(),
            streams,
            log,
            marker,
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
            n_damaged: damaged.n_chunks + u64::from(damaged.log),
            incomplete: found.incomplete,
            keeps_provenance: found.version > 1,
            news: BTreeMap::new(),
            n_command_bytes: HashMap::new(),
            mount_table: None,
            mounts: HashMap::new(),
        }
    }

    /// Looks up where files are mounted, as this process sees it. Call it while the
    /// program runs: later, and on other machines, the answer may be wrong.
    pub fn with_mounts(mut self) -> TraceRecorder {
        self.mount_table = Some(MountTable::default());
        self
    }

    /// Where a frame (`module+0xoffset`) is in the source code, the innermost of
    /// inlined functions first; once for each.
    pub fn symbol(&mut self, frame: &str, places: &[SourcePlace]) {
        for (inlined, place) in (0..).zip(places) {
            self.define_more(|| LogEntry::Symbol {
                frame: cell(frame),
                inlined,
                line: place.line,
                source: cell(&place.source),
                function: line(&place.function),
            });
        }
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

    /// Hands all that was recorded to the system, so that it outlives this process.
    /// Call it once a second: the spool may be lost with the process.
    pub fn flush(&mut self) -> Result<(), Error> {
        while let Some((number, process)) = self.news.pop_first() {
            self.describe(number, &process);
        }
        self.flush_log();
        match &self.failure {
            Some(failure) => Err(unwritable(&self.directory.join(failure.file), failure.error())),
            None => Ok(()),
        }
    }

    /// Completes the trace.
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
        remove_raw(&directory)?;
        let log = directory.join(LOG);
        fs::remove_file(&log).map_err(|source| unwritable(&log, source))?;
        Ok(written)
    }

    /// Leaves the recording as it is, with a description: some of it exists only in raw
    /// form ([`Follower::keep_in`](crate::Follower::keep_in)). It can be read, and
    /// [`repair`](crate::repair) codes the rest.
    pub fn leave(mut self, description: &Description) -> Result<(), Error> {
        self.flush()?;
        finish::describe_unfinished(&self.directory, &self.seen, description)
    }

    /// Abandons the recording and deletes it.
    pub fn discard(self) -> Result<(), Error> {
        remove_raw(&self.directory)?;
        remove(&self.directory, &[EVENTS, LOG])
    }

    /// Deletes a recording that was not finished, or a trace that was cut off, unless
    /// it is still being written. Returns the number of bytes freed.
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
        let freed: u64 = names.iter().map(n_bytes).sum();
        let freed_raw = remove_raw(directory)?;
        remove(directory, &names)?;
        Ok(freed + freed_raw)
    }

    /// Limits the length of logs, for tests.
    #[doc(hidden)]
    pub fn with_log_limit(mut self, max_log_bytes: u64) -> TraceRecorder {
        self.max_log_bytes = max_log_bytes;
        self
    }

    /// Writes a definition to the log, and to the trace before its next block.
    fn define(&mut self, entry: &LogEntry) {
        self.note(LOG, |recorder| {
            recorder.pending.add(entry)?;
            recorder.log.as_mut().map_or(Ok(()), |log| log.push(entry))
        });
    }

    fn flush_log(&mut self) {
        self.note(LOG, |recorder| recorder.log.as_mut().map_or(Ok(()), LogWriter::flush));
    }

    /// The same for what traces of version 1 do not have.
    fn define_more(&mut self, entry: impl FnOnce() -> LogEntry) {
        if self.keeps_provenance {
            self.define(&entry());
        }
    }

    /// Writes what is known about a process besides what its events need.
    fn describe(&mut self, number: u32, process: &JobProcess) {
        self.define_more(|| {
            LogEntry::Details(ProcessDetails {
                number,
                parent_pid: process.parent_pid,
                start_realtime_ns: process.start_realtime_ns,
                application: cell(&process.application),
            })
        });
        if let Some(end_ns) = process.end_ns {
            self.define_more(|| LogEntry::End { process: number, end_ns });
        }
        let arguments: Vec<String> =
            process.arguments.iter().map(|it| escaped_argument(it)).collect();
        let command = arguments.join(" ");
        if self.n_command_bytes.insert(number, command.len()) != Some(command.len()) {
            for piece in commands(number, &command) {
                self.define_more(|| piece);
            }
        }
    }

    /// The number of a mount, which is written once.
    fn mount_number(&mut self, mount: Mount) -> u32 {
        let next = self.mounts.len() as u32 + 1;
        let number = *self.mounts.entry(mount.clone()).or_insert(next);
        if number == next {
            let Mount { kind, device, point } = mount;
            self.define_more(|| LogEntry::Mount { kind, device, point });
        }
        number
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
            (recorder.log, recorder.marker) = (Some(log), Some(marker));
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
        let thread = Thread { stream, number, recorded_up_to: self.streams.last_sequence(number) };
        self.threads.insert(id, thread);
        thread
    }

    fn push(&mut self, Thread { number, .. }: Thread, row: LoggedEvent) {
        let function = row.function;
        self.note(LOG, |recorder| recorder.pending.name(function));
        let entry = LogEntry::Event(row);
        self.note(LOG, |recorder| recorder.log.as_mut().map_or(Ok(()), |log| log.push(&entry)));
        let LogEntry::Event(row) = entry else { return };
        let process = row.process;
        let event = Event::from(row);
        if let Some(counts) = &mut self.counts {
            counts.count(process, &event);
        }
        if self.streams.push(number, &event) == BlockRoom::Full {
            self.cut(Some(number));
        }
        if self.log.as_ref().is_some_and(|log| log.n_bytes() > self.max_log_bytes) {
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
            command: short_command(&process.arguments),
        };
        self.define(&LogEntry::Process(seen.clone()));
        if let Some(place) = self.seen.get_mut(number as usize) {
            *place = seen;
        }
        self.news.insert(number, process.clone());
    }

    fn module_loaded(&mut self, process: ProcessNumber, module: &ModuleLoaded<'_>) {
        let Some(&process) = self.processes.get(process.index()) else { return };
        self.define_more(|| LogEntry::Module {
            process,
            name: cell(module.name),
            address: module.address,
            build_id: module.build_id.to_vec(),
            path: line(&escaped(module.path.as_os_str().as_encoded_bytes())),
        });
    }

    fn file_opened(&mut self, id: FileId, file: &OpenedFile<'_>) {
        let Some(number) = self.files.get(id.0) else { return };
        let table = self.mount_table.as_mut();
        let mount = table.and_then(|table| table.find(file.device, file.path));
        let mount = mount.map_or(0, |mount| self.mount_number(mount));
        let size_at_open = Some(file.size);
        self.define_more(|| LogEntry::FilePlace { file: number, mount, size_at_open });
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
        if thread.recorded_up_to.is_some_and(|recorded_up_to| event.sequence <= recorded_up_to) {
            return;
        }
        if !self.news.is_empty()
            && let Some(news) = self.news.remove(&process)
        {
            self.describe(process, &news);
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
        self.flush_log();
    }
}

/// An argument as a word of a command line in a table, however long it is.
fn escaped_argument(argument: &str) -> String {
    let mut text = String::with_capacity(argument.len());
    for character in argument.chars() {
        match character {
            '%' | ',' | '"' | ' ' => text.push_str(&format!("%{:02X}", u32::from(character))),
            _ if character.is_control() => {
                let mut bytes = [0; 4];
                let bytes = character.encode_utf8(&mut bytes).bytes();
                bytes.for_each(|byte| text.push_str(&format!("%{byte:02X}")));
            }
            _ => text.push(character),
        }
    }
    text
}

/// The beginning of a command line, for display.
fn short_command(arguments: &[String]) -> Box<str> {
    const MAX_BYTES: usize = 1000;
    let mut command = String::new();
    for argument in arguments {
        if command.len() >= MAX_BYTES {
            break;
        }
        command.push_str(if command.is_empty() { "" } else { " " });
        command.push_str(argument);
    }
    let mut end = command.len().min(MAX_BYTES);
    while !command.is_char_boundary(end) {
        end -= 1;
    }
    command.truncate(end);
    line(&command)
}

/// Codes what exists in raw form, and deletes it. Returns how many of its files are
/// damaged, and why events are missing from the earlier recording.
fn code(directory: &Path, tail: RawTail) -> Result<(u64, Option<String>), Error> {
    let mut recorder = TraceRecorder::reopen_coded(directory)?;
    let replayed = tail.replay(&mut recorder);
    let replayed = replayed.map_err(|source| raw::unreadable(directory, source))?;
    recorder.cut(None);
    recorder.note(EVENTS, |recorder| recorder.out.sync());
    recorder.flush()?;
    let incomplete = recorder.incomplete.take();
    drop(recorder);
    match replayed.n_damaged {
        0 => remove_raw(directory).map(drop),
        // Some other tool may be able to read more of it.
        _ => raw::set_aside(directory).map_err(|source| unwritable(directory, source)),
    }?;
    Ok((replayed.n_damaged, incomplete))
}

fn remove_raw(directory: &Path) -> Result<u64, Error> {
    raw::remove(directory).map_err(|source| unwritable(directory, source))
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
    let is_there = |name: &str| directory.join(name).exists();
    let optional = |name: &&str| {
        [".csv.zst", ".csv"].iter().any(|extension| is_there(&format!("{name}{extension}")))
    };
    match TRACE.into_iter().any(is_there) || TABLES.iter().any(optional) {
        true => Err(Error::Occupied { path: directory.into() }),
        false => Ok(()),
    }
}

/// Creates a file that must not exist yet.
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

/// Replaces the existing log by an empty one.
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

/// An error of the system that can be reported more than once. The log notes that it
/// happened and, at the end, what was lost.
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
