// SPDX-License-Identifier: MIT OR Apache-2.0

//! Traces without their end, and recordings whose disk was full: what is there
//! is given back, what is missing is said, and nothing is destroyed meanwhile.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use ioracle_events::{ContextId, Event, FileId, Function, Layer, StreamId};
use ioracle_trace::{
    Description, Encoding, JobProcess, Observer, ProcessNumber, ReadOptions, TimePrecision, Trace,
    TraceRecorder, export_csv, import, repair,
};
use tempfile::TempDir;

const STRICT: ReadOptions = ReadOptions { lenient: false };
const LENIENT: ReadOptions = ReadOptions { lenient: true };
const EVENTS: &str = "events.ioracle";

/// As many as the trace had that gave back none of them.
const N_EVENTS: u64 = 11_317;

/// The `n`th call of a program that does not repeat itself too well.
fn call(n: u64) -> Event {
    let noise = n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
    let name = if n.is_multiple_of(7) { "read" } else { "write" };
    let start_ns = 10_000 * n + noise % 5000;
    Event {
        stream: StreamId { rank: 0, thread: 0 },
        sequence: n,
        function: Function::from_name(Layer::Posix, name).unwrap(),
        context: ContextId(1 + (n % 3) as u32),
        file: FileId(1 + (n % 5) as u32),
        handle: 3 + (n % 5) as i64,
        offset: Some(100 * n),
        requested: 100 + noise % 7,
        result: 100,
        start_ns,
        end_ns: start_ns + 300 + noise % 1000,
        depth: 0,
        detail: "".into(),
    }
}

fn begin(recorder: &mut TraceRecorder) {
    (1..=3).for_each(|n| recorder.context(ContextId(n), &format!("app+0x{n}0")));
    (1..=5).for_each(|n| recorder.file(FileId(n), &format!("out.{n}")));
    recorder.process(ProcessNumber(0), &JobProcess { pid: 10, ..JobProcess::default() });
    recorder.stream_began(StreamId { rank: 0, thread: 0 }, 10);
}

/// A trace of one block, as small recordings are.
fn recorded() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    begin(&mut recorder);
    (0..N_EVENTS).for_each(|n| recorder.event(ProcessNumber(0), &call(n)));
    let description = Description { wall_s: Some(7.5), ..Description::default() };
    recorder.finish(&description).unwrap();
    directory
}

/// The same as an import has it.
fn imported() -> TempDir {
    let (tables, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let recorded = recorded();
    let trace = Trace::open(recorded.path(), STRICT).unwrap();
    export_csv(&trace, tables.path(), None, Encoding::Plain, &mut |_| ()).unwrap();
    let trace = Trace::open(tables.path(), STRICT).unwrap();
    import(&trace, directory.path(), TimePrecision::Exact, &mut |_| ()).unwrap();
    directory
}

fn read(directory: &Path, options: ReadOptions) -> Vec<Event> {
    let trace = Trace::open(directory, options).unwrap();
    trace.events(None).unwrap().map(Result::unwrap).collect()
}

/// Cuts off some bytes; what is left.
fn cut(directory: &Path, n_bytes: usize) -> Vec<u8> {
    let path = directory.join(EVENTS);
    let mut bytes = fs::read(&path).unwrap();
    bytes.truncate(bytes.len() - n_bytes);
    fs::write(&path, &bytes).unwrap();
    bytes
}

fn n_bytes(directory: &Path) -> usize {
    fs::metadata(directory.join(EVENTS)).unwrap().len() as usize
}

/// A trace of 11,317 events, 10 % of whose file was cut off, gave back none:
/// the cut lay in its only block, whose checksum then did not fit.
#[test]
fn the_events_before_a_cut_come_back() {
    for directory in [recorded(), imported()] {
        let directory = directory.path();
        let whole = read(directory, STRICT);
        assert_eq!(whole.len() as u64, N_EVENTS);
        let left = cut(directory, n_bytes(directory) / 10);
        let error = Trace::open(directory, STRICT).unwrap_err().to_string();
        assert!(error.contains("is cut off at byte"), "{error}");
        let lenient = read(directory, LENIENT);
        assert!(lenient.len() as u64 > N_EVENTS * 8 / 10, "{} events", lenient.len());
        assert!(whole.starts_with(&lenient));

        let written = repair(directory).unwrap();
        assert_eq!(written.n_events, lenient.len() as u64);
        assert!(written.incomplete.unwrap().starts_with("was cut off after byte"));
        assert_eq!(read(directory, STRICT), lenient);
        let bytes = fs::read(directory.join(EVENTS)).unwrap();
        assert!(bytes.starts_with(&left), "what was there was not only added to");
        let trace = Trace::open(directory, STRICT).unwrap();
        assert_eq!(trace.meta().events, Some(written.n_events));
        assert_eq!(trace.meta().wall_s, Some(7.5), "the description was not kept");
        assert!(trace.incomplete().unwrap().starts_with("was cut off after byte"));
        assert!(!TraceRecorder::is_unfinished(directory));
    }
}

#[test]
fn a_repair_that_was_interrupted_is_repeated_without_an_event_twice() {
    for directory in [recorded(), imported()] {
        let directory = directory.path();
        let left = cut(directory, n_bytes(directory) / 10);
        let expected = read(directory, LENIENT);
        repair(directory).unwrap();
        let repaired = fs::read(directory.join(EVENTS)).unwrap();
        let added = repaired.len() - left.len();
        for missing in [1, 19, 20, 21, 60, added / 2, added - 30, added - 1] {
            fs::write(directory.join(EVENTS), &repaired[..repaired.len() - missing]).unwrap();
            let lenient = read(directory, LENIENT);
            assert_eq!(lenient.len(), expected.len(), "{missing} of {added} bytes missing");
            repair(directory).unwrap();
            assert_eq!(read(directory, STRICT), expected, "{missing} of {added} bytes missing");
        }
    }
}

#[test]
fn less_of_a_trace_never_gives_more_events_or_other_ones() {
    let directory = recorded();
    let whole = read(directory.path(), STRICT);
    let bytes = fs::read(directory.path().join(EVENTS)).unwrap();
    let mut last = whole.len();
    for n_left in (28..bytes.len()).rev().step_by(bytes.len() / 97) {
        let trace = Trace::from_bytes("cut", bytes[..n_left].to_vec(), LENIENT).unwrap();
        let found: Vec<Event> = trace.events(None).unwrap().map_while(Result::ok).collect();
        assert!(found.len() <= last && whole.starts_with(&found), "{n_left} bytes");
        last = found.len();
    }
    assert_eq!(last, 0);
}

/// A recording on a disk that filled up was read as if it were still going on.
#[test]
fn a_full_disk_is_said_by_whoever_reads_the_recording() {
    const FULL: &str = "could not be written to the end: No space left on device";
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let recorder = TraceRecorder::create(directory, TimePrecision::Exact).unwrap();
    let mut recorder = recorder.with_log_limit(5000);
    begin(&mut recorder);
    // The next log has no room.
    symlink("/dev/full", directory.join("recording.next")).unwrap();
    (0..1000).for_each(|n| recorder.event(ProcessNumber(0), &call(n)));
    let error = recorder.flush().unwrap_err().to_string();
    assert!(error.contains("No space left on device"), "{error}");
    let incomplete = |directory: &Path| {
        Trace::open(directory, STRICT).unwrap().incomplete().map(str::to_owned).unwrap()
    };
    assert!(incomplete(directory).starts_with(FULL), "{}", incomplete(directory));
    drop(recorder);
    let n_read = read(directory, STRICT).len();
    let expected = format!("{FULL} (os error 28); {} later events are missing", 1000 - n_read);
    assert!((50..900).contains(&n_read), "{n_read}");
    assert_eq!(incomplete(directory), expected);

    // The same for readers of the finished trace, or of its tables.
    fs::remove_file(directory.join("recording.next")).unwrap();
    assert_eq!(repair(directory).unwrap().incomplete.as_deref(), Some(&*expected));
    assert_eq!(incomplete(directory), expected);
    let tables = tempfile::tempdir().unwrap();
    let trace = Trace::open(directory, STRICT).unwrap();
    export_csv(&trace, tables.path(), None, Encoding::Plain, &mut |_| ()).unwrap();
    assert_eq!(incomplete(tables.path()), expected);
}

#[test]
fn a_recording_that_is_being_written_is_not_called_incomplete() {
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    begin(&mut recorder);
    recorder.event(ProcessNumber(0), &call(0));
    recorder.flush().unwrap();
    assert_eq!(Trace::open(directory.path(), STRICT).unwrap().incomplete(), None);
    recorder.finish(&Description::default()).unwrap();
    assert_eq!(Trace::open(directory.path(), STRICT).unwrap().incomplete(), None);
}

#[test]
fn a_repair_without_room_leaves_everything_as_it_was() {
    let directory = recorded();
    let directory = directory.path();
    let left = cut(directory, n_bytes(directory) / 10);
    symlink("/dev/full", directory.join("meta.json.part")).unwrap();
    assert!(repair(directory).unwrap_err().to_string().contains("No space left"));
    assert!(fs::read(directory.join(EVENTS)).unwrap().starts_with(&left));
    assert!(read(directory, STRICT).len() as u64 > N_EVENTS * 8 / 10);
}

#[test]
fn what_was_not_finished_is_discarded_and_what_is_whole_is_not() {
    let directory = recorded();
    let error = TraceRecorder::discard_unfinished(directory.path()).unwrap_err();
    assert!(error.to_string().contains("is not a recording"), "{error}");
    cut(directory.path(), 5);
    fs::write(directory.path().join("notes.txt"), "mine").unwrap();
    assert!(TraceRecorder::discard_unfinished(directory.path()).unwrap() > 1000);
    let left: io::Result<Vec<_>> = fs::read_dir(directory.path()).unwrap().collect();
    assert_eq!(left.unwrap().len(), 1);
}
