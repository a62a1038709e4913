// SPDX-License-Identifier: MIT OR Apache-2.0

//! What happens without a scheduler of ours: the file system's own order, and
//! the order of the device.

use std::collections::{BTreeMap, VecDeque};

use super::{Decision, Scheduler};
use crate::pieces::{Piece, PieceId, Pieces};

/// Pieces that the server hands to the device at the same time.
const SERVER_DEPTH: usize = 32;
/// Buffers that a request gives to the device on its turn.
const BUFFERS_PER_TURN: usize = 2;
/// What the kernel merges into one access.
const MAX_MERGED_BYTES: u64 = 128 << 10;
/// What a disk with command queueing holds.
const DEVICE_DEPTH: usize = 32;

/// The pieces a device knows, in order of addresses.
#[derive(Default)]
struct DeviceQueue {
    by_address: BTreeMap<(u64, u64), PieceId>,
}

impl DeviceQueue {
    fn len(&self) -> usize {
        self.by_address.len()
    }

    fn add(&mut self, id: PieceId, pieces: &Pieces) {
        let piece = pieces.get(id);
        self.by_address.insert((piece.address, piece.sequence), id);
    }

    /// The next one upwards, else from the beginning (C-SCAN), with neighbours.
    fn take_upwards(&mut self, head: u64, pieces: &Pieces, batch: &mut Vec<PieceId>) -> Decision {
        let above = self.by_address.range((head, 0)..).next();
        let Some((&first, _)) = above.or_else(|| self.by_address.first_key_value()) else {
            return Decision::Idle;
        };
        let mut end = first.0;
        while let Some((&key, &id)) = self.by_address.range((end, 0)..).next() {
            let bytes = pieces.get(id).bytes;
            if key.0 != end || (end > first.0 && end + bytes - first.0 > MAX_MERGED_BYTES) {
                break;
            }
            self.by_address.remove(&key);
            batch.push(id);
            end += bytes;
        }
        Decision::ServeMerged
    }

    /// The nearest in either direction.
    fn take_nearest(&mut self, head: u64) -> Option<PieceId> {
        let above = self.by_address.range((head, 0)..).next().map(|(key, _)| *key);
        let below = self.by_address.range(..(head, 0)).next_back().map(|(key, _)| *key);
        let key = match (above, below) {
            (Some(above), Some(below)) if head - below.0 < above.0 - head => below,
            (Some(above), _) => above,
            (None, below) => below?,
        };
        self.by_address.remove(&key)
    }
}

/// Requests in service take turns: each gives one buffer at a time to the
/// device, whose elevator sorts the few that it holds.
#[derive(Default)]
pub(super) struct Elevator {
    /// Waiting pieces by process, which has one request at a time.
    flows: Vec<VecDeque<PieceId>>,
    /// Processes that have some, in turn.
    turns: VecDeque<u32>,
    device: DeviceQueue,
}

impl Scheduler for Elevator {
    fn add(&mut self, id: PieceId, piece: &Piece) {
        let index = piece.process as usize;
        if index >= self.flows.len() {
            self.flows.resize_with(index + 1, VecDeque::new);
        }
        if self.flows[index].is_empty() {
            self.turns.push_back(piece.process);
        }
        self.flows[index].push_back(id);
    }

    fn next(&mut self, _: u64, head: u64, pieces: &Pieces, batch: &mut Vec<PieceId>) -> Decision {
        while self.device.len() < SERVER_DEPTH {
            let Some(process) = self.turns.pop_front() else { break };
            let flow = &mut self.flows[process as usize];
            for id in flow.drain(..flow.len().min(BUFFERS_PER_TURN)) {
                self.device.add(id, pieces);
            }
            if !flow.is_empty() {
                self.turns.push_back(process);
            }
        }
        self.device.take_upwards(head, pieces, batch)
    }
}

/// Straight to the device, which picks the nearest of those in its queue.
#[derive(Default)]
pub(super) struct Noop {
    waiting: VecDeque<PieceId>,
    device: DeviceQueue,
}

impl Scheduler for Noop {
    fn add(&mut self, id: PieceId, _piece: &Piece) {
        self.waiting.push_back(id);
    }

    fn next(&mut self, _: u64, head: u64, pieces: &Pieces, batch: &mut Vec<PieceId>) -> Decision {
        while self.device.len() < DEVICE_DEPTH {
            let Some(id) = self.waiting.pop_front() else { break };
            self.device.add(id, pieces);
        }
        serve(self.device.take_nearest(head), batch)
    }
}

fn serve(piece: Option<PieceId>, batch: &mut Vec<PieceId>) -> Decision {
    match piece {
        Some(id) => {
            batch.push(id);
            Decision::Serve
        }
        None => Decision::Idle,
    }
}
