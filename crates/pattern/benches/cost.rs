// SPDX-License-Identifier: MIT OR Apache-2.0

//! What patterns cost: a comparison, a request, a tick; and whether memory stays
//! flat.
//!
//!     cargo bench -p ioracle-pattern                    the figures, with a short soak
//!     make soak-pattern                                 with a soak of 10^9 requests

use std::hint::black_box;
use std::time::Instant;

use ioracle_pattern::dtw::Warping;
use ioracle_pattern::{PatternConfig, PatternMatcher, PatternWatcher, Request, RequestKind};

fn main() {
    let soak = std::env::args().skip(1).find_map(|argument| argument.parse::<u64>().ok());
    comparisons();
    requests();
    ticks(soak.unwrap_or(20_000_000));
}

/// A number that looks random.
fn noise(n: u64) -> u64 {
    let mixed = (n ^ (n >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 17
}

/// Distances of a load: mostly contiguous, with strides and other files.
fn series(len: u64, seed: u64) -> Vec<f32> {
    let value = |n: u64| match noise(n + (seed << 32)) % 10 {
        0..=5 => 0.0,
        6..=8 => (1 + seed % 4) as f32 * 32768.0,
        _ => 1e10,
    };
    (0..len).map(value).collect()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn comparisons() {
    let mut warping = Warping::new(PatternConfig::server().radius);
    for (len, n) in [(1000, 200), (100_000, 20)] {
        let (a, b) = (series(len, 1), series(len, 2));
        let time = |_| {
            let start = Instant::now();
            black_box(warping.distance(black_box(&a), black_box(&b)));
            start.elapsed().as_secs_f64() * 1e6
        };
        let times: Vec<f64> = (0..n).map(time).collect();
        // On a busy machine the least says more: no other process came in between.
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let us = median(times);
        println!(
            "comparing two series of {len} values: {us:.1} us (median of {n}, least {least:.1} us)"
        );
    }
}

fn request(n: u64, load: u64) -> Request {
    let streams = 1 + load % 64;
    let stream = n % streams;
    Request {
        time_ns: n * 1000,
        file: load % 16 + stream % (1 + load % 7),
        kind: if load.is_multiple_of(2) { RequestKind::Read } else { RequestKind::Write },
        offset: (stream << 34) + (n / streams) * (4096 << (load % 5)),
        size: 4096 << (load % 3),
    }
}

fn requests() {
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    let n = 5_000_000_u64;
    let requests: Vec<Request> = (0..n.min(1 << 20)).map(|index| request(index, 37)).collect();
    for request in &requests {
        watcher.observe(request);
    }
    watcher.tick();
    // In batches, of which the median counts: the machine may be busy.
    let batch = |first: u64| {
        let start = Instant::now();
        for index in first..first + 10_000 {
            watcher.observe(black_box(&requests[index as usize % requests.len()]));
        }
        start.elapsed().as_secs_f64() * 1e9 / 10_000.0
    };
    let ns = median((0..n / 10_000).map(|first| first * 10_000).map(batch).collect());
    println!("observe: {ns:.1} ns per request");
}

/// Ten thousand known patterns, then requests, and a new load now
/// and then, which is compared with all of them.
fn ticks(n_requests: u64) {
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    let mut n_loads = 0_u64;
    while watcher.matcher().known() < 10_000 && n_loads < 60_000 {
        begin_load(&mut watcher, n_loads);
        watcher.tick();
        n_loads += 1;
    }
    let n_known = watcher.matcher().known();
    let (bytes_before, resident_before) = (watcher.memory_bytes(), resident_kib());
    let (mut times, per_slice) = (Vec::new(), 100_000);
    let started = Instant::now();
    for slice in 0..n_requests / per_slice {
        for n in 0..per_slice {
            watcher.observe(&request(slice * per_slice + n, slice / 50));
        }
        times.push(timed_tick(&mut watcher));
        begin_load(&mut watcher, n_loads + slice);
        times.push(timed_tick(&mut watcher));
    }
    let seconds = started.elapsed().as_secs_f64();
    times.sort_by(f64::total_cmp);
    println!(
        "soak of {n_requests} requests in {seconds:.0} s: {n_known} known patterns before, {} after",
        watcher.matcher().known()
    );
    println!(
        "tick: median {:.2} ms, longest {:.2} ms of {}",
        times.get(times.len() / 2).copied().unwrap_or(0.0),
        times.last().copied().unwrap_or(0.0),
        times.len()
    );
    println!(
        "memory: {bytes_before} bytes counted before, {} after; {resident_before} KiB resident before, \
         {} after",
        watcher.memory_bytes(),
        resident_kib()
    );
}

/// The first second of a load that differs from all others in its sizes, steps, streams,
/// files, rate and kind, on files of its own.
fn begin_load(watcher: &mut PatternWatcher, load: u64) {
    let any = |what: u64, below: u64| noise(load * 64 + what) % below;
    let (streams, files) = (1 << any(0, 6), 1 + any(1, 48));
    // Three of each, in turns of different length.
    let (sizes, steps) = ([2, 3, 4].map(|it| any(it, 24)), [5, 6, 7].map(|it| any(it, 30)));
    for n in 0..130 {
        let place = n / streams;
        watcher.observe(&Request {
            time_ns: (load << 32) + (n << (10 + any(8, 16))),
            file: (load << 8) + n % files,
            kind: RequestKind::ALL[any(9, 2) as usize],
            offset: ((n % streams) << 40) + (place << steps[(place % (1 + any(10, 3))) as usize]),
            size: 1 << sizes[(n % (1 + any(11, 3))) as usize],
        });
    }
}

fn timed_tick(watcher: &mut PatternWatcher) -> f64 {
    let start = Instant::now();
    watcher.tick();
    start.elapsed().as_secs_f64() * 1e3
}

/// Memory of this process that is in use; 0 where the system does not say.
fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
