// SPDX-License-Identifier: MIT OR Apache-2.0

//! Recordings whose reader was killed.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use ioracle_events::{ContextId, Event, FileId, Function, Layer, StreamId};
use ioracle_trace::{JobProcess, Observer, ProcessNumber, TimePrecision, TraceRecorder};
use tempfile::tempdir;

use crate::support::spool::{NOBODY, Spool, Stream};
use crate::support::{command, ioracle};
use crate::{TRACE, Target, names, table};

/// A recording whose writer was killed after a few events of the first process.
pub fn interrupted_recording(directory: &Path, n_events: u64) {
    record(directory, &JobProcess::default(), n_events);
}

fn record(directory: &Path, process: &JobProcess, n_events: u64) {
    let mut writer = TraceRecorder::create(directory, TimePrecision::Exact).unwrap();
    let process = JobProcess { pid: NOBODY, start_ns: 1_000_000, ..process.clone() };
    let stream = StreamId { rank: 0, thread: 0 };
    writer.process(ProcessNumber(0), &process);
    writer.stream_began(stream, NOBODY);
    writer.context(ContextId(1), "app+0x10;app+0x99");
    writer.file(FileId(1), "/out");
    for sequence in 0..n_events {
        let start_ns = 1000 * sequence;
        let event = Event {
            stream,
            sequence,
            function: Function::from_name(Layer::Posix, "open").unwrap(),
            context: ContextId(1),
            file: FileId(1),
            handle: 3,
            offset: None,
            requested: 0,
            result: 3,
            start_ns,
            end_ns: start_ns + 200,
            depth: 0,
            detail: "RDONLY".into(),
        };
        writer.event(ProcessNumber(0), &event);
    }
    writer.flush().unwrap();
}

/// It was once named after the interpreter.
#[test]
fn a_recovered_trace_has_the_name_of_the_script() {
    let target = Target::new();
    let process = JobProcess {
        executable: "/usr/bin/python3.11".to_owned(),
        arguments: ["python3", "-u", "tools/run.py"].map(str::to_owned).to_vec(),
        ..JobProcess::default()
    };
    record(&target.path(), &process, 5);
    assert_eq!(ioracle(["recover", &target.name()]).code, Some(0));
    let meta = fs::read(target.path().join("meta.json")).unwrap();
    let meta: serde_json::Value = serde_json::from_slice(&meta).unwrap();
    assert_eq!(meta["application"], "run.py");
}

#[test]
fn a_recording_that_was_not_finished_is_finished_where_it_is() {
    let target = Target::new();
    interrupted_recording(&target.path(), 5);
    let done = ioracle(["recover", &target.name(), "-o", "elsewhere"]);
    done.fails_saying(2, &["leave out -o"]);
    let done = ioracle(["recover", &target.name()]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("5  events of 1 rank"), "{}", done.out);
    assert_eq!(names(&target.path()), TRACE);
    ioracle(["recover", &target.name()])
        .fails_saying(1, &[&target.name(), "complete trace", "nothing to recover"]);
}

#[test]
fn a_recording_without_an_event_yet_is_kept_separate_from_an_empty_trace() {
    let target = Target::new();
    interrupted_recording(&target.path(), 0);
    let done = ioracle(["eval", &target.name()]);
    done.fails_saying(1, &["events.ioracle", "contains no events yet"]);
    assert!(!done.err.contains("skipped"), "{}", done.err);
}

/// The reader was killed; what it had recorded and what it had not yet read
/// belong together. The spool still holds the last calls that were recorded.
#[test]
fn a_job_is_added_to_the_recording_that_its_reader_had_begun() {
    let (spool, target) = (Spool::new(), Target::new());
    interrupted_recording(&target.path(), 4);
    let mut stream = Stream::writing(NOBODY, NOBODY, 2, "/out");
    stream.calls.drain(..2);
    spool.add(&stream);
    let done = ioracle(["recover", spool.name(), "-o", &target.name()]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    for line in ["12  events of 1 rank in all", "10  events in what was left, of 1 process with 1"]
    {
        assert!(done.out.contains(line), "{}", done.out);
    }
    assert_eq!(names(&target.path()), TRACE);
    let events = table(&target.path(), "events");
    let threads: Vec<&str> = events.lines().skip(1).map(|row| &row[..4]).collect();
    assert!(threads.iter().all(|start| *start == "0,0,"), "{events}");
    assert_eq!(table(&target.path(), "stacks").lines().count(), 4);
    assert_eq!(table(&target.path(), "files"), "id,path\n1,/out\n");
}

/// A program writes numbers to a file, waits, and writes as many again; the
/// reader is killed while it waits.
#[test]
fn a_killed_reader_costs_not_a_single_call() {
    const N_CALLS: usize = 6000;
    let (base, work, target) = (tempdir().unwrap(), tempdir().unwrap(), Target::new());
    let directory = work.path();
    let script = format!(
        "count() {{ i=0; while [ $i -lt {half} ]; do echo $i; i=$((i+1)); done; }}
         {{ count; : > ready; until [ -e go ]; do sleep 0.01; done; count; }} > out; : > done",
        half = N_CALLS / 2
    );
    let mut reader = command();
    reader.arg("run").arg("--dir").arg(base.path()).args(["--record", &target.name(), "--"]);
    let mut reader = reader.args(["sh", "-c", &script]).current_dir(directory).spawn().unwrap();
    wait_for(&directory.join("ready"));
    // Long enough to read some of it, not always all.
    std::thread::sleep(Duration::from_millis(30));
    reader.kill().unwrap();
    reader.wait().unwrap();
    fs::write(directory.join("go"), "").unwrap();
    wait_for(&directory.join("done"));

    let job = fs::read_dir(base.path()).unwrap().next().unwrap().unwrap().path();
    let done = ioracle(["recover", job.to_str().unwrap(), "-o", &target.name(), "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(done.json()["job"]["continued"], true);
    let events = table(&target.path(), "events");
    let offsets: Vec<u64> = events
        .lines()
        .filter(|row| row.contains(",posix,write,"))
        .map(|row| row.split(',').nth(8).unwrap().parse().unwrap())
        .collect();
    assert_eq!(offsets.len(), N_CALLS);
    assert!(offsets.is_sorted());
}

fn wait_for(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < Duration::from_secs(30), "'{}' does not come", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn recordings_of_several_ranks_are_named() {
    let target = Target::new();
    for rank in 0..3 {
        interrupted_recording(&target.path().join(format!("rank-{rank}")), 1);
    }
    let done = ioracle(["recover", &target.name()]);
    done.fails_saying(
        2,
        &["3 unfinished recordings", &format!("ioracle recover {}/rank-0", target.name())],
    );
}
