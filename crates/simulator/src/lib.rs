// SPDX-License-Identifier: MIT OR Apache-2.0

//! A storage cluster as discrete events.
//!
//! [`simulate`] runs a [`SimulatedBenchmark`] on a cluster ([`ClusterConfig`])
//! and gives its throughput and the requests that each server or forwarding
//! node saw. [`BenchmarkSet`] holds the benchmarks and clusters of the 2019
//! paper on server-side pattern matching. Nothing here reads a clock or a file;
//! a seed names a run for good.

#![forbid(unsafe_code)]

mod sets;
mod simulation;

mod cluster;
mod workload;

mod device;
mod events;
mod files;
mod network;
mod pieces;
mod policy;
mod processes;
mod rng;
mod server;
mod striping;
mod twins;

pub use cluster::{
    ClusterConfig, DeviceModel, DiskModel, ForwardingConfig, NetworkModel, SsdModel,
};
pub use policy::SchedulingPolicy;
pub use rng::SimulationRng;
pub use sets::{BASELINE_WINDOW_NS, BenchmarkSet, STATIC_WINDOW_NS, WINDOWS_NS};
pub use simulation::{Recording, SimulatedRequest, SimulationOutcome, simulate};
pub use workload::{AccessLayout, Pacing, SimulatedBenchmark, TransferKind};
