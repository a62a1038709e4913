// SPDX-License-Identifier: MIT OR Apache-2.0

//! The streams of a trace that is being written, each with the block that its
//! events go into.
//!
//! A stream's block ends after every [`MAX_BLOCK_EVENTS`] events of the stream, however
//! often it had to end before, so that blocks of ranks that do the same have the same
//! content.

use std::collections::HashMap;
use std::io;

use foldhash::fast::RandomState;
use ioracle_events::Event;

use super::code::{BlockEncoder, EventOrder, First, MAX_BLOCK_EVENTS, N_SECTIONS};
use super::container::{BlockHead, BlockPlace, ChunkWriter, LaneId, SectionPlace};
use super::times::TimePrecision;

/// Lanes of a stream. A call that encloses very many others is recorded after them
/// and goes into a lane of its own; beyond the last one, late calls are moved.
const MAX_LANES: usize = 4;

/// All streams.
#[derive(Debug)]
pub(crate) struct StreamWriters {
    times: TimePrecision,
    order: EventOrder,
    /// The log that events are in until their block is written.
    generation: u32,
    streams: HashMap<u32, StreamWriter, RandomState>,
}

#[derive(Debug, Default)]
struct StreamWriter {
    lanes: Vec<Lane>,
    n_events: u64,
    /// The highest number that an event of the current blocks had.
    last_sequence: u64,
}

#[derive(Debug, Default)]
struct Lane {
    block: Option<Box<(First, BlockEncoder)>>,
    last_start_ns: u64,
}

/// Whether a stream's blocks should be written now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum BlockRoom {
    Left,
    Full,
}

impl StreamWriters {
    pub(crate) fn new(times: TimePrecision, order: EventOrder, generation: u32) -> StreamWriters {
        StreamWriters { times, order, generation, streams: HashMap::default() }
    }

    /// Blocks begun from now on keep times with this precision.
    pub(crate) fn keep_times(&mut self, times: TimePrecision) {
        self.times = times;
    }

    /// Blocks from now on hold what another log holds. All must be written.
    pub(crate) fn next_generation(&mut self) -> u32 {
        self.generation = self.generation.wrapping_add(1);
        self.generation
    }

    /// Goes on behind blocks that were written before.
    pub(crate) fn resume<'a>(&mut self, blocks: impl Iterator<Item = &'a BlockPlace>) {
        for block in blocks {
            let stream = self.streams.entry(block.lane.stream).or_default();
            stream.n_events += u64::from(block.n_events);
            stream.last_sequence = stream.last_sequence.max(block.last_sequence);
            let place = usize::from(block.lane.lane).min(MAX_LANES - 1);
            stream.lanes.resize_with(stream.lanes.len().max(place + 1), Lane::default);
            let lane = &mut stream.lanes[place];
            lane.last_start_ns = lane.last_start_ns.max(block.last_start_ns);
        }
    }

    /// The highest number that an event of a stream had.
    pub(crate) fn last_sequence(&self, number: u32) -> Option<u64> {
        let stream = self.streams.get(&number).filter(|stream| stream.n_events > 0);
        stream.map(|stream| stream.last_sequence)
    }

    /// Adds an event to a stream.
    pub(crate) fn push(&mut self, number: u32, event: &Event) -> BlockRoom {
        let stream = self.streams.entry(number).or_default();
        stream.n_events += 1;
        stream.last_sequence = stream.last_sequence.max(event.sequence);
        let lane = stream.lanes.iter().position(|lane| lane.last_start_ns <= event.start_ns);
        let lane = lane.unwrap_or_else(|| {
            if stream.lanes.len() < MAX_LANES {
                stream.lanes.push(Lane::default());
            }
            stream.lanes.len() - 1
        });
        let is_full = stream.lanes[lane].push(event, self.times, self.order);
        match is_full || stream.n_events.is_multiple_of(MAX_BLOCK_EVENTS as u64) {
            true => BlockRoom::Full,
            false => BlockRoom::Left,
        }
    }

    /// Writes the blocks of a stream.
    pub(crate) fn cut(&mut self, number: u32, out: &mut ChunkWriter) -> io::Result<()> {
        let Some(stream) = self.streams.get_mut(&number) else { return Ok(()) };
        for (number_in_stream, lane) in stream.lanes.iter_mut().enumerate() {
            let Some((first, block)) = lane.block.take().map(|block| *block) else { continue };
            let precision = self.times.precision();
            let head = BlockHead {
                lane: LaneId { stream: number, lane: number_in_stream as u8 },
                n_events: block.n_events() as u32,
                first_start_ns: first.start_ns,
                first_sequence: first.sequence,
                last_start_ns: lane.last_start_ns,
                last_sequence: stream.last_sequence,
                generation: self.generation,
                unit_ns: precision.unit_ns,
                n_kept: precision.n_kept,
                sections: [SectionPlace::Here { length: 0 }; N_SECTIONS],
            };
            out.write_block(head, &block.finish())?;
        }
        Ok(())
    }

    /// Writes the blocks of all streams.
    pub(crate) fn cut_all(&mut self, out: &mut ChunkWriter) -> io::Result<()> {
        let mut numbers: Vec<u32> = self.streams.keys().copied().collect();
        numbers.sort_unstable();
        numbers.into_iter().try_for_each(|number| self.cut(number, out))
    }
}

impl Lane {
    /// Adds an event; says whether the block is full.
    fn push(&mut self, event: &Event, times: TimePrecision, order: EventOrder) -> bool {
        let late;
        let event = if event.start_ns < self.last_start_ns {
            let start_ns = self.last_start_ns;
            late = Event { start_ns, end_ns: event.end_ns.max(start_ns), ..event.clone() };
            &late
        } else {
            event
        };
        self.last_start_ns = event.start_ns;
        let (_, block) = &mut **self.block.get_or_insert_with(|| {
            let precision = times.precision();
            let start_ns = event.start_ns / precision.unit_ns * precision.unit_ns;
            let first = First { start_ns, sequence: event.sequence };
            Box::new((first, BlockEncoder::new(precision, order, first)))
        });
        block.push(event);
        block.is_full()
    }
}
