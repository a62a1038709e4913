// SPDX-License-Identifier: MIT OR Apache-2.0

//! How near is the model to what the paper tells? Prints, for every benchmark,
//! the throughput under the baseline, the median of requests per second and
//! observer, and the difference of every policy or window in percent, then the
//! medians over all; `cargo bench -p ioracle-simulator --bench calibration`.

use std::collections::HashMap;

use ioracle_simulator::{
    BASELINE_WINDOW_NS, BenchmarkSet, ClusterConfig, Recording, SchedulingPolicy,
    SimulatedBenchmark, SimulatedRequest, TransferKind, WINDOWS_NS, simulate,
};

/// Requests per second of all slices seen, by kind.
#[derive(Default)]
struct Slices {
    reads: Vec<u64>,
    writes: Vec<u64>,
}

fn main() {
    let scale = std::env::args().filter_map(|argument| argument.parse().ok()).next().unwrap_or(0.5);
    let names = SchedulingPolicy::ALL.map(SchedulingPolicy::name).map(str::to_owned);
    println!("benchmark,MB/s,requests/s,{}", names.join(","));
    let mut slices = Slices::default();
    let cluster = |policy| BenchmarkSet::Server.cluster(policy);
    for benchmark in BenchmarkSet::Server.benchmarks(scale) {
        let baseline = cluster(SchedulingPolicy::Baseline);
        row("", &benchmark, &baseline, &SchedulingPolicy::ALL.map(cluster), &mut slices);
    }
    slices.print("servers");

    let names = WINDOWS_NS.map(|ns| format!("{}us", ns / 1000));
    println!("\nbenchmark,MB/s,requests/s,{}", names.join(","));
    let mut all = Slices::default();
    for n_nodes in BenchmarkSet::IoNode.node_counts() {
        let mut slices = Slices::default();
        let cluster = |window_ns| BenchmarkSet::IoNode.forwarding_cluster(*n_nodes, window_ns);
        for benchmark in BenchmarkSet::IoNode.benchmarks(scale) {
            let prefix = format!("{n_nodes}:");
            let baseline = cluster(BASELINE_WINDOW_NS);
            row(&prefix, &benchmark, &baseline, &WINDOWS_NS.map(cluster), &mut slices);
        }
        slices.print(&format!("{n_nodes} forwarding nodes"));
        all.reads.extend(slices.reads);
        all.writes.extend(slices.writes);
    }
    all.print("forwarding nodes");
}

fn row(
    prefix: &str,
    benchmark: &SimulatedBenchmark,
    baseline: &ClusterConfig,
    clusters: &[ClusterConfig],
    slices: &mut Slices,
) {
    let base = simulate(baseline, benchmark, 1, Recording::Requests);
    let counts: Vec<u64> = base.observed.iter().flat_map(|seen| per_second(seen)).collect();
    match benchmark.kind {
        TransferKind::Read => slices.reads.extend(&counts),
        TransferKind::Write => slices.writes.extend(&counts),
    }
    let differences = clusters.iter().map(|cluster| {
        let speed = simulate(cluster, benchmark, 1, Recording::Nothing).mb_per_s();
        format!("{:+.0}", (speed / base.mb_per_s() - 1.0) * 100.0)
    });
    let differences: Vec<String> = differences.collect();
    let (label, median) = (benchmark.label(), median(counts));
    println!("{prefix}{label},{:.0},{median},{}", base.mb_per_s(), differences.join(","));
}

fn per_second(requests: &[SimulatedRequest]) -> Vec<u64> {
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for request in requests {
        *counts.entry(request.time_ns / 1_000_000_000).or_default() += 1;
    }
    counts.into_values().collect()
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

impl Slices {
    fn print(&self, what: &str) {
        let all = median([self.reads.clone(), self.writes.clone()].concat());
        let (reads, writes) = (median(self.reads.clone()), median(self.writes.clone()));
        let (n_reads, n_writes) = (self.reads.len(), self.writes.len());
        println!(
            "{what}: median {all}, reads {reads}, writes {writes}; {n_reads} and {n_writes} slices"
        );
    }
}
