// SPDX-License-Identifier: MIT OR Apache-2.0

//! Spools written byte by byte as `docs/spool.md` draws them, so that a test can
//! lie in any of them.

use std::fs;
use std::mem::offset_of;
use std::path::{Path, PathBuf};

use ioracle_spool::Function;
use ioracle_spool::layout::{
    Call, DefinitionHeader, DefinitionKind, JOB_FILE, JOB_MAGIC, JobPage, PAGE, Record,
    STREAM_MAGIC, SegmentEntry, SegmentKind, StreamHeader, VERSION,
};
use tempfile::TempDir;

/// A process number that no process can have.
pub const NOBODY: u32 = 1 << 30;

/// A job directory.
pub struct Spool {
    directory: TempDir,
}

impl Spool {
    /// A job without streams, whose reader is gone.
    pub fn new() -> Spool {
        let spool = Spool { directory: tempfile::tempdir().expect("a temporary directory") };
        spool.set_page(&[
            (offset_of!(JobPage, magic), &JOB_MAGIC.to_ne_bytes()),
            (offset_of!(JobPage, version), &VERSION.to_ne_bytes()),
            (offset_of!(JobPage, reader_pid), &NOBODY.to_ne_bytes()),
        ]);
        spool
    }

    /// Changes bytes of the job page.
    pub fn set_page(&self, changes: &[(usize, &[u8])]) {
        let path = self.path().join(JOB_FILE);
        let mut page = fs::read(&path).unwrap_or_else(|_| vec![0; PAGE]);
        for (offset, bytes) in changes {
            put(&mut page, *offset, bytes);
        }
        fs::write(path, page).expect("a writable directory");
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn name(&self) -> &str {
        self.path().to_str().expect("temporary paths are text")
    }

    /// Adds a stream; gives the path of its file.
    pub fn add(&self, stream: &Stream) -> PathBuf {
        let name = format!("{}-{}-{:x}.stream", stream.pid, stream.tid, stream.process_start_ns);
        let path = self.path().join(name);
        fs::write(&path, stream.bytes()).expect("a writable directory");
        path
    }
}

/// What a thread recorded.
#[derive(Clone)]
pub struct Stream {
    pub pid: u32,
    pub tid: u32,
    pub rank: i32,
    pub process_start_ns: u64,
    pub unrecorded: [u64; 6],
    pub calls: Vec<Call>,
    definitions: Vec<u8>,
}

impl Stream {
    pub fn new(pid: u32, tid: u32) -> Stream {
        Stream {
            pid,
            tid,
            rank: -1,
            process_start_ns: 1_000_000,
            unrecorded: [0; 6],
            calls: Vec::new(),
            definitions: Vec::new(),
        }
    }

    pub fn define(&mut self, kind: DefinitionKind, id: u64, payload: &[u8]) {
        let mut header = [0; size_of::<DefinitionHeader>()];
        let published = payload.len() as u32 + 1;
        put(&mut header, offset_of!(DefinitionHeader, published), &published.to_ne_bytes());
        put(&mut header, offset_of!(DefinitionHeader, kind), &(kind as u32).to_ne_bytes());
        put(&mut header, offset_of!(DefinitionHeader, id), &id.to_ne_bytes());
        self.definitions.extend(header);
        self.definitions.extend(payload);
        self.definitions.resize(self.definitions.len().next_multiple_of(8), 0);
    }

    /// A program that writes a file in pieces of 100 bytes, again and again.
    pub fn writing(pid: u32, tid: u32, n_rounds: u64, path: &str) -> Stream {
        let mut stream = Stream::new(pid, tid);
        stream.define(DefinitionKind::Process, 0, b"/opt/bin/app\0app\0-v\0");
        stream.define(DefinitionKind::Module, 5, b"\x02id/opt/bin/app");
        for context in 1..=3_u64 {
            let frames = [5, 0x10 * context, 5, 0x99];
            let payload: Vec<u8> =
                frames.iter().flat_map(|word: &u64| word.to_ne_bytes()).collect();
            stream.define(DefinitionKind::Context, context, &payload);
        }
        stream.define(DefinitionKind::File, 7, path.as_bytes());
        for _ in 0..n_rounds {
            stream.call(Function::Open, 1, Call { result: 3, detail: 0o1101, ..Call::default() });
            for piece in 0..4 {
                let offset = 100 * piece;
                stream.call(
                    Function::Write,
                    2,
                    Call { offset, requested: 100, result: 100, ..Call::default() },
                );
            }
            stream.call(Function::Close, 3, Call::default());
        }
        stream
    }

    fn call(&mut self, function: Function, context: u64, call: Call) {
        let began = self.calls.len() as u64;
        let start_ns = self.process_start_ns + 1000 * began;
        self.calls.push(Call {
            function: function as u16,
            context,
            file: 7,
            handle: 3,
            began,
            start_ns,
            end_ns: start_ns + 200,
            ..call
        });
    }

    /// The file: a page of header, definitions, records.
    fn bytes(&self) -> Vec<u8> {
        let n_definitions = (self.definitions.len() + 8).next_multiple_of(PAGE);
        let n_records = (self.calls.len() * size_of::<Record>() + 1).next_multiple_of(PAGE);
        let mut bytes = vec![0; PAGE + n_definitions + n_records];
        put(&mut bytes, offset_of!(StreamHeader, magic), &STREAM_MAGIC.to_ne_bytes());
        for (offset, number) in [
            (offset_of!(StreamHeader, version), VERSION),
            (offset_of!(StreamHeader, pid), self.pid),
            (offset_of!(StreamHeader, tid), self.tid),
            (offset_of!(StreamHeader, rank), self.rank as u32),
            (offset_of!(StreamHeader, n_segments), 2),
        ] {
            put(&mut bytes, offset, &number.to_ne_bytes());
        }
        let start = offset_of!(StreamHeader, process_start_ns);
        put(&mut bytes, start, &self.process_start_ns.to_ne_bytes());
        for (cause, n_calls) in self.unrecorded.iter().enumerate() {
            let offset = offset_of!(StreamHeader, unrecorded) + 8 * cause;
            put(&mut bytes, offset, &n_calls.to_ne_bytes());
        }
        put_segment(&mut bytes, 0, SegmentKind::Definitions, PAGE, n_definitions);
        put_segment(&mut bytes, 1, SegmentKind::Records, PAGE + n_definitions, n_records);
        put(&mut bytes, PAGE, &self.definitions);
        for (number, call) in self.calls.iter().enumerate() {
            let offset = PAGE + n_definitions + number * size_of::<Record>();
            put_record(&mut bytes[offset..], number as u64, call);
        }
        bytes
    }
}

fn put_segment(bytes: &mut [u8], place: usize, kind: SegmentKind, offset: usize, length: usize) {
    let row = offset_of!(StreamHeader, segments) + place * size_of::<SegmentEntry>();
    put(bytes, row + offset_of!(SegmentEntry, offset), &(offset as u64).to_ne_bytes());
    put(bytes, row + offset_of!(SegmentEntry, bytes), &(length as u32).to_ne_bytes());
    put(bytes, row + offset_of!(SegmentEntry, kind), &(kind as u32).to_ne_bytes());
}

fn put_record(bytes: &mut [u8], number: u64, call: &Call) {
    put(bytes, offset_of!(Record, published), &(number + 1).to_ne_bytes());
    let bytes = &mut bytes[offset_of!(Record, call)..];
    for (offset, word) in [
        (offset_of!(Call, context), call.context),
        (offset_of!(Call, file), call.file),
        (offset_of!(Call, object), call.object),
        (offset_of!(Call, offset), call.offset as u64),
        (offset_of!(Call, requested), call.requested),
        (offset_of!(Call, result), call.result as u64),
        (offset_of!(Call, start_ns), call.start_ns),
        (offset_of!(Call, end_ns), call.end_ns),
        (offset_of!(Call, began), call.began),
    ] {
        put(bytes, offset, &word.to_ne_bytes());
    }
    put(bytes, offset_of!(Call, handle), &call.handle.to_ne_bytes());
    put(bytes, offset_of!(Call, detail), &call.detail.to_ne_bytes());
    put(bytes, offset_of!(Call, function), &call.function.to_ne_bytes());
    put(bytes, offset_of!(Call, depth), &[call.depth]);
}

fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    bytes[offset..offset + value.len()].copy_from_slice(value);
}
