// SPDX-License-Identifier: MIT OR Apache-2.0

//! How many simulated requests does a second of wall time give? Runs one
//! benchmark of each layout of both sets; `cargo bench -p ioracle-simulator`.

use std::time::Instant;

use ioracle_simulator::{BASELINE_WINDOW_NS, BenchmarkSet, Recording, SchedulingPolicy, simulate};

fn main() {
    println!("set,option,requests,seconds,requests_per_s");
    for policy in SchedulingPolicy::ALL {
        let cluster = BenchmarkSet::Server.cluster(policy);
        measure("server", policy.name(), BenchmarkSet::Server, &cluster);
    }
    let cluster = BenchmarkSet::IoNode.forwarding_cluster(2, BASELINE_WINDOW_NS);
    measure("io-node", "1ms", BenchmarkSet::IoNode, &cluster);
}

fn measure(
    name: &str,
    option: &str,
    set: BenchmarkSet,
    cluster: &ioracle_simulator::ClusterConfig,
) {
    let (mut requests, started) = (0, Instant::now());
    for benchmark in set.benchmarks(0.25) {
        requests += simulate(cluster, &benchmark, 1, Recording::Nothing).n_requests;
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("{name},{option},{requests},{seconds:.2},{:.0}", requests as f64 / seconds);
}
