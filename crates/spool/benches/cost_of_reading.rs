// SPDX-License-Identifier: MIT OR Apache-2.0

//! What does reading cost? A record that is delivered, and a look at many
//! streams of which one or none has something new.

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Instant;

use ioracle_spool::layout::{Call, DefinitionKind};
use ioracle_spool::{Job, Sink, StreamInfo, StreamNumber};
use support::Thread;

/// Only counts.
struct Count(u64);

impl Sink for Count {
    fn stream(&mut self, _: StreamNumber, _: &StreamInfo) {}

    fn definition(&mut self, _: StreamNumber, _: DefinitionKind, _: u64, _: &[u8]) {}

    fn record(&mut self, _: StreamNumber, _: &Call) {
        self.0 += 1;
    }

    fn ended(&mut self, _: StreamNumber) {}
}

fn job() -> (tempfile::TempDir, Job) {
    let memory = std::path::Path::new("/dev/shm");
    let base = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let base = base.expect("a directory can be made");
    let job = Job::create(base.path(), 1 << 40, 0).expect("a job can be made");
    (base, job)
}

fn a_record() {
    const N_RECORDS: u64 = 1_000_000;
    let (_base, mut job) = job();
    let mut thread = Thread::start(job.directory(), 0);
    (0..N_RECORDS).for_each(|number| thread.append(number));
    let mut sink = Count(0);
    let start = Instant::now();
    while job.poll(&mut sink).expect("the job is there") > 0 {}
    let cost = start.elapsed().as_nanos() as f64 / N_RECORDS as f64;
    assert_eq!(sink.0, N_RECORDS);
    println!("{cost:.0} ns per record of a long stream");
}

fn a_look(n_streams: u64) {
    const N_LOOKS: u32 = 200;
    let (_base, mut job) = job();
    let mut threads: Vec<Thread> =
        (0..n_streams).map(|serial| Thread::start(job.directory(), serial)).collect();
    let mut sink = Count(0);
    let mut poll = || job.poll(&mut sink).expect("the job is there");
    while poll() > 0 {}
    let start = Instant::now();
    for _ in 0..N_LOOKS {
        poll();
    }
    let idle = start.elapsed() / N_LOOKS;
    let start = Instant::now();
    for number in 0..N_LOOKS {
        threads[0].append(number.into());
        poll();
    }
    let busy = start.elapsed() / N_LOOKS;
    println!(
        "{n_streams} streams: {idle:.1?} for a look that finds nothing, {busy:.1?} for one record"
    );
}

fn main() {
    a_record();
    for n_streams in [1, 10, 100, 1000] {
        a_look(n_streams);
    }
}
