// SPDX-License-Identifier: MIT OR Apache-2.0

//! A recording whose log begins as a good one and goes on with arbitrary bytes:
//! it can be read as it is, and whatever a second writer takes of it is a trace
//! that can be read.
//!
//! The first two bytes tell where the good part ends.

#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ioracle_events::{ContextId, Event, FileId, Function, Layer, StreamId};
use ioracle_trace::{
    Description, JobProcess, Observer, ProcessNumber, ReadOptions, TimePrecision, Trace,
    TraceRecorder,
};
use libfuzzer_sys::fuzz_target;

const LOG: &str = "recording.part";

/// The file of blocks when there are none yet.
const EVENTS: &str = "events.ioracle";

static GOOD: LazyLock<Vec<u8>> = LazyLock::new(|| good(5, LOG));
static EMPTY: LazyLock<Vec<u8>> = LazyLock::new(|| good(0, EVENTS));

fuzz_target!(|data: &[u8]| {
    let Some((&place, rest)) = data.split_first_chunk::<2>() else { return };
    let n_good = usize::from(u16::from_le_bytes(place)) % (GOOD.len() + 1);
    let directory = empty_directory();
    fs::write(directory.join(LOG), [&GOOD[..n_good], rest].concat()).expect("room");
    fs::write(directory.join(EVENTS), &*EMPTY).expect("room");
    if let Ok(trace) = Trace::open(&directory, ReadOptions::default()) {
        trace.events(None).expect("streams").for_each(drop);
    }
    let Ok(mut writer) = TraceRecorder::reopen(&directory) else { return };
    tell(&mut writer, 2);
    let written = writer.finish(&Description::default()).expect("a trace");
    assert!(written.n_events > 0);
    let trace = Trace::open(&directory, ReadOptions::default()).expect("good tables");
    let events: Result<Vec<Event>, _> = trace.events(None).expect("a table").collect();
    assert_eq!(events.expect("good rows").len() as u64, written.n_events);
    assert_eq!(trace.contexts().len() as u64, written.n_contexts);
    assert_eq!(trace.files().len() as u64, written.n_files);
});

/// A directory in memory, if there is one.
fn empty_directory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let directory = base.join(format!("ioracle-fuzz-recording-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    fs::create_dir(&directory).expect("room");
    directory
}

/// A file of a recording.
fn good(n_events: u64, name: &str) -> Vec<u8> {
    let directory = empty_directory();
    let mut writer = TraceRecorder::create(&directory, TimePrecision::Exact).expect("room");
    tell(&mut writer, n_events);
    writer.flush().expect("room");
    fs::read(directory.join(name)).expect("what was written")
}

/// Tells two processes and so many calls of each.
fn tell(writer: &mut TraceRecorder, n_events: u64) {
    for rank in 0..2 {
        let number = ProcessNumber(rank);
        let rank_given = (rank == 1).then_some(7);
        let process = JobProcess { pid: rank, rank: rank_given, ..JobProcess::default() };
        let stream = StreamId { rank, thread: 0 };
        writer.process(number, &process);
        writer.stream_began(stream, rank);
        writer.context(ContextId(1 + rank), &format!("app+0x{rank}"));
        writer.file(FileId(1 + rank), &format!("out.{rank}"));
        for sequence in 0..n_events {
            let event = Event {
                stream,
                sequence,
                function: Function::from_name(Layer::Posix, "write").expect("a function"),
                context: ContextId(1 + rank),
                file: FileId(1 + rank),
                handle: 3,
                offset: Some(sequence),
                requested: 1,
                result: 1,
                start_ns: 10 * sequence,
                end_ns: 10 * sequence + 1,
                depth: 0,
                detail: "".into(),
            };
            writer.event(number, &event);
        }
    }
}
