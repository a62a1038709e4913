// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a recording holds already, when a second writer takes it up.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use ioracle_events::FileId;

use crate::error::Error;
use crate::native::{
    BlockRoom, ChunkWriter, Chunks, Damage, EVENTS, EventOrder, FileHead, FoundChunks, IndexEntry,
    Replay, Storage, StoredDefinitions, StreamKey, StreamWriters, TimePrecision, VERSION,
    each_definition, error, open_regular, salvage,
};
use crate::writing::LOG;
use crate::writing::log::{LogEntry, LogReader, LoggedProcess, LossMark, is_line};
use crate::writing::numbers::Numbers;
use crate::writing::part::unwritable;
use crate::writing::pending::Pending;

/// Processes, threads, contexts and files of a recording.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    pub(crate) contexts: Numbers,
    pub(crate) files: Numbers,
    pub(crate) seen: Vec<LoggedProcess>,
    /// By system number and start.
    pub(crate) processes: HashMap<(u32, u64), u32>,
    /// Numbers of streams.
    pub(crate) numbers: HashMap<StreamKey, u32>,
    /// By process and the thread's number in the system.
    threads: HashMap<(u32, u32), u32>,
    /// How many threads each process has.
    n_threads: HashMap<u32, u32>,
    loss: LossMark,
}

impl Earlier {
    /// The number of a thread in its process.
    pub(crate) fn thread(&mut self, process: u32, tid: u32) -> u32 {
        if let Some(&thread) = self.threads.get(&(process, tid)) {
            return thread;
        }
        let n_threads = self.n_threads.entry(process).or_default();
        *n_threads = n_threads.saturating_add(1);
        *n_threads - 1
    }

    /// Takes an entry, unless no writer could have written it here: then the recording
    /// is damaged.
    fn load(&mut self, entry: LogEntry) -> Loaded {
        match entry {
            LogEntry::Context { id, frames } if is_line(&frames) => self.contexts.load(id, &frames),
            LogEntry::File { id, path } if is_line(&path) => self.files.load(id, &path),
            LogEntry::Stream { process, thread, tid } if self.has_process(process) => {
                let next = self.numbers.len() as u32;
                if *self.numbers.entry(StreamKey { process, thread }).or_insert(next) != next {
                    return Loaded::Known;
                }
                self.threads.insert((process, tid), thread);
                let n_threads = self.n_threads.entry(process).or_default();
                *n_threads = thread.saturating_add(1).max(*n_threads);
                Loaded::New
            }
            LogEntry::Process(seen) => self.load_process(seen),
            LogEntry::Function { .. } => Loaded::New,
            LogEntry::Event(row) => {
                let is_sound = self.has_process(row.process)
                    && self.contexts.has(row.context)
                    && (row.file == FileId::UNKNOWN.0 || self.files.has(row.file))
                    && is_line(&row.detail);
                if is_sound { Loaded::New } else { Loaded::Damaged }
            }
            LogEntry::Writer { .. } => Loaded::Known,
            LogEntry::Loss(loss) => {
                self.loss = loss;
                Loaded::Known
            }
            LogEntry::Details(it) => self.refers_to(it.number),
            LogEntry::End { process, .. }
            | LogEntry::Command { process, .. }
            | LogEntry::Module { process, .. } => self.refers_to(process),
            LogEntry::Symbol { .. } | LogEntry::Mount { .. } => Loaded::New,
            LogEntry::FilePlace { file, .. } if self.files.has(file) => Loaded::New,
            _ => Loaded::Damaged,
        }
    }

    fn refers_to(&self, process: u32) -> Loaded {
        if self.has_process(process) { Loaded::New } else { Loaded::Damaged }
    }

    /// Streams by their numbers.
    fn streams(&self) -> Vec<StreamKey> {
        let mut streams: Vec<(u32, StreamKey)> =
            self.numbers.iter().map(|(stream, number)| (*number, *stream)).collect();
        streams.sort_unstable_by_key(|(number, _)| *number);
        streams.into_iter().map(|(_, stream)| stream).collect()
    }

    fn has_process(&self, process: u32) -> bool {
        (process as usize) < self.seen.len()
    }

    fn load_process(&mut self, seen: LoggedProcess) -> Loaded {
        let place = seen.number as usize;
        if place == self.seen.len() {
            self.processes.insert((seen.pid, seen.start_ns), seen.number);
            self.seen.push(seen);
        } else if let Some(earlier) = self.seen.get_mut(place) {
            *earlier = seen;
        } else {
            return Loaded::Damaged;
        }
        Loaded::New
    }
}

/// What an entry turned out to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loaded {
    New,
    /// It is in the trace already.
    Known,
    Damaged,
}

/// A recording that can be continued.
pub(crate) struct ResumedRecording {
    pub(crate) out: ChunkWriter,
    pub(crate) streams: StreamWriters,
    pub(crate) times: TimePrecision,
    pub(crate) earlier: Earlier,
    pub(crate) damaged: Damaged,
    /// Of the format.
    pub(crate) version: u32,
    /// Of the next log.
    pub(crate) generation: u32,
    /// Why it is incomplete, in words.
    pub(crate) incomplete: Option<String>,
}

/// What part of a recording could not be read.
pub(crate) struct Damaged {
    pub(crate) n_chunks: u64,
    /// An entry of the log, and everything after it.
    pub(crate) log: bool,
}

/// Whether a file is a trace without an end.
pub(crate) fn is_cut(path: &Path) -> bool {
    let chunks = File::open(path).map_err(Damage::from).map(Storage::File).and_then(Chunks::open);
    match chunks {
        Ok(chunks) => !chunks.content().is_finished,
        Err(Damage::Cut { .. }) => true,
        Err(_) => false,
    }
}

/// Opens a recording for more. The file of blocks is only ever added to, so
/// that nothing is lost if this fails: what is damaged stays where it is and is
/// not in the index, the beginning of a block that was cut off is written again
/// as a block that is whole, and all of the log goes into blocks.
pub(crate) fn open(directory: &Path) -> Result<ResumedRecording, Error> {
    let path = directory.join(EVENTS);
    let text: Arc<str> = path.to_string_lossy().into();
    let log = open_log(&directory.join(LOG))?;
    drop(open_regular(&path)?);
    if log.is_none() && !path.is_file() {
        return Err(Error::NotARecording { path: text });
    }
    let unreadable = |source| Error::Unreadable { path: text.clone(), source };
    let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let file = file.map_err(unreadable)?;
    let chunks = match Chunks::examine(Storage::File(file.try_clone().map_err(unreadable)?)) {
        Ok(chunks) if chunks.head().order != EventOrder::ByTime => {
            return Err(Error::NotARecording { path: text });
        }
        Ok(chunks) => Some(chunks),
        // Not even its head is whole, so there is nothing in it.
        Err(Damage::Cut { .. }) => None,
        Err(damage) => return Err(error(&text, damage)),
    };
    let opened = match chunks {
        Some(chunks) => resume(file, &chunks, log.as_ref().map(|log| log.generation)),
        None => begin_again(file),
    };
    opened.and_then(|opened| go_on(opened, log)).map_err(|source| unwritable(&path, source))
}

/// Takes a recording up in memory: what its log holds, and what comes after, goes into
/// blocks that are in no file. `chunks` is the trace, as far as it is written.
/// Also gives the process that writes the log.
pub(crate) fn resume_in_memory(
    chunks: &Chunks,
    mut log: Option<File>,
) -> io::Result<(ResumedRecording, Option<u32>)> {
    // Others have read from the same description of the file.
    log.as_mut().map(Seek::rewind).transpose()?;
    let (log, writer) = log.map(begin_log).transpose()?.flatten().unzip();
    let mut earlier = Earlier::default();
    let n_bad = load(chunks, &mut earlier);
    let mut out = ChunkWriter::create(Storage::Memory(Vec::new()), chunks.head())?;
    write_salvaged(chunks, log.as_ref().map(|log: &Log| log.generation), &mut out)?;
    let content = FoundChunks {
        entries: [&chunks.content().entries[..], out.entries()].concat(),
        n_damaged: n_bad,
        ..FoundChunks::default()
    };
    let version = chunks.head().version;
    let resumed = go_on(OpenTrace { version, out, content, earlier, incomplete: None }, log)?;
    Ok((resumed, writer))
}

/// A file of blocks that can be appended to.
struct OpenTrace {
    version: u32,
    out: ChunkWriter,
    content: FoundChunks,
    earlier: Earlier,
    incomplete: Option<String>,
}

fn begin_again(file: File) -> io::Result<OpenTrace> {
    file.set_len(0)?;
    let head = FileHead { version: VERSION, order: EventOrder::ByTime };
    let out = ChunkWriter::create(Storage::File(file), head)?;
    let (content, earlier) = (FoundChunks::default(), Earlier::default());
    Ok(OpenTrace { version: VERSION, out, content, earlier, incomplete: None })
}

fn resume(mut file: File, chunks: &Chunks, log_generation: Option<u32>) -> io::Result<OpenTrace> {
    let end = file.seek(SeekFrom::End(0))?;
    let mut earlier = Earlier::default();
    let n_bad = load(chunks, &mut earlier);
    let entries = chunks.content().entries.clone();
    let mut out = ChunkWriter::resume(Storage::File(file), end, entries);
    let incomplete = match log_generation {
        // The log has what the blocks lack.
        Some(_) => None,
        None => cut_off(chunks),
    };
    write_salvaged(chunks, log_generation, &mut out)?;
    let content = FoundChunks {
        entries: out.entries().to_vec(),
        n_damaged: chunks.content().n_damaged_inside() + n_bad,
        ..FoundChunks::default()
    };
    Ok(OpenTrace { version: chunks.head().version, out, content, earlier, incomplete })
}

/// Writes what there is of blocks that were cut off.
pub(crate) fn write_salvaged(
    chunks: &Chunks,
    log_generation: Option<u32>,
    out: &mut ChunkWriter,
) -> io::Result<()> {
    if chunks.content().torn.is_empty() {
        return Ok(());
    }
    let mut definitions = StoredDefinitions::new();
    let ignore = |_| Ok::<(), io::Error>(());
    definitions.load(chunks, ignore)?;
    salvage(chunks, &definitions, log_generation)
        .into_iter()
        .try_for_each(|salvaged| salvaged.write(chunks, out))
}

/// That a trace has lost its end, in words.
pub(crate) fn cut_off(chunks: &Chunks) -> Option<String> {
    let is_cut = !chunks.content().is_finished;
    is_cut.then(|| {
        format!("was cut off after byte {}; what came after is lost", chunks.content().end)
    })
}

/// Reads the definitions of a trace; how many chunks of them cannot be used.
fn load(chunks: &Chunks, earlier: &mut Earlier) -> u64 {
    let mut n_bad = 0;
    for entry in &chunks.content().entries {
        let IndexEntry::Definitions { position } = *entry else { continue };
        let loaded = each_definition(chunks, position, |entry| {
            (earlier.load(entry) != Loaded::Damaged).then_some(())
        });
        n_bad += u64::from(loaded.is_err());
    }
    n_bad
}

fn go_on(opened: OpenTrace, log: Option<Log>) -> io::Result<ResumedRecording> {
    let OpenTrace { version, mut out, content, mut earlier, mut incomplete } = opened;
    let last = content.blocks().map(|block| block.generation).max().unwrap_or_default();
    let (times, generation) =
        log.as_ref().map_or((TimePrecision::Exact, last), |log| (log.times, log.generation));
    let mut streams = StreamWriters::new(times, EventOrder::ByTime, generation);
    streams.resume(content.blocks());
    let mut pending = Pending::new();
    let mut damaged = Damaged { n_chunks: content.n_damaged, log: false };
    if let Some(log) = log {
        let known: Vec<StreamKey> = earlier.streams();
        let mut replay = Replay::new(&content, &known, generation);
        let is_sound =
            log.replay(&mut earlier, &mut replay, &mut pending, &mut streams, &mut out)?;
        damaged.log = !is_sound;
        incomplete = incomplete.or(earlier.loss.sentence());
    }
    pending.write(&mut out)?;
    streams.cut_all(&mut out)?;
    out.sync()?;
    let generation = streams.next_generation();
    Ok(ResumedRecording { out, streams, times, earlier, damaged, version, generation, incomplete })
}

/// The log of a recording, of which nothing but its writer is known.
struct Log {
    reader: LogReader<BufReader<File>>,
    generation: u32,
    times: TimePrecision,
}

/// Refuses a log that is being written.
pub(crate) fn refuse_written(path: &Path) -> Result<(), Error> {
    open_log(path).map(drop).or_else(|error| match error {
        // If it is not a log, no process is writing it.
        Error::NotARecording { .. } => Ok(()),
        error => Err(error),
    })
}

/// Opens a log, if there is one and no process is writing it.
fn open_log(path: &Path) -> Result<Option<Log>, Error> {
    let text = || path.to_string_lossy().into();
    let unreadable = |source| Error::Unreadable { path: text(), source };
    let Some(file) = open_regular(path)? else { return Ok(None) };
    let begun = file.try_clone().and_then(begin_log).map_err(unreadable)?;
    match begun {
        Some((_, pid)) if has_open(pid, path) => Err(Error::StillWritten { path: text(), pid }),
        Some((log, _)) => Ok(Some(log)),
        None if is_log(file).map_err(unreadable)? => Ok(None),
        None => Err(Error::NotARecording { path: text() }),
    }
}

/// Reads how a log begins, and who writes it. Every log begins with its writer: one
/// that ends before that is empty.
fn begin_log(file: File) -> io::Result<Option<(Log, u32)>> {
    let begun = LogReader::begin(BufReader::with_capacity(1 << 16, file))?;
    let Some((mut reader, generation)) = begun else { return Ok(None) };
    Ok(match reader.next()? {
        Some(LogEntry::Writer { times, pid }) => Some((Log { reader, generation, times }, pid)),
        _ => None,
    })
}

fn is_log(mut file: File) -> io::Result<bool> {
    file.rewind()?;
    Ok(LogReader::begin(file)?.is_some())
}

impl Log {
    /// Puts into blocks what is not there yet, up to the first entry that makes no
    /// sense: what follows it is not trusted either. Returns whether all of them made
    /// sense.
    fn replay(
        mut self,
        earlier: &mut Earlier,
        replay: &mut Replay,
        pending: &mut Pending,
        streams: &mut StreamWriters,
        out: &mut ChunkWriter,
    ) -> io::Result<bool> {
        while let Some(entry) = self.reader.next::<LogEntry>()? {
            match earlier.load(entry.clone()) {
                Loaded::Damaged => return Ok(false),
                Loaded::Known => continue,
                Loaded::New => {}
            }
            match entry {
                LogEntry::Event(row) => {
                    let Some(number) = replay.beyond(&row) else { continue };
                    pending.name(row.function)?;
                    if streams.push(number, &row.into()) == BlockRoom::Full {
                        pending.write(out)?;
                        streams.cut(number, out)?;
                    }
                }
                LogEntry::Stream { process, thread, .. } => {
                    replay.add(StreamKey { process, thread });
                    pending.add(&entry)?;
                }
                definition => pending.add(&definition)?,
            }
        }
        Ok(self.reader.damaged_at().is_none())
    }
}

/// Whether another process, of that number, has the file open. The number may
/// belong to another one by now.
pub(crate) fn has_open(pid: u32, path: &Path) -> bool {
    let is_us = Path::new("/proc/self/task").join(pid.to_string()).exists();
    let Ok(path) = path.canonicalize() else { return false };
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let leads_there = |link: &Path| fs::read_link(link).is_ok_and(|target| target == path);
    !is_us && descriptors.flatten().any(|entry| leads_there(&entry.path()))
}
