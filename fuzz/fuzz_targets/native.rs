// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arbitrary bytes as a trace in the native form, and a good one with changes.
//!
//! The first byte tells what the rest is: bytes behind a right head, changes of
//! a good trace (place, what to put there), or the payload of a block with
//! checksums that fit, which so gets past them.

#![no_main]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ioracle_events::{ContextId, Event, FileId, Function, StreamId};
use ioracle_trace::{
    Description, JobProcess, Observer, ProcessNumber, ReadOptions, TimePrecision, Trace,
    TraceRecorder,
};
use libfuzzer_sys::fuzz_target;

/// A good trace without its index and end, which a reader can do without.
static GOOD: LazyLock<Vec<u8>> = LazyLock::new(good);

const HEAD_BYTES: usize = 28;
const MARKER: [u8; 4] = [0xF1, 0x69, 0x6F, 0xC1];

fuzz_target!(|data: &[u8]| {
    let Some((&how, rest)) = data.split_first() else { return };
    let bytes = match how % 3 {
        0 => [&GOOD[..HEAD_BYTES], rest].concat(),
        1 => changed(rest),
        _ => with_chunk(b"BDI"[usize::from(how / 3) % 3], rest),
    };
    for lenient in [false, true] {
        read(bytes.clone(), ReadOptions { lenient });
    }
});

fn read(bytes: Vec<u8>, options: ReadOptions) {
    let Ok(trace) = Trace::from_bytes("fuzz", bytes, options) else { return };
    let Ok(events) = trace.events(None) else { return };
    let mut last: Option<(StreamId, u64)> = None;
    // Some bytes of grammar can derive very many events.
    for event in events.take(1 << 16) {
        let Ok(event) = event else { continue };
        assert!(trace.contexts().contains(event.context));
        assert!(event.file == FileId::UNKNOWN || trace.files().contains(event.file));
        assert!(event.start_ns <= event.end_ns && event.end_ns <= i64::MAX as u64);
        assert!(!event.detail.contains('\n'));
        if let Some((stream, sequence)) = last.replace((event.stream, event.sequence)) {
            assert!(stream.rank != event.stream.rank || sequence < event.sequence);
        }
    }
}

/// The good trace with two bytes of place and one of content, again and again.
fn changed(changes: &[u8]) -> Vec<u8> {
    let mut bytes = GOOD.clone();
    for change in changes.chunks_exact(3) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        bytes[place] = change[2];
    }
    bytes
}

/// The good trace with one more chunk.
fn with_chunk(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = GOOD.clone();
    let mut head = [&MARKER[..], &[kind]].concat();
    head.extend((payload.len() as u32).to_le_bytes());
    head.extend(crc32fast::hash(payload).to_le_bytes());
    head.extend(crc32fast::hash(&head).to_le_bytes());
    bytes.extend(head);
    bytes.extend(payload);
    bytes
}

/// A directory in memory, if there is one.
fn empty_directory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let directory = base.join(format!("ioracle-fuzz-native-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    directory
}

fn good() -> Vec<u8> {
    let directory = empty_directory();
    let mut recorder = TraceRecorder::create(&directory, TimePrecision::Exact).expect("room");
    let process = JobProcess { pid: 7, ..JobProcess::default() };
    recorder.process(ProcessNumber(0), &process);
    recorder.context(ContextId(1), "app+0x1");
    recorder.file(FileId(1), "out");
    let functions: Vec<Function> = Function::all().collect();
    for thread in 0..2 {
        let stream = StreamId { rank: 0, thread };
        recorder.stream_began(stream, thread);
        for sequence in 0..40 {
            let event = Event {
                stream,
                sequence,
                function: functions[sequence as usize % 9],
                context: ContextId(1),
                file: FileId(1),
                handle: 3,
                offset: Some(sequence * 8),
                requested: 8,
                result: 8,
                start_ns: 1000 * sequence,
                end_ns: 1000 * sequence + 70,
                depth: (sequence % 3) as u32,
                detail: format!("v start={sequence}").into(),
            };
            recorder.event(ProcessNumber(0), &event);
        }
        recorder.stream_ended(stream);
    }
    recorder.finish(&Description::default()).expect("room");
    let bytes = fs::read(directory.join("events.ioracle")).expect("what was written");
    let _ = fs::remove_dir_all(&directory);
    // The last 20 bytes say where the index begins.
    let end: [u8; 8] = bytes[bytes.len() - 20..][..8].try_into().expect("eight bytes");
    bytes[..u64::from_le_bytes(end) as usize].to_vec()
}
