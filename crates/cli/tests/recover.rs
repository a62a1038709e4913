// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle recover` on jobs and recordings that were left behind.

mod support;

use std::fs;
use std::mem::offset_of;
use std::path::Path;

use ioracle_events::{ContextId, Event, FileId, Layer, StreamId};
use ioracle_spool::layout::{DefinitionKind, JobPage, PAGE};
use ioracle_trace::{CsvWriter, Observer, Process, ProcessNumber};
use support::ioracle;
use support::spool::{NOBODY, Spool, Stream};

/// The names in a directory, sorted; none if it is not there.
fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn table(directory: &Path, name: &str) -> String {
    let bytes = fs::read(directory.join(format!("{name}.csv.zst"))).unwrap();
    String::from_utf8(zstd::decode_all(bytes.as_slice()).unwrap()).unwrap()
}

struct Target {
    directory: tempfile::TempDir,
}

impl Target {
    fn new() -> Target {
        Target { directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self) -> std::path::PathBuf {
        self.directory.path().join("trace")
    }

    fn name(&self) -> String {
        self.path().to_str().unwrap().to_owned()
    }
}

const TRACE: [&str; 4] = ["events.csv.zst", "files.csv.zst", "meta.json", "stacks.csv.zst"];

#[test]
fn what_a_dead_job_left_becomes_a_trace_that_can_be_evaluated() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(NOBODY, NOBODY, 50, "/data/run/out.dat"));
    spool.add(&Stream::writing(NOBODY, NOBODY + 1, 50, "/data/run/out.dat"));
    let before = names(spool.path());
    let arguments = ["recover", spool.name(), "-o", &target.name(), "--relative-to", "/data/run"];
    let done = ioracle(arguments);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(done.err, "");
    for part in
        ["600  events of 1 rank", "3  call stacks", "1  files", "1  processes with 2 threads"]
    {
        assert!(done.out.contains(part), "'{part}' is not in: {}", done.out);
    }
    assert_eq!(names(&target.path()), TRACE);
    assert_eq!(names(spool.path()), before);
    assert_eq!(table(&target.path(), "files"), "id,path\n1,out.dat\n");
    assert_eq!(table(&target.path(), "stacks").lines().nth(1), Some("1,app+0x10;app+0x99"));
    let events = table(&target.path(), "events");
    let rows: Vec<&str> = events.lines().skip(1).take(3).collect();
    let expected = [
        "0,0,0,posix,open,1,1,3,0,0,3,0,200,0,WRONLY|CREAT|TRUNC",
        "0,1,1,posix,open,1,1,3,0,0,3,0,200,0,WRONLY|CREAT|TRUNC",
        "0,0,2,posix,write,2,1,3,0,100,100,1000,1200,0,",
    ];
    assert_eq!(rows, expected);
    let evaluated = ioracle(["eval", &target.name(), "--json"]);
    assert_eq!(evaluated.code, Some(0), "{}", evaluated.err);
    assert_eq!(evaluated.json()[0]["operations"], 600);
}

#[test]
fn json_counts_what_was_found_and_what_is_missing() {
    let (spool, target) = (Spool::new(), Target::new());
    let mut stream = Stream::writing(NOBODY, NOBODY, 2, "/a,b\n.dat");
    stream.rank = 3;
    stream.unrecorded[1] = 17;
    spool.add(&stream);
    spool.set_page(&[(offset_of!(JobPage, n_io_uring), &5_u64.to_ne_bytes())]);
    fs::write(spool.path().join("1-1-1.stream"), "no stream at all, and far too short").unwrap();
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let document = done.json();
    assert_eq!(document["events"], 12);
    assert_eq!(document["ranks"], 1);
    assert_eq!(document["trace"], target.name());
    assert_eq!(document["job"]["processes"], 1);
    assert_eq!(document["job"]["streams"], 1);
    assert_eq!(document["job"]["not_recorded"], serde_json::json!({ "limit": 17 }));
    assert_eq!(document["job"]["io_uring"], 5);
    assert_eq!(document["job"]["n_damaged"], 1);
    assert_eq!(document["job"]["damaged"].as_array().unwrap().len(), 1);
    assert_eq!(document["removed"], false);
    assert_eq!(table(&target.path(), "files"), "id,path\n1,/a%2Cb%0A.dat\n");
    assert!(
        table(&target.path(), "events").lines().nth(1).unwrap().starts_with("3,0,0,posix,open,")
    );
    let meta: serde_json::Value =
        serde_json::from_slice(&fs::read(target.path().join("meta.json")).unwrap()).unwrap();
    assert_eq!(meta["application"], "app");
    assert_eq!(meta["command"], "app -v");
    assert_eq!(meta["not_recorded"], serde_json::json!({ "limit": 17 }));
}

/// A recording whose writer was killed after a few events of the first process.
fn interrupted_recording(directory: &Path, n_events: u64) {
    let mut writer = CsvWriter::create(directory).unwrap();
    let process = Process { pid: NOBODY, start_ns: 1_000_000, ..Process::default() };
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
            function: ioracle_events::Function::from_name(Layer::Posix, "open").unwrap(),
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

#[test]
fn a_recording_that_was_not_finished_is_finished_where_it_is() {
    let target = Target::new();
    interrupted_recording(&target.path(), 5);
    let done = ioracle(["recover", &target.name(), "-o", "elsewhere"]);
    done.fails_saying(2, &["leave -o away"]);
    let done = ioracle(["recover", &target.name()]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(done.out.contains("5  events of 1 rank"), "{}", done.out);
    assert_eq!(names(&target.path()), TRACE);
    ioracle(["recover", &target.name()])
        .fails_saying(1, &[&target.name(), "not the directory of a job"]);
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
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    let document = done.json();
    assert_eq!((&document["events"], &document["job"]["events"]), (&12.into(), &10.into()));
    assert_eq!(names(&target.path()), TRACE);
    let events = table(&target.path(), "events");
    let threads: Vec<&str> = events.lines().skip(1).map(|row| &row[..4]).collect();
    assert!(threads.iter().all(|start| *start == "0,0,"), "{events}");
    assert_eq!(table(&target.path(), "stacks").lines().count(), 4);
    assert_eq!(table(&target.path(), "files"), "id,path\n1,/out\n");
}

#[test]
fn the_job_is_deleted_only_when_that_is_asked_for() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(NOBODY, NOBODY, 2, "/out"));
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--remove"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert!(!spool.path().exists());
}

#[test]
fn a_job_whose_processes_still_run_is_kept() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(std::process::id(), NOBODY, 2, "/out"));
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--remove"]);
    assert_eq!(done.code, Some(1), "{}", done.err);
    assert!(done.err.contains("is kept: process "), "{}", done.err);
    assert!(spool.path().exists());
    assert_eq!(names(&target.path()), TRACE);
}

#[test]
fn a_job_that_is_being_read_is_left_alone_unless_forced() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(NOBODY, NOBODY, 2, "/out"));
    let reader = std::process::id();
    spool.set_page(&[(offset_of!(JobPage, reader_pid), &reader.to_ne_bytes())]);
    let done = ioracle(["recover", spool.name(), "-o", &target.name()]);
    done.fails_saying(1, &[spool.name(), &format!("read by process {reader}"), "--force"]);
    assert_eq!(names(&target.path()), [""; 0]);
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--force"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    ioracle(["recover", spool.name(), "-o", &target.name(), "--force", "--remove"]);
    assert!(spool.path().exists());
}

#[test]
fn what_is_no_job_is_refused_in_one_sentence() {
    let target = Target::new();
    let check = |spool: &Spool, part: &str| {
        let done = ioracle(["recover", spool.name(), "-o", &target.name()]);
        done.fails_saying(1, &[spool.name(), part]);
        assert_eq!(names(&target.path()), [""; 0]);
    };
    let spool = Spool::new();
    spool.set_page(&[(offset_of!(JobPage, version), &77_u32.to_ne_bytes())]);
    check(&spool, "version");
    spool.set_page(&[(offset_of!(JobPage, magic), b"elephant")]);
    check(&spool, "not the directory of a job");
    fs::write(spool.path().join("job"), "short").unwrap();
    check(&spool, "not the directory of a job");
    fs::remove_file(spool.path().join("job")).unwrap();
    check(&spool, "not the directory of a job");
    let missing = ioracle(["recover", "/no/such/job", "-o", &target.name()]);
    missing.fails_saying(1, &["/no/such/job"]);
}

#[test]
fn wrong_use_is_told_apart_from_failure() {
    let spool = Spool::new();
    ioracle(["recover", spool.name()]).fails_saying(2, &["-o"]);
    assert_eq!(ioracle(["recover"]).code, Some(2));
}

#[test]
fn a_directory_that_holds_a_trace_is_not_touched() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(NOBODY, NOBODY, 2, "/out"));
    fs::create_dir(target.path()).unwrap();
    fs::write(target.path().join("events.csv"), "mine").unwrap();
    let done = ioracle(["recover", spool.name(), "-o", &target.name()]);
    done.fails_saying(1, &[&target.name(), "already holds a trace"]);
    assert_eq!(names(&target.path()), ["events.csv"]);
}

#[test]
fn no_room_for_the_trace_leaves_nothing_of_it_and_all_of_the_job() {
    let (spool, target) = (Spool::new(), Target::new());
    spool.add(&Stream::writing(NOBODY, NOBODY, 2, "/out"));
    fs::create_dir(target.path()).unwrap();
    std::os::unix::fs::symlink("/dev/full", target.path().join("events.csv.zst.part")).unwrap();
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--remove"]);
    done.fails_saying(1, &["events.csv.zst", "No space left on device", "make room"]);
    assert_eq!(names(&target.path()), [""; 0]);
    assert_eq!(names(spool.path()).len(), 2);
}

#[test]
fn lies_in_records_and_definitions_are_survived() {
    let (spool, target) = (Spool::new(), Target::new());
    let mut stream = Stream::writing(NOBODY, NOBODY, 3, "/out");
    stream.define(DefinitionKind::Context, 3, b"odd length");
    stream.define(DefinitionKind::Module, 6, b"\xffno such build-id");
    stream.define(DefinitionKind::File, 8, b"\xff\xfe\x00");
    for (number, call) in stream.calls.iter_mut().enumerate() {
        match number {
            1 => (call.start_ns, call.end_ns) = (u64::MAX, 0),
            2 => (call.start_ns, call.began) = (0, u64::MAX),
            3 => (call.context, call.file) = (0xdead, 0xbeef),
            4 => (call.depth, call.detail) = (255, u32::MAX),
            5 => (call.offset, call.result) = (i64::MIN, i64::MIN),
            6 => call.function = u16::MAX,
            7 => (call.requested, call.file) = (u64::MAX, 8),
            _ => {}
        }
    }
    spool.add(&stream);
    let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--json"]);
    assert_eq!(done.code, Some(0), "{}", done.err);
    assert_eq!(done.json()["events"], 17);
    let evaluated = ioracle(["eval", &target.name(), "--json"]);
    assert_eq!(evaluated.code, Some(0), "{}", evaluated.err);
}

#[test]
fn files_cut_or_overwritten_anywhere_never_stop_the_rest() {
    let whole = Stream::writing(NOBODY, NOBODY, 20, "/out");
    let other = Stream::writing(NOBODY + 1, NOBODY + 1, 20, "/out");
    for damage in 0..24_usize {
        let (spool, target) = (Spool::new(), Target::new());
        spool.add(&other);
        let path = spool.add(&whole);
        let mut bytes = fs::read(&path).unwrap();
        match damage % 2 {
            0 => bytes.truncate(bytes.len() * damage / 24),
            _ => {
                let start = (PAGE * damage / 16).min(bytes.len());
                bytes[start..].iter_mut().take(300).for_each(|byte| *byte = 0x5a);
            }
        }
        fs::write(&path, bytes).unwrap();
        let done = ioracle(["recover", spool.name(), "-o", &target.name(), "--json"]);
        assert_eq!(done.code, Some(0), "{}", done.err);
        assert!(done.json()["events"].as_u64().unwrap() >= 120, "{damage}: {}", done.out);
        let evaluated = ioracle(["eval", &target.name(), "--json"]);
        assert_eq!(evaluated.code, Some(0), "{damage}: {}", evaluated.err);
    }
}
