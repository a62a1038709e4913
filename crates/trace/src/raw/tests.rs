// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is kept in raw form can be read, coded, cut off and damaged.

use std::fs;
use std::path::Path;

use ioracle_events::{Event, Function};
use ioracle_spool::layout::{Call, DefinitionKind};
use ioracle_spool::{Sink, StreamInfo, StreamNumber};

use super::reader::RawTail;
use super::writer::RawWriter;
use super::{directory_in, is_in, records_name};
use crate::native::TimePrecision;
use crate::spooled::{Observer, ProcessNumber, State};
use crate::trace::{ReadOptions, Trace};
use crate::writing::{Description, TraceRecorder, repair};

const STREAM: StreamNumber = StreamNumber(3);

fn info() -> StreamInfo {
    StreamInfo {
        pid: 10,
        tid: 11,
        parent_pid: 1,
        rank: None,
        world_size: 0,
        process_start_ns: 1000,
        process_start_realtime_ns: 5,
        begin_ns: 1000,
        name: "10-11-3e8.stream".to_owned(),
    }
}

/// Gives a sink a stream with what its calls name.
fn begin(sink: &mut impl Sink) {
    sink.stream(STREAM, &info());
    sink.definition(STREAM, DefinitionKind::Process, 0, b"/bin/app\0app\0-x\0");
    sink.definition(STREAM, DefinitionKind::File, 77, b"/data/out.dat");
}

/// Gives it calls, each second one inside the next.
fn give(sink: &mut impl Sink, numbers: std::ops::Range<u64>) {
    for number in numbers {
        let is_inner = number.is_multiple_of(2);
        let call = Call {
            context: 5,
            file: 77,
            requested: 8,
            result: 8,
            start_ns: 2000 + 10 * (number ^ 1),
            end_ns: 2005 + 10 * (number ^ 1),
            began: number ^ 1,
            handle: 3,
            function: Function::Pwrite as u16,
            depth: is_inner.into(),
            ..Call::default()
        };
        sink.record(STREAM, &call);
    }
}

/// A recording of which some calls are coded, and all exist in raw form.
fn left(directory: &Path, n_coded: u64, n_calls: u64) {
    let mut recorder = TraceRecorder::create(directory, TimePrecision::Exact).unwrap();
    let mut writer = RawWriter::create(&directory_in(directory)).unwrap();
    writer.working_directory(Path::new("/data"));
    begin(&mut writer);
    give(&mut writer, 0..n_calls);
    writer.complete();
    writer.flush();
    assert!(writer.failure.is_none());
    let mut state = State::new();
    state.known.definitions.relative_to(Path::new("/data"));
    begin(&mut state.with(&mut recorder));
    give(&mut state.with(&mut recorder), 0..n_coded);
    let description = Description { application: "it".to_owned(), ..Description::default() };
    recorder.leave(&description).unwrap();
}

fn events(directory: &Path) -> Vec<(u64, u64, String)> {
    let trace = Trace::open(directory, ReadOptions::default()).unwrap();
    let path = |event: &Event| trace.files().get(event.file).unwrap_or("?").to_owned();
    let events = trace.events(None).unwrap().map(Result::unwrap);
    events.map(|event| (event.sequence, event.start_ns, path(&event))).collect()
}

fn expected(n_calls: u64) -> Vec<(u64, u64, String)> {
    (0..n_calls).map(|number| (number, 1000 + 10 * number, "out.dat".to_owned())).collect()
}

#[test]
fn what_was_left_in_raw_form_is_read_and_coded() {
    for n_coded in [0, 1, 2, 7, 500, 5000] {
        let here = tempfile::tempdir().unwrap();
        let trace = here.path().join("trace");
        left(&trace, n_coded, 5000);
        assert_eq!(events(&trace), expected(5000), "of which {n_coded} are coded");
        assert!(is_in(&trace), "a reader changes nothing");
        let written = repair(&trace).unwrap();
        assert_eq!((written.n_events, written.incomplete), (5000, None));
        assert!(!directory_in(&trace).exists());
        assert_eq!(events(&trace), expected(5000));
        let meta = fs::read_to_string(trace.join("meta.json")).unwrap();
        assert!(meta.contains("\"application\": \"it\""), "{meta}");
    }
}

#[test]
fn what_was_left_is_whole_only_if_the_keeper_said_so() {
    let here = tempfile::tempdir().unwrap();
    let trace = here.path().join("trace");
    left(&trace, 10, 100);
    let open = || Trace::open(&trace, ReadOptions::default()).unwrap();
    assert_eq!(open().incomplete(), None);
    let definitions = directory_in(&trace).join("definitions");
    let bytes = fs::read(&definitions).unwrap();
    // The last frame says it.
    fs::write(&definitions, &bytes[..bytes.len() - 1]).unwrap();
    // This process is the one that has written it, and lives.
    assert_eq!(open().incomplete(), None);
    assert_eq!(events(&trace).len(), 100);
}

/// A keeper that is killed leaves the beginning of a frame.
#[test]
fn records_up_to_any_cut_are_read() {
    let here = tempfile::tempdir().unwrap();
    let trace = here.path().join("trace");
    // A trace without events is not a trace.
    left(&trace, 2, 2048);
    let file = directory_in(&trace).join(records_name(1));
    let bytes = fs::read(&file).unwrap();
    for end in [0, 10, 24, 30, 1000, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&file, &bytes[..end]).unwrap();
        let found = events(&trace);
        assert_eq!(found, expected(found.len() as u64), "cut at {end}");
    }
    assert_eq!(events(&trace).len(), 1024, "a frame is whole or not there");
}

#[test]
fn damage_is_reported_and_costs_what_is_behind_it() {
    let here = tempfile::tempdir().unwrap();
    let trace = here.path().join("trace");
    left(&trace, 0, 2048);
    let file = directory_in(&trace).join(records_name(1));
    let mut bytes = fs::read(&file).unwrap();
    let end = bytes.len();
    bytes[end - 100] ^= 1;
    fs::write(&file, &bytes).unwrap();
    let error = Trace::open(&trace, ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("damaged") && error.contains("--lenient"), "{error}");
    let lenient = Trace::open(&trace, ReadOptions { lenient: true }).unwrap();
    assert_eq!(lenient.events(None).unwrap().count(), 1024);
    let written = repair(&trace).unwrap();
    assert_eq!((written.n_events, written.n_damaged), (1024, 1));
    assert!(trace.join("raw.damaged").exists());
}

#[test]
fn files_of_others_are_refused() {
    let here = tempfile::tempdir().unwrap();
    let trace = here.path().join("trace");
    left(&trace, 0, 10);
    fs::write(directory_in(&trace).join("definitions"), "something else").unwrap();
    let error = Trace::open(&trace, ReadOptions::default()).err().unwrap().to_string();
    assert!(error.contains("raw records"), "{error}");
}

/// Frames with the right CRC and any content: hostile, or of a later version.
#[test]
fn nonsense_in_frames_is_passed_over() {
    struct Nothing;
    impl Observer for Nothing {
        fn event(&mut self, _: ProcessNumber, _: &Event) {}
    }
    use super::frames::{FRAME_BYTES, head};
    let here = tempfile::tempdir().unwrap();
    let trace = here.path().join("trace");
    fs::create_dir_all(directory_in(&trace)).unwrap();
    let mut bytes = head().to_vec();
    for kind in 0..9_u32 {
        for length in [0, 1, 3, 11, 12, 13, 88, 200] {
            let mut frame = vec![0xa5; FRAME_BYTES + length];
            frame[..4].copy_from_slice(&kind.to_le_bytes());
            frame[8..12].copy_from_slice(&(length as u32).to_le_bytes());
            let mut crc = crc32fast::Hasher::new();
            crc.update(&frame[..12]);
            crc.update(&frame[FRAME_BYTES..]);
            frame[12..16].copy_from_slice(&crc.finalize().to_le_bytes());
            bytes.extend(frame);
        }
    }
    fs::write(directory_in(&trace).join("definitions"), &bytes).unwrap();
    fs::write(directory_in(&trace).join(records_name(1)), &bytes).unwrap();
    let tail = RawTail::open(&trace).unwrap().unwrap();
    assert_eq!(tail.replay(&mut Nothing).unwrap().n_damaged, 0);
}
