// SPDX-License-Identifier: MIT OR Apache-2.0

//! The events of a block before the place where the file was cut off.
//!
//! A small trace is a single block. Its grammar and most of its columns stand before
//! its times, so a file that lost its end still has the first events of the block in
//! full. They are read up to the first one that depends on a missing byte. The checksum
//! of a block covers all of it, so these events are only as good as the checks on each
//! of them.

use std::io;
use std::sync::Arc;

use ioracle_events::{Event, FileId};

use super::code::{BlockEvents, EventOrder};
use super::container::{BlockHead, ChunkWriter, Chunks, TornParts};
use super::definitions::StoredDefinitions;
use super::streams::{BlockRoom, StreamWriters};
use super::times::TimePrecision;

/// The first events of a torn block.
pub(crate) struct Salvaged {
    head: BlockHead,
    events: Vec<Event>,
}

impl Salvaged {
    /// Events after the cut.
    pub(crate) fn n_lost(&self) -> u64 {
        u64::from(self.head.n_events).saturating_sub(self.events.len() as u64)
    }

    /// Writes the events as a block that is whole, behind those of `chunks`.
    pub(crate) fn write(self, chunks: &Chunks, out: &mut ChunkWriter) -> io::Result<()> {
        let number = self.head.lane.stream;
        // Times were already rounded if that was requested.
        let mut streams =
            StreamWriters::new(TimePrecision::Exact, chunks.head().order, self.head.generation);
        streams.resume(chunks.content().blocks().filter(|block| block.lane.stream == number));
        for event in &self.events {
            if streams.push(number, event) == BlockRoom::Full {
                streams.cut(number, out)?;
            }
        }
        streams.cut_all(out)
    }
}

/// Reads the torn blocks of a trace, but those whose events are still in a log
/// of this generation.
pub(crate) fn salvage(
    chunks: &Chunks,
    definitions: &StoredDefinitions,
    log_generation: Option<u32>,
) -> Vec<Salvaged> {
    let mut found: Vec<Salvaged> = Vec::new();
    for torn in &chunks.content().torn {
        let Ok(parts) = chunks.torn_block(*torn) else { continue };
        let head = &parts.0;
        // An earlier repair that was killed may have written some or all of these
        // events again.
        let is_written_again = chunks.content().blocks().any(|block| {
            let first = (block.lane.stream, block.first_start_ns);
            block.position > torn.position && first == (head.lane.stream, head.first_start_ns)
        });
        let is_found = found.iter().any(|Salvaged { head: other, .. }| {
            let first = (other.lane.stream, other.first_start_ns);
            first == (head.lane.stream, head.first_start_ns)
        });
        let is_in_log = log_generation == Some(head.generation);
        if !is_written_again && !is_found && !is_in_log {
            let events = read(&parts, chunks.head().order, definitions).unwrap_or_default();
            found.push(Salvaged { head: parts.0, events });
        }
    }
    found
}

/// The events of a torn block before the cut.
fn read(
    parts: &TornParts,
    order: EventOrder,
    definitions: &StoredDefinitions,
) -> Option<Vec<Event>> {
    let (head, sections, is_whole) = parts;
    let stream = definitions.streams.get(head.lane.stream as usize)?;
    // The numbers of events stand last in a block. Where a rank is one stream
    // they count up; else it is not known where they belong.
    let is_numbered = order == EventOrder::Numbered && is_whole.last() == Some(&true);
    let is_alone =
        definitions.streams.iter().filter(|it| it.process == stream.process).count() == 1;
    if order == EventOrder::Numbered && !is_numbered && !is_alone {
        return None;
    }
    let stored = if is_numbered { EventOrder::Numbered } else { EventOrder::ByTime };
    let about = (head.precision()?, stored, head.first());
    let functions = Arc::new(definitions.functions.clone());
    let n_events = head.n_events as usize;
    let events =
        BlockEvents::of_cut(sections.clone(), *is_whole, n_events, about, &functions).ok()?;
    let is_sound = |event: &Event| {
        definitions.contexts.contains(event.context)
            && (event.file == FileId::UNKNOWN || definitions.files.contains(event.file))
    };
    let events = events.map_while(Result::ok).take_while(is_sound);
    let numbers = head.first_sequence..;
    let numbered = numbers.zip(events).map(|(number, event)| match order {
        EventOrder::Numbered if is_numbered => event,
        EventOrder::Numbered => Event { sequence: number, ..event },
        // A second reader of the spool must not report them again.
        EventOrder::ByTime => Event { sequence: head.last_sequence, ..event },
    });
    Some(numbered.collect())
}
