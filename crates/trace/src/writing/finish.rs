// SPDX-License-Identifier: MIT OR Apache-2.0

//! From the log of a recording to the tables of a trace.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use ioracle_events::{ContextId, FileId};

use crate::error::Error;
use crate::order::MAX_THREADS;
use crate::row;
use crate::spooled::MAX_DEFINITIONS;
use crate::table::{MAX_TABLE_BYTES, TableId};
use crate::writing::description::{Counts, Description, Document};
use crate::writing::log::{Entry, LogReader, Row, Seen};
use crate::writing::part::{Part, Table, unwritable};
use crate::writing::ranks::{Place, Ranks};
use crate::writing::sort::{Sorted, Sorter};

/// What a finished trace holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The directory.
    pub directory: PathBuf,
    /// Events.
    pub n_events: u64,
    /// Ranks with at least one event.
    pub n_ranks: usize,
    /// Call stacks.
    pub n_contexts: u64,
    /// Files.
    pub n_files: u64,
}

/// Makes the trace of a log in the same directory.
pub(crate) fn finish(
    directory: &Path,
    log: File,
    processes: &[Seen],
    description: &Description,
) -> Result<Written, Error> {
    let ranks = Ranks::new(processes);
    let mut stacks = Numbered::<ContextId>::create(directory, "stacks.csv.zst")?;
    let mut files = Numbered::<FileId>::create(directory, "files.csv.zst")?;
    let sorted = read(directory, log, &ranks, &mut stacks, &mut files)?;
    let (events, counts) = write_events(directory, sorted, &ranks)?;
    let written = Written {
        directory: directory.into(),
        n_events: counts.n_events(),
        n_ranks: counts.n_ranks(),
        n_contexts: stacks.n_rows,
        n_files: files.n_rows,
    };
    let mut document = describe(description, processes);
    counts.tell(&mut document, &ranks);
    document.distinct_stacks = written.n_contexts;
    document.distinct_files = written.n_files;
    let meta = write_meta(directory, &document)?;
    // The events last: without them there is no trace.
    for part in [stacks.table.finish()?, files.table.finish()?, meta, events] {
        part.appear()?;
    }
    Ok(written)
}

/// Reads the log: definitions go into their tables, events to be sorted.
fn read<'a>(
    directory: &'a Path,
    log: File,
    ranks: &'a Ranks,
    stacks: &mut Numbered<ContextId>,
    files: &mut Numbered<FileId>,
) -> Result<Sorted<'a>, Error> {
    let fail = |source| unwritable(&directory.join("events.csv.zst"), source);
    let mut reader = LogReader::new(BufReader::with_capacity(1 << 16, log));
    reader.check_magic().map_err(fail)?;
    let mut sorter = Sorter::new(ranks, directory);
    while let Some(entry) = reader.next().map_err(fail)? {
        match entry {
            Entry::Event(row) => sorter.push(row).map_err(fail)?,
            Entry::Context { id, frames } => stacks.push(id, &frames)?,
            Entry::File { id, path } => files.push(id, &path)?,
            Entry::Process(_) | Entry::Stream { .. } | Entry::Writer { .. } => {}
        }
    }
    sorter.finish().map_err(fail)
}

/// A table of texts by number. All of its text together is no more than a
/// reader takes; what comes after is known by its number only.
struct Numbered<Id> {
    table: Table,
    n_rows: u64,
    n_bytes: usize,
    id: std::marker::PhantomData<Id>,
}

impl<Id: TableId> Numbered<Id> {
    fn create(directory: &Path, name: &str) -> Result<Numbered<Id>, Error> {
        let table = Table::create(directory, name, Id::HEADER)?;
        Ok(Numbered { table, n_rows: 0, n_bytes: 0, id: std::marker::PhantomData })
    }

    fn push(&mut self, id: u32, text: &str) -> Result<(), Error> {
        // Room is left for the placeholders of as many rows as there can be.
        const MAX_BYTES: usize = MAX_TABLE_BYTES - 2 * MAX_DEFINITIONS;
        let text = if self.n_bytes + text.len() > MAX_BYTES { "?" } else { text };
        self.n_rows += 1;
        self.n_bytes += text.len();
        self.table.push(format_args!("{id},{text}"))
    }
}

fn write_events(
    directory: &Path,
    mut sorted: Sorted<'_>,
    ranks: &Ranks,
) -> Result<(Part, Counts), Error> {
    let mut table = Table::create(directory, "events.csv.zst", row::HEADER)?;
    let mut counts = Counts::default();
    let mut numbers = Numbers::default();
    let fail = |source| unwritable(&directory.join("events.csv.zst"), source);
    let mut last = None;
    while let Some((place, row)) = sorted.next().map_err(fail)? {
        // A second reader of a spool finds what the first one had read but not
        // yet given back.
        if last.replace(place) == Some(place) {
            continue;
        }
        let (thread, sequence) = numbers.next(&place);
        let end_ns = place.start_ns.saturating_add(row.io_time_ns).min(i64::MAX as u64);
        counts.count(&place, row.function, end_ns, ranks);
        write_event(&mut table, &place, &row, thread, sequence, end_ns)?;
    }
    Ok((table.finish()?, counts))
}

fn write_event(
    table: &mut Table,
    place: &Place,
    row: &Row,
    thread: u32,
    sequence: u64,
    end_ns: u64,
) -> Result<(), Error> {
    let offset = row.offset.map_or(-1, |offset| i64::try_from(offset).unwrap_or(i64::MAX));
    table.push(format_args!(
        "{rank},{thread},{sequence},{level},{op},{stack},{file},{handle},{offset},{size},{ret},{start_ns},{end_ns},{depth},{detail}",
        rank = place.rank,
        level = row.function.layer().name(),
        op = row.function.name(),
        stack = row.context,
        file = row.file,
        handle = row.handle.max(-i64::MAX),
        size = row.requested.min(i64::MAX as u64),
        ret = row.result.max(-i64::MAX),
        start_ns = place.start_ns,
        depth = row.depth,
        detail = row.detail,
    ))
}

/// Numbers of the threads and calls of a rank, in the order of the trace.
#[derive(Default)]
struct Numbers {
    rank: Option<u32>,
    threads: HashMap<(u32, u32), u32>,
    sequence: u64,
}

impl Numbers {
    fn next(&mut self, place: &Place) -> (u32, u64) {
        if self.rank != Some(place.rank) {
            *self = Numbers { rank: Some(place.rank), ..Numbers::default() };
        }
        // More threads than a trace can have share the last number.
        let next = self.threads.len().min(MAX_THREADS - 1) as u32;
        let thread = *self.threads.entry((place.process, place.thread)).or_insert(next);
        self.sequence += 1;
        (thread, self.sequence - 1)
    }
}

fn describe(description: &Description, processes: &[Seen]) -> Document {
    let description = description.clone();
    let first = processes.first();
    let or = |text: String, known: Option<&str>| match text.is_empty() {
        true => known.unwrap_or_default().to_owned(),
        false => text,
    };
    let executable = first.and_then(|process| process.executable.rsplit('/').next());
    Document {
        application: or(description.application, executable),
        command: or(description.command, first.map(|process| &*process.command)),
        processes: processes.len(),
        wall_s: description.wall_s,
        not_recorded: description.not_recorded,
        notes: description.notes,
        ..Document::default()
    }
}

fn write_meta(directory: &Path, document: &Document) -> Result<Part, Error> {
    let (part, mut file) = Part::create(directory, "meta.json")?;
    let written = serde_json::to_vec_pretty(document)
        .map_err(std::io::Error::other)
        .and_then(|text| file.write_all(&text))
        .and_then(|()| file.write_all(b"\n"))
        .and_then(|()| file.sync_all());
    match written {
        Ok(()) => Ok(part),
        Err(source) => Err(part.unwritable(source)),
    }
}
