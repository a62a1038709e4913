// SPDX-License-Identifier: MIT OR Apache-2.0

//! The processes of a benchmark and where they run.

use crate::cluster::ClusterConfig;
use crate::workload::{AccessLayout, SimulatedBenchmark};

#[derive(Clone, Debug)]
pub(crate) struct Process {
    pub instance: u32,
    /// Within its instance of `of` processes.
    pub rank: u32,
    pub of: u32,
    pub file: u32,
    pub client: u32,
    /// Its forwarding node.
    pub node: Option<u32>,
    pub n_issued: u64,
    /// Of its current request.
    pub offset: u64,
    /// Pieces that are not answered.
    pub n_outstanding: u32,
    /// When the last piece of its current request is answered.
    pub answered_ns: u64,
}

pub(crate) fn processes(config: &ClusterConfig, benchmark: &SimulatedBenchmark) -> Vec<Process> {
    let mut all = Vec::new();
    for (instance, &of) in benchmark.instances.iter().enumerate() {
        for rank in 0..of {
            let number = all.len() as u32;
            let client = number % config.n_clients;
            all.push(Process {
                instance: instance as u32,
                rank,
                of,
                file: match benchmark.layout {
                    AccessLayout::FilePerProcess => number,
                    _ => instance as u32,
                },
                client,
                node: config.forwarding.map(|forwarding| client % forwarding.n_nodes.max(1)),
                n_issued: 0,
                offset: 0,
                n_outstanding: 0,
                answered_ns: 0,
            });
        }
    }
    all
}
