// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ioracle_trace::{Description, Error, Observer, ProcessNumber, TimePrecision, TraceRecorder};

use crate::{begin, events, names, process, write};

fn sentence(directory: &Path, error: &Error) -> String {
    error.to_string().replace(&directory.to_string_lossy().into_owned(), "DIR")
}

#[test]
fn a_directory_that_holds_a_trace_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("events.csv"), "").unwrap();
    let error = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap_err();
    let expected = "'DIR' already holds a trace; name another directory, or remove it";
    assert_eq!(sentence(directory.path(), &error), expected);
    assert_eq!(names(directory.path()), ["events.csv"]);
}

#[test]
fn a_directory_that_cannot_be_made_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let error = TraceRecorder::create(&directory.path().join("file/trace"), TimePrecision::Exact)
        .unwrap_err();
    let sentence = sentence(directory.path(), &error);
    assert!(sentence.starts_with("could not write 'DIR/file/trace': "), "{sentence}");
}

/// The room of a file system ends before the description is written:
/// `/dev/full` stands in for it.
#[test]
fn a_full_file_system_leaves_no_half_trace_and_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap();
    begin(&mut writer, 0, &process(10, None, 5000));
    writer.event(ProcessNumber(0), &write(0, 0, 0, 10));
    symlink("/dev/full", directory.path().join("meta.json.part")).unwrap();
    let error = writer.finish(&Description::default()).unwrap_err();
    let expected = "could not write 'DIR/meta.json': No space left on device (os error 28); free some space there, or name another directory";
    assert_eq!(sentence(directory.path(), &error), expected);
    assert_eq!(names(directory.path()), ["events.ioracle", "recording.part"]);
    let writer = TraceRecorder::reopen(directory.path()).unwrap();
    writer.finish(&Description::default()).unwrap();
    assert_eq!(events(directory.path()), ["0/0:0 10"]);
}

/// The room ends while a log is about to follow another.
#[test]
fn a_file_system_that_is_full_in_the_middle_loses_nothing_from_before() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer =
        TraceRecorder::create(directory.path(), TimePrecision::Exact).unwrap().with_log_limit(2000);
    begin(&mut writer, 0, &process(10, None, 5000));
    let mut n_written = 0;
    symlink("/dev/full", directory.path().join("recording.next")).unwrap();
    while writer.flush().is_ok() {
        writer.event(ProcessNumber(0), &write(0, 0, n_written, 10 * n_written));
        n_written += 1;
    }
    let error = writer.finish(&Description::default()).unwrap_err();
    assert!(error.to_string().contains("No space left on device"), "{error}");
    std::fs::remove_file(directory.path().join("recording.next")).unwrap();
    let writer = TraceRecorder::reopen(directory.path()).unwrap();
    let written = writer.finish(&Description::default()).unwrap();
    assert_eq!(written.n_events, n_written);
    assert_eq!(events(directory.path()).len() as u64, n_written);
}
