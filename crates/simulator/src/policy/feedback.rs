// SPDX-License-Identifier: MIT OR Apache-2.0

//! Multilevel feedback over the queues of files, and aIOli, which adds quanta
//! that adapt to each file and waits for requests it expects.

use std::collections::VecDeque;

use super::file_queues::{FileQueues, MAX_AGGREGATE_BYTES, QueueIndex};
use super::{Decision, Scheduler};
use crate::pieces::{Piece, PieceId, Pieces};

/// What a file may ask for on its first turn.
const FIRST_QUANTUM_BYTES: u64 = 64 << 10;
/// A turn on which no file was served lasts so long; others may join meanwhile.
const TURN_NS: u64 = 50_000;
/// How long aIOli waits for a request that would be contiguous.
const WAIT_NS: u64 = 500_000;

/// The queues that have something, in turn, with a number for each.
#[derive(Default)]
struct Rotation {
    queues: FileQueues,
    turns: VecDeque<QueueIndex>,
}

impl Rotation {
    fn add(&mut self, id: PieceId, piece: &Piece) -> QueueIndex {
        let (index, _) = self.queues.add(id, piece);
        if self.queues.get(index).bytes == piece.bytes {
            self.turns.push_back(index);
        }
        index
    }

    /// Serves the first run of the queue whose turn it is; to the back with it.
    fn serve(&mut self, limit: u64, batch: &mut Vec<PieceId>) -> (u64, u64) {
        let Some(index) = self.turns.pop_front() else { return (0, 0) };
        let queue = self.queues.get_mut(index);
        let Some(first) = queue.first() else { return (0, 0) };
        let taken = queue.take_run(first, limit, batch);
        if !queue.is_empty() {
            self.turns.push_back(index);
        }
        (first.offset, taken)
    }
}

fn slot<T: Default + Clone>(values: &mut Vec<T>, index: usize) -> &mut T {
    if index >= values.len() {
        values.resize(index + 1, T::default());
    }
    &mut values[index]
}

/// A queue is served once the quantum of its first run, which doubles on every
/// turn, covers it.
#[derive(Default)]
pub(super) struct Feedback {
    rotation: Rotation,
    quanta: Vec<u64>,
    /// Turns since something was served.
    n_passed: usize,
}

impl Scheduler for Feedback {
    fn add(&mut self, id: PieceId, piece: &Piece) {
        self.rotation.add(id, piece);
    }

    fn next(&mut self, now_ns: u64, _: u64, _: &Pieces, batch: &mut Vec<PieceId>) -> Decision {
        while let Some(&index) = self.rotation.turns.front() {
            let queue = self.rotation.queues.get(index);
            let run = queue.first().map_or(0, |first| queue.run_bytes(first, MAX_AGGREGATE_BYTES));
            let quantum = slot(&mut self.quanta, index);
            *quantum = (*quantum * 2).max(FIRST_QUANTUM_BYTES);
            if *quantum >= run {
                *quantum = 0;
                self.n_passed = 0;
                self.rotation.serve(MAX_AGGREGATE_BYTES, batch);
                return Decision::Serve;
            }
            self.rotation.turns.rotate_left(1);
            self.n_passed += 1;
            if self.n_passed >= self.rotation.turns.len() {
                self.n_passed = 0;
                return Decision::WaitUntil(now_ns + TURN_NS);
            }
        }
        Decision::Idle
    }
}

/// What aIOli knows of a file's queue.
#[derive(Clone, Default)]
struct Expectation {
    quantum: u64,
    /// Where the last run ended.
    served_to: Option<u64>,
    /// A request came there soon after: waiting would have paid.
    expects: bool,
    waits_until: Option<u64>,
}

/// Multilevel feedback that gives a file the quantum it used before, and waits
/// a little where requests used to continue.
#[derive(Default)]
pub(super) struct Aioli {
    rotation: Rotation,
    expectations: Vec<Expectation>,
}

impl Scheduler for Aioli {
    fn add(&mut self, id: PieceId, piece: &Piece) {
        let index = self.rotation.add(id, piece);
        let expectation = slot(&mut self.expectations, index);
        if expectation.served_to == Some(piece.offset) {
            expectation.expects = true;
        }
    }

    fn next(&mut self, now_ns: u64, _: u64, _: &Pieces, batch: &mut Vec<PieceId>) -> Decision {
        let Some(&index) = self.rotation.turns.front() else { return Decision::Idle };
        let queue = self.rotation.queues.get(index);
        let run = queue.first().map_or(0, |first| queue.run_bytes(first, MAX_AGGREGATE_BYTES));
        let expectation = slot(&mut self.expectations, index);
        let quantum = expectation.quantum.clamp(FIRST_QUANTUM_BYTES, MAX_AGGREGATE_BYTES);
        if run < quantum && expectation.expects {
            match expectation.waits_until {
                None => {
                    expectation.waits_until = Some(now_ns + WAIT_NS);
                    return Decision::WaitUntil(now_ns + WAIT_NS);
                }
                Some(end) if now_ns < end => return Decision::WaitUntil(end),
                // In vain: not again before it would have paid once more.
                Some(_) => expectation.expects = false,
            }
        }
        expectation.waits_until = None;
        let (offset, taken) = self.rotation.serve(quantum, batch);
        let expectation = slot(&mut self.expectations, index);
        expectation.quantum = if taken >= quantum { quantum * 2 } else { quantum / 2 };
        expectation.served_to = Some(offset + taken);
        Decision::Serve
    }
}
