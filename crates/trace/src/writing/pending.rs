// SPDX-License-Identifier: MIT OR Apache-2.0

//! Definitions that are not in the trace yet. They go there before the next
//! block, which may refer to them.

use std::collections::HashSet;
use std::io;

use ioracle_events::Function;

use crate::native::ChunkWriter;
use crate::writing::log::{LogEntry, LogWriter};

/// Definitions beyond that are written without a block.
const MAX_BYTES: u64 = 1 << 24;

/// Definitions waiting to be written.
#[derive(Debug)]
pub(crate) struct Pending {
    entries: LogWriter<Vec<u8>>,
    functions: HashSet<Function>,
}

impl Pending {
    pub(crate) fn new() -> Pending {
        Pending { entries: LogWriter::unchecked(Vec::new()), functions: HashSet::new() }
    }

    pub(crate) fn add(&mut self, entry: &LogEntry) -> io::Result<()> {
        self.entries.push(entry)
    }

    /// Names a function, once.
    pub(crate) fn name(&mut self, function: Function) -> io::Result<()> {
        if !self.functions.insert(function) {
            return Ok(());
        }
        self.add(&LogEntry::Function {
            number: function.into(),
            layer: function.layer().name().into(),
            name: function.name().into(),
        })
    }

    /// Whether there is enough to be written at once.
    pub(crate) fn is_large(&self) -> bool {
        self.entries.n_bytes() > MAX_BYTES
    }

    /// Puts them into the trace.
    pub(crate) fn write(&mut self, out: &mut ChunkWriter) -> io::Result<()> {
        if self.entries.n_bytes() == 0 {
            return Ok(());
        }
        let entries = std::mem::replace(&mut self.entries, LogWriter::unchecked(Vec::new()));
        out.write_definitions(&entries.finish()?)
    }
}
