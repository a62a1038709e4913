// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fs::{self, File};
use std::io::Write;

use ioracle_events::{ContextId, Event, FileId, StreamId};
use ioracle_trace::{
    Description, Observer, ProcessNumber, ReadOptions, TimePrecision, Trace, TraceRecorder,
};

use crate::{TRACE, begin, events, names, process, write};

#[test]
fn a_recording_whose_writer_was_killed_is_finished_later() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    begin(&mut writer, 0, &process(10, None, 5000));
    writer.event(ProcessNumber(0), &write(0, 0, 0, 10));
    writer.flush().unwrap();
    drop(writer);
    assert!(TraceRecorder::is_unfinished(directory.path()));
    let error = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap_err();
    assert!(error.to_string().contains("'ioracle recover'"), "{error}");
    // Killed in the middle of an entry.
    let log = directory.path().join("recording.part");
    File::options().append(true).open(&log).unwrap().write_all(&[200, 0, 1, 2]).unwrap();
    TraceRecorder::reopen(directory.path()).unwrap().finish(&Description::default()).unwrap();
    assert_eq!(events(directory.path()), ["0/0:0 10"]);
    assert_eq!(names(directory.path()), TRACE);
}

/// The reader of a job was killed; another one found the rest in the spool and
/// counts processes, threads, contexts and files from the start.
#[test]
fn a_second_writer_goes_on_where_the_first_one_ended() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    begin(&mut writer, 0, &process(10, None, 5000));
    begin(&mut writer, 1, &process(20, None, 5500));
    writer.event(ProcessNumber(0), &write(0, 0, 0, 10));
    writer.event(ProcessNumber(1), &write(1, 0, 0, 10));
    writer.flush().unwrap();
    drop(writer);

    let mut writer = TraceRecorder::reopen(directory.path()).unwrap();
    let other = StreamId { rank: 0, thread: 0 };
    writer.process(ProcessNumber(0), &process(20, None, 5500));
    writer.stream_began(other, 20);
    writer.stream_began(StreamId { rank: 0, thread: 1 }, 21);
    writer.context(ContextId(1), "app+0x20");
    writer.context(ContextId(2), "app+0x10");
    writer.file(FileId(1), "out.dat");
    // The first is one that the dead reader had written already.
    writer.event(ProcessNumber(0), &Event { context: ContextId(2), ..write(0, 0, 0, 10) });
    writer.event(ProcessNumber(0), &Event { context: ContextId(2), ..write(0, 0, 1, 30) });
    writer.event(ProcessNumber(0), &write(0, 1, 0, 40));
    writer.finish(&Description::default()).unwrap();

    assert_eq!(events(directory.path()), ["0/0:0 10", "0/1:1 510", "0/1:2 530", "0/2:3 540"]);
    let trace = Trace::open(directory.path(), ReadOptions::default()).unwrap();
    let contexts: Vec<&str> = trace
        .events(None)
        .unwrap()
        .map(|event| trace.contexts().get(event.unwrap().context).unwrap())
        .collect();
    assert_eq!(contexts, ["app+0x10", "app+0x10", "app+0x10", "app+0x20"]);
    assert_eq!((trace.contexts().len(), trace.files().len()), (2, 1));
}

#[test]
fn what_is_no_recording_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("recording.part");
    assert!(TraceRecorder::reopen(directory.path()).is_err());
    for content in ["", "ioracle", "ioracle recording 9\n"] {
        fs::write(&log, content).unwrap();
        let error = TraceRecorder::reopen(directory.path()).unwrap_err().to_string();
        assert!(
            error
                .ends_with("is not a recording of this version of ioracle; name another directory"),
            "{error}"
        );
        assert_eq!(fs::read_to_string(&log).unwrap(), content);
    }
}

/// Bytes of a log that a disk has spoiled: what comes before them is kept, and
/// whatever is made of them can be read.
#[test]
fn a_log_damaged_anywhere_still_gives_a_trace() {
    let original = tempfile::tempdir().unwrap();
    let mut writer = TraceRecorder::create(original.path(), TimePrecision::Exact).unwrap();
    begin(&mut writer, 0, &process(10, None, 5000));
    begin(&mut writer, 1, &process(11, Some(1), 5000));
    for n in 0..10 {
        writer.event(ProcessNumber(0), &write(0, 0, n, 10 * n));
        writer.event(ProcessNumber(1), &write(1, 0, n, 10 * n));
    }
    writer.flush().unwrap();
    drop(writer);
    let log = fs::read(original.path().join("recording.part")).unwrap();
    // The magic, the number of the log and its checksum: without them it is no log.
    let header = "ioracle recording 3\n".len() + 8;
    // Each try makes a trace on the disk, so not every byte is tried.
    for (n, place) in (header..log.len()).step_by(7).enumerate() {
        let change = [0x01, 0x80, 0xff][n % 3];
        let mut damaged = log.clone();
        damaged[place] ^= change;
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("recording.part"), damaged).unwrap();
        fs::copy(original.path().join("events.ioracle"), directory.path().join("events.ioracle"))
            .unwrap();
        let writer = TraceRecorder::reopen(directory.path()).unwrap();
        let written = writer.finish(&Description::default()).unwrap();
        let trace = Trace::open(directory.path(), ReadOptions::default()).unwrap();
        let read = trace.events(None).unwrap().filter(Result::is_ok).count();
        assert_eq!(read as u64, written.n_events, "byte {place} changed by {change:#x}");
    }
}
