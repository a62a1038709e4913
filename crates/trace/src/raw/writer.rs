// SPDX-License-Identifier: MIT OR Apache-2.0

//! Writes what comes from a spool as it comes: a copy and a CRC for each record.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use foldhash::fast::RandomState;
use ioracle_spool::layout::{Call, DefinitionKind};
use ioracle_spool::{Sink, StreamInfo, StreamNumber};
use serde::{Deserialize, Serialize};

use super::frames::{FRAME_BYTES, FrameKind, HEAD_BYTES, MAX_CONTENT, head, seal};
use super::{DEFINITIONS, records_name};

/// Records of one frame.
const MAX_BATCH_BYTES: usize = 1024 * Call::N_BYTES;
/// Bytes that are written at once.
const WRITE_BYTES: usize = 1 << 20;
/// Bytes of a file of records: it can be deleted when all of it has been coded.
const MAX_FILE_BYTES: u64 = 1 << 24;

/// How far has been written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(super) definition_bytes: u64,
    /// The last file of records, and its bytes.
    pub(super) file: u32,
    pub(super) file_bytes: u64,
    pub(super) n_records: u64,
}

/// Who writes a stream, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StoredStream {
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) parent_pid: u32,
    pub(super) rank: Option<u32>,
    pub(super) world_size: u32,
    pub(super) process_start_ns: u64,
    pub(super) process_start_realtime_ns: u64,
    pub(super) begin_ns: u64,
    pub(super) name: String,
}

/// Writes raw files.
pub(super) struct RawWriter {
    directory: PathBuf,
    definitions: File,
    /// Frames that are not in the file yet.
    new_definitions: Vec<u8>,
    records: File,
    /// Frames that are not in the file yet; where the one begins that grows, and whose
    /// it is.
    new_records: Vec<u8>,
    batch: Option<(StreamNumber, usize)>,
    /// What has been defined, so that definitions need not be looked for again.
    known: HashSet<u64, RandomState>,
    written: Written,
    n_new_records: u64,
    /// Streams whose threads ask what comes next.
    pub(super) asking: Vec<StreamNumber>,
    /// After a failure nothing is written any more; what comes stays in memory.
    pub(super) failure: Option<io::Error>,
}

impl RawWriter {
    /// Begins in a directory that must not exist yet.
    pub(super) fn create(directory: &Path) -> io::Result<RawWriter> {
        fs::create_dir(directory)?;
        let definitions = begin_file(&directory.join(DEFINITIONS))?;
        let records = begin_file(&directory.join(records_name(1)))?;
        let head_bytes = HEAD_BYTES as u64;
        Ok(RawWriter {
            directory: directory.into(),
            definitions,
            new_definitions: Vec::new(),
            records,
            new_records: Vec::with_capacity(WRITE_BYTES + 2 * MAX_CONTENT),
            batch: None,
            known: HashSet::default(),
            written: Written {
                definition_bytes: head_bytes,
                file: 1,
                file_bytes: head_bytes,
                n_records: 0,
            },
            n_new_records: 0,
            asking: Vec::new(),
            failure: None,
        })
    }

    /// How far has been written.
    pub(super) fn written(&self) -> Written {
        self.written
    }

    /// Sets the directory that paths are reported relative to.
    pub(super) fn working_directory(&mut self, path: &Path) {
        self.define(FrameKind::WorkingDirectory, 0, path.as_os_str().as_encoded_bytes());
    }

    /// All that the job has recorded was given to this writer.
    pub(super) fn complete(&mut self) {
        self.define(FrameKind::Complete, 0, &[]);
    }

    /// Hands everything received so far to the system.
    pub(super) fn flush(&mut self) {
        self.end_batch();
        if self.failure.is_none()
            && let Err(error) = self.try_flush()
        {
            self.failure = Some(error);
        }
    }

    fn try_flush(&mut self) -> io::Result<()> {
        if !self.new_definitions.is_empty() {
            self.definitions.write_all(&self.new_definitions)?;
            self.written.definition_bytes += self.new_definitions.len() as u64;
            self.new_definitions.clear();
        }
        if self.new_records.is_empty() {
            return Ok(());
        }
        if self.written.file_bytes >= MAX_FILE_BYTES {
            let number = self.written.file.saturating_add(1);
            self.records = begin_file(&self.directory.join(records_name(number)))?;
            (self.written.file, self.written.file_bytes) = (number, HEAD_BYTES as u64);
        }
        self.records.write_all(&self.new_records)?;
        self.written.file_bytes += self.new_records.len() as u64;
        self.written.n_records += std::mem::take(&mut self.n_new_records);
        self.new_records.clear();
        Ok(())
    }

    /// The frames that could not be written, definitions first; how many records.
    pub(super) fn take_unwritten(&mut self) -> (Vec<u8>, u64) {
        self.end_batch();
        let mut frames = std::mem::take(&mut self.new_definitions);
        frames.append(&mut self.new_records);
        (frames, std::mem::take(&mut self.n_new_records))
    }

    fn define(&mut self, kind: FrameKind, stream: u32, content: &[u8]) {
        let begin = self.new_definitions.len();
        self.new_definitions.resize(begin + FRAME_BYTES, 0);
        self.new_definitions.extend_from_slice(content);
        seal(&mut self.new_definitions[begin..], kind, stream);
    }

    fn begin_batch(&mut self, stream: StreamNumber) {
        self.end_batch();
        if self.new_records.len() >= WRITE_BYTES {
            self.flush();
        }
        let begin = self.new_records.len();
        self.new_records.resize(begin + FRAME_BYTES, 0);
        self.batch = Some((stream, begin));
    }

    fn end_batch(&mut self) {
        if let Some((stream, begin)) = self.batch.take() {
            seal(&mut self.new_records[begin..], FrameKind::Records, stream.0);
        }
    }

    fn is_known(&self, id: u64) -> bool {
        id == 0 || self.known.contains(&id)
    }
}

impl Sink for RawWriter {
    fn stream(&mut self, stream: StreamNumber, info: &StreamInfo) {
        let stored = StoredStream {
            pid: info.pid,
            tid: info.tid,
            parent_pid: info.parent_pid,
            rank: info.rank,
            world_size: info.world_size,
            process_start_ns: info.process_start_ns,
            process_start_realtime_ns: info.process_start_realtime_ns,
            begin_ns: info.begin_ns,
            name: info.name.clone(),
        };
        // Only numbers and a short name: this cannot fail.
        let content = postcard::to_stdvec(&stored).unwrap_or_default();
        self.define(FrameKind::Stream, stream.0, &content);
    }

    fn definition(&mut self, stream: StreamNumber, kind: DefinitionKind, id: u64, payload: &[u8]) {
        let is_context_or_name =
            matches!(kind, DefinitionKind::Context | DefinitionKind::File | DefinitionKind::Object);
        let is_new = !is_context_or_name || self.known.insert(id);
        // Every thread defines the call stacks that it uses, which are mostly the same.
        if kind == DefinitionKind::Context && !is_new {
            return;
        }
        let mut content = Vec::with_capacity(12 + payload.len());
        content.extend_from_slice(&(kind as u32).to_le_bytes());
        content.extend_from_slice(&id.to_le_bytes());
        content.extend_from_slice(payload);
        self.define(FrameKind::Definition, stream.0, &content);
    }

    fn record(&mut self, stream: StreamNumber, call: &Call) {
        let has_room = |begin: usize| self.new_records.len() - begin < MAX_BATCH_BYTES;
        if !self.batch.is_some_and(|(whose, begin)| whose == stream && has_room(begin)) {
            self.begin_batch(stream);
        }
        self.new_records.extend_from_slice(call.as_bytes());
        self.n_new_records += 1;
    }

    fn knows(&self, call: &Call) -> bool {
        self.is_known(call.context) && self.is_known(call.file) && self.is_known(call.object)
    }

    fn asks(&mut self, stream: StreamNumber) {
        self.asking.push(stream);
    }

    fn ended(&mut self, stream: StreamNumber) {
        self.end_batch();
        let begin = self.new_records.len();
        self.new_records.resize(begin + FRAME_BYTES, 0);
        seal(&mut self.new_records[begin..], FrameKind::Ended, stream.0);
    }

    fn keep(&mut self) {
        self.flush();
    }
}

fn begin_file(path: &Path) -> io::Result<File> {
    let mut file = File::options().write(true).create_new(true).open(path)?;
    file.write_all(&head())?;
    Ok(file)
}
