// SPDX-License-Identifier: MIT OR Apache-2.0

//! Traces that were cut off, spoiled, or are still being written: what is good
//! is read, what is not is reported in one sentence.

mod common;

use std::fs;
use std::path::Path;

use ioracle_events::{ContextId, Event, FileId, StreamId};
use ioracle_trace::{
    Description, JobProcess, Observer, ProcessNumber, ReadOptions, TimePrecision, Trace,
    TraceRecorder,
};
use tempfile::TempDir;

const STRICT: ReadOptions = ReadOptions { lenient: false };
const LENIENT: ReadOptions = ReadOptions { lenient: true };
const EVENTS: &str = "events.ioracle";
const LOG: &str = "recording.part";

/// The `n`th write of a process, of 300 ns.
fn write(process: u32, n: u64) -> Event {
    let start_ns = 1000 * n + u64::from(process);
    Event { end_ns: 1000 * n + 300, ..common::write(process, 0, n, start_ns) }
}

/// Reports two ranks, and `n_events` writes of each in turn.
fn report(recorder: &mut TraceRecorder, n_events: u64) {
    recorder.context(ContextId(1), "app+0x10");
    recorder.file(FileId(1), "out.dat");
    for rank in 0..2 {
        let process = JobProcess { pid: 10 + rank, rank: Some(rank), ..JobProcess::default() };
        recorder.process(ProcessNumber(rank), &process);
        recorder.stream_began(StreamId { rank, thread: 0 }, 10 + rank);
    }
    for n in 0..n_events {
        recorder.event(ProcessNumber(0), &write(0, n));
        recorder.event(ProcessNumber(1), &write(1, n));
    }
}

/// A recording whose logs were short, so that it has blocks and a log.
fn recording(n_events: u64) -> (TempDir, TraceRecorder) {
    let directory = tempfile::tempdir().unwrap();
    let recorder = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    let mut recorder = recorder.with_log_limit(2000);
    report(&mut recorder, n_events);
    recorder.flush().unwrap();
    (directory, recorder)
}

fn finished(n_events: u64) -> Vec<u8> {
    let (directory, recorder) = recording(n_events);
    recorder.finish(&Description::default()).unwrap();
    fs::read(directory.path().join(EVENTS)).unwrap()
}

/// How many events are read, how many are skipped, and the error that ends it.
fn read(trace: Result<Trace, ioracle_trace::Error>) -> (u64, u64, Option<String>) {
    let trace = match trace {
        Ok(trace) => trace,
        Err(error) => return (0, 0, Some(error.to_string())),
    };
    let mut events = match trace.events(None) {
        Ok(events) => events,
        Err(error) => return (0, trace.skipped(), Some(error.to_string())),
    };
    let mut n_read = 0;
    let mut failure = None;
    for event in events.by_ref() {
        match event {
            Ok(_) => n_read += 1,
            Err(error) => failure = Some(error.to_string()),
        }
    }
    (n_read, events.skipped() + trace.skipped(), failure)
}

fn read_bytes(bytes: &[u8], options: ReadOptions) -> (u64, u64, Option<String>) {
    read(Trace::from_bytes("memory", bytes.to_vec(), options))
}

#[test]
fn a_recording_is_read_while_it_is_written() {
    let (directory, mut recorder) = recording(0);
    for n in 0..300 {
        recorder.event(ProcessNumber(0), &write(0, n));
        recorder.event(ProcessNumber(1), &write(1, n));
        if n % 50 == 49 {
            recorder.flush().unwrap();
            let trace = Trace::open(directory.path(), STRICT).unwrap();
            assert_eq!(trace.ranks().unwrap(), [0, 1]);
            for rank in 0..2 {
                let events: Vec<Event> =
                    trace.events(Some(rank)).unwrap().map(Result::unwrap).collect();
                assert_eq!(events.len() as u64, n + 1);
                let last = events.last().unwrap();
                assert_eq!(
                    (last.offset, last.start_ns),
                    (Some(100 * n), 1000 * n + u64::from(rank))
                );
            }
        }
    }
    assert!(fs::metadata(directory.path().join(LOG)).unwrap().len() < 2500);
    assert_eq!(recorder.finish(&Description::default()).unwrap().n_events, 600);
    assert_eq!(read(Trace::open(directory.path(), STRICT)), (600, 0, None));
}

#[test]
fn a_recording_cut_off_at_any_byte_is_recovered() {
    let (original, recorder) = recording(60);
    drop(recorder);
    let [events, log] = [EVENTS, LOG].map(|name| fs::read(original.path().join(name)).unwrap());
    let mut last = 0;
    for cut in (0..=log.len()).step_by(13).chain([log.len()]) {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(EVENTS), &events).unwrap();
        fs::write(directory.path().join(LOG), &log[..cut]).unwrap();
        let Ok(recorder) = TraceRecorder::reopen(directory.path()) else {
            assert!(cut < 28, "a log of {cut} bytes is refused");
            continue;
        };
        let written = recorder.finish(&Description::default()).unwrap();
        assert_eq!((written.n_damaged, written.n_ranks), (0, 2));
        assert!(written.n_events >= last, "{cut}");
        last = written.n_events;
        assert_eq!(read(Trace::open(directory.path(), STRICT)), (last, 0, None));
    }
    assert_eq!(last, 120);
}

#[test]
fn a_trace_cut_off_at_any_byte_is_reported_and_recovered() {
    let whole = finished(60);
    assert_eq!(read_bytes(&whole, STRICT), (120, 0, None));
    let mut last = 0;
    for cut in 0..whole.len() {
        let (n_read, _, failure) = read_bytes(&whole[..cut], STRICT);
        let failure = failure.unwrap_or_else(|| panic!("nothing is wrong at {cut}"));
        assert!(failure.contains("is cut off at byte"), "{cut}: {failure}");
        assert_eq!(n_read, 0);
        let (n_read, skipped, _) = read_bytes(&whole[..cut], LENIENT);
        assert!(n_read >= last && (skipped > 0 || cut < 28), "{cut}: {n_read} after {last}");
        last = n_read;
        if cut % 29 == 0 {
            let directory = tempfile::tempdir().unwrap();
            fs::write(directory.path().join(EVENTS), &whole[..cut]).unwrap();
            assert!(TraceRecorder::is_unfinished(directory.path()));
            let recorder = TraceRecorder::reopen(directory.path()).unwrap();
            assert_eq!(recorder.finish(&Description::default()).unwrap().n_events, n_read);
            let (again, skipped, _) = read(Trace::open(directory.path(), STRICT));
            assert_eq!((again, skipped), (n_read, 0));
        }
    }
}

#[test]
fn a_flipped_bit_costs_a_block_and_is_reported() {
    let whole = finished(60);
    for place in 0..whole.len() {
        let mut spoiled = whole.clone();
        spoiled[place] ^= 1 << (place % 8);
        let (n_read, _, failure) = read_bytes(&spoiled, STRICT);
        // Without its end a trace is as good as cut off; all else is damage.
        let failure = failure.unwrap_or_else(|| panic!("nothing is wrong with {place}: {n_read}"));
        assert!(failure.contains("events.ioracle' "), "{place}: {failure}");
        if place >= 28 {
            let (n_read, skipped, _) = read_bytes(&spoiled, LENIENT);
            assert!(skipped > 0, "{place}");
            assert!(n_read < 120 || skipped == 1, "{place}: {n_read} and {skipped} skipped");
        }
    }
}

#[test]
fn other_files_and_versions_are_refused() {
    let whole = finished(1);
    let check = |bytes: &[u8], part: &str| {
        let (_, _, failure) = read_bytes(bytes, LENIENT);
        let failure = failure.unwrap();
        assert!(failure.contains(part), "{failure}");
    };
    check(b"rank,tid,seq,level,op,stack,file", "is not a trace of ioracle");
    let mut newer = whole.clone();
    newer[16] = 7;
    check(&newer, "has version 7 of the format, this ioracle reads versions up to 2");
    // A length of gigabytes, with the checksum that fits it.
    let mut gigantic = whole;
    gigantic[28 + 5..28 + 9].copy_from_slice(&(1_u32 << 28).to_le_bytes());
    let check_sum = crc32fast::hash(&gigantic[28..28 + 13]);
    gigantic[28 + 13..28 + 17].copy_from_slice(&check_sum.to_le_bytes());
    assert_eq!(read_bytes(&gigantic, LENIENT).0, 0);
}

#[test]
fn two_recorders_do_not_share_a_directory() {
    let (directory, recorder) = recording(3);
    let error =
        TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap_err().to_string();
    assert!(error.contains("contains a recording that was not finished"), "{error}");
    recorder.finish(&Description::default()).unwrap();
    let error =
        TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap_err().to_string();
    assert!(error.contains("already holds a trace"), "{error}");
}

#[test]
fn ranks_that_do_the_same_are_stored_once() {
    let size = |n_ranks: u32| {
        let directory = tempfile::tempdir().unwrap();
        let mut recorder = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
        recorder.context(ContextId(1), "app+0x10");
        for rank in 0..n_ranks {
            let process = JobProcess { pid: 10 + rank, rank: Some(rank), ..JobProcess::default() };
            recorder.process(ProcessNumber(rank), &process);
            recorder.stream_began(StreamId { rank, thread: 0 }, 10 + rank);
            // Each rank has a file of its own.
            recorder.file(FileId(rank + 1), &format!("out.{rank}"));
            for n in 0..3000 {
                // Sizes without a pattern, the same in each rank.
                let requested = n * n % 10_007;
                let start_ns = 1000 * n;
                let event = Event { file: FileId(rank + 1), requested, start_ns, ..write(rank, n) };
                recorder.event(ProcessNumber(rank), &event);
            }
        }
        recorder.finish(&Description::default()).unwrap();
        let trace = Trace::open(directory.path(), STRICT).unwrap();
        for rank in 0..n_ranks {
            let mut events = trace.events(Some(rank)).unwrap().map(Result::unwrap);
            assert!(events.all(|event| event.file == FileId(rank + 1)));
        }
        fs::metadata(directory.path().join(EVENTS)).unwrap().len()
    };
    let (one, eight) = (size(1), size(8));
    assert!(eight < one + one / 2, "{one} bytes of one rank, {eight} of eight");
}

/// A call that encloses more calls than wait for it is recorded after them.
#[test]
fn calls_that_are_reported_late_have_their_place() {
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    report(&mut recorder, 5);
    let outer = Event { sequence: 2, start_ns: 1500, end_ns: 9000, ..write(0, 2) };
    recorder.event(ProcessNumber(0), &outer);
    recorder.event(ProcessNumber(0), &write(0, 5));
    recorder.finish(&Description::default()).unwrap();
    let trace = Trace::open(directory.path(), STRICT).unwrap();
    let starts: Vec<u64> =
        trace.events(Some(0)).unwrap().map(|event| event.unwrap().start_ns).collect();
    assert_eq!(starts, [0, 1000, 1500, 2000, 3000, 4000, 5000]);
}

#[test]
fn a_directory_with_half_a_head_is_recovered_from_its_log() {
    let (directory, recorder) = recording(4);
    drop(recorder);
    let path: &Path = &directory.path().join(EVENTS);
    fs::write(path, &fs::read(path).unwrap()[..9]).unwrap();
    let recorder = TraceRecorder::reopen(directory.path()).unwrap();
    assert_eq!(recorder.finish(&Description::default()).unwrap().n_events, 8);
}
