// SPDX-License-Identifier: MIT OR Apache-2.0

//! A read and a write queue for each file, in order of offsets, from which
//! contiguous pieces can be taken together.

use std::collections::BTreeMap;

use crate::pieces::{Piece, PieceId};
use crate::workload::TransferKind;

/// The most that is joined into one access.
pub(super) const MAX_AGGREGATE_BYTES: u64 = 4 << 20;

/// Number of a queue: file and kind.
pub(super) type QueueIndex = usize;

/// Where a piece stands in its queue; unique within a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct QueueKey {
    pub offset: u64,
    pub sequence: u64,
}

#[derive(Debug, Default)]
pub(super) struct FileQueue {
    waiting: BTreeMap<QueueKey, (PieceId, u64)>,
    pub bytes: u64,
}

/// All queues of a server.
#[derive(Debug, Default)]
pub(super) struct FileQueues {
    queues: Vec<FileQueue>,
}

impl FileQueues {
    pub(super) fn add(&mut self, id: PieceId, piece: &Piece) -> (QueueIndex, QueueKey) {
        let index = piece.file as usize * 2 + usize::from(piece.kind == TransferKind::Write);
        if index >= self.queues.len() {
            self.queues.resize_with(index + 1, FileQueue::default);
        }
        let queue = &mut self.queues[index];
        let key = QueueKey { offset: piece.offset, sequence: piece.sequence };
        queue.waiting.insert(key, (id, piece.bytes));
        queue.bytes += piece.bytes;
        (index, key)
    }

    pub(super) fn get(&self, index: QueueIndex) -> &FileQueue {
        &self.queues[index]
    }

    pub(super) fn get_mut(&mut self, index: QueueIndex) -> &mut FileQueue {
        &mut self.queues[index]
    }
}

impl FileQueue {
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(super) fn contains(&self, key: QueueKey) -> bool {
        self.waiting.contains_key(&key)
    }

    pub(super) fn first(&self) -> Option<QueueKey> {
        self.waiting.keys().next().copied()
    }

    /// Bytes of the run that begins with `start`, at most `limit` if it has
    /// more than one piece.
    pub(super) fn run_bytes(&self, start: QueueKey, limit: u64) -> u64 {
        let mut end = start.offset;
        for (key, (_, bytes)) in self.waiting.range(start..) {
            if key.offset != end || (end > start.offset && end + bytes - start.offset > limit) {
                break;
            }
            end += bytes;
        }
        end - start.offset
    }

    /// Where the run that `key` belongs to begins, not more than `limit` before it.
    pub(super) fn run_start(&self, key: QueueKey, limit: u64) -> QueueKey {
        let mut start = key;
        for (before, (_, bytes)) in self.waiting.range(..key).rev() {
            if before.offset + bytes != start.offset || key.offset - before.offset > limit {
                break;
            }
            start = *before;
        }
        start
    }

    /// Moves the run that begins with `start` into `batch`.
    pub(super) fn take_run(
        &mut self,
        start: QueueKey,
        limit: u64,
        batch: &mut Vec<PieceId>,
    ) -> u64 {
        let taken = self.run_bytes(start, limit);
        let mut left = taken;
        while left > 0 {
            // Duplicates of an offset sort by arrival and are not part of the run.
            let offset = start.offset + taken - left;
            let from =
                QueueKey { offset, sequence: if left == taken { start.sequence } else { 0 } };
            let Some((&key, &(id, bytes))) = self.waiting.range(from..).next() else { break };
            self.waiting.remove(&key);
            self.bytes -= bytes;
            batch.push(id);
            left = left.saturating_sub(bytes);
        }
        taken
    }
}
