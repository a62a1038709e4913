// SPDX-License-Identifier: MIT OR Apache-2.0

//! A trace in the native form, opened for reading.

use std::collections::BTreeMap;
use std::sync::Arc;

use ioracle_events::{ContextId, Event, FileId};

use crate::error::Error;
use crate::native::code::{BlockEvents, BlockFault, EventOrder, Functions};
use crate::native::container::{BlockPlace, Chunks, Damage, LaneId, VERSION};
use crate::native::definitions::{StoredDefinitions, StreamKey};
use crate::provenance::Provenance;
use crate::table::IdTable;
use crate::tally::SkippedRows;
use crate::writing::log::LoggedProcess;
use crate::writing::ranks::ProcessRanks;

/// All but the events of a trace.
#[derive(Debug)]
pub(crate) struct Native {
    path: Arc<str>,
    order: EventOrder,
    /// The file, and what was recorded but is not in it yet.
    parts: Vec<Chunks>,
    functions: Arc<Functions>,
    streams: Vec<StreamKey>,
    processes: Vec<LoggedProcess>,
    ranks: ProcessRanks,
    lanes: BTreeMap<LaneId, Vec<BlockLocation>>,
}

/// A block and the part that it is in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockLocation {
    part: usize,
    pub(crate) block: BlockPlace,
}

impl Native {
    /// Whether it had no end when it was opened.
    pub(crate) fn is_being_recorded(&self) -> bool {
        self.parts.first().is_some_and(|chunks| !chunks.content().is_finished)
    }

    /// A trace of `parts` that belong together.
    pub(crate) fn new(
        path: Arc<str>,
        parts: Vec<Chunks>,
        mut definitions: StoredDefinitions,
    ) -> (Native, IdTable<ContextId>, IdTable<FileId>, Provenance) {
        let mut lanes: BTreeMap<LaneId, Vec<BlockLocation>> = BTreeMap::new();
        for (part, chunks) in parts.iter().enumerate() {
            for &block in chunks.content().blocks() {
                lanes.entry(block.lane).or_default().push(BlockLocation { part, block });
            }
        }
        let order = parts.first().map_or(EventOrder::ByTime, |chunks| chunks.head().order);
        definitions.complete_provenance(order);
        let StoredDefinitions {
            contexts, files, functions, processes, streams, provenance, ..
        } = definitions;
        let native = Native {
            order,
            path,
            parts,
            functions: Arc::new(functions),
            streams,
            ranks: ProcessRanks::new(&processes),
            processes,
            lanes,
        };
        (native, contexts, files, provenance)
    }

    pub(crate) fn path(&self) -> &Arc<str> {
        &self.path
    }

    pub(crate) fn order(&self) -> EventOrder {
        self.order
    }

    /// The rank of each process, if it has one, by its number.
    pub(crate) fn process_ranks(&self) -> impl Iterator<Item = Option<u32>> + '_ {
        self.processes.iter().map(|process| process.rank)
    }

    /// When a process began, after the first one.
    pub(crate) fn process_start_ns(&self, process: u32) -> u64 {
        match self.order {
            EventOrder::ByTime => self.ranks.process_start_ns(process),
            EventOrder::Numbered => 0,
        }
    }

    /// The lanes of each rank that has events, in the order of the trace; or those of
    /// each process, whose number then replaces the rank.
    pub(crate) fn ranks(
        &self,
        tally: &mut SkippedRows,
        grouping: Grouping,
    ) -> Result<Vec<RankLanes>, Error> {
        let mut ranks: BTreeMap<u32, RankLanes> = BTreeMap::new();
        for (&id, places) in &self.lanes {
            let Some(first) = places.first() else { continue };
            let Some(stream) = self.streams.get(id.stream as usize).copied() else {
                let n_events = places.iter().map(|place| u64::from(place.block.n_events)).sum();
                let position = first.block.position;
                let damage = Damage::At { position, reason: "its stream is not defined" };
                tally.skip_many(error(&self.path, damage), n_events)?;
                continue;
            };
            let (rank, shift_ns) = match (grouping, self.order) {
                (Grouping::Processes, _) => (stream.process, 0),
                (Grouping::Ranks, EventOrder::ByTime) => self.ranks.shift_ns(stream.process),
                // The ranks of a table keep its order.
                (Grouping::Ranks, EventOrder::Numbered) => {
                    let process = self.processes.get(stream.process as usize);
                    (process.and_then(|process| process.rank).unwrap_or_default(), 0)
                }
            };
            let group = match self.order {
                EventOrder::ByTime => rank,
                EventOrder::Numbered => stream.process,
            };
            let lanes = ranks.entry(group).or_insert(RankLanes { rank, lanes: Vec::new() });
            lanes.lanes.push(RankLane { id, stream, shift_ns, first: first.block });
        }
        Ok(ranks.into_values().collect())
    }

    /// The blocks of a lane.
    pub(crate) fn blocks(&self, id: LaneId) -> &[BlockLocation] {
        self.lanes.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Opens a block.
    pub(crate) fn open(&self, place: BlockLocation) -> Result<BlockEvents, Error> {
        let position = place.block.position;
        let chunks = &self.parts[place.part];
        let (head, sections) =
            chunks.block(position).map_err(|damage| error(&self.path, damage))?;
        let is_expected = BlockPlace::new(position, &head) == place.block;
        let precision = head.precision().filter(|_| is_expected);
        let precision =
            precision.ok_or(self.fault(place, BlockFault("its head makes no sense")))?;
        let n_events = head.n_events as usize;
        let about = (precision, self.order, head.first());
        BlockEvents::new(sections, n_events, about, &self.functions)
            .map_err(|fault| self.fault(place, fault))
    }

    /// All events with the process that made them, stream by stream; what
    /// cannot be read is left out.
    pub(crate) fn each_event(&self, mut each: impl FnMut(u32, &Event)) {
        for (id, places) in &self.lanes {
            let Some(stream) = self.streams.get(id.stream as usize) else { continue };
            for events in places.iter().filter_map(|place| self.open(*place).ok()) {
                events.map_while(Result::ok).for_each(|event| each(stream.process, &event));
            }
        }
    }

    /// What is wrong with a block.
    pub(crate) fn fault(&self, place: BlockLocation, BlockFault(reason): BlockFault) -> Error {
        error(&self.path, Damage::At { position: place.block.position, reason })
    }
}

/// How the streams of a trace are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grouping {
    Ranks,
    Processes,
}

/// The streams of a rank.
#[derive(Debug)]
pub(crate) struct RankLanes {
    pub(crate) rank: u32,
    pub(crate) lanes: Vec<RankLane>,
}

/// A stream, or the late events of one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RankLane {
    pub(crate) id: LaneId,
    pub(crate) stream: StreamKey,
    /// From the start of the rank to that of the process.
    pub(crate) shift_ns: u64,
    pub(crate) first: BlockPlace,
}

/// An error that says which file.
pub(crate) fn error(path: &Arc<str>, damage: Damage) -> Error {
    let path = path.clone();
    match damage {
        Damage::NotATrace => Error::NotATrace { path },
        Damage::Version(found) => Error::OtherVersion { path, found, known: VERSION },
        Damage::Cut { position } => Error::CutAt { path, position },
        Damage::At { position, reason } => Error::DamagedAt { path, position, reason },
        Damage::Unreadable(source) => Error::Unreadable { path, source },
    }
}
