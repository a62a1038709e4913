// SPDX-License-Identifier: MIT OR Apache-2.0

//! Opens a trace in the native form, also one that is still being recorded.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::Path;
use std::sync::Arc;

use ioracle_events::Function;

use super::container::{ChunkWriter, Chunks, Damage, Storage};
use super::definitions::{Definitions, Stream};
use super::replay::Replay;
use super::streams::{Room, Streams};
use super::times::Times;
use super::trace::{Native, error};
use crate::error::Error;
use crate::tally::Tally;
use crate::trace::{Content, Form};
use crate::writing::LOG;
use crate::writing::log::{Entry, HEAD_BYTES, LogReader};

/// The file that holds all of a trace but its description.
pub(crate) const EVENTS: &str = "events.ioracle";

/// A trace of which nothing but its chunks is known.
pub(crate) struct Opened {
    path: Arc<str>,
    chunks: Chunks,
    /// What was told and is not, or not all, in blocks yet.
    log: Option<(File, Arc<str>)>,
}

/// Opens the trace in a directory; `None` if there is none in this form.
pub(crate) fn open(directory: &Path) -> Result<Option<Opened>, Error> {
    let file = directory.join(EVENTS);
    let path: Arc<str> = file.to_string_lossy().into();
    // The log before the blocks: what a writer then moves from the one to the
    // others is seen twice, which is found out, instead of not at all.
    let log_file = directory.join(LOG);
    let log = open_regular(&log_file)?;
    let Some(file) = open_regular(&file)? else { return Ok(None) };
    let chunks = Chunks::open(Storage::File(file)).map_err(|damage| error(&path, damage))?;
    let log = log.map(|file| (file, log_file.to_string_lossy().into()));
    Ok(Some(Opened { path, chunks, log }))
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
pub(crate) fn in_memory(bytes: Vec<u8>) -> Result<Opened, Error> {
    let path: Arc<str> = EVENTS.into();
    let chunks = Chunks::open(Storage::Memory(bytes)).map_err(|damage| error(&path, damage))?;
    Ok(Opened { path, chunks, log: None })
}

impl Opened {
    /// Reads all but the events.
    pub(crate) fn read(self, tally: &mut Tally) -> Result<Content, Error> {
        let Opened { path, mut chunks, log } = self;
        let log = log.filter(|_| !chunks.content().is_finished);
        let end = Damage::Cut { position: chunks.content().end };
        let is_whole = chunks.content().is_finished || log.is_some();
        match chunks.take_damage() {
            // The last chunk of a recording may be just being written.
            Some(Damage::Cut { .. }) if log.is_some() => {}
            Some(damage) => tally.skip(error(&path, damage))?,
            None if !is_whole => tally.skip(error(&path, end))?,
            None => {}
        }
        let mut definitions = Definitions::new();
        definitions.load(&chunks, |damage| tally.skip(error(&path, damage)))?;
        let mut parts = vec![chunks];
        if let Some((log, log_path)) = log {
            let tail = tail(log, &parts[0], &mut definitions);
            let (tail, damage) = tail.map_err(|damage| error(&log_path, damage))?;
            if let Some(damage) = damage {
                tally.skip(error(&log_path, damage))?;
            }
            parts.extend(tail);
        }
        let (native, contexts, files) = Native::new(path, parts, definitions);
        Ok(Content { contexts, files, form: Form::Native(Box::new(native)) })
    }
}

/// What a log holds beyond the blocks, as blocks in memory, and what is wrong
/// with the rest of it.
fn tail(
    log: File,
    chunks: &Chunks,
    definitions: &mut Definitions,
) -> Result<(Option<Chunks>, Option<Damage>), Damage> {
    let n_bytes = log.metadata()?.len();
    let reason = "it is not what was written";
    let Some((mut reader, generation)) = LogReader::begin(BufReader::with_capacity(1 << 16, log))?
    else {
        // Shorter than its head, it was cut before anything was told.
        let damage = Damage::At { position: 0, reason };
        return Ok((None, Some(damage).filter(|_| n_bytes >= HEAD_BYTES)));
    };
    let mut replay = Replay::new(chunks.content(), &definitions.streams, generation);
    let mut out = ChunkWriter::create(Storage::Memory(Vec::new()), chunks.head())?;
    let mut streams = Streams::new(Times::Exact, chunks.head().order, generation);
    streams.resume(chunks.content().blocks());
    while let Some(entry) = reader.next()? {
        match entry {
            Entry::Event(row) => {
                let Some(number) = replay.beyond(&row) else { continue };
                if streams.push(number, &row.into()) == Room::Full {
                    streams.cut(number, &mut out)?;
                }
            }
            Entry::Writer { times, .. } => streams.keep_times(times),
            Entry::Stream { process, thread, .. } => {
                if replay.add(Stream { process, thread }) {
                    definitions.streams.push(Stream { process, thread });
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
    let damage = reader.damaged_at().map(|position| Damage::At { position, reason });
    Ok((Some(Chunks::examine(out.into_storage())?), damage))
}
