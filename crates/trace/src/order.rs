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

/// What a row's place among the others depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Position {
    pub(crate) stream: StreamId,
    pub(crate) sequence: u64,
    pub(crate) start_ns: u64,
}

/// Remembers what rows came before, as far as the next one depends on it.
#[derive(Debug, Default)]
pub(crate) struct RowOrder {
    ranks: HashSet<u32>,
    last: Option<Position>,
    /// When the last call of each thread of the current rank began; for the
    /// current thread it stands in `last`, which spares most rows the lookup.
    starts: HashMap<u32, u64>,
}

/// How to forget the last row again.
#[derive(Debug)]
pub(crate) struct Undo {
    last: Option<Position>,
    change: Change,
}

#[derive(Debug)]
enum Change {
    SameThread,
    OtherThread { left: u32, start_before: Option<u64> },
    OtherRank { entered: u32, starts: HashMap<u32, u64> },
}

impl RowOrder {
    /// Checks a row against those before it and, if it is good, remembers it.
    pub(crate) fn advance(&mut self, position: Position) -> Result<Undo, RowFault> {
        let change = match self.last {
            Some(last) if last.stream == position.stream => {
                check_sequence(last, position)?;
                check_time(last.start_ns, position)?;
                Change::SameThread
            }
            Some(last) if last.stream.rank == position.stream.rank => {
                check_sequence(last, position)?;
                self.enter_thread(last, position)?
            }
            _ => self.enter_rank(position.stream.rank)?,
        };
        Ok(Undo { last: self.last.replace(position), change })
    }

    /// Forgets the row whose `advance` gave `undo`, which must be the last one.
    pub(crate) fn undo(&mut self, undo: Undo) {
        self.last = undo.last;
        match undo.change {
            Change::SameThread => {}
            Change::OtherThread { left, start_before: Some(start_ns) } => {
                self.starts.insert(left, start_ns);
            }
            Change::OtherThread { left, start_before: None } => {
                self.starts.remove(&left);
            }
            Change::OtherRank { entered, starts } => {
                self.ranks.remove(&entered);
                self.starts = starts;
            }
        }
    }

    /// The ranks seen so far.
    pub(crate) fn ranks(&self) -> &HashSet<u32> {
        &self.ranks
    }

    fn enter_thread(&mut self, last: Position, position: Position) -> Result<Change, RowFault> {
        if let Some(&start_ns) = self.starts.get(&position.stream.thread) {
            check_time(start_ns, position)?;
        }
        let left = last.stream.thread;
        if self.starts.len() >= MAX_THREADS && !self.starts.contains_key(&left) {
            let rank = position.stream.rank;
            return Err(RowFault::TooManyThreads { rank, limit: MAX_THREADS });
        }
        let start_before = self.starts.insert(left, last.start_ns);
        Ok(Change::OtherThread { left, start_before })
    }

    fn enter_rank(&mut self, rank: u32) -> Result<Change, RowFault> {
        if self.ranks.contains(&rank) {
            return Err(RowFault::RankNotGrouped { rank });
        }
        if self.ranks.len() >= MAX_RANKS {
            return Err(RowFault::TooManyRanks { limit: MAX_RANKS });
        }
        self.ranks.insert(rank);
        Ok(Change::OtherRank { entered: rank, starts: std::mem::take(&mut self.starts) })
    }
}

fn check_sequence(last: Position, position: Position) -> Result<(), RowFault> {
    let (sequence, previous) = (position.sequence, last.sequence);
    if sequence <= previous {
        return Err(RowFault::SequenceNotIncreasing { sequence, previous });
    }
    Ok(())
}

fn check_time(previous_ns: u64, position: Position) -> Result<(), RowFault> {
    let (thread, start_ns) = (position.stream.thread, position.start_ns);
    if start_ns < previous_ns {
        return Err(RowFault::TimeRunsBackwards { thread, start_ns, previous_ns });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(rank: u32, thread: u32, n: u64) -> Position {
        Position { stream: StreamId { rank, thread }, sequence: n, start_ns: n }
    }

    #[test]
    fn threads_beyond_the_limit_are_refused() {
        let mut order = RowOrder::default();
        order.advance(position(0, u32::MAX, 0)).unwrap();
        order.starts.extend((0..MAX_THREADS as u32).map(|thread| (thread, 0)));
        let fault = order.advance(position(0, 0, 1)).unwrap_err();
        assert_eq!(fault, RowFault::TooManyThreads { rank: 0, limit: MAX_THREADS });
    }

    #[test]
    fn ranks_beyond_the_limit_are_refused() {
        let mut order = RowOrder { ranks: (0..MAX_RANKS as u32).collect(), ..RowOrder::default() };
        let fault = order.advance(position(u32::MAX, 0, 0)).unwrap_err();
        assert_eq!(fault, RowFault::TooManyRanks { limit: MAX_RANKS });
    }

    #[test]
    fn an_undone_row_leaves_no_trace() {
        for (rank, thread) in [(0, 0), (0, 1), (0, 2), (1, 0)] {
            let mut order = RowOrder::default();
            for (n, thread) in [(0, 0), (1, 1), (2, 0)] {
                order.advance(position(0, thread, n)).unwrap();
            }
            let before = format!("{:?} {:?}", order.last, sorted(&order));
            let undo = order.advance(position(rank, thread, 9)).unwrap();
            order.undo(undo);
            assert_eq!(format!("{:?} {:?}", order.last, sorted(&order)), before);
        }
    }

    fn sorted(order: &RowOrder) -> (Vec<u32>, Vec<(u32, u64)>) {
        let mut ranks: Vec<u32> = order.ranks.iter().copied().collect();
        let mut starts: Vec<_> = order.starts.iter().map(|(&thread, &ns)| (thread, ns)).collect();
        ranks.sort_unstable();
        starts.sort_unstable();
        (ranks, starts)
    }
}
