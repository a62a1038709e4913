// SPDX-License-Identifier: MIT OR Apache-2.0

//! The server-side coordination of Song et al. (SC 2011).

use std::collections::BTreeMap;

use super::{Decision, Scheduler};
use crate::pieces::{Piece, PieceId, Pieces};

/// Requests that arrive within the same window are ordered by application.
const WINDOW_NS: u64 = 1_000_000_000;

/// Older windows first, within a window one application after the other, within
/// an application in order of arrival. All servers know the same applications
/// and the same time, so they serve the same one at about the same time.
#[derive(Default)]
pub(super) struct Song {
    waiting: BTreeMap<(u64, u32, u64), PieceId>,
}

impl Scheduler for Song {
    fn add(&mut self, id: PieceId, piece: &Piece) {
        let window = piece.arrived_ns / WINDOW_NS;
        self.waiting.insert((window, piece.instance, piece.sequence), id);
    }

    fn next(&mut self, _: u64, _: u64, _: &Pieces, batch: &mut Vec<PieceId>) -> Decision {
        let Some((_, id)) = self.waiting.pop_first() else { return Decision::Idle };
        batch.push(id);
        Decision::Serve
    }
}
