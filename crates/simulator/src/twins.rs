// SPDX-License-Identifier: MIT OR Apache-2.0

//! TWINS: time windows at a forwarding node (Bez et al., 2017).

use std::collections::VecDeque;

use crate::cluster::ForwardingConfig;
use crate::pieces::PieceId;

/// What a node can do now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NodeDecision {
    /// Send this piece; the node is busy with it for a while.
    Send(PieceId),
    /// Nothing before this time.
    WaitUntil(u64),
    /// Nothing until something arrives or is answered.
    Idle,
}

/// One forwarding node.
#[derive(Debug)]
pub(crate) struct ForwardingNode {
    config: ForwardingConfig,
    /// Nodes begin with different servers.
    first_server: u64,
    waiting: Vec<VecDeque<PieceId>>,
    n_waiting: usize,
    n_in_flight: u32,
    free_at_ns: u64,
}

impl ForwardingNode {
    pub(crate) fn new(config: ForwardingConfig, number: u32, n_servers: u32) -> ForwardingNode {
        ForwardingNode {
            config,
            first_server: u64::from(number) % u64::from(n_servers),
            waiting: (0..n_servers).map(|_| VecDeque::new()).collect(),
            n_waiting: 0,
            n_in_flight: 0,
            free_at_ns: 0,
        }
    }

    pub(crate) fn add(&mut self, id: PieceId, server: u32) {
        self.waiting[server as usize].push_back(id);
        self.n_waiting += 1;
    }

    pub(crate) fn answered(&mut self) {
        self.n_in_flight -= 1;
    }

    pub(crate) fn next(&mut self, now_ns: u64) -> NodeDecision {
        if self.n_waiting == 0 || self.n_in_flight >= self.config.max_in_flight {
            return NodeDecision::Idle;
        }
        if now_ns < self.free_at_ns {
            return NodeDecision::WaitUntil(self.free_at_ns);
        }
        let window = now_ns / self.config.window_ns;
        let n_servers = self.waiting.len() as u64;
        // At the latest after one turn comes a server that something waits for.
        for turn in 0..n_servers {
            let server = ((window + turn + self.first_server) % n_servers) as usize;
            if self.waiting[server].is_empty() {
                continue;
            }
            if turn > 0 {
                return NodeDecision::WaitUntil((window + turn) * self.config.window_ns);
            }
            if let Some(id) = self.waiting[server].pop_front() {
                self.n_waiting -= 1;
                self.n_in_flight += 1;
                self.free_at_ns = now_ns + self.config.dispatch_ns;
                return NodeDecision::Send(id);
            }
        }
        NodeDecision::Idle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_belongs_to_one_server() {
        let config =
            ForwardingConfig { n_nodes: 1, window_ns: 1000, dispatch_ns: 100, max_in_flight: 3 };
        let mut node = ForwardingNode::new(config, 0, 2);
        for (piece, server) in [(1, 1), (2, 0), (3, 0), (4, 1)] {
            node.add(PieceId(piece), server);
        }
        assert_eq!(node.next(0), NodeDecision::Send(PieceId(2)));
        assert_eq!(node.next(50), NodeDecision::WaitUntil(100));
        assert_eq!(node.next(100), NodeDecision::Send(PieceId(3)));
        assert_eq!(node.next(300), NodeDecision::WaitUntil(1000));
        assert_eq!(node.next(1000), NodeDecision::Send(PieceId(1)));
        // Three are under way.
        assert_eq!(node.next(1200), NodeDecision::Idle);
        node.answered();
        assert_eq!(node.next(1300), NodeDecision::Send(PieceId(4)));
    }
}
