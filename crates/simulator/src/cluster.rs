// SPDX-License-Identifier: MIT OR Apache-2.0

//! The machines: how many, how they are connected, what they store on.

use crate::policy::SchedulingPolicy;

/// A storage cluster and the nodes that use it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterConfig {
    /// Data servers.
    pub n_servers: u32,
    /// Nodes that processes run on, spread round robin.
    pub n_clients: u32,
    /// Bytes of a strip: a file goes to the servers round robin in such units.
    pub strip_bytes: u64,
    /// Largest piece that a server handles at once; longer parts of a request
    /// are cut (the flow buffer of PVFS and OrangeFS).
    pub flow_bytes: u64,
    /// How many such pieces of one request a server works on at a time; the
    /// others follow one by one.
    pub flow_depth: u32,
    /// How the nodes are connected.
    pub network: NetworkModel,
    /// What each server stores on.
    pub device: DeviceModel,
    /// What a server's processor needs for one piece before its scheduler gets
    /// it; one at a time.
    pub message_ns: u64,
    /// Which waiting request a server serves next.
    pub policy: SchedulingPolicy,
    /// Nodes between clients and servers, if there are any.
    pub forwarding: Option<ForwardingConfig>,
    /// Processes start within this time, at random.
    pub start_spread_ns: u64,
    /// Largest difference of a device's speed between two runs, as a share: no
    /// two days of a cluster are alike.
    pub run_variation: f64,
}

/// Links from every node into a switch that is never the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetworkModel {
    /// Of each node, in each direction.
    pub bytes_per_s: f64,
    /// From node to node.
    pub latency_ns: u64,
    /// Mean of the exponential delay that comes on top.
    pub jitter_ns: u64,
}

/// What a server stores on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeviceModel {
    /// One head that has to be moved.
    Disk(DiskModel),
    /// Flash: as fast anywhere, several requests at once.
    Ssd(SsdModel),
}

/// A hard disk. A request that continues where the last one ended costs its
/// transfer alone; a gap shorter than a track is passed over by rotation;
/// anything else costs a seek and a rotational delay, uniform within a turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DiskModel {
    /// Sustained, for both directions.
    pub bytes_per_s: f64,
    /// Of the whole surface.
    pub capacity_bytes: u64,
    /// The shortest seek.
    pub settle_ns: u64,
    /// The longest; in between it grows with the square root of the distance.
    pub full_seek_ns: u64,
    /// One turn.
    pub rotation_ns: u64,
    /// Fixed cost of every access: command, interrupt, file system.
    pub access_ns: u64,
    /// What a synced write waits for on top (journal, barrier).
    pub sync_ns: u64,
    /// How fast the buffers of joined requests are copied into one.
    pub copy_bytes_per_s: f64,
}

/// A solid state drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SsdModel {
    /// Of one channel.
    pub bytes_per_s: f64,
    /// Before the first byte of a read.
    pub read_ns: u64,
    /// Before a write is safe.
    pub write_ns: u64,
    /// Requests served at the same time.
    pub n_channels: u32,
}

impl DeviceModel {
    /// Requests served at the same time.
    pub fn n_channels(&self) -> usize {
        match self {
            DeviceModel::Disk(_) => 1,
            DeviceModel::Ssd(ssd) => ssd.n_channels.max(1) as usize,
        }
    }
}

/// I/O forwarding nodes with TWINS (Bez et al., 2017): during each time window
/// a node sends requests to one server only, the servers in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForwardingConfig {
    /// Clients are spread over them round robin.
    pub n_nodes: u32,
    /// The time window.
    pub window_ns: u64,
    /// What sending one piece takes; pieces of a node leave one after the other.
    pub dispatch_ns: u64,
    /// Pieces of a node that servers work on at the same time.
    pub max_in_flight: u32,
}
