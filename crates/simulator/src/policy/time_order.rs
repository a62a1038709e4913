// SPDX-License-Identifier: MIT OR Apache-2.0

//! First come, first served, with and without joining contiguous pieces, and
//! the queue with the least work first.

use std::collections::{BTreeSet, VecDeque};

use super::file_queues::{FileQueues, MAX_AGGREGATE_BYTES, QueueIndex, QueueKey};
use super::{Decision, Scheduler};
use crate::pieces::{Piece, PieceId, Pieces};

/// One queue, first come, first served.
#[derive(Default)]
pub(super) struct TimeOrder {
    waiting: VecDeque<PieceId>,
}

impl Scheduler for TimeOrder {
    fn add(&mut self, id: PieceId, _piece: &Piece) {
        self.waiting.push_back(id);
    }

    fn next(&mut self, _: u64, _: u64, _: &Pieces, batch: &mut Vec<PieceId>) -> Decision {
        let Some(id) = self.waiting.pop_front() else { return Decision::Idle };
        batch.push(id);
        Decision::Serve
    }
}

/// The oldest piece, with all that wait contiguously around it.
#[derive(Default)]
pub(super) struct Aggregating {
    /// Pieces that were taken along with others are still in here.
    order: VecDeque<(QueueIndex, QueueKey)>,
    queues: FileQueues,
}

impl Scheduler for Aggregating {
    fn add(&mut self, id: PieceId, piece: &Piece) {
        self.order.push_back(self.queues.add(id, piece));
    }

    fn next(&mut self, _: u64, _: u64, _: &Pieces, batch: &mut Vec<PieceId>) -> Decision {
        while let Some((index, key)) = self.order.pop_front() {
            let queue = self.queues.get_mut(index);
            if queue.contains(key) {
                let start = queue.run_start(key, MAX_AGGREGATE_BYTES / 2);
                queue.take_run(start, MAX_AGGREGATE_BYTES, batch);
                if queue.contains(key) {
                    // Cut off by the limit: it remains the oldest.
                    self.order.push_front((index, key));
                }
                return Decision::Serve;
            }
        }
        Decision::Idle
    }
}

/// The queue with the least waiting bytes; in it the lowest offset, with all
/// that is contiguous.
#[derive(Default)]
pub(super) struct ShortestFirst {
    queues: FileQueues,
    by_bytes: BTreeSet<(u64, QueueIndex)>,
}

impl Scheduler for ShortestFirst {
    fn add(&mut self, id: PieceId, piece: &Piece) {
        let (index, _) = self.queues.add(id, piece);
        let bytes = self.queues.get(index).bytes;
        self.by_bytes.remove(&(bytes - piece.bytes, index));
        self.by_bytes.insert((bytes, index));
    }

    fn next(&mut self, _: u64, _: u64, _: &Pieces, batch: &mut Vec<PieceId>) -> Decision {
        let Some((_, index)) = self.by_bytes.pop_first() else { return Decision::Idle };
        let queue = self.queues.get_mut(index);
        let Some(first) = queue.first() else { return Decision::Idle };
        queue.take_run(first, MAX_AGGREGATE_BYTES, batch);
        if !queue.is_empty() {
            self.by_bytes.insert((queue.bytes, index));
        }
        Decision::Serve
    }
}
