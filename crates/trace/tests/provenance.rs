// SPDX-License-Identifier: MIT OR Apache-2.0

//! What traces say besides their events: recorded, converted, of older versions,
//! and made up by somebody who means no good.

mod common;

use std::fs;
use std::path::{Path, PathBuf};

use ioracle_events::{ContextId, Event, FileId, StreamId};
use ioracle_trace::{
    Description, Encoding, JobProcess, ModuleLoaded, Observer, OpenedFile, ProcessNumber,
    ReadOptions, SourcePlace, TimePrecision, Trace, TraceFiles, TraceRecorder, export_csv, import,
    repair,
};

use common::write;

const TABLES: [&str; 9] = [
    "events",
    "stacks",
    "files",
    "processes",
    "threads",
    "modules",
    "symbols",
    "mounts",
    "file_mounts",
];

fn open(path: &Path) -> Trace {
    Trace::open(path, ReadOptions::default()).unwrap()
}

fn export(trace: &Trace, directory: &Path) {
    export_csv(trace, directory, None, Encoding::Plain, &mut |_| {}).unwrap();
}

fn read(directory: &Path, table: &str) -> Option<String> {
    fs::read_to_string(directory.join(format!("{table}.csv"))).ok()
}

/// A job without MPI: a shell and what it runs, each with a call.
fn record(directory: &Path) -> TraceRecorder {
    let mut recorder =
        TraceRecorder::create(directory, TimePrecision::Exact).unwrap().with_mounts();
    let process = |pid, parent_pid, command: &[&str]| JobProcess {
        pid,
        parent_pid,
        executable: format!("/opt/bin/{}", command[0]),
        arguments: command.iter().map(|&it| it.to_owned()).collect(),
        application: command[0].to_owned(),
        start_ns: 1000 * u64::from(pid),
        start_realtime_ns: 1_700_000_000_000_000_000,
        ..JobProcess::default()
    };
    let long = format!("in,put 1%{}", ".".repeat(100_000));
    let processes =
        [process(10, 1, &["sh", "-c", "./sim; cp a b"]), process(11, 10, &["sim", &long])];
    for (number, process) in (0..).zip(&processes) {
        recorder.process(ProcessNumber(number), process);
        recorder.stream_began(StreamId { rank: number, thread: 0 }, process.pid);
        let module = ModuleLoaded {
            name: "app",
            build_id: &[0xab, 0x01],
            path: "/opt/bin/app".as_ref(),
            address: 0x5555_0000 + 0x1000 * u64::from(number),
        };
        recorder.module_loaded(ProcessNumber(number), &module);
    }
    recorder.context(ContextId(1), "app+0x10;app+0x20");
    recorder.file(FileId(1), "out.dat");
    let opened = OpenedFile { path: b"/proc/self/out.dat", device: 0, size: 4096 };
    recorder.file_opened(FileId(1), &opened);
    for number in 0..2 {
        for n in 0..3 {
            recorder.event(ProcessNumber(number), &write(number, 0, n, 100 * n));
        }
    }
    let ended = JobProcess { end_ns: Some(77_000), ..processes[1].clone() };
    recorder.process(ProcessNumber(1), &ended);
    let place = |function: &str, line| SourcePlace {
        function: function.into(),
        source: "/src/a,b.c".into(),
        line,
    };
    recorder.symbol("app+0x10", &[place("put(int, char)", 12), place("main", 40)]);
    recorder.symbol("app+0x20", &[place("_start", 0)]);
    recorder
}

/// All that is known about the job above.
fn check(trace: &Trace) {
    let known = trace.provenance();
    let [shell, sim] = known.processes() else { panic!("{:?}", known.processes()) };
    assert_eq!((shell.pid, shell.parent_pid, shell.end_ns), (10, 1, None));
    assert_eq!((sim.pid, sim.parent_pid, sim.end_ns), (11, 10, Some(77_000)));
    assert_eq!((&*shell.command, sim.rank), ("sh -c ./sim;%20cp%20a%20b", None));
    assert!(sim.command.starts_with("sim in%2Cput%201%25..."));
    assert_eq!(sim.command.len(), "sim in%2Cput%201%25".len() + 100_000);
    assert_eq!((&*sim.application, &*sim.executable), ("sim", "/opt/bin/sim"));
    assert_eq!((sim.start_ns, sim.start_realtime_ns), (11_000, 1_700_000_000_000_000_000));
    let addresses: Vec<_> = known.modules().iter().map(|it| (it.process, it.address)).collect();
    assert_eq!(addresses, [(0, 0x5555_0000), (1, 0x5555_1000)]);
    assert_eq!(known.modules()[0].build_id, [0xab, 0x01]);
    let names = |frame| -> Vec<_> {
        known.source_places(frame).iter().map(|it| (&*it.function, it.line)).collect()
    };
    assert_eq!(names("app+0x10"), [("put(int, char)", 12), ("main", 40)]);
    assert_eq!(&*known.source_places("app+0x20")[0].source, "/src/a%2Cb.c");
    let place = known.file_place(FileId(1));
    assert_eq!(place.size_at_open, Some(4096));
    assert_eq!(&*known.mount(place.mount.unwrap()).unwrap().kind, "proc");
    let processes: Vec<u32> =
        trace.events_by_process().unwrap().map(|event| event.unwrap().stream.rank).collect();
    assert_eq!((processes.len(), processes.iter().filter(|&&it| it == 1).count()), (6, 3));
    assert_eq!(trace.ranks().unwrap(), [0], "without MPI a job is rank 0");
}

#[test]
fn a_recording_tells_processes_code_and_files_apart() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path()).finish(&Description::default()).unwrap();
    check(&open(directory.path()));
}

#[test]
fn so_does_one_that_was_not_finished() {
    let directory = tempfile::tempdir().unwrap();
    let mut recorder = record(directory.path());
    recorder.flush().unwrap();
    drop(recorder);
    check(&open(directory.path()));
    repair(directory.path()).unwrap();
    check(&open(directory.path()));
}

#[test]
fn tables_come_back_byte_by_byte_through_the_compact_format() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    record(&at("recorded")).finish(&Description::default()).unwrap();
    export(&open(&at("recorded")), &at("first"));
    check(&open(&at("first")));
    import(&open(&at("first")), &at("imported"), TimePrecision::Exact, &mut |_| {}).unwrap();
    check(&open(&at("imported")));
    export(&open(&at("imported")), &at("second"));
    for table in TABLES {
        let first = read(&at("first"), table);
        assert!(first.is_some(), "there is no {table}");
        assert_eq!(first, read(&at("second"), table), "{table}");
    }
}

fn version_1(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/version-1").join(name)
}

/// `tables` is what the version of ioracle that recorded the trace made of it.
#[test]
fn traces_of_version_1_read_as_before() {
    let directory = tempfile::tempdir().unwrap();
    let trace = open(&version_1("finished"));
    export(&trace, &directory.path().join("tables"));
    for table in ["events", "stacks", "files"] {
        let before = read(&version_1("tables"), table);
        assert_eq!(before, read(&directory.path().join("tables"), table), "{table}");
    }
    let programs: Vec<_> =
        trace.provenance().processes().iter().map(|it| (&*it.application, &*it.command)).collect();
    assert!(programs.contains(&("checkpoints", "./checkpoints 3")), "{programs:?}");
    assert_eq!(programs.len(), 4);
}

#[test]
fn a_recording_of_version_1_that_was_not_finished_can_be() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["events.ioracle", "recording.part"] {
        fs::copy(version_1("unfinished").join(name), directory.path().join(name)).unwrap();
    }
    let n_events = |path| open(path).events(None).unwrap().map(Result::unwrap).count();
    let before = n_events(directory.path());
    assert!(before > 0);
    assert_eq!(repair(directory.path()).unwrap().n_events, before as u64);
    assert_eq!(n_events(directory.path()), before);
    // Its head says version 1, so an older ioracle must be able to read it.
    let bytes = fs::read(directory.path().join("events.ioracle")).unwrap();
    assert_eq!(bytes[16], 1);
}

const EVENTS: &str = "rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail\n\
    0,0,0,posix,write,1,1,3,0,4,4,10,20,0,\n\
    0,1,1,posix,write,1,1,3,4,4,4,30,40,0,\n";

const GOOD: [(&str, &str); 6] = [
    (
        "processes",
        "process,pid,parent,rank,start_ns,end_ns,start_realtime_ns,application,executable,command\n\
         0,10,1,-1,5,90,1000,sh,/bin/sh,sh -c a,b\n1,11,10,3,6,-1,1001,sim,/opt/sim,sim\n",
    ),
    ("threads", "rank,tid,process\n0,0,1\n0,1,0\n"),
    ("modules", "process,name,address,build_id,path\n0,sh,0x5500,ab01,/bin/sh\n"),
    ("symbols", "frame,inlined,line,source,function\nsim+0x1,0,7,a.c,f(int, int)\n"),
    ("mounts", "mount,type,device,point\n1,ext4,/dev/sda1,/\n"),
    ("file_mounts", "file,mount,size_at_open\n1,1,4096\n"),
];

/// The good trace with one of its tables spoilt.
fn with(table: &str, from: &str, to: &str) -> Result<Trace, String> {
    let spoil = |name: &str, text: &str| match name == table {
        true => {
            assert!(text.contains(from), "{table} has no '{from}' to spoil");
            text.replacen(from, to, 1)
        }
        false => text.to_owned(),
    };
    let optional = GOOD.map(|(name, text)| (name.to_owned(), spoil(name, text).into_bytes()));
    let parts = TraceFiles {
        encoding: Encoding::Plain,
        events: EVENTS.into(),
        stacks: "id,frames\n1,sim+0x1\n".into(),
        files: "id,path\n1,out\n".into(),
        optional: optional.into(),
        meta: None,
    };
    Trace::from_parts("made up", parts, ReadOptions::default()).map_err(|error| error.to_string())
}

#[test]
fn rows_that_break_a_rule_are_rejected_with_their_line() {
    let check = |table, from, to, expected: &str| {
        let error = with(table, from, to).expect_err(expected);
        assert!(error.contains(expected) && error.contains(&format!("{table}.csv:")), "{error}");
    };
    check("processes", "0,10,", "1,10,", "process does not follow");
    check("processes", ",3,6,", ",4294967296,6,", "rank is 4294967296, which is out of range");
    check("processes", ",90,", ",-2,", "end_ns is -2, which is out of range");
    check("threads", "0,1,0", "0,1,2", "process 2 is not defined");
    check("threads", "0,1,0", "0,0,0", "tid does not follow");
    check("threads", "0,1,0", "0,1,0,0", "process is '0', which is not a whole number");
    check("modules", "0,sh,", "9,sh,", "process 9 is not defined");
    check("modules", "0x5500", "5500", "address is '5500', which is not lower-case hexadecimal");
    check("modules", "ab01", "ab0", "build_id is 'ab0', which is not lower-case hexadecimal");
    check("symbols", "0x1,0,", "0x1,1,", "frame does not follow");
    check("symbols", "7,a.c,f(int, int)", "7", "only 3 of 5 fields");
    check("mounts", "1,ext4", "2,ext4", "mount does not follow");
    check("file_mounts", "1,1,", "2,1,", "file 2 is not in the table of files");
    check("file_mounts", "1,1,", "1,2,", "mount 2 is not defined");
    check("file_mounts", "file,mount", "mount,file", "the header is");
}

#[test]
fn the_table_of_threads_tells_the_processes_of_a_rank_apart() {
    let trace = with("mounts", "ext4", "ext4").unwrap();
    let streams = |events: ioracle_trace::Events<'_>| -> Vec<(u32, u32)> {
        let stream = |event: Event| (event.stream.rank, event.stream.thread);
        events.map(|event| stream(event.unwrap())).collect()
    };
    assert_eq!(streams(trace.events(None).unwrap()), [(0, 0), (0, 1)]);
    assert_eq!(streams(trace.events_by_process().unwrap()), [(1, 0), (0, 0)]);
    assert_eq!(trace.process_ranks(), Some(vec![None, Some(3)]));
}

#[test]
fn no_command_line_is_too_long_for_its_table() {
    let long = "x".repeat(3 * ioracle_trace::MAX_COMMAND_BYTES);
    let trace = with("processes", "sh -c a,b", &long).unwrap();
    assert_eq!(trace.provenance().processes()[0].command.len(), long.len());
    let error = with("processes", "sh -c a,b", &format!("{long}x")).unwrap_err();
    assert!(error.contains("the line is longer"), "{error}");
}
