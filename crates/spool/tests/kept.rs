// SPDX-License-Identifier: MIT OR Apache-2.0

//! A reader that is killed has lost nothing: what is gone from the spool was
//! kept before.

mod support;

use std::time::{Duration, Instant};

use ioracle_spool::layout::{Call, DefinitionKind};
use ioracle_spool::{Job, Sink, StreamInfo, StreamNumber};
use support::{Thread, job};

/// Knows what it would have left if it were killed now.
#[derive(Default)]
struct Keeping {
    records: Vec<u64>,
    n_kept: usize,
}

impl Sink for Keeping {
    fn stream(&mut self, _: StreamNumber, _: &StreamInfo) {}

    fn definition(&mut self, _: StreamNumber, _: DefinitionKind, _: u64, _: &[u8]) {}

    fn record(&mut self, _: StreamNumber, call: &Call) {
        self.records.push(call.began);
    }

    fn ended(&mut self, _: StreamNumber) {}

    fn keep(&mut self) {
        self.n_kept = self.records.len();
    }
}

#[test]
fn what_a_killed_reader_has_not_kept_is_still_there() {
    let (_base, mut job) = job(1 << 20);
    let mut thread = Thread::start(job.directory(), 0);
    let mut sink = Keeping::default();
    for round in 0..30 {
        (0..300).for_each(|n| thread.append(300 * round + n));
        job.poll(&mut sink).unwrap();
        let mut left = Keeping::default();
        Job::open(job.directory()).unwrap().drain(&mut left).unwrap();
        let mut not_kept = sink.records[sink.n_kept..].iter();
        assert!(not_kept.all(|number| left.records.contains(number)), "round {round}");
    }
    // Its file goes with the stream.
    thread.finish();
    let start = Instant::now();
    while sink.n_kept < 30 * 300 {
        job.poll(&mut sink).unwrap();
        assert!(start.elapsed() < Duration::from_secs(10), "only {} are kept", sink.n_kept);
    }
}
