// SPDX-License-Identifier: MIT OR Apache-2.0

//! When a message arrives: after those before it on both links, and after the
//! way.

use crate::cluster::NetworkModel;
use crate::device::transfer_ns;
use crate::rng::SimulationRng;

/// A node's links into the network and out of it: when each is free.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Links {
    out_free_ns: u64,
    in_free_ns: u64,
}

/// The network between all nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Network {
    model: NetworkModel,
}

impl Network {
    pub(crate) fn new(model: NetworkModel) -> Network {
        Network { model }
    }

    /// The random part of a message's way.
    pub(crate) fn jitter_ns(&self, rng: &mut SimulationRng) -> u64 {
        rng.exponential_ns(self.model.jitter_ns)
    }

    /// Sends a message at `now_ns` and says when all of it has arrived.
    pub(crate) fn send(
        &self,
        from: &mut Links,
        to: &mut Links,
        bytes: u64,
        now_ns: u64,
        jitter_ns: u64,
    ) -> u64 {
        let duration = transfer_ns(bytes, self.model.bytes_per_s);
        let start = now_ns.max(from.out_free_ns);
        from.out_free_ns = start + duration;
        let arrival = (start + self.model.latency_ns).max(to.in_free_ns) + duration;
        to.in_free_ns = arrival;
        arrival + jitter_ns
    }

    /// The same for a message of a few bytes, which holds up nobody.
    pub(crate) fn signal(&self, now_ns: u64, jitter_ns: u64) -> u64 {
        now_ns + self.model.latency_ns + jitter_ns
    }
}
