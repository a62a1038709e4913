// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the events of a trace refer to: functions, call stacks, files,
//! processes and streams; and what is known about those.

use std::io::{BufReader, Read};

use ioracle_events::{ContextId, FileId, Function, Layer, StreamId};

use crate::native::code::{EventOrder, Functions};
use crate::native::container::{Chunks, Damage, IndexEntry};
use crate::order::MAX_RANKS;
use crate::provenance::{
    FilePlace, LoadedModule, Mount, MountId, NotTaken, Provenance, SourcePlace, TraceProcess,
};
use crate::source::MAX_WINDOW_LOG;
use crate::table::{IdTable, MAX_TABLE_BYTES};
use crate::writing::log::{
    LogEntry, LogReader, LoggedProcess, MOST, ProcessDetails, cell, is_cell, is_line,
};

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
    pub(crate) provenance: Provenance,
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
            provenance: Provenance::default(),
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
                // If this version does not know it, whatever refers to it finds it
                // missing.
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
            entry => match self.add_provenance(entry)? {
                // Those that a log and the trace both have come twice.
                Ok(()) | Err(NotTaken::OutOfOrder) => Some(()),
                Err(NotTaken::Full | NotTaken::Dangling) => None,
            },
        }
    }

    /// Takes what is known besides the events. Tables are made of it, so text
    /// that would break them is not taken.
    fn add_provenance(&mut self, entry: LogEntry) -> Option<Result<(), NotTaken>> {
        if let LogEntry::Details(ProcessDetails { number: process, .. })
        | LogEntry::End { process, .. }
        | LogEntry::Command { process, .. }
        | LogEntry::Module { process, .. } = &entry
        {
            self.know_process(*process)?;
        }
        let known = &mut self.provenance;
        Some(match entry {
            LogEntry::Details(it) if is_cell(&it.application) => {
                known.change_process(it.number, it.application.len(), |process| {
                    process.parent_pid = it.parent_pid;
                    process.start_realtime_ns = it.start_realtime_ns.min(MOST);
                    process.application = it.application;
                })
            }
            LogEntry::End { process, end_ns } => {
                known.change_process(process, 0, |process| process.end_ns = Some(end_ns.min(MOST)))
            }
            LogEntry::Command { process, at, text } if is_line(&text) => {
                known.add_command(process, at as usize, &text)
            }
            LogEntry::Module { process, name, address, build_id, path }
                if is_cell(&name) && is_line(&path) =>
            {
                known.add_module(LoadedModule { process, name, address, build_id, path })
            }
            LogEntry::Symbol { frame, inlined, line, source, function }
                if is_cell(&frame) && is_cell(&source) && is_line(&function) =>
            {
                let place = SourcePlace { function, source, line };
                known.add_source_place(&frame, inlined, place)
            }
            LogEntry::Mount { kind, device, point }
                if is_cell(&kind) && is_cell(&device) && is_line(&point) =>
            {
                known.add_mount(Mount { kind, device, point }).map(drop)
            }
            LogEntry::FilePlace { file, mount, size_at_open } => {
                let file = FileId(file);
                let mount = (mount > 0).then_some(MountId(mount));
                let size_at_open = size_at_open.map(|size| size.min(MOST));
                match self.files.contains(file) {
                    true => known.add_file_place(file, FilePlace { mount, size_at_open }),
                    false => Err(NotTaken::Dangling),
                }
            }
            LogEntry::TraceProcess(it) if is_cell(&it.application) && is_cell(&it.executable) => {
                known.add_process(TraceProcess {
                    pid: it.pid,
                    parent_pid: it.parent_pid,
                    rank: it.rank,
                    start_ns: it.start_ns.min(MOST),
                    end_ns: it.end_ns.map(|end_ns| end_ns.min(MOST)),
                    start_realtime_ns: it.start_realtime_ns.min(MOST),
                    application: it.application,
                    executable: it.executable,
                    command: "".into(),
                })
            }
            LogEntry::Thread { rank, thread, process } => {
                known.add_thread(StreamId { rank, thread }, process)
            }
            _ => return None,
        })
    }

    /// The processes of a recording are known by the definitions that events need.
    fn know_process(&mut self, number: u32) -> Option<()> {
        let known = &mut self.provenance;
        let is_next = (number as usize) < self.processes.len();
        while is_next && known.processes.len() <= number as usize {
            known.add_process(TraceProcess::default()).ok()?;
        }
        Some(())
    }

    /// What is known about processes by the definitions that came first, for a
    /// recording; an import has defined all of them itself, or none.
    pub(crate) fn complete_provenance(&mut self, order: EventOrder) {
        if order == EventOrder::Numbered {
            return;
        }
        let known = &mut self.provenance;
        known.processes.resize(self.processes.len(), TraceProcess::default());
        for (process, seen) in known.processes.iter_mut().zip(&self.processes) {
            process.pid = seen.pid;
            process.rank = seen.rank;
            process.start_ns = seen.start_ns.min(MOST);
            // Traces of version 1 do not escape paths.
            process.executable = cell(&seen.executable);
            if process.command.is_empty() {
                process.command = seen.command.clone();
            }
            if process.application.is_empty() {
                process.application =
                    process.executable.rsplit('/').next().unwrap_or_default().into();
            }
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
