// SPDX-License-Identifier: MIT OR Apache-2.0

//! A data server: a scheduler in front of a device.

use crate::cluster::ClusterConfig;
use crate::device::Device;
use crate::network::Links;
use crate::pieces::{PieceId, Pieces};
use crate::policy::{Decision, Scheduler};
use crate::rng::SimulationRng;

pub(crate) struct DataServer {
    pub links: Links,
    scheduler: Box<dyn Scheduler>,
    device: Device,
    /// What each channel of the device is busy with; empty if nothing.
    channels: Vec<Vec<PieceId>>,
    wakes_at_ns: Option<u64>,
    message_ns: u64,
    processor_free_ns: u64,
}

/// What a server has begun, or asks for.
pub(crate) enum ServerStep {
    /// A channel is done at this time.
    Busy { channel: usize, until_ns: u64 },
    /// It wants to be woken at this time.
    Wake(u64),
}

impl DataServer {
    pub(crate) fn new(config: &ClusterConfig, slowness: f64) -> DataServer {
        DataServer {
            links: Links::default(),
            scheduler: config.policy.scheduler(),
            device: Device::new(config.device, slowness),
            channels: vec![Vec::new(); config.device.n_channels()],
            wakes_at_ns: None,
            message_ns: config.message_ns,
            processor_free_ns: 0,
        }
    }

    /// When the message about a piece that arrives now is read.
    pub(crate) fn read_message(&mut self, now_ns: u64) -> u64 {
        self.processor_free_ns = self.processor_free_ns.max(now_ns) + self.message_ns;
        self.processor_free_ns
    }

    /// The scheduler gets a piece.
    pub(crate) fn add(&mut self, id: PieceId, pieces: &Pieces) {
        self.scheduler.add(id, pieces.get(id));
    }

    /// The next thing to do with a free channel, if there is any; to be called
    /// until there is none.
    pub(crate) fn step(
        &mut self,
        now_ns: u64,
        pieces: &Pieces,
        rng: &mut SimulationRng,
    ) -> Option<ServerStep> {
        let channel = self.channels.iter().position(Vec::is_empty)?;
        let batch = &mut self.channels[channel];
        let decision = self.scheduler.next(now_ns, self.device.head, pieces, batch);
        match decision {
            Decision::Idle => None,
            Decision::WaitUntil(at_ns) => {
                // The same wait is asked for whenever something arrives.
                let is_new = self.wakes_at_ns != Some(at_ns);
                self.wakes_at_ns = Some(at_ns);
                is_new.then_some(ServerStep::Wake(at_ns))
            }
            Decision::Serve | Decision::ServeMerged => {
                let first = pieces.get(*batch.first()?);
                let bytes = batch.iter().map(|id| pieces.get(*id).bytes).sum();
                let copied = decision == Decision::Serve && batch.len() > 1;
                let joined_bytes = if copied { bytes } else { 0 };
                let device = &mut self.device;
                let duration = device.serve_ns(first.address, bytes, joined_bytes, first.kind, rng);
                Some(ServerStep::Busy { channel, until_ns: now_ns + duration })
            }
        }
    }

    /// What a channel had is done; `batch` is given back by `reuse`.
    pub(crate) fn finish(&mut self, channel: usize) -> Vec<PieceId> {
        std::mem::take(&mut self.channels[channel])
    }

    /// Saves an allocation.
    pub(crate) fn reuse(&mut self, channel: usize, mut batch: Vec<PieceId>) {
        batch.clear();
        self.channels[channel] = batch;
    }
}
