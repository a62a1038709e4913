// SPDX-License-Identifier: MIT OR Apache-2.0

//! A tiny good trace for tests to spoil, and a way to write down what reading
//! it gives.

use std::fmt::Write;
use std::path::Path;

use ioracle_trace::{Encoding, Error, Events, ReadOptions, Trace, TraceFiles};

pub const STRICT: ReadOptions = ReadOptions { lenient: false };
pub const LENIENT: ReadOptions = ReadOptions { lenient: true };

pub const EVENTS_HEADER: &str =
    "rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail\n";
pub const EVENTS: &str = "\
0,0,0,posix,open,1,1,3,0,0,3,100,110,0,CREAT|WRONLY
0,0,1,posix,write,2,1,3,0,4096,4096,120,130,0,
0,1,2,hl,nc_put_vara,3,0,-1,-1,80,0,125,190,0,temperature start=0,1:2 count=1:1
0,0,3,posix,close,4,1,3,-1,0,0,140,150,0,
1,0,0,stdio,fprintf,5,2,4,7,9,9,50,60,0,
";
pub const STACKS: &str =
    "id,frames\n1,app+0x1;libc.so.6+0x2\n2,app+0x3\n3,app+0x4\n4,\n5,app+0x5\n";
pub const FILES: &str = "id,path\n1,out/state.dat\n2,a, \"b\", and c\n";

pub fn parts(events: impl Into<Vec<u8>>) -> TraceFiles {
    TraceFiles {
        encoding: Encoding::Plain,
        events: events.into(),
        stacks: STACKS.into(),
        files: FILES.into(),
        optional: Default::default(),
        meta: None,
    }
}

/// The good trace with the header and other rows.
pub fn rows(rows: &str) -> TraceFiles {
    parts(format!("{EVENTS_HEADER}{rows}"))
}

/// The good trace with `from` replaced by `to` in its events.
pub fn with(from: &str, to: &str) -> TraceFiles {
    assert!(EVENTS.contains(from), "the trace has no '{from}' to spoil");
    rows(&EVENTS.replacen(from, to, 1))
}

pub fn compressed(parts: TraceFiles) -> TraceFiles {
    let pack = |bytes: Vec<u8>| zstd::encode_all(bytes.as_slice(), 3).unwrap();
    TraceFiles {
        encoding: Encoding::Zstd,
        events: pack(parts.events),
        stacks: pack(parts.stacks),
        files: pack(parts.files),
        optional: parts.optional.into_iter().map(|(name, it)| (name, pack(it))).collect(),
        meta: parts.meta,
    }
}

/// Reads all there is of a trace in memory.
pub fn read(parts: TraceFiles, options: ReadOptions) -> String {
    describe(Trace::from_parts("memory", parts, options), None)
}

/// Reads all there is of a directory, whose name is left out of messages.
pub fn read_directory(directory: &Path, options: ReadOptions) -> String {
    let text = describe(Trace::open(directory, options), None);
    text.replace(&directory.to_string_lossy().into_owned(), "DIR")
}

/// `rank/thread:sequence function` of each event, then what went wrong.
pub fn describe(trace: Result<Trace, Error>, rank: Option<u32>) -> String {
    let mut text = String::new();
    let trace = match trace {
        Ok(trace) => trace,
        Err(error) => return format!("error: {error}\n"),
    };
    if let Some(reason) = trace.first_skipped() {
        writeln!(text, "skipped {} in the tables: {reason}", trace.skipped()).unwrap();
    }
    match trace.events(rank) {
        Ok(events) => describe_events(events, &mut text),
        Err(error) => writeln!(text, "error: {error}").unwrap(),
    }
    text
}

fn describe_events(mut events: Events<'_>, text: &mut String) {
    for event in events.by_ref() {
        match event {
            Ok(event) => {
                let stream = event.stream;
                let name = event.function.name();
                writeln!(text, "{}/{}:{} {name}", stream.rank, stream.thread, event.sequence)
            }
            Err(error) => writeln!(text, "error: {error}"),
        }
        .unwrap();
    }
    if let Some(reason) = events.first_skipped() {
        writeln!(text, "skipped {}: {reason}", events.skipped()).unwrap();
    }
    assert!(events.next().is_none(), "a trace that has ended goes on");
}
