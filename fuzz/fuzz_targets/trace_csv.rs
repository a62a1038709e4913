// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arbitrary bytes as the tables of a trace.
//!
//! The first byte holds flags; the rest is events, stacks and files, separated
//! by `====`.

#![no_main]

use std::collections::HashMap;

use ioracle_events::{Event, FileId};
use ioracle_trace::{Encoding, ReadOptions, Trace, TraceFiles};
use libfuzzer_sys::fuzz_target;

/// The bytes are zstd streams already.
const STREAMS: u8 = 1;
/// Put the right headers in front of the tables.
const HEADERS: u8 = 2;
/// Read rank 0 only.
const ONE_RANK: u8 = 4;
/// Compress the tables, and expect the same as without.
const COMPRESS: u8 = 8;

const EVENTS_HEADER: &str =
    "rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail\n";

/// The tables that a trace may have besides, with their headers.
const OPTIONAL: [(&str, &str); 6] = [
    (
        "processes",
        "process,pid,parent,rank,start_ns,end_ns,start_realtime_ns,application,executable,command\n",
    ),
    ("threads", "rank,tid,process\n"),
    ("modules", "process,name,address,build_id,path\n"),
    ("symbols", "frame,inlined,line,source,function\n"),
    ("mounts", "mount,type,device,point\n"),
    ("file_mounts", "file,mount,size_at_open\n"),
];

fuzz_target!(|data: &[u8]| {
    let Some((&flags, tables)) = data.split_first() else { return };
    let parts = parts(flags, tables);
    let rank = (flags & ONE_RANK != 0).then_some(0);
    let strict = read(parts.clone(), rank, ReadOptions { lenient: false });
    let lenient = read(parts.clone(), rank, ReadOptions { lenient: true });
    if strict.error.is_none() {
        assert_eq!(lenient.skipped, 0);
        assert_eq!(lenient.events, strict.events);
    }
    if flags & COMPRESS != 0 && parts.encoding == Encoding::Plain {
        let packed = read(compressed(parts), rank, ReadOptions { lenient: true });
        assert_eq!(packed.events, lenient.events);
        assert_eq!(packed.skipped, lenient.skipped);
    }
});

fn parts(flags: u8, tables: &[u8]) -> TraceFiles {
    let encoding = if flags & STREAMS != 0 { Encoding::Zstd } else { Encoding::Plain };
    let add_headers = flags & HEADERS != 0 && encoding == Encoding::Plain;
    let mut rest = tables;
    let mut table = |header: &str| {
        let end = rest.windows(4).position(|bytes| bytes == b"====");
        let bytes = &rest[..end.unwrap_or(rest.len())];
        rest = end.map_or(&[], |end| &rest[end + 4..]);
        if add_headers { [header.as_bytes(), bytes].concat() } else { bytes.to_vec() }
    };
    let (events, stacks, files) = (table(EVENTS_HEADER), table("id,frames\n"), table("id,path\n"));
    let optional = OPTIONAL.map(|(name, header)| (name.to_owned(), table(header)));
    // One that ends early has only the tables that every trace has.
    let optional = optional.into_iter().filter(|(_, bytes)| !bytes.is_empty()).collect();
    TraceFiles { encoding, events, stacks, files, optional, meta: None }
}

fn compressed(parts: TraceFiles) -> TraceFiles {
    let pack = |bytes: Vec<u8>| zstd::encode_all(bytes.as_slice(), 1).expect("memory to memory");
    TraceFiles {
        encoding: Encoding::Zstd,
        events: pack(parts.events),
        stacks: pack(parts.stacks),
        files: pack(parts.files),
        optional: parts.optional.into_iter().map(|(name, it)| (name, pack(it))).collect(),
        meta: None,
    }
}

#[derive(Default)]
struct Outcome {
    events: Vec<Event>,
    skipped: u64,
    error: Option<String>,
}

fn read(parts: TraceFiles, rank: Option<u32>, options: ReadOptions) -> Outcome {
    let failed = |error: ioracle_trace::Error| Outcome {
        error: Some(error.to_string()),
        ..Outcome::default()
    };
    let trace = match Trace::from_parts("fuzz", parts, options) {
        Ok(trace) => trace,
        Err(error) => return failed(error),
    };
    let mut reader = match trace.events(rank) {
        Ok(reader) => reader,
        Err(error) => return failed(error),
    };
    let mut outcome = Outcome::default();
    for event in reader.by_ref() {
        assert!(outcome.error.is_none(), "nothing comes after an error");
        match event {
            Ok(event) => outcome.events.push(event),
            Err(error) => outcome.error = Some(error.to_string()),
        }
    }
    check_promises(&trace, rank, &outcome.events);
    outcome.skipped = trace.skipped() + reader.skipped();
    assert!(options.lenient || outcome.skipped == 0);
    outcome
}

fn check_promises(trace: &Trace, rank: Option<u32>, events: &[Event]) {
    let mut starts = HashMap::new();
    for event in events {
        assert!(rank.is_none_or(|rank| rank == event.stream.rank));
        assert!(event.start_ns <= event.end_ns);
        assert!(trace.contexts().get(event.context).is_some());
        assert!(event.file == FileId::UNKNOWN || trace.files().get(event.file).is_some());
        let before = starts.insert(event.stream, event.start_ns);
        assert!(before.is_none_or(|before| before <= event.start_ns));
    }
    let known = trace.provenance();
    for (file, _) in trace.files().iter() {
        let mount = known.file_place(file).mount;
        assert!(mount.is_none_or(|mount| known.mount(mount).is_some()));
    }
    for module in known.modules() {
        assert!((module.process as usize) < known.processes().len());
    }
    for event in events {
        let origin = known.origin(event.stream);
        assert!(origin.is_none_or(|it| (it.process as usize) < known.processes().len()));
    }
    for neighbours in events.windows(2) {
        let [before, after] = neighbours else { continue };
        let same_rank = before.stream.rank == after.stream.rank;
        assert!(!same_rank || before.sequence < after.sequence);
    }
}
