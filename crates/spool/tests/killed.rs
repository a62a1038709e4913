// SPDX-License-Identifier: MIT OR Apache-2.0

//! A writing process is killed with SIGKILL at any moment: every record whose
//! append had returned is read. `IORACLE_KILL_ROUNDS` sets how often.
//!
//! The writer is this test program once more, running only [`child`].

mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use ioracle_spool::{Job, StreamNumber};
use support::{Memory, Thread, map_page};

/// Passes the job directory to the child.
const DIRECTORY: &str = "IORACLE_TEST_DIRECTORY";
/// File beside the job in which the child counts what it has appended.
const COUNT_FILE: &str = "count";

#[test]
#[ignore = "the other process of the tests here"]
fn child() {
    // Not set: somebody runs all ignored tests.
    let Some(directory) = std::env::var_os(DIRECTORY).map(PathBuf::from) else { return };
    let count = count(&directory);
    let mut thread = Thread::start(&directory, 0);
    // No more than there is room for when the reader is held up: what is counted
    // instead of recorded would look lost.
    for number in 0..1_000_000 {
        if number % 100 == 0 {
            assert!(thread.define(number, &number.to_ne_bytes()));
        }
        thread.append(number);
        count.store(number + 1, SeqCst);
    }
    loop {
        std::thread::park();
    }
}

fn count(directory: &Path) -> &'static AtomicU64 {
    // SAFETY: a page that stays mapped and begins with the number.
    unsafe { map_page(&directory.join(COUNT_FILE)).cast().as_ref() }
}

fn start_child(directory: &Path) -> Child {
    std::fs::write(directory.join(COUNT_FILE), [0; 4096]).unwrap();
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--ignored"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until the child writes, then for a while, then kills it.
fn kill(mut child: Child, count: &AtomicU64, after: Duration, mut meanwhile: impl FnMut()) -> u64 {
    while count.load(SeqCst) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the child has failed");
        std::thread::yield_now();
    }
    let start = std::time::Instant::now();
    while start.elapsed() < after {
        meanwhile();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    count.load(SeqCst)
}

fn rounds() -> u64 {
    std::env::var("IORACLE_KILL_ROUNDS").map_or(20, |rounds| rounds.parse().unwrap())
}

/// A different moment each time, some of them in the first microseconds.
fn moment(round: u64) -> Duration {
    let random = round.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    Duration::from_nanos(if round.is_multiple_of(2) { random } else { random / 64 })
}

fn check(sink: &Memory, appended: u64) {
    let records = sink.first();
    let wrong = records.iter().copied().zip(0..).find(|(record, number)| record != number);
    assert_eq!(wrong, None, "a record in the place of another, of {} in all", records.len());
    // One may have been published and not yet counted.
    let n_records = records.len() as u64;
    assert!((appended..=appended + 1).contains(&n_records), "{n_records} of {appended}");
    let n_defined = sink.definitions.len() as u64;
    assert!(n_defined >= n_records.div_ceil(100), "{n_defined} definitions");
    assert!(sink.definitions.iter().all(|(id, payload)| payload == &id.to_ne_bytes()));
}

#[test]
fn nothing_is_lost_with_a_reader_that_follows() {
    for round in 0..rounds() {
        let (_base, mut job) = support::job(1 << 30);
        let mut sink = Memory::default();
        let child = start_child(job.directory());
        let count = count(job.directory());
        let appended = kill(child, count, moment(round), || {
            job.poll(&mut sink).unwrap();
        });
        job.drain(&mut sink).unwrap();
        check(&sink, appended);
        assert_eq!(sink.ended, [StreamNumber(0)]);
        assert_eq!(job.totals().n_damaged, 0, "{:?}", job.totals().damaged);
    }
}

#[test]
fn nothing_is_lost_without_a_reader() {
    for round in 0..rounds() {
        let (_base, job) = support::job(1 << 30);
        let child = start_child(job.directory());
        let count = count(job.directory());
        let appended = kill(child, count, moment(round), std::thread::yield_now);
        let mut sink = Memory::default();
        Job::open(job.directory()).unwrap().drain(&mut sink).unwrap();
        check(&sink, appended);
    }
}

#[test]
fn a_killed_process_ends_its_stream_while_the_job_goes_on() {
    let (_base, mut job) = support::job(1 << 30);
    let mut sink = Memory::default();
    let child = start_child(job.directory());
    let appended = kill(child, count(job.directory()), moment(0), || ());
    support::poll_until(&mut job, &mut sink, |sink| !sink.ended.is_empty());
    check(&sink, appended);
    assert_eq!(support::used_bytes(&job), 0);
}
