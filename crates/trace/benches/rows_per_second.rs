// SPDX-License-Identifier: MIT OR Apache-2.0

//! How many rows per second does a trace give? The best of several passes over
//! the directory named after `--`, or over a trace in the tree.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ioracle_trace::{ReadOptions, Trace};

const N_PASSES: usize = 10;

fn main() {
    // cargo itself adds `--bench`.
    let named = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let in_tree = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/traces/h5bench-write");
    let directory = named.map_or(PathBuf::from(in_tree), PathBuf::from);
    let trace =
        Trace::open(&directory, ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut best = Duration::MAX;
    let mut n_rows = 0;
    for _ in 0..N_PASSES {
        let begin = Instant::now();
        let events = trace.events(None).unwrap_or_else(|error| panic!("{error}"));
        n_rows = events.inspect(|event| assert!(event.is_ok(), "{event:?}")).count();
        best = best.min(begin.elapsed());
    }
    let rate = n_rows as f64 / best.as_secs_f64() / 1e6;
    println!("{}: {n_rows} rows in {best:.1?}, {rate:.2} million rows per second", trace.name());
}
