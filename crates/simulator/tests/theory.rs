// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where theory gives an answer, the simulator gives the same.

use ioracle_simulator::{
    AccessLayout, ClusterConfig, DeviceModel, DiskModel, NetworkModel, Pacing, Recording,
    SchedulingPolicy, SimulatedBenchmark, SimulationOutcome, SsdModel, TransferKind, simulate,
};

const MIB: u64 = 1 << 20;

const DISK: DiskModel = DiskModel {
    bytes_per_s: 150e6,
    capacity_bytes: 4 << 30,
    settle_ns: 1_000_000,
    full_seek_ns: 9_000_000,
    rotation_ns: 8_000_000,
    access_ns: 0,
    sync_ns: 0,
    copy_bytes_per_s: 1e12,
};

fn cluster(n_servers: u32, device: DeviceModel) -> ClusterConfig {
    ClusterConfig {
        n_servers,
        n_clients: 1,
        strip_bytes: 64 << 10,
        flow_bytes: 256 << 10,
        flow_depth: 8,
        network: NetworkModel { bytes_per_s: 1e11, latency_ns: 1000, jitter_ns: 0 },
        device,
        message_ns: 0,
        policy: SchedulingPolicy::TimeOrder,
        forwarding: None,
        start_spread_ns: 0,
        run_variation: 0.0,
    }
}

fn benchmark(layout: AccessLayout, request_bytes: u64, n_requests: u64) -> SimulatedBenchmark {
    SimulatedBenchmark {
        layout,
        kind: TransferKind::Read,
        request_bytes,
        instances: vec![1],
        bytes_per_process: request_bytes * n_requests,
        pacing: Pacing::Synchronous { think_ns: 0 },
    }
}

fn run(config: &ClusterConfig, benchmark: &SimulatedBenchmark) -> SimulationOutcome {
    simulate(config, benchmark, 1, Recording::Nothing)
}

fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found / expected - 1.0).abs() <= tolerance, "{found} instead of {expected}");
}

#[test]
fn a_single_stream_reaches_the_bandwidth_of_the_disk() {
    let stream = benchmark(AccessLayout::SharedContiguous, 4 * MIB, 500);
    for policy in SchedulingPolicy::ALL {
        let config = ClusterConfig { policy, ..cluster(1, DeviceModel::Disk(DISK)) };
        let outcome = run(&config, &stream);
        // aIOli waits once for what a process that waits cannot send.
        let tolerance = if policy == SchedulingPolicy::Aioli { 0.05 } else { 0.02 };
        assert_near(outcome.mb_per_s(), 150.0, tolerance);
    }
}

#[test]
fn random_reads_go_at_the_rate_of_seeks() {
    // One process, a file of half the disk: the distance of two random places
    // on a line of length L has a mean square root of 8/15 of that of L.
    let size = 64 << 10;
    let n_requests = (DISK.capacity_bytes / 2) / size;
    let outcome = run(
        &cluster(1, DeviceModel::Disk(DISK)),
        &benchmark(AccessLayout::SharedRandom, size, n_requests),
    );
    let seek = 1e-3 + 8e-3 * 0.5_f64.sqrt() * 8.0 / 15.0;
    let expected = seek + 4e-3 + size as f64 / 150e6;
    let found = outcome.elapsed_ns as f64 * 1e-9 / n_requests as f64;
    assert_near(found, expected, 0.02);
}

#[test]
fn servers_add_up_when_requests_cover_their_stripes() {
    let stream = benchmark(AccessLayout::SharedContiguous, 64 * MIB, 60);
    let alone = run(&cluster(1, DeviceModel::Disk(DISK)), &stream).mb_per_s();
    for n_servers in [2, 4, 8] {
        let striped = run(&cluster(n_servers, DeviceModel::Disk(DISK)), &stream).mb_per_s();
        assert_near(striped / alone, f64::from(n_servers), 0.03);
    }
}

#[test]
fn poisson_arrivals_wait_as_in_an_m_d_1_queue() {
    let ssd = SsdModel { bytes_per_s: 1e12, read_ns: 1_000_000, write_ns: 0, n_channels: 1 };
    for load in [0.3, 0.6, 0.9] {
        let mean_ns = (1e6 / load) as u64;
        let source = SimulatedBenchmark {
            pacing: Pacing::Poisson { mean_ns },
            ..benchmark(AccessLayout::SharedRandom, 4096, 400_000)
        };
        let outcome = run(&cluster(1, DeviceModel::Ssd(ssd)), &source);
        // Pollaczek and Khinchine for a constant service time.
        let expected = 1e6 * (1.0 + load / (2.0 * (1.0 - load)));
        assert_near(outcome.mean_sojourn_ns, expected, 0.03);
    }
}

#[test]
fn channels_of_an_ssd_work_at_the_same_time() {
    let ssd = |n_channels| {
        DeviceModel::Ssd(SsdModel {
            bytes_per_s: 1e9,
            read_ns: 80_000,
            write_ns: 20_000,
            n_channels,
        })
    };
    let readers = SimulatedBenchmark {
        instances: vec![64],
        ..benchmark(AccessLayout::SharedRandom, 4096, 2000)
    };
    let one = run(&cluster(1, ssd(1)), &readers).mb_per_s();
    let eight = run(&cluster(1, ssd(8)), &readers).mb_per_s();
    assert_near(eight / one, 8.0, 0.03);
}

#[test]
fn a_slow_network_is_the_bottleneck() {
    let network = NetworkModel { bytes_per_s: 50e6, latency_ns: 1000, jitter_ns: 0 };
    let config = ClusterConfig { network, ..cluster(4, DeviceModel::Disk(DISK)) };
    let stream = benchmark(AccessLayout::SharedContiguous, 16 * MIB, 100);
    assert_near(run(&config, &stream).mb_per_s(), 50.0, 0.03);
}
