// SPDX-License-Identifier: MIT OR Apache-2.0

//! The pieces of requests that are under way, in an arena.

use crate::workload::TransferKind;

/// The part of a request that one server handles at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece {
    pub process: u32,
    pub instance: u32,
    pub server: u32,
    pub file: u32,
    pub kind: TransferKind,
    /// In the server's part of the file.
    pub offset: u64,
    pub bytes: u64,
    /// On the server's device.
    pub address: u64,
    /// When its data are at the server.
    pub ready_ns: u64,
    /// When the scheduler got it.
    pub arrived_ns: u64,
    /// What the flow continues with once this is served.
    pub follower: Option<PieceId>,
    /// Counts all pieces of a run, so that a place that is used again is not
    /// taken for what was there before.
    pub sequence: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct PieceId(pub u32);

/// All pieces under way. As many as processes can have at once, for those that
/// wait for answers; a Poisson source beyond saturation adds without end, as
/// its queue would.
#[derive(Debug, Default)]
pub(crate) struct Pieces {
    all: Vec<Piece>,
    free: Vec<PieceId>,
    n_made: u64,
}

impl Pieces {
    pub(crate) fn add(&mut self, piece: Piece) -> PieceId {
        let piece = Piece { sequence: self.n_made, ..piece };
        self.n_made += 1;
        match self.free.pop() {
            Some(id) => {
                self.all[id.0 as usize] = piece;
                id
            }
            None => {
                self.all.push(piece);
                PieceId(self.all.len() as u32 - 1)
            }
        }
    }

    pub(crate) fn get(&self, id: PieceId) -> &Piece {
        &self.all[id.0 as usize]
    }

    pub(crate) fn get_mut(&mut self, id: PieceId) -> &mut Piece {
        &mut self.all[id.0 as usize]
    }

    pub(crate) fn release(&mut self, id: PieceId) {
        self.free.push(id);
    }

    pub(crate) fn n_made(&self) -> u64 {
        self.n_made
    }
}
