// SPDX-License-Identifier: MIT OR Apache-2.0

//! The two sets of benchmarks of the 2019 paper, and the clusters they ran on.

use std::str::FromStr;

use crate::cluster::{ClusterConfig, DeviceModel, DiskModel, ForwardingConfig, NetworkModel};
use crate::policy::SchedulingPolicy;
use crate::workload::{AccessLayout, Pacing, SimulatedBenchmark, TransferKind};

/// Time windows of TWINS, shortest first.
pub const WINDOWS_NS: [u64; 7] =
    [125_000, 250_000, 500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000];
/// The window that others are compared with.
pub const BASELINE_WINDOW_NS: u64 = 1_000_000;
/// The paper's best choice for all benchmarks.
pub const STATIC_WINDOW_NS: u64 = 125_000;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A set of benchmarks with its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchmarkSet {
    /// Observed at four data servers; the choice is the servers' policy.
    Server,
    /// Observed at one, two or four forwarding nodes; the choice is their window.
    IoNode,
}

impl FromStr for BenchmarkSet {
    type Err = String;

    fn from_str(text: &str) -> Result<BenchmarkSet, String> {
        match text {
            "server" => Ok(BenchmarkSet::Server),
            "io-node" => Ok(BenchmarkSet::IoNode),
            _ => Err("a set is server or io-node".to_owned()),
        }
    }
}

impl BenchmarkSet {
    /// How often each benchmark was run.
    pub fn repetitions(self) -> u32 {
        match self {
            BenchmarkSet::Server => 6,
            BenchmarkSet::IoNode => 10,
        }
    }

    /// Numbers of forwarding nodes, 0 for none.
    pub fn node_counts(self) -> &'static [u32] {
        match self {
            BenchmarkSet::Server => &[0],
            BenchmarkSet::IoNode => &[1, 2, 4],
        }
    }

    /// All benchmarks, each process moving `scale` of what it moved there.
    pub fn benchmarks(self, scale: f64) -> Vec<SimulatedBenchmark> {
        let cases: &[(AccessLayout, &[u64])] = match self {
            BenchmarkSet::Server => &[
                (AccessLayout::SharedContiguous, &[4 * MIB, 16 * MIB]),
                (AccessLayout::SharedStrided, &[32 * KIB, 4 * MIB, 16 * MIB]),
                (AccessLayout::FilePerProcess, &[4 * MIB, 16 * MIB]),
            ],
            BenchmarkSet::IoNode => &[
                (AccessLayout::SharedContiguous, &[32 * KIB, 256 * KIB]),
                (AccessLayout::SharedStrided, &[32 * KIB, 256 * KIB]),
                (AccessLayout::FilePerProcess, &[32 * KIB, 256 * KIB]),
            ],
        };
        let (instances, bytes_per_process): (&[&[u32]], u64) = match self {
            BenchmarkSet::Server => (&[&[64, 64], &[64, 32]], 128 * MIB),
            BenchmarkSet::IoNode => (&[&[128]], 32 * MIB),
        };
        let mut benchmarks = Vec::new();
        for &(layout, sizes) in cases {
            for &request_bytes in sizes {
                for kind in [TransferKind::Read, TransferKind::Write] {
                    for processes in instances {
                        benchmarks.push(SimulatedBenchmark {
                            layout,
                            kind,
                            request_bytes,
                            instances: processes.to_vec(),
                            bytes_per_process: (bytes_per_process as f64 * scale) as u64,
                            pacing: Pacing::Synchronous { think_ns: THINK_NS },
                        });
                    }
                }
            }
        }
        benchmarks
    }

    /// The cluster with a policy at the servers.
    pub fn cluster(self, policy: SchedulingPolicy) -> ClusterConfig {
        match self {
            BenchmarkSet::Server => server_cluster(policy),
            BenchmarkSet::IoNode => io_node_cluster(policy),
        }
    }

    /// The cluster with forwarding nodes.
    pub fn forwarding_cluster(self, n_nodes: u32, window_ns: u64) -> ClusterConfig {
        let forwarding =
            ForwardingConfig { n_nodes, window_ns, dispatch_ns: 250_000, max_in_flight: 8 };
        ClusterConfig {
            forwarding: Some(forwarding),
            ..io_node_cluster(SchedulingPolicy::Baseline)
        }
    }
}

/// What a process does between two requests.
const THINK_NS: u64 = 100_000;

/// 10 Gb/s Ethernet through one or two switches.
const NETWORK: NetworkModel =
    NetworkModel { bytes_per_s: 1.25e9, latency_ns: 50_000, jitter_ns: 60_000 };

/// An array of 10,000 rpm disks: what is left of the rotational delay is what
/// command queueing does not hide.
const SERVER_DISK: DiskModel = DiskModel {
    bytes_per_s: 270e6,
    capacity_bytes: 600_000_000_000,
    settle_ns: 200_000,
    full_seek_ns: 10_000_000,
    rotation_ns: 1_800_000,
    access_ns: 10_000,
    sync_ns: 380_000,
    copy_bytes_per_s: 0.85e9,
};

/// One such disk under an older file system that syncs data and metadata apart.
const IO_NODE_DISK: DiskModel = DiskModel {
    bytes_per_s: 200e6,
    capacity_bytes: 600_000_000_000,
    settle_ns: 500_000,
    full_seek_ns: 8_000_000,
    rotation_ns: 4_000_000,
    access_ns: 100_000,
    sync_ns: 11_000_000,
    copy_bytes_per_s: 2e9,
};

fn server_cluster(policy: SchedulingPolicy) -> ClusterConfig {
    ClusterConfig {
        n_servers: 4,
        n_clients: 64,
        strip_bytes: 64 * KIB,
        flow_bytes: 256 * KIB,
        flow_depth: 8,
        message_ns: 400_000,
        network: NETWORK,
        device: DeviceModel::Disk(SERVER_DISK),
        policy,
        forwarding: None,
        start_spread_ns: 20_000_000,
        run_variation: 0.05,
    }
}

fn io_node_cluster(policy: SchedulingPolicy) -> ClusterConfig {
    ClusterConfig {
        n_servers: 4,
        n_clients: 32,
        strip_bytes: 64 * KIB,
        flow_bytes: 256 * KIB,
        flow_depth: 8,
        message_ns: 100_000,
        network: NETWORK,
        device: DeviceModel::Disk(IO_NODE_DISK),
        policy,
        forwarding: None,
        start_spread_ns: 20_000_000,
        run_variation: 0.05,
    }
}
