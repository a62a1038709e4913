// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which events of a log are in blocks already.
//!
//! Blocks say which log their events came from, and hold the first events of a stream
//! in it. So that many are skipped.

use std::collections::HashMap;

use super::container::FoundChunks;
use super::definitions::StreamKey;
use crate::writing::log::LoggedEvent;

/// The streams of a log, by their numbers in the trace.
#[derive(Debug)]
pub(crate) struct Replay {
    numbers: HashMap<StreamKey, u32>,
    /// How many events of each stream are still to be passed over.
    n_stored: HashMap<u32, u64>,
}

impl Replay {
    pub(crate) fn new(content: &FoundChunks, streams: &[StreamKey], generation: u32) -> Replay {
        let numbers = (0..).zip(streams).map(|(number, stream)| (*stream, number)).collect();
        let mut n_stored: HashMap<u32, u64> = HashMap::new();
        for block in content.blocks().filter(|block| block.generation == generation) {
            *n_stored.entry(block.lane.stream).or_default() += u64::from(block.n_events);
        }
        Replay { numbers, n_stored }
    }

    /// Takes a stream that the log names; says whether it is a new one.
    pub(crate) fn add(&mut self, stream: StreamKey) -> bool {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(stream).or_insert(next) == next
    }

    /// The number of the stream of an event, if that is not in a block yet.
    pub(crate) fn beyond(&mut self, row: &LoggedEvent) -> Option<u32> {
        let stream = StreamKey { process: row.process, thread: row.thread };
        let number = *self.numbers.get(&stream)?;
        match self.n_stored.get_mut(&number) {
            Some(n_left @ 1..) => {
                *n_left -= 1;
                None
            }
            _ => Some(number),
        }
    }
}
