// SPDX-License-Identifier: MIT OR Apache-2.0

//! The events of a native trace: rank by rank, the streams of a rank merged.
//!
//! A stream is opened when its first event is due and closed behind its last one, and
//! of an open one only the current block is in memory; so memory grows with the number
//! of threads that live at the same time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};

use ioracle_events::{Event, FileId, StreamId};

use crate::error::Error;
use crate::native::code::{BlockEvents, BlockFault, EventOrder};
use crate::native::definitions::StreamKey;
use crate::native::trace::{BlockLocation, Grouping, Native, RankLane, RankLanes};
use crate::order::MAX_THREADS;
use crate::tally::SkippedRows;
use crate::trace::Trace;

/// Gives all events of some ranks.
pub(crate) struct NativeEvents<'trace> {
    trace: &'trace Trace,
    native: &'trace Native,
    ranks: VecDeque<RankLanes>,
    merge: Merge,
    /// The process of each stream of a recording that has had events.
    origins: BTreeMap<StreamId, u32>,
}

/// When an event is due, and of which stream it is: by sequence or time, where
/// those are equal as processes and threads are numbered.
type Due = (u64, u32, u32, u8);

/// The streams of the current rank.
#[derive(Default)]
struct Merge {
    rank: u32,
    /// Not yet open, the first to come last.
    waiting: Vec<(Due, RankLane)>,
    heads: BinaryHeap<Reverse<Head>>,
    threads: HashMap<(u32, u32), u32>,
    n_events: u64,
    last_sequence: Option<u64>,
}

struct Head {
    due: Due,
    event: Event,
    lane: Lane,
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.due == other.due
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> std::cmp::Ordering {
        self.due.cmp(&other.due)
    }
}

/// A stream that is being read.
struct Lane {
    about: RankLane,
    /// How many of its blocks were opened.
    n_opened: usize,
    block: Option<Box<OpenBlock>>,
    last_start_ns: u64,
}

struct OpenBlock {
    place: BlockLocation,
    events: BlockEvents,
    n_given: u64,
}

impl<'trace> NativeEvents<'trace> {
    pub(crate) fn new(
        trace: &'trace Trace,
        native: &'trace Native,
        (rank, grouping): (Option<u32>, Grouping),
        tally: &mut SkippedRows,
    ) -> Result<NativeEvents<'trace>, Error> {
        let mut ranks = native.ranks(tally, grouping)?;
        ranks.retain(|lanes| rank.is_none_or(|rank| rank == lanes.rank));
        let (merge, origins) = (Merge::default(), BTreeMap::new());
        Ok(NativeEvents { trace, native, ranks: ranks.into(), merge, origins })
    }

    /// The next event; what cannot be read goes to `tally`.
    pub(crate) fn next(&mut self, tally: &mut SkippedRows) -> Result<Option<Event>, Error> {
        loop {
            self.open_due(tally)?;
            let Some(Reverse(head)) = self.merge.heads.pop() else {
                let Some(rank) = self.ranks.pop_front() else { return Ok(None) };
                self.merge = Merge::new(rank, self.native.order());
                continue;
            };
            let Head { event, lane, .. } = head;
            let stream = lane.about.stream;
            self.advance(lane, tally)?;
            let n_threads = self.merge.threads.len();
            if let Some(event) = self.merge.number(event, stream, self.native.order()) {
                if self.merge.threads.len() > n_threads {
                    self.origins.entry(event.stream).or_insert(stream.process);
                }
                return Ok(Some(event));
            }
        }
    }

    /// The process of each stream that has had events, in a recording.
    pub(crate) fn take_origins(&mut self) -> Vec<(StreamId, u32)> {
        std::mem::take(&mut self.origins).into_iter().collect()
    }

    /// Opens the streams whose first event may be the next one.
    fn open_due(&mut self, tally: &mut SkippedRows) -> Result<(), Error> {
        while let Some(&(due, about)) = self.merge.waiting.last() {
            if self.merge.heads.peek().is_some_and(|Reverse(head)| head.due < due) {
                break;
            }
            self.merge.waiting.pop();
            self.advance(Lane { about, n_opened: 0, block: None, last_start_ns: 0 }, tally)?;
        }
        Ok(())
    }

    /// Reads the next event of a stream and puts it among the heads.
    fn advance(&mut self, mut lane: Lane, tally: &mut SkippedRows) -> Result<(), Error> {
        let Some(mut event) = self.read(&mut lane, tally)? else { return Ok(()) };
        let RankLane { id, stream: StreamKey { process, thread }, shift_ns, .. } = lane.about;
        let shifted = |time: u64| time.saturating_add(shift_ns).min(i64::MAX as u64);
        event.start_ns = shifted(event.start_ns);
        event.end_ns = shifted(event.end_ns);
        let time = match self.native.order() {
            EventOrder::ByTime => event.start_ns,
            EventOrder::Numbered => event.sequence,
        };
        let due = (time, process, thread, id.lane);
        self.merge.heads.push(Reverse(Head { due, event, lane }));
        Ok(())
    }

    /// The next good event of a stream.
    fn read(&self, lane: &mut Lane, tally: &mut SkippedRows) -> Result<Option<Event>, Error> {
        loop {
            let Some(block) = &mut lane.block else {
                let Some(&place) = self.native.blocks(lane.about.id).get(lane.n_opened) else {
                    return Ok(None);
                };
                lane.n_opened += 1;
                match self.native.open(place) {
                    Ok(events) => {
                        lane.block = Some(Box::new(OpenBlock { place, events, n_given: 0 }));
                    }
                    Err(error) => tally.skip_many(error, place.block.n_events.into())?,
                }
                continue;
            };
            match block.events.next() {
                Some(read) => match read.and_then(|event| self.check(event, lane.last_start_ns)) {
                    Ok(event) => {
                        block.n_given += 1;
                        lane.last_start_ns = event.start_ns;
                        return Ok(Some(event));
                    }
                    Err(fault) => {
                        let place = block.place;
                        let n_lost = u64::from(place.block.n_events).saturating_sub(block.n_given);
                        lane.block = None;
                        tally.skip_many(self.native.fault(place, fault), n_lost)?;
                    }
                },
                None => lane.block = None,
            }
        }
    }

    /// Checks an event against the tables and the one before it.
    fn check(&self, event: Event, last_start_ns: u64) -> Result<Event, BlockFault> {
        if event.start_ns < last_start_ns {
            return Err(BlockFault("it begins before the block before it ends"));
        }
        if !self.trace.contexts().contains(event.context) {
            return Err(BlockFault("it names a call stack that is not defined"));
        }
        if event.file != FileId::UNKNOWN && !self.trace.files().contains(event.file) {
            return Err(BlockFault("it names a file that is not defined"));
        }
        Ok(event)
    }
}

impl Merge {
    fn new(RankLanes { rank, lanes }: RankLanes, order: EventOrder) -> Merge {
        let due = |lane: &RankLane| match order {
            EventOrder::ByTime => lane.first.first_start_ns.saturating_add(lane.shift_ns),
            EventOrder::Numbered => lane.first.first_sequence,
        };
        let of = |lane: RankLane| {
            let StreamKey { process, thread } = lane.stream;
            ((due(&lane), process, thread, lane.id.lane), lane)
        };
        let mut waiting: Vec<(Due, RankLane)> = lanes.into_iter().map(of).collect();
        waiting.sort_unstable_by_key(|(due, _)| Reverse(*due));
        Merge { rank, waiting, ..Merge::default() }
    }

    /// Gives an event its place in the rank; `None` if there is none for it, because
    /// the stated beginning of another stream was wrong.
    fn number(&mut self, mut event: Event, stream: StreamKey, order: EventOrder) -> Option<Event> {
        let thread = match order {
            EventOrder::Numbered => stream.thread,
            EventOrder::ByTime => {
                // More threads than a trace can have share the last number.
                let next = self.threads.len().min(MAX_THREADS - 1) as u32;
                *self.threads.entry((stream.process, stream.thread)).or_insert(next)
            }
        };
        if order == EventOrder::ByTime {
            event.sequence = self.n_events;
        }
        if self.last_sequence.is_some_and(|last| event.sequence <= last) {
            return None;
        }
        self.last_sequence = Some(event.sequence);
        self.n_events += 1;
        event.stream = StreamId { rank: self.rank, thread };
        Some(event)
    }
}
