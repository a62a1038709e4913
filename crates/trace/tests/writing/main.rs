// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is given to a writer can be read again.

#[path = "../common/mod.rs"]
mod common;
mod interrupted;
mod refused;
mod round_trip;

use std::path::Path;

use common::write;
use ioracle_events::{ContextId, Event, FileId, StreamId};
use ioracle_trace::{JobProcess, Observer, ProcessNumber, ReadOptions, Trace, TraceRecorder};

/// A process that began at `start_ns`.
fn process(pid: u32, rank: Option<u32>, start_ns: u64) -> JobProcess {
    let arguments = vec!["app".to_owned(), format!("--step={pid}")];
    let executable = "/opt/bin/app".to_owned();
    JobProcess { pid, rank, start_ns, executable, arguments, ..JobProcess::default() }
}

/// Reports a process, a thread in it, and one context and file.
fn begin(writer: &mut TraceRecorder, number: u32, process: &JobProcess) {
    writer.process(ProcessNumber(number), process);
    writer.stream_began(StreamId { rank: number, thread: 0 }, process.pid);
    if number == 0 {
        writer.context(ContextId(1), "app+0x10");
        writer.file(FileId(1), "out.dat");
    }
}

/// `rank/thread:sequence start` of each event of a trace.
fn events(directory: &Path) -> Vec<String> {
    let trace = Trace::open(directory, ReadOptions::default()).unwrap();
    let describe = |event: Event| {
        let StreamId { rank, thread } = event.stream;
        format!("{rank}/{thread}:{} {}", event.sequence, event.start_ns)
    };
    trace.events(None).unwrap().map(|event| describe(event.unwrap())).collect()
}

/// The names in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

const TRACE: [&str; 2] = ["events.ioracle", "meta.json"];
