// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is going to happen, in order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::pieces::PieceId;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SimulationEvent {
    /// A process makes its next request.
    Issue(u32),
    /// A process's request reaches its forwarding node.
    AtNode(u32),
    /// A forwarding node may send.
    NodeWakes(u32),
    /// A server's answer reaches a forwarding node.
    NodeAnswered(u32),
    /// A piece reaches its server.
    AtServer(PieceId),
    /// A server has read the message about a piece.
    Admitted(PieceId),
    /// A server's device has done what a channel had.
    DeviceDone { server: u16, channel: u16 },
    /// A scheduler that waited may serve.
    ServerWakes(u32),
}

/// Events at the same time happen in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    heap: BinaryHeap<Reverse<(u64, u64, SimulationEvent)>>,
    n_added: u64,
}

impl EventQueue {
    pub(crate) fn add(&mut self, at_ns: u64, event: SimulationEvent) {
        self.heap.push(Reverse((at_ns, self.n_added, event)));
        self.n_added += 1;
    }

    pub(crate) fn next(&mut self) -> Option<(u64, SimulationEvent)> {
        self.heap.pop().map(|Reverse((at_ns, _, event))| (at_ns, event))
    }
}
