// SPDX-License-Identifier: MIT OR Apache-2.0

//! The order that the rows of `events.csv` must have: those of a rank together
//! and by increasing `seq`, those of a thread by time.

use std::collections::{HashMap, HashSet};

use ioracle_events::StreamId;

use crate::error::RowFault;

/// The most ranks that a trace may have.
pub const MAX_RANKS: usize = 1 << 22;

/// The most threads that a rank may have.
pub const MAX_THREADS: usize = 1 << 20;

/// Remembers what rows came before, as far as the next one depends on it.
#[derive(Debug, Default)]
pub(crate) struct Order {
    ranks: HashSet<u32>,
    last: Option<Last>,
    /// When the last call of each thread of the current rank began; for the
    /// current thread it stands in `last`, which spares most rows the lookup.
    starts: HashMap<u32, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    stream: StreamId,
    sequence: u64,
    start_ns: u64,
}

impl Order {
    /// Checks a row against those before it and, if it is good, remembers it.
    pub(crate) fn advance(
        &mut self,
        stream: StreamId,
        sequence: u64,
        start_ns: u64,
    ) -> Result<(), RowFault> {
        match self.last {
            Some(last) if last.stream.rank == stream.rank => {
                self.check_within_rank(last, stream, sequence, start_ns)?;
            }
            _ => self.enter_rank(stream.rank)?,
        }
        self.last = Some(Last { stream, sequence, start_ns });
        Ok(())
    }

    /// The ranks seen so far.
    pub(crate) fn ranks(&self) -> &HashSet<u32> {
        &self.ranks
    }

    fn check_within_rank(
        &mut self,
        last: Last,
        stream: StreamId,
        sequence: u64,
        start_ns: u64,
    ) -> Result<(), RowFault> {
        if sequence <= last.sequence {
            let previous = last.sequence;
            return Err(RowFault::SequenceNotIncreasing { sequence, previous });
        }
        let thread = stream.thread;
        let previous_ns = if thread == last.stream.thread {
            last.start_ns
        } else {
            self.starts.get(&thread).copied().unwrap_or(0)
        };
        if start_ns < previous_ns {
            return Err(RowFault::TimeRunsBackwards { thread, start_ns, previous_ns });
        }
        if thread != last.stream.thread {
            if self.starts.len() >= MAX_THREADS && !self.starts.contains_key(&last.stream.thread) {
                return Err(RowFault::TooManyThreads { rank: stream.rank, limit: MAX_THREADS });
            }
            self.starts.insert(last.stream.thread, last.start_ns);
        }
        Ok(())
    }

    fn enter_rank(&mut self, rank: u32) -> Result<(), RowFault> {
        if self.ranks.contains(&rank) {
            return Err(RowFault::RankNotGrouped { rank });
        }
        if self.ranks.len() >= MAX_RANKS {
            return Err(RowFault::TooManyRanks { limit: MAX_RANKS });
        }
        self.ranks.insert(rank);
        self.starts.clear();
        Ok(())
    }
}
