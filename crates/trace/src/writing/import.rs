// SPDX-License-Identifier: MIT OR Apache-2.0

//! Converts a trace to the native form, row by row.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use ioracle_events::{Event, StreamId};

use crate::error::Error;
use crate::native::{
    BlockRoom, ChunkWriter, EVENTS, EventOrder, FileHead, Storage, StreamWriters, TimePrecision,
    VERSION,
};
use crate::provenance::{FilePlace, LoadedModule, Mount, Provenance, SourcePlace};
use crate::table::{IdTable, TableId};
use crate::trace::Trace;
use crate::writing::PROGRESS_STEP;
use crate::writing::directory::Directory;
use crate::writing::finish::{Written, first_skipped};
use crate::writing::log::{LogEntry, LoggedProcess, ProcessRow, commands};
use crate::writing::part::{TemporaryFile, unwritable};
use crate::writing::pending::Pending;
use crate::writing::recorder::refuse_trace;

/// Writes `trace` into a directory of its own. Its tables, description and events are
/// preserved, except for the precision of times.
///
/// `progress` is called with the number of events from time to time.
pub fn import(
    trace: &Trace,
    directory: &Path,
    times: TimePrecision,
    progress: &mut dyn FnMut(u64),
) -> Result<Written, Error> {
    // Dropped last, after the files that failed are removed.
    let _made = Directory::create(directory)?;
    refuse_trace(directory)?;
    let (part, file) = TemporaryFile::create(directory, EVENTS)?;
    let fail = |source| unwritable(&directory.join(EVENTS), source);
    let head = FileHead { version: VERSION, order: EventOrder::Numbered };
    let out = ChunkWriter::create(Storage::File(file), head).map_err(fail)?;
    let mut import = Import {
        out,
        pending: Pending::new(),
        streams: StreamWriters::new(times, EventOrder::Numbered, 0),
        numbers: HashMap::new(),
        ranks: Vec::new(),
        n_events: 0,
    };
    import.define(trace).map_err(fail)?;
    let mut events = trace.events(None)?;
    for event in events.by_ref() {
        import.push(&event?).map_err(fail)?;
        if import.n_events.is_multiple_of(PROGRESS_STEP) {
            progress(PROGRESS_STEP);
        }
    }
    let (n_events, n_ranks) = (import.n_events, import.ranks.len());
    import.finish().map_err(fail)?;
    if let Some(bytes) = trace.meta_bytes() {
        TemporaryFile::of_bytes(directory, "meta.json", bytes)?.appear()?;
    }
    part.appear()?;
    Ok(Written {
        directory: directory.into(),
        n_events,
        n_ranks,
        n_contexts: trace.contexts().len() as u64,
        n_files: trace.files().len() as u64,
        n_damaged: 0,
        n_skipped: trace.skipped() + events.skipped(),
        first_skipped: first_skipped(trace, &events),
        incomplete: trace.incomplete().map(str::to_owned),
    })
}

/// The entries that say all of what is known besides the events.
fn each_entry(
    known: &Provenance,
    mut add: impl FnMut(LogEntry) -> io::Result<()>,
) -> io::Result<()> {
    for (number, process) in (0..).zip(known.processes()) {
        add(LogEntry::TraceProcess(ProcessRow {
            pid: process.pid,
            parent_pid: process.parent_pid,
            rank: process.rank,
            start_ns: process.start_ns,
            end_ns: process.end_ns,
            start_realtime_ns: process.start_realtime_ns,
            application: process.application.clone(),
            executable: process.executable.clone(),
        }))?;
        commands(number, &process.command).try_for_each(&mut add)?;
    }
    for (StreamId { rank, thread }, process) in known.threads() {
        add(LogEntry::Thread { rank, thread, process })?;
    }
    for module in known.modules() {
        let LoadedModule { process, name, address, build_id, path } = module.clone();
        add(LogEntry::Module { process, name, address, build_id, path })?;
    }
    for (frame, places) in known.frames() {
        for (inlined, place) in (0..).zip(places) {
            let SourcePlace { function, source, line } = place.clone();
            add(LogEntry::Symbol { frame: frame.into(), inlined, line, source, function })?;
        }
    }
    for Mount { kind, device, point } in known.mounts().iter().cloned() {
        add(LogEntry::Mount { kind, device, point })?;
    }
    for (file, FilePlace { mount, size_at_open }) in known.file_places() {
        let mount = mount.map_or(0, |mount| mount.0);
        add(LogEntry::FilePlace { file: file.0, mount, size_at_open })?;
    }
    Ok(())
}

struct Import {
    out: ChunkWriter,
    pending: Pending,
    streams: StreamWriters,
    numbers: HashMap<StreamId, u32>,
    ranks: Vec<u32>,
    n_events: u64,
}

impl Import {
    fn define(&mut self, trace: &Trace) -> io::Result<()> {
        self.define_table(trace.contexts(), |id, text| LogEntry::Context { id, frames: text })?;
        self.define_table(trace.files(), |id, text| LogEntry::File { id, path: text })?;
        each_entry(trace.provenance(), |entry| self.pending.add(&entry))
    }

    fn define_table<Id: TableId>(
        &mut self,
        table: &IdTable<Id>,
        entry: impl Fn(u32, Box<str>) -> LogEntry,
    ) -> io::Result<()> {
        for (id, text) in table.iter() {
            self.pending.add(&entry(id.number(), text.into()))?;
            if self.pending.is_large() {
                self.pending.write(&mut self.out)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, event: &Event) -> io::Result<()> {
        self.n_events += 1;
        if self.ranks.last() != Some(&event.stream.rank) {
            self.enter_rank(event.stream.rank)?;
        }
        let number = match self.numbers.get(&event.stream) {
            Some(number) => *number,
            None => self.enter_stream(event.stream)?,
        };
        self.pending.name(event.function)?;
        match self.streams.push(number, event) {
            BlockRoom::Left => Ok(()),
            BlockRoom::Full => {
                self.pending.write(&mut self.out)?;
                self.streams.cut(number, &mut self.out)
            }
        }
    }

    /// Rows of a rank stand together, so nothing more comes for the last one.
    fn enter_rank(&mut self, rank: u32) -> io::Result<()> {
        self.pending.write(&mut self.out)?;
        self.streams.cut_all(&mut self.out)?;
        let number = self.ranks.len() as u32;
        self.ranks.push(rank);
        let process = LoggedProcess { number, rank: Some(rank), ..LoggedProcess::default() };
        self.pending.add(&LogEntry::Process(process))
    }

    fn enter_stream(&mut self, stream: StreamId) -> io::Result<u32> {
        let number = self.numbers.len() as u32;
        self.numbers.insert(stream, number);
        let process = self.ranks.len() as u32 - 1;
        self.pending.add(&LogEntry::Stream { process, thread: stream.thread, tid: 0 })?;
        Ok(number)
    }

    fn finish(mut self) -> io::Result<()> {
        self.pending.write(&mut self.out)?;
        self.streams.cut_all(&mut self.out)?;
        self.out.finish().map(drop)
    }
}
