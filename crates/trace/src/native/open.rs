// SPDX-License-Identifier: MIT OR Apache-2.0

//! Opens a trace in the native form, also one that is still being recorded.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;

use ioracle_events::Function;

use super::container::{ChunkWriter, Chunks, Damage, Storage};
use super::definitions::{StoredDefinitions, StreamKey};
use super::replay::Replay;
use super::salvage::{Salvaged, salvage};
use super::streams::{BlockRoom, StreamWriters};
use super::times::TimePrecision;
use super::trace::{Native, error};
use crate::error::Error;
use crate::raw::RawTail;
use crate::tally::SkippedRows;
use crate::trace::{Form, TraceContent};
use crate::writing::log::{HEAD_BYTES, LogEntry, LogReader, LossMark};
use crate::writing::{LOG, TraceRecorder, has_open, resume_in_memory};

/// The file that holds everything in a trace except its description.
pub(crate) const EVENTS: &str = "events.ioracle";

/// A trace of which only the chunks are known.
pub(crate) struct OpenTrace {
    path: Arc<str>,
    chunks: Chunks,
    /// What was recorded and is not, or not completely, in blocks yet.
    log: Option<(File, Arc<str>)>,
    /// What was recorded and is not, or not completely, in the log or in blocks yet.
    raw: Option<RawTail>,
}

/// Opens the trace in a directory; `None` if there is none in this form.
pub(crate) fn open(directory: &Path) -> Result<Option<OpenTrace>, Error> {
    let file = directory.join(EVENTS);
    let path: Arc<str> = file.to_string_lossy().into();
    // Raw records before the log, and the log before the blocks: so what a writer moves
    // meanwhile is seen twice, which is detected, instead of not at all.
    let raw = RawTail::open(directory)?;
    let log_file = directory.join(LOG);
    let log = open_regular(&log_file)?;
    let Some(file) = open_regular(&file)? else { return Ok(None) };
    let chunks = Chunks::open(Storage::File(file)).map_err(|damage| error(&path, damage))?;
    let log = log.map(|file| (file, log_file.to_string_lossy().into()));
    Ok(Some(OpenTrace { path, chunks, log, raw }))
}

/// Opens a file; `None` if there is none of that name.
pub(crate) fn open_regular(path: &Path) -> Result<Option<File>, Error> {
    let text = || path.to_string_lossy().into();
    let opened = match fs::metadata(path) {
        // Opening a pipe would wait for its writer.
        Ok(metadata) if !metadata.is_file() => return Err(Error::NotAFile { path: text() }),
        Ok(_) => File::open(path),
        Err(error) => Err(error),
    };
    match opened {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::Unreadable { path: text(), source }),
    }
}

/// Opens a trace in memory.
pub(crate) fn in_memory(bytes: Vec<u8>) -> Result<OpenTrace, Error> {
    let path: Arc<str> = EVENTS.into();
    let chunks = Chunks::open(Storage::Memory(bytes)).map_err(|damage| error(&path, damage))?;
    Ok(OpenTrace { path, chunks, log: None, raw: None })
}

impl OpenTrace {
    /// Reads all but the events.
    pub(crate) fn read(self, tally: &mut SkippedRows) -> Result<TraceContent, Error> {
        let OpenTrace { path, mut chunks, log, raw } = self;
        let log = log.filter(|_| !chunks.content().is_finished);
        let raw = raw.filter(|_| !chunks.content().is_finished);
        let damage = chunks.take_damage();
        let mut definitions = StoredDefinitions::new();
        let mut faults = Vec::new();
        definitions.load(&chunks, |damage| {
            faults.push(damage);
            Ok::<(), Error>(())
        })?;
        let log_file = match (&log, &raw) {
            (Some((file, _)), Some(_)) => Some(file.try_clone()),
            _ => None,
        };
        let log_file = log_file.transpose().map_err(|source| unreadable(&path, source))?;
        let mut log = log.map(|(file, path)| Log::begin(file, path)).transpose()?;
        let generation = log.as_ref().and_then(Log::generation);
        let salvaged = salvage(&chunks, &definitions, generation);
        let n_lost: u64 = salvaged.iter().map(Salvaged::n_lost).sum();
        let end = Damage::Cut { position: chunks.content().end };
        match damage {
            // The last chunk of a recording may be incomplete because it is being
            // written.
            Some(Damage::Cut { .. }) if log.is_some() => {}
            Some(damage) => tally.skip_many(error(&path, damage), n_lost.max(1))?,
            None if !chunks.content().is_finished && log.is_none() => {
                tally.skip(error(&path, end))?;
            }
            None => {}
        }
        faults.into_iter().try_for_each(|damage| tally.skip(error(&path, damage)))?;
        let mut parts = vec![chunks];
        let mut incomplete = None;
        if let Some(raw) = raw {
            let tail = coded(raw, &parts[0], log_file).map_err(|damage| error(&path, damage))?;
            definitions.load(&tail.chunks, |damage| tally.skip(error(&path, damage)))?;
            if tail.is_damaged {
                tally.skip(Error::DamagedRaw { path: path.clone() })?;
            }
            let is_written = || {
                log.as_ref().is_some_and(|log| {
                    tail.writer.is_some_and(|pid| is_written_by(pid, Path::new(&*log.path)))
                })
            };
            let is_whole = tail.is_complete || is_written();
            incomplete = tail.loss.or((!is_whole).then(|| NOT_FINISHED.to_owned()));
            parts.push(tail.chunks);
        } else {
            if !salvaged.is_empty() {
                let part = in_blocks(salvaged, &parts[0]).map_err(|damage| error(&path, damage))?;
                parts.push(part);
            }
            if let Some(log) = &mut log {
                let tail = log.tail(&parts, &mut definitions);
                let tail = tail.map_err(|damage| error(&log.path, damage))?;
                if let Some(damage) = log.damage() {
                    tally.skip(error(&log.path, damage))?;
                }
                parts.extend(tail);
                incomplete = log.incomplete();
            }
        }
        let (native, contexts, files, provenance) = Native::new(path, parts, definitions);
        let form = Form::Native(Box::new(native));
        Ok(TraceContent { contexts, files, provenance, form, incomplete })
    }
}

/// What the log and raw records hold beyond the blocks.
struct CodedTail {
    chunks: Chunks,
    writer: Option<u32>,
    is_complete: bool,
    is_damaged: bool,
    /// Why some of it is missing, in words.
    loss: Option<String>,
}

/// Codes raw records in memory, and what the log holds before them. Nothing in the
/// directory is changed, which may belong to somebody else.
fn coded(raw: RawTail, chunks: &Chunks, log: Option<File>) -> Result<CodedTail, Damage> {
    let (mut resumed, writer) = resume_in_memory(chunks, log)?;
    let (is_log_damaged, loss) = (resumed.damaged.log, resumed.incomplete.take());
    let mut recorder = TraceRecorder::in_memory(resumed);
    let replayed = raw.replay(&mut recorder)?;
    let chunks = Chunks::examine(recorder.into_chunks()?)?;
    Ok(CodedTail {
        chunks,
        writer,
        is_complete: replayed.is_complete,
        is_damaged: is_log_damaged || replayed.n_damaged > 0,
        loss,
    })
}

fn unreadable(path: &Arc<str>, source: io::Error) -> Error {
    Error::Unreadable { path: path.clone(), source }
}

/// What was salvaged of torn blocks, as whole ones in memory.
fn in_blocks(salvaged: Vec<Salvaged>, chunks: &Chunks) -> Result<Chunks, Damage> {
    let mut out = ChunkWriter::create(Storage::Memory(Vec::new()), chunks.head())?;
    for salvaged in salvaged {
        salvaged.write(chunks, &mut out)?;
    }
    Chunks::examine(out.into_storage())
}

/// The log of a recording that is not finished.
struct Log {
    path: Arc<str>,
    n_bytes: u64,
    /// With its generation; `None` if it does not begin like a log.
    reader: Option<(LogReader<BufReader<File>>, u32)>,
    writer: Option<u32>,
    loss: LossMark,
}

impl Log {
    fn begin(file: File, path: Arc<str>) -> Result<Log, Error> {
        let unreadable = |source| Error::Unreadable { path: path.clone(), source };
        let n_bytes = file.metadata().map_err(unreadable)?.len();
        let reader = LogReader::begin(BufReader::with_capacity(1 << 16, file));
        let reader = reader.map_err(unreadable)?;
        Ok(Log { path, n_bytes, reader, writer: None, loss: LossMark::default() })
    }

    fn generation(&self) -> Option<u32> {
        self.reader.as_ref().map(|(_, generation)| *generation)
    }

    /// What is wrong with it, once it was read.
    fn damage(&self) -> Option<Damage> {
        let reason = "it is not what was written";
        let position = match &self.reader {
            Some((reader, _)) => reader.damaged_at()?,
            // Shorter than its head, it was cut off before anything was recorded.
            None => (self.n_bytes >= HEAD_BYTES).then_some(0)?,
        };
        Some(Damage::At { position, reason })
    }

    /// What is wrong with the recording, in words.
    fn incomplete(&self) -> Option<String> {
        let path = Path::new(&*self.path);
        let loss = self.loss.sentence();
        let is_written = self.writer.is_some_and(|pid| is_written_by(pid, path));
        loss.or_else(|| (!is_written).then(|| NOT_FINISHED.to_owned()))
    }

    /// What it holds beyond the blocks, as blocks in memory.
    fn tail(
        &mut self,
        parts: &[Chunks],
        definitions: &mut StoredDefinitions,
    ) -> Result<Option<Chunks>, Damage> {
        let Some((reader, generation)) = &mut self.reader else { return Ok(None) };
        let (chunks, generation) = (&parts[0], *generation);
        let mut replay = Replay::new(chunks.content(), &definitions.streams, generation);
        let mut out = ChunkWriter::create(Storage::Memory(Vec::new()), chunks.head())?;
        let mut streams = StreamWriters::new(TimePrecision::Exact, chunks.head().order, generation);
        streams.resume(parts.iter().flat_map(|chunks| chunks.content().blocks()));
        while let Some(entry) = reader.next()? {
            match entry {
                LogEntry::Event(row) => {
                    let Some(number) = replay.beyond(&row) else { continue };
                    if streams.push(number, &row.into()) == BlockRoom::Full {
                        streams.cut(number, &mut out)?;
                    }
                }
                LogEntry::Writer { times, pid } => {
                    self.writer = Some(pid);
                    streams.keep_times(times);
                }
                LogEntry::Loss(loss) => self.loss = loss,
                LogEntry::Stream { process, thread, .. } => {
                    if replay.add(StreamKey { process, thread }) {
                        definitions.streams.push(StreamKey { process, thread });
                    }
                }
                // Those that are in the trace already are refused.
                definition => {
                    let _ = definitions.add(definition);
                }
            }
        }
        // Every function of this version: a log has only their numbers.
        definitions.functions.extend(Function::all().map(|function| (function.into(), function)));
        streams.cut_all(&mut out)?;
        Ok(Some(Chunks::examine(out.into_storage())?))
    }
}

const NOT_FINISHED: &str = "was not finished, and no process of this machine writes it any more";

/// Whether a process, also this one, may be writing a log.
fn is_written_by(pid: u32, path: &Path) -> bool {
    let is_us = pid == std::process::id();
    // It is unknown which files a process of another user has open.
    let is_hidden = fs::read_dir(format!("/proc/{pid}/fd"))
        .is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
    is_us || is_hidden || has_open(pid, path)
}
