// SPDX-License-Identifier: MIT OR Apache-2.0

//! A reader follows writers through real files.

mod support;

use std::os::unix::fs::{FileExt, PermissionsExt};
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use ioracle_spool::layout::{PAGE, Record, StreamHeader, UnrecordedCause};
use ioracle_spool::{Job, StreamIdentity, StreamNumber};
use support::{Memory, Thread, identity, job, poll_until, stream_files, used_bytes};

const ROOMY: u64 = 1 << 30;

#[test]
fn what_is_appended_comes_out_in_order() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    assert_eq!(job.poll(&mut sink).unwrap(), 0);
    let mut thread = Thread::start(job.directory(), 0);
    assert!(thread.define(17, b"/etc/passwd"));
    for number in 0..100_000 {
        thread.append(number);
    }
    while job.poll(&mut sink).unwrap() > 0 {}
    assert!(sink.first().iter().copied().eq(0..100_000));
    assert_eq!(sink.definitions, [(17, b"/etc/passwd".to_vec())]);
    assert_eq!(sink.infos[0].pid, std::process::id());
    assert_eq!(sink.infos[0].rank, None);
    assert!(sink.ended.is_empty());
    assert_eq!(job.totals().n_records, 100_000);
}

#[test]
fn a_thread_inside_a_call_is_seen_before_there_is_a_record_of_it() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let thread = Thread::start(job.directory(), 0);
    assert_eq!(job.inside_since_ns(StreamNumber(0)), None, "a stream that nobody knows yet");
    job.poll(&mut sink).unwrap();
    assert_eq!(job.inside_since_ns(StreamNumber(0)), None);
    thread.writer.set_inside_since(1234);
    assert_eq!(job.inside_since_ns(StreamNumber(0)), Some(1234));
    thread.writer.set_inside_since(0);
    assert_eq!(job.inside_since_ns(StreamNumber(0)), None);
}

#[test]
fn a_finished_stream_ends_and_its_bytes_are_given_back() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    for number in 0..1000 {
        thread.append(number);
    }
    assert!(used_bytes(&job) > 100_000);
    thread.writer.count_unrecorded(UnrecordedCause::Borrowed);
    thread.finish();
    poll_until(&mut job, &mut sink, |sink| sink.ended == [StreamNumber(0)]);
    assert_eq!(sink.first().len(), 1000);
    assert_eq!(used_bytes(&job), 0);
    assert!(stream_files(&job).is_empty());
    assert_eq!(job.totals().unrecorded(UnrecordedCause::Borrowed), 1);
}

/// A pass reads a bounded part: a stream that had ended was let go, and its file
/// deleted, before the rest was read.
#[test]
fn a_stream_that_ends_far_ahead_of_the_reader_is_read_to_its_end() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    (0..100_000).for_each(|number| thread.append(number));
    thread.finish();
    poll_until(&mut job, &mut sink, |sink| sink.ended == [StreamNumber(0)]);
    assert!(sink.first().iter().copied().eq(0..100_000), "{} were read", sink.first().len());
}

#[test]
fn what_a_stream_was_charged_for_and_never_got_is_given_back() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let thread = Thread::start(job.directory(), 0);
    // As a process leaves it that is killed while its file grows.
    let (first, more) = (16 * 1024_u64, 2 << 20_u64);
    support::map_job(job.directory()).taken_bytes.fetch_add(more, SeqCst);
    let file = std::fs::OpenOptions::new().write(true).open(&stream_files(&job)[0]).unwrap();
    let charged = std::mem::offset_of!(StreamHeader, charged_bytes) as u64;
    file.write_all_at(&(first + more).to_ne_bytes(), charged).unwrap();
    thread.finish();
    poll_until(&mut job, &mut sink, |sink| sink.ended.len() == 1);
    assert_eq!(used_bytes(&job), 0);
}

#[test]
fn a_stream_whose_thread_is_gone_ends() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let directory = job.directory().to_path_buf();
    let thread = std::thread::spawn(move || {
        let mut thread = Thread::start(&directory, 0);
        thread.append(7);
    });
    thread.join().unwrap();
    poll_until(&mut job, &mut sink, |sink| sink.ended == [StreamNumber(0)]);
    assert_eq!(sink.first(), [7]);
}

#[test]
fn an_image_ends_the_streams_of_the_one_before_it() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let pid = std::process::id();
    let image = |start_ns| StreamIdentity { process_start_ns: start_ns, ..identity(pid, start_ns) };
    let mut first = Thread::start_as(job.directory(), image(1));
    first.append(1);
    poll_until(&mut job, &mut sink, |sink| sink.n_records() == 1);
    let mut second = Thread::start_as(job.directory(), image(2));
    second.append(2);
    poll_until(&mut job, &mut sink, |sink| sink.ended == [StreamNumber(0)]);
    assert_eq!(sink.n_records(), 2);
}

#[test]
fn a_job_with_a_reader_needs_bounded_space() {
    let (_base, mut job) = job(256 * 1024);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    for number in 0..200_000 {
        thread.append(number);
        if number % 500 == 0 {
            job.poll(&mut sink).unwrap();
        }
    }
    job.drain(&mut sink).unwrap();
    assert!(sink.first().iter().copied().eq(0..200_000));
    assert_eq!(job.totals().n_unrecorded(), 0);
}

#[test]
fn a_writer_that_waits_for_the_reader_loses_nothing() {
    let base = tempfile::tempdir().unwrap();
    let mut job = Job::create(base.path(), 64 * 1024, 10_000).unwrap();
    let mut sink = Memory::default();
    let directory = job.directory().to_path_buf();
    let thread = std::thread::spawn(move || {
        let mut thread = Thread::start(&directory, 0);
        (0..50_000).for_each(|number| thread.append(number));
        thread.finish();
    });
    poll_until(&mut job, &mut sink, |sink| !sink.ended.is_empty());
    thread.join().unwrap();
    assert!(sink.first().iter().copied().eq(0..50_000));
    assert_eq!(job.totals().n_unrecorded(), 0);
}

#[test]
fn a_sleeping_reader_is_woken_by_each_record_where_someone_acts() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    job.poll(&mut sink).unwrap();
    job.act_on(StreamNumber(0));
    while job.poll(&mut sink).unwrap() > 0 {}
    thread.append(0);
    let start = Instant::now();
    job.sleep(Duration::from_secs(60));
    assert!(start.elapsed() < Duration::from_secs(10), "it was not woken");
    assert_eq!(job.poll_asking(&mut sink), 1);
}

#[test]
fn a_sleeping_reader_is_woken_by_a_batch() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    while job.poll(&mut sink).unwrap() > 0 {}
    let directory = job.directory().to_path_buf();
    let waker = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        let mut thread = Thread::start(&directory, 1);
        (0..64).for_each(|number| thread.append(number));
    });
    let start = Instant::now();
    job.sleep(Duration::from_secs(20));
    assert!(start.elapsed() < Duration::from_secs(10), "it was not woken");
    waker.join().unwrap();
    thread.append(0);
    poll_until(&mut job, &mut sink, |sink| sink.n_records() == 65);
}

#[test]
fn another_thread_ends_the_sleep() {
    let (_base, mut job) = job(ROOMY);
    let waker = job.waker();
    assert_eq!(job.poll(&mut Memory::default()).unwrap(), 0);
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        waker.wake();
    });
    let start = Instant::now();
    job.sleep(Duration::from_secs(20));
    assert!(start.elapsed() < Duration::from_secs(10), "it was not woken");
    other.join().unwrap();
}

#[test]
fn a_reader_that_has_missed_something_does_not_sleep() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    assert_eq!(job.poll(&mut sink).unwrap(), 0);
    (0..64).for_each(|number| thread.append(number));
    let start = Instant::now();
    job.sleep(Duration::from_secs(20));
    assert!(start.elapsed() < Duration::from_secs(10));
}

/// Stores the word that publishes a record of a stream's first segment.
fn publish(job: &Job, number: u64, word: u64) {
    let path = &stream_files(job)[0];
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    let offset = 2 * PAGE as u64 + number * size_of::<Record>() as u64;
    file.write_all_at(&word.to_ne_bytes(), offset).unwrap();
}

fn make_hole(job: &Job, number: u64) {
    publish(job, number, 0);
}

/// How long a record that was begun is waited for, as docs/spool.md says.
const PATIENCE: Duration = Duration::from_secs(1);

#[test]
fn a_hole_is_waited_for_then_skipped_and_counted() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    (0..200).for_each(|number| thread.append(number));
    make_hole(&job, 40);
    let start = Instant::now();
    while job.poll(&mut sink).unwrap() > 0 {}
    assert_eq!(sink.first().len(), 40);
    poll_until(&mut job, &mut sink, |sink| sink.n_records() == 199);
    assert!(start.elapsed() >= PATIENCE);
    assert_eq!(job.totals().n_holes, 1);
}

/// The time that a hole was waited for once began when the stream fell quiet:
/// a record that a handler interrupted after a quiet second was taken for lost.
#[test]
fn a_hole_after_a_quiet_time_is_waited_for_like_any_other() {
    // Where the machine keeps the test from being as quick as a handler, nothing
    // is found out, and it is tried again.
    let is_found_out = (0..20).any(|_| hole_after_a_quiet_time());
    assert!(is_found_out, "the machine is too busy to be quicker than {PATIENCE:?}");
}

/// Whether the hole was there for less time than it is waited for; fails if it
/// was not waited for all the same.
fn hole_after_a_quiet_time() -> bool {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    (0..10).for_each(|number| thread.append(number));
    let quiet_since = Instant::now();
    while quiet_since.elapsed() <= PATIENCE {
        job.poll(&mut sink).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(sink.n_records(), 10);
    let start = Instant::now();
    thread.append(10);
    thread.append(11);
    make_hole(&job, 10);
    while start.elapsed() < PATIENCE / 2 {
        job.poll(&mut sink).unwrap();
        std::thread::sleep(Duration::from_millis(1));
    }
    let n_records = sink.n_records();
    publish(&job, 10, 11);
    if start.elapsed() >= PATIENCE {
        return false;
    }
    assert_eq!(n_records, 10, "the hole was not waited for");
    poll_until(&mut job, &mut sink, |sink| sink.n_records() == 12);
    assert!(sink.first().iter().copied().eq(0..12));
    assert_eq!(job.totals().n_holes, 0);
    true
}

#[test]
fn at_the_end_holes_are_skipped_at_once_and_trailing_ones_are_none() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    (0..50).for_each(|number| thread.append(number));
    for hole in [0, 7, 8, 20, 49] {
        make_hole(&job, hole);
    }
    assert_eq!(job.drain(&mut sink).unwrap(), 45);
    assert_eq!(job.totals().n_holes, 4);
    assert_eq!(sink.ended, [StreamNumber(0)]);
}

#[test]
fn a_hole_in_the_last_place_of_a_segment_does_not_stop_the_next() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    (0..100).for_each(|number| thread.append(number));
    make_hole(&job, 84);
    poll_until(&mut job, &mut sink, |sink| sink.n_records() == 99);
    assert_eq!(job.totals().n_holes, 1);
}

#[test]
fn definitions_come_before_records_of_other_streams_that_were_published_later() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut user = Thread::start(job.directory(), 0);
    job.poll(&mut sink).unwrap();
    for round in 0..50 {
        // The stream that defines is one that the reader does not know yet.
        let mut definer = Thread::start(job.directory(), 1 + round);
        assert!(definer.define(round, b"x"));
        user.append(round);
        while sink.first().len() <= round as usize {
            job.poll(&mut sink).unwrap();
            if sink.first().len() > round as usize {
                assert!(sink.definitions.contains(&(round, b"x".to_vec())));
            }
        }
    }
}

#[test]
fn thousands_of_short_streams_pass_through() {
    let (_base, mut job) = job(4 << 20);
    let mut sink = Memory::default();
    for serial in 0..3000 {
        let mut thread = Thread::start(job.directory(), serial);
        thread.append(serial);
        thread.finish();
        if serial % 50 == 0 {
            job.poll(&mut sink).unwrap();
            job.poll(&mut sink).unwrap();
        }
    }
    job.drain(&mut sink).unwrap();
    assert_eq!((sink.n_records(), sink.ended.len()), (3000, 3000));
    assert!(stream_files(&job).is_empty());
    assert_eq!(used_bytes(&job), 0);
}

#[test]
fn a_job_without_its_reader_is_recovered_and_left_as_it_is() {
    let (_base, mut first) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(first.directory(), 0);
    assert!(thread.define(1, b"/tmp/x"));
    (0..100).for_each(|number| thread.append(number));
    first.poll(&mut sink).unwrap();
    (100..300).for_each(|number| thread.append(number));
    let directory = first.directory().to_path_buf();
    drop(first);
    for _ in 0..2 {
        let mut sink = Memory::default();
        let mut job = Job::open(&directory).unwrap();
        job.drain(&mut sink).unwrap();
        let mut records = sink.first().to_vec();
        records.dedup();
        assert!(records.ends_with(&(100..300).collect::<Vec<u64>>()));
        assert_eq!(job.totals().n_consumed_before + records.len() as u64, 300);
        assert_eq!(sink.definitions.len(), 1);
        assert_eq!(job.totals().n_damaged, 0);
    }
    Job::open(&directory).unwrap().remove().unwrap();
    assert!(!directory.exists());
}

#[test]
fn the_directory_is_private_and_goes_with_the_job() {
    let (base, job) = job(ROOMY);
    let _thread = Thread::start(job.directory(), 0);
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(job.directory().to_path_buf()), 0o700);
    assert_eq!(mode(job.directory().join("job")), 0o600);
    job.remove().unwrap();
    assert_eq!(std::fs::read_dir(base.path()).unwrap().count(), 0);
}

#[test]
fn a_closed_job_tells_its_writers() {
    let (_base, mut job) = job(ROOMY);
    let page = support::map_job(job.directory());
    assert_eq!(page.open.load(SeqCst), 1);
    job.close();
    assert_eq!(page.open.load(SeqCst), 0);
}

#[test]
fn a_directory_removed_under_the_job_is_told_and_open_streams_go_on() {
    let (_base, mut job) = job(ROOMY);
    let mut sink = Memory::default();
    let mut thread = Thread::start(job.directory(), 0);
    thread.append(0);
    poll_until(&mut job, &mut sink, |sink| sink.n_records() == 1);
    std::fs::remove_dir_all(job.directory()).unwrap();
    (1..50).for_each(|number| thread.append(number));
    poll_until(&mut job, &mut sink, |sink| sink.n_records() == 50);
    job.drain(&mut sink).unwrap();
    assert_eq!(job.totals().damaged.len(), 1, "{:?}", job.totals().damaged);
    job.remove().unwrap();
}
