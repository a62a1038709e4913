// SPDX-License-Identifier: MIT OR Apache-2.0

use std::path::{Path, PathBuf};

use ioracle_events::{ContextId, Event, FileId, StreamId};
use ioracle_trace::{
    Description, JobProcess, MAX_TEXT_BYTES, Observer, ProcessNumber, ReadOptions, TimePrecision,
    Trace, TraceRecorder,
};

use crate::{TRACE, begin, events, names, process, write};

#[test]
fn a_real_trace_is_the_same_after_reading_and_writing() {
    for name in ["cm1-grads", "h5bench-write"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/traces").join(name);
        let original = Trace::open(&path, ReadOptions::default()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let copy = copy(&original, directory.path());
        let copy = Trace::open(&copy, ReadOptions::default()).unwrap();
        assert_eq!(copy.contexts().len(), original.contexts().len());
        assert!(copy.contexts().iter().eq(original.contexts().iter()));
        assert!(copy.files().iter().eq(original.files().iter()));
        let mut copied = copy.events(None).unwrap();
        let mut last = None;
        for event in original.events(None).unwrap() {
            // Numbers of calls count within a rank, without gaps.
            let mut event = event.unwrap();
            let rank = event.stream.rank;
            event.sequence = match last {
                Some((last_rank, sequence)) if last_rank == rank => sequence + 1,
                _ => 0,
            };
            last = Some((rank, event.sequence));
            assert_eq!(copied.next().unwrap().unwrap(), event);
        }
        assert!(copied.next().is_none());
        assert_eq!(copy.meta().events, original.meta().events);
        assert_eq!(copy.meta().ranks, original.meta().ranks);
        assert_eq!(copy.meta().rank_start_offset_ns, original.meta().rank_start_offset_ns);
    }
}

/// Passes all of a trace to a writer.
fn copy(trace: &Trace, directory: &Path) -> PathBuf {
    let target = directory.join("copy");
    let mut writer = TraceRecorder::create(&target, TimePrecision::Exact).unwrap();
    for (id, frames) in trace.contexts().iter() {
        writer.context(id, frames);
    }
    for (id, path) in trace.files().iter() {
        writer.file(id, path);
    }
    let starts = &trace.meta().rank_start_offset_ns;
    for (number, rank) in trace.ranks().unwrap().into_iter().enumerate() {
        let start_ns = 1_000_000 + starts[&rank];
        let number = ProcessNumber(number as u32);
        writer.process(
            number,
            &JobProcess { rank: Some(rank), pid: rank, start_ns, ..JobProcess::default() },
        );
        for event in trace.events(Some(rank)).unwrap() {
            let event = event.unwrap();
            let stream = StreamId { rank: number.0, ..event.stream };
            if event.sequence == 0 {
                writer.stream_began(stream, 1);
            }
            writer.event(number, &Event { stream, ..event });
        }
    }
    writer.finish(&Description::default()).unwrap();
    target
}

#[test]
fn threads_and_processes_are_merged_by_the_time_at_which_calls_began() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    begin(&mut writer, 0, &process(10, None, 5000));
    writer.stream_began(StreamId { rank: 0, thread: 1 }, 11);
    begin(&mut writer, 1, &process(12, None, 5050));
    // As a follower reads them: thread by thread.
    for (n, start_ns) in [(0, 10), (1, 20), (2, 90)] {
        writer.event(ProcessNumber(0), &write(0, 1, n, start_ns));
    }
    writer.event(ProcessNumber(1), &write(1, 0, 0, 7));
    for (n, start_ns) in [(0, 15), (1, 95)] {
        writer.event(ProcessNumber(0), &write(0, 0, n, start_ns));
    }
    let written = writer.finish(&Description::default()).unwrap();
    let expected = ["0/0:0 10", "0/1:1 15", "0/0:2 20", "0/2:3 57", "0/0:4 90", "0/1:5 95"];
    assert_eq!(events(directory.path()), expected);
    assert_eq!((written.n_events, written.n_ranks), (6, 1));
    assert_eq!(names(directory.path()), TRACE);
}

#[test]
fn the_description_tells_what_is_known() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    begin(&mut writer, 0, &process(10, Some(3), 5000));
    begin(&mut writer, 1, &process(11, Some(1), 6000));
    writer.event(ProcessNumber(0), &write(0, 0, 0, 10));
    writer.event(ProcessNumber(1), &write(1, 0, 0, 10));
    let not_recorded = [("no room".to_owned(), 7)].into();
    let description = Description { wall_s: Some(1.5), not_recorded, ..Description::default() };
    writer.finish(&description).unwrap();
    let text = std::fs::read_to_string(directory.path().join("meta.json")).unwrap();
    expect_test::expect![[r#"
        {
          "application": "app",
          "version": "",
          "command": "app --step=10",
          "ranks": 2,
          "processes": 2,
          "wall_s": 1.5,
          "event_span_s": 1.005e-6,
          "events": 2,
          "events_per_rank": {
            "1": 1,
            "3": 1
          },
          "events_per_level": {
            "posix": 2
          },
          "events_per_op": {
            "posix": {
              "write": 2
            }
          },
          "distinct_stacks": 1,
          "distinct_files": 1,
          "rank_start_offset_ns": {
            "1": 1000,
            "3": 0
          },
          "not_recorded": {
            "no room": 7
          },
          "notes": ""
        }
    "#]]
    .assert_eq(&text);
}

#[test]
fn numbers_and_text_at_their_bounds_can_be_read_again() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    begin(&mut writer, 0, &process(u32::MAX, Some(u32::MAX), u64::MAX));
    writer.context(ContextId(2), &"f".repeat(2 * MAX_TEXT_BYTES));
    writer.file(FileId(2), "one\ntwo");
    let most = i64::MAX as u64;
    let event = Event {
        context: ContextId(2),
        file: FileId(2),
        handle: -1,
        offset: None,
        requested: most,
        result: -i64::MAX,
        start_ns: most,
        end_ns: most,
        depth: u32::MAX,
        detail: "a,\"b\"\n".into(),
        sequence: most,
        ..write(0, 0, 0, 0)
    };
    writer.event(ProcessNumber(0), &event);
    writer.finish(&Description::default()).unwrap();
    let trace = Trace::open(directory.path(), ReadOptions::default()).unwrap();
    let read = trace.events(None).unwrap().next().unwrap().unwrap();
    assert_eq!((read.start_ns, read.end_ns, read.result), (most, most, -i64::MAX));
    assert_eq!(&*read.detail, "a,\"b\" ");
    assert_eq!(trace.files().get(read.file), Some("one two"));
}

#[test]
fn a_job_without_calls_gives_a_trace_without_events() {
    let directory = tempfile::tempdir().unwrap();
    let writer = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    let written = writer.finish(&Description::default()).unwrap();
    assert_eq!(written.n_events, 0);
    let trace = Trace::open(directory.path(), ReadOptions::default()).unwrap();
    let error = trace.events(None).unwrap().next().unwrap().unwrap_err();
    assert!(error.to_string().contains("contains no events"), "{error}");
}
