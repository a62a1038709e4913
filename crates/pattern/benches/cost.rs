// SPDX-License-Identifier: MIT OR Apache-2.0

//! What patterns cost: a comparison, a request, a tick; and whether memory stays
//! flat.
//!
//!     cargo bench -p ioracle-pattern                    the table
//!     cargo bench -p ioracle-pattern -- 1000000000      with a soak of so many requests

use std::hint::black_box;
use std::time::Instant;

use ioracle_pattern::dtw::{Warping, exact};
use ioracle_pattern::{PatternConfig, PatternMatcher, PatternWatcher, Request, RequestKind};

fn main() {
    let soak = std::env::args().skip(1).find_map(|argument| argument.parse::<u64>().ok());
    comparisons();
    accuracy();
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
        let us = median((0..n).map(time).collect());
        println!("comparing two series of {len} values: {us:.1} us (median of {n})");
    }
}

/// FastDTW against exact DTW where both can be had. Series of the evaluation
/// sets are compressed and short; those are compared exactly.
fn accuracy() {
    for (shortest, longest) in [(3, 120), (200, 700)] {
        let mut warping = Warping::new(PatternConfig::server().radius);
        let len = |seed: u64| shortest + noise(seed) % (longest - shortest);
        let error = |pair: u64| {
            let (a, b) = (series(len(pair), pair), series(len(pair + 9), pair + 1));
            let truth = exact(&a, &b);
            if truth > 0.0 { warping.distance(&a, &b) / truth - 1.0 } else { 0.0 }
        };
        let mut errors: Vec<f64> = (0..1000_u64).map(error).collect();
        errors.sort_by(f64::total_cmp);
        let p95 = 100.0 * errors[errors.len() * 95 / 100];
        println!(
            "error against exact DTW, random series of {shortest} to {longest} values, \
             95th percentile of 1000 pairs: {p95:.2} %"
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

/// A load per slice, ten thousand of them known.
fn ticks(n_requests: u64) {
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    let per_slice = 400;
    let mut fill = 0_u64;
    while watcher.matcher().known() < 10_000 && fill < 60_000 {
        // Loads that differ in size, streams, files and rate, two slices each.
        let load = fill / 2;
        let (streams, files) = (1 << (load / 24 % 6), 1 << (load / 144 % 6));
        for n in 0..130 {
            watcher.observe(&Request {
                time_ns: (fill << 32) + (n << (10 + load / 864 % 16)),
                file: n % files,
                kind: RequestKind::ALL[(load / 13_824 % 2) as usize],
                offset: ((n % streams) << 40) + ((n / streams) << (load % 24)),
                size: 1 << (load % 24),
            });
        }
        watcher.tick();
        fill += 1;
    }
    let n_known = watcher.matcher().known();
    let before = watcher.memory_bytes();
    let (mut longest, mut sum, mut n_ticks) = (0.0_f64, 0.0, 0_u32);
    for slice in 0..n_requests / per_slice {
        for n in 0..per_slice {
            watcher.observe(&request(slice * per_slice + n, slice / 50));
        }
        // Ticks are what costs; the rest of the soak is requests.
        if slice % 1000 < 20 {
            let start = Instant::now();
            watcher.tick();
            let ms = start.elapsed().as_secs_f64() * 1e3;
            longest = longest.max(ms);
            sum += ms;
            n_ticks += 1;
        }
    }
    println!(
        "tick with {n_known} known patterns: mean {:.2} ms, longest {longest:.2} ms of {n_ticks}",
        sum / f64::from(n_ticks.max(1))
    );
    let after = watcher.memory_bytes();
    println!(
        "soak of {n_requests} requests: {n_known} known patterns before, {} after, {before} bytes before, {after} after",
        watcher.matcher().known()
    );
}
