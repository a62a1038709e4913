// SPDX-License-Identifier: MIT OR Apache-2.0

//! Recordings that lack something: every command that reads one says so.

use std::fs;
use std::path::Path;

use ioracle_testing::SmallDisk;

use crate::interrupted::interrupted_recording;
use crate::support::spool::{NOBODY, Spool, Stream};
use crate::support::{Done, command, done, ioracle};
use crate::{Target, names};

/// What each command that reads a trace says, in turn.
fn said_by_all(trace: &Path, more: &[&str]) -> Vec<Done> {
    let place = tempfile::tempdir().unwrap();
    let trace = trace.to_str().unwrap();
    let [model, tables] = ["app.model", "tables"].map(|name| place.path().join(name));
    let (model, tables) = (model.to_str().unwrap(), tables.to_str().unwrap());
    [
        vec!["show", trace],
        vec!["eval", trace],
        vec!["predict", trace],
        vec!["model", "save", trace, "-o", model],
        vec!["export", trace, "--to", "csv", "-o", tables],
    ]
    .into_iter()
    .map(|arguments| ioracle(arguments.iter().chain(more)))
    .collect()
}

fn all_say(trace: &Path, more: &[&str], sentence: &str) {
    for done in said_by_all(trace, more) {
        assert_eq!(done.code, Some(0), "{}", done.err);
        assert!(done.err.contains(sentence), "'{sentence}' is not in: {}", done.err);
        assert!(!done.err.contains("--lenient"), "{}", done.err);
    }
}

/// A trace of a thousand calls without its last bytes.
fn cut_trace(target: &Target, n_missing: usize) -> Vec<u8> {
    interrupted_recording(&target.path(), 1000);
    assert_eq!(ioracle(["recover", &target.name()]).code, Some(0));
    let file = target.path().join("events.ioracle");
    let mut bytes = fs::read(&file).unwrap();
    bytes.truncate(bytes.len() - n_missing);
    fs::write(&file, &bytes).unwrap();
    bytes
}

#[test]
fn a_trace_that_was_cut_off_is_read_leniently_or_recovered_and_every_command_says_so() {
    let target = Target::new();
    let left = cut_trace(&target, 100);
    for done in said_by_all(&target.path(), &[]) {
        done.fails_saying(1, &["is cut off at byte", "'ioracle recover'", "--lenient"]);
    }
    all_say(&target.path(), &["--lenient"], "is cut off at byte");
    let done = ioracle(["recover", &target.name()]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("The recording was cut off after byte"), "{}", done.out);
    assert!(fs::read(target.path().join("events.ioracle")).unwrap().starts_with(&left));
    all_say(&target.path(), &[], "the recording was cut off after byte");
}

/// `--lenient` was recommended to those who had given it.
#[test]
fn lenient_does_not_recommend_itself() {
    let target = Target::new();
    let left = cut_trace(&target, 100);
    fs::write(target.path().join("events.ioracle"), &left[..20]).unwrap();
    for done in said_by_all(&target.path(), &["--lenient"]) {
        done.fails_saying(1, &["is cut off at byte 0", "'ioracle recover'"]);
        assert!(!done.err.contains("--lenient"), "{}", done.err);
    }
}

#[test]
fn a_recording_without_its_writer_is_called_unfinished() {
    let target = Target::new();
    interrupted_recording(&target.path(), 5);
    all_say(&target.path(), &[], "was not finished, and no process of this machine writes it");
}

#[test]
fn what_was_left_is_discarded_on_request() {
    let target = Target::new();
    interrupted_recording(&target.path(), 5);
    let done = ioracle(["recover", &target.name(), "--discard"]);
    assert_eq!((done.code, &*done.err), (Some(0), ""));
    assert!(!target.path().exists());

    interrupted_recording(&target.path(), 5);
    assert_eq!(ioracle(["recover", &target.name()]).code, Some(0));
    let done = ioracle(["recover", &target.name(), "--discard"]);
    done.fails_saying(1, &["contains a complete trace"]);
    assert_eq!(names(&target.path()), crate::TRACE);

    let spool = Spool::new();
    spool.add(&Stream::writing(std::process::id(), NOBODY, 2, "/out"));
    let done = ioracle(["recover", spool.name(), "--discard"]);
    done.fails_saying(1, &["was not deleted: process", "is still running"]);
    assert!(spool.path().exists());
    let spool = Spool::new();
    spool.add(&Stream::writing(NOBODY, NOBODY, 2, "/out"));
    let done = ioracle(["recover", spool.name(), "--discard", "--json"]);
    assert_eq!(done.json()["discarded"], true, "{}", done.err);
    assert!(!spool.path().exists());
}

/// The disk of a recording filled up: what came after was missing, and readers
/// of the recording got no message about it.
#[test]
fn a_disk_that_filled_up_is_said_by_every_command() {
    const FULL: &str = "could not be written to the end: No space left on device";
    let Some(disk) = SmallDisk::mount("128k") else { return };
    let (work, trace) = (tempfile::tempdir().unwrap(), disk.path().join("trace"));
    let script = "i=0; while [ $i -lt 9000 ]; do echo $i; i=$((i+1)); done > out; exit 7";
    let mut run = command();
    run.args(["run", "--record"]).arg(&trace).args(["--", "sh", "-c", script]);
    let run = done(run.current_dir(work.path()).output().unwrap());
    assert_eq!(run.code, Some(7), "{}", run.err);
    assert!(run.err.contains("No space left on device"), "{}", run.err);
    assert_eq!(fs::read_to_string(work.path().join("out")).unwrap().lines().count(), 9000);
    all_say(&trace, &[], FULL);

    // There is no room to finish it, but nothing is lost by the attempt.
    let name = trace.to_str().unwrap();
    let n_events = |done: &Done| done.json()["events"].as_u64().unwrap();
    let export = |place: &Path| {
        ioracle(["export", name, "--to", "csv", "--json", "-o", place.to_str().unwrap()])
    };
    let before = n_events(&export(&work.path().join("before")));
    assert!(before > 500, "{before}");
    ioracle(["recover", name]).fails_saying(1, &["No space left on device", "free some space"]);
    assert_eq!(n_events(&export(&work.path().join("after"))), before);
    disk.resize("4m");
    let recovered = ioracle(["recover", name, "--json"]);
    assert_eq!(n_events(&recovered), before, "{}", recovered.err);
    assert!(recovered.json()["incomplete"].as_str().unwrap().contains("later events are missing"));
    all_say(&trace, &[], FULL);
}
