// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the events of a trace refer to: functions, call stacks, files,
//! processes and streams.

use std::io::{BufReader, Read};

use ioracle_events::{ContextId, FileId, Function, Layer};

use crate::native::code::Functions;
use crate::native::container::{Chunks, Damage, IndexEntry};
use crate::order::MAX_RANKS;
use crate::source::MAX_WINDOW_LOG;
use crate::table::{IdTable, MAX_TABLE_BYTES};
use crate::writing::log::{LogEntry, LogReader, LoggedProcess};

/// The most streams that a trace may have.
pub(crate) const MAX_STREAMS: usize = 1 << 24;

/// The most bytes that the definitions of one chunk may unpack to.
const MAX_UNPACKED_BYTES: u64 = 4 * MAX_TABLE_BYTES as u64;

/// A thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StreamKey {
    pub(crate) process: u32,
    pub(crate) thread: u32,
}

/// All that was defined.
#[derive(Debug)]
pub(crate) struct StoredDefinitions {
    pub(crate) contexts: IdTable<ContextId>,
    pub(crate) files: IdTable<FileId>,
    pub(crate) functions: Functions,
    pub(crate) processes: Vec<LoggedProcess>,
    n_process_bytes: usize,
    pub(crate) streams: Vec<StreamKey>,
}

impl StoredDefinitions {
    pub(crate) fn new() -> StoredDefinitions {
        StoredDefinitions {
            contexts: IdTable::empty(),
            files: IdTable::empty(),
            functions: Functions::new(),
            processes: Vec::new(),
            n_process_bytes: 0,
            streams: Vec::new(),
        }
    }

    /// Reads those of a trace; what is wrong with them goes to `note`.
    pub(crate) fn load<E>(
        &mut self,
        chunks: &Chunks,
        mut note: impl FnMut(Damage) -> Result<(), E>,
    ) -> Result<(), E> {
        for entry in &chunks.content().entries {
            let IndexEntry::Definitions { position } = *entry else { continue };
            each_definition(chunks, position, |entry| self.add(entry)).or_else(&mut note)?;
        }
        Ok(())
    }

    /// Takes one; `None` if it makes no sense after those before it.
    pub(crate) fn add(&mut self, entry: LogEntry) -> Option<()> {
        match entry {
            LogEntry::Context { id, frames } => self.contexts.add(id, &frames).ok(),
            LogEntry::File { id, path } if id > 0 => self.files.add(id, &path).ok(),
            LogEntry::Function { number, layer, name } => {
                // One that this version does not know is missed by those who
                // name it.
                let layer = Layer::from_name(&layer);
                let known = layer.and_then(|layer| Function::from_name(layer, &name));
                self.functions.extend(known.map(|function| (number, function)));
                Some(())
            }
            LogEntry::Process(seen) => self.add_process(seen),
            LogEntry::Stream { process, thread, .. } => {
                let is_sound =
                    (process as usize) < self.processes.len() && self.streams.len() < MAX_STREAMS;
                is_sound.then(|| self.streams.push(StreamKey { process, thread }))
            }
            LogEntry::File { .. }
            | LogEntry::Event(_)
            | LogEntry::Writer { .. }
            | LogEntry::Loss(_) => None,
        }
    }

    fn add_process(&mut self, seen: LoggedProcess) -> Option<()> {
        let place = seen.number as usize;
        self.n_process_bytes += seen.executable.len() + seen.command.len();
        if place > self.processes.len()
            || place >= MAX_RANKS
            || self.n_process_bytes > MAX_TABLE_BYTES
        {
            return None;
        }
        match self.processes.get_mut(place) {
            Some(known) => *known = seen,
            None => self.processes.push(seen),
        }
        Some(())
    }
}

/// The entries of a chunk of definitions, as long as `each` takes them.
pub(crate) fn each_definition(
    chunks: &Chunks,
    position: u64,
    each: impl FnMut(LogEntry) -> Option<()>,
) -> Result<(), Damage> {
    let packed = chunks.definitions(position)?;
    let reason = "its definitions make no sense";
    unpack(&packed, each).ok_or(Damage::At { position, reason })
}

fn unpack(packed: &[u8], mut each: impl FnMut(LogEntry) -> Option<()>) -> Option<()> {
    let mut decoder = zstd::Decoder::with_buffer(packed).ok()?;
    decoder.window_log_max(MAX_WINDOW_LOG).ok()?;
    let mut reader = LogReader::unchecked(BufReader::new(decoder.take(MAX_UNPACKED_BYTES)));
    while let Some(entry) = reader.next().ok()? {
        each(entry)?;
    }
    Some(())
}
