// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads raw files: those of a keeper that still writes, and those that a run left.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ioracle_spool::layout::{Call, DefinitionKind};
use ioracle_spool::{Sink, StreamInfo, StreamNumber};

use super::frames::{Frame, FrameKind, FrameReader};
use super::keeper::RawProgress;
use super::writer::StoredStream;
use super::{DEFINITIONS, directory_in, files_in, records_name};
use crate::error::Error;
use crate::native::open_regular;
use crate::spooled::{Observer, State};

/// Reads what a keeper has written, following it.
pub(crate) struct RawReader {
    directory: PathBuf,
    progress: Arc<RawProgress>,
    definitions: FrameReader,
    records: FrameReader,
    /// Number of that file.
    file: u32,
    n_records: u64,
    /// Files that are read to their end, to be deleted.
    read: Vec<u32>,
}

impl RawReader {
    /// Begins to read.
    pub(crate) fn open(directory: &Path, progress: Arc<RawProgress>) -> io::Result<RawReader> {
        let open = |name: &str| {
            let reader = FrameReader::open(File::open(directory.join(name))?)?;
            reader.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
        };
        Ok(RawReader {
            definitions: open(DEFINITIONS)?,
            records: open(&records_name(1))?,
            directory: directory.into(),
            progress,
            file: 1,
            n_records: 0,
            read: Vec::new(),
        })
    }

    /// Hands over what is there, about this many records at most; returns how many. 0:
    /// nothing more for now.
    pub(crate) fn read(&mut self, at_most: u64, sink: &mut impl Sink) -> io::Result<usize> {
        let written = self.progress.lock().written;
        while let Some(frame) = self.definitions.next(written.definition_bytes)? {
            deliver(&frame, sink);
        }
        let before = self.n_records;
        while self.n_records - before < at_most {
            let is_last = self.file >= written.file;
            let limit = if is_last { written.file_bytes } else { u64::MAX };
            if let Some(frame) = self.records.next(limit)? {
                self.n_records += deliver(&frame, sink);
            } else if is_last {
                break;
            } else {
                self.read.push(self.file);
                self.file += 1;
                let next = File::open(self.directory.join(records_name(self.file)))?;
                let next = FrameReader::open(next)?;
                self.records = next.ok_or(io::ErrorKind::InvalidData)?;
            }
        }
        Ok(usize::try_from(self.n_records - before).unwrap_or(usize::MAX))
    }

    /// Where the files are.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Records that were written and not read yet.
    pub(crate) fn n_waiting(&self) -> u64 {
        let state = self.progress.lock();
        (state.written.n_records + state.n_unwritten).saturating_sub(self.n_records)
    }

    /// Waits until there is more, or at most this long.
    pub(crate) fn wait(&self, at_most: Duration) {
        self.progress.wait(self.n_records, at_most);
    }

    /// Whether nothing more will be written.
    pub(crate) fn is_over(&self) -> bool {
        self.progress.lock().is_over
    }

    /// Hands over what the keeper could not write, and which threads ask, once it is
    /// over and all files are read.
    pub(crate) fn finish(&mut self, sink: &mut impl Sink) -> io::Result<()> {
        let (unwritten, asking) = {
            let mut state = self.progress.lock();
            (std::mem::take(&mut state.unwritten), std::mem::take(&mut state.asking))
        };
        let mut frames = FrameReader::in_memory(unwritten);
        while let Some(frame) = frames.next(u64::MAX)? {
            self.n_records += deliver(&frame, sink);
        }
        asking.into_iter().for_each(|stream| sink.asks(stream));
        Ok(())
    }

    /// Deletes files whose records have been coded.
    pub(crate) fn delete_read(&mut self) {
        for number in self.read.drain(..) {
            // A file that stays only costs room.
            let _ = fs::remove_file(self.directory.join(records_name(number)));
        }
    }

    /// Whether there are such files.
    pub(crate) fn has_read(&self) -> bool {
        !self.read.is_empty()
    }
}

/// Raw files that were left by a run, or that one still writes; opened before the
/// trace, so that nothing is missed that moves from here to there.
pub(crate) struct RawTail {
    definitions: FrameReader,
    /// With how far to read each: what comes later may name what is not defined yet.
    records: Vec<(FrameReader, u64)>,
    /// Files that are not raw files, or from another kind of machine.
    n_refused: u64,
}

/// The result of reading a [`RawTail`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawReplayed {
    /// All that the job had recorded was there.
    pub(crate) is_complete: bool,
    /// Files that could not be read to their end.
    pub(crate) n_damaged: u64,
}

impl RawTail {
    /// Opens the raw files beside a trace; `None` if there are none.
    pub(crate) fn open(trace: &Path) -> Result<Option<RawTail>, Error> {
        let path = directory_in(trace).join(DEFINITIONS);
        let unreadable = |path: &Path| {
            let path: Arc<str> = path.to_string_lossy().into();
            move |source| Error::Unreadable { path, source }
        };
        let mut records = Vec::new();
        let mut n_refused = 0;
        for file in files_in(trace) {
            // It may have been deleted since it was listed: then it is in the trace.
            let Some(opened) = open_regular(&file)?.filter(|_| file != path) else { continue };
            let n_bytes = opened.metadata().map_err(unreadable(&file))?.len();
            match FrameReader::open(opened).map_err(unreadable(&file))? {
                Some(reader) => records.push((reader, n_bytes)),
                None => n_refused += 1,
            }
        }
        let Some(file) = open_regular(&path)? else { return Ok(None) };
        let Some(definitions) = FrameReader::open(file).map_err(unreadable(&path))? else {
            return Err(Error::ForeignRaw { path: path.to_string_lossy().into() });
        };
        Ok(Some(RawTail { definitions, records, n_refused }))
    }

    /// Reports all of it.
    pub(crate) fn replay(self, observer: &mut impl Observer) -> io::Result<RawReplayed> {
        let RawTail { mut definitions, records, n_refused } = self;
        let mut replayed = RawReplayed { is_complete: false, n_damaged: n_refused };
        let mut state = State::new();
        while let Some(frame) = definitions.next(u64::MAX)? {
            match frame.kind {
                Some(FrameKind::Complete) => replayed.is_complete = true,
                Some(FrameKind::WorkingDirectory) => {
                    let path = Path::new(OsStr::from_bytes(frame.content));
                    state.known.definitions.relative_to(path);
                }
                _ => {
                    deliver(&frame, &mut state.with(observer));
                }
            }
        }
        replayed.n_damaged += u64::from(definitions.is_damaged);
        for (mut file, n_bytes) in records {
            while let Some(frame) = file.next(n_bytes)? {
                deliver(&frame, &mut state.with(observer));
            }
            replayed.n_damaged += u64::from(file.is_damaged);
        }
        state.end_all(observer);
        Ok(replayed)
    }
}

/// Hands a frame over; returns how many records. What makes no sense is skipped.
fn deliver(frame: &Frame<'_>, sink: &mut impl Sink) -> u64 {
    let stream = StreamNumber(frame.stream);
    match frame.kind {
        Some(FrameKind::Records) => {
            let (calls, _) = frame.content.as_chunks::<{ Call::N_BYTES }>();
            calls.iter().for_each(|call| sink.record(stream, &Call::from_bytes(call)));
            return calls.len() as u64;
        }
        Some(FrameKind::Ended) => sink.ended(stream),
        Some(FrameKind::Stream) => {
            if let Ok(stored) = postcard::from_bytes::<StoredStream>(frame.content) {
                sink.stream(stream, &stored.into());
            }
        }
        Some(FrameKind::Definition) => {
            if let Some((kind, rest)) = frame.content.split_first_chunk()
                && let Some((id, payload)) = rest.split_first_chunk()
                && let Ok(kind) = DefinitionKind::try_from(u32::from_le_bytes(*kind))
            {
                sink.definition(stream, kind, u64::from_le_bytes(*id), payload);
            }
        }
        Some(FrameKind::WorkingDirectory | FrameKind::Complete) | None => {}
    }
    0
}

impl From<StoredStream> for StreamInfo {
    fn from(stored: StoredStream) -> StreamInfo {
        StreamInfo {
            pid: stored.pid,
            tid: stored.tid,
            parent_pid: stored.parent_pid,
            rank: stored.rank,
            world_size: stored.world_size,
            process_start_ns: stored.process_start_ns,
            process_start_realtime_ns: stored.process_start_realtime_ns,
            begin_ns: stored.begin_ns,
            name: stored.name,
        }
    }
}
