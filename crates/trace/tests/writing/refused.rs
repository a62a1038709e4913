// SPDX-License-Identifier: MIT OR Apache-2.0

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ioracle_trace::{CsvWriter, Description, Error, Observer, ProcessNumber};

use crate::{begin, events, names, process, write};

fn sentence(directory: &Path, error: &Error) -> String {
    error.to_string().replace(&directory.to_string_lossy().into_owned(), "DIR")
}

#[test]
fn a_directory_that_holds_a_trace_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("events.csv"), "").unwrap();
    let error = CsvWriter::create(directory.path()).unwrap_err();
    let expected = "'DIR' already holds a trace; name another directory, or remove it";
    assert_eq!(sentence(directory.path(), &error), expected);
    assert_eq!(names(directory.path()), ["events.csv"]);
}

#[test]
fn a_directory_that_cannot_be_made_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    let error = CsvWriter::create(&directory.path().join("file/trace")).unwrap_err();
    let sentence = sentence(directory.path(), &error);
    assert!(sentence.starts_with("could not write 'DIR/file/trace': "), "{sentence}");
}

/// The room of a file system ends while the tables are written: `/dev/full`
/// stands in for it.
#[test]
fn a_full_file_system_leaves_no_half_trace_and_loses_nothing() {
    for table in ["stacks.csv.zst", "events.csv.zst", "meta.json"] {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = CsvWriter::create(directory.path()).unwrap();
        begin(&mut writer, 0, &process(10, None, 5000));
        writer.event(ProcessNumber(0), &write(0, 0, 0, 10));
        symlink("/dev/full", directory.path().join(format!("{table}.part"))).unwrap();
        let error = writer.finish(&Description::default()).unwrap_err();
        let expected = format!(
            "could not write 'DIR/{table}': No space left on device (os error 28); make room there, or name another directory"
        );
        assert_eq!(sentence(directory.path(), &error), expected);
        assert_eq!(names(directory.path()), ["recording.part"]);
        let writer = CsvWriter::reopen(directory.path()).unwrap();
        writer.finish(&Description::default()).unwrap();
        assert_eq!(events(directory.path()), ["0/0:0 10"]);
    }
}
