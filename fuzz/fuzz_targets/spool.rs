// SPDX-License-Identifier: MIT OR Apache-2.0

//! A job directory with up to three stream files, which begin as good ones and
//! have arbitrary bytes laid over header, definitions and records, and arbitrary
//! lengths: read as a job that was left, and as one that is followed.

#![no_main]

use std::collections::HashSet;
use std::fs;
use std::mem::offset_of;
use std::path::Path;

use ioracle_spool::layout::{
    Call, DefinitionKind, MAX_DEFINITION_BYTES, PAGE, Record, STREAM_MAGIC, SegmentEntry,
    SegmentKind, StreamHeader, VERSION,
};
use ioracle_spool::selection::CONTINUATION;
use ioracle_spool::{Function, Job, Sink, StreamInfo, StreamNumber};
use libfuzzer_sys::fuzz_target;

/// Pages of a stream file before it is cut.
const N_PAGES: usize = 6;

/// Takes pieces of the input; zeros when it is used up.
struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    fn byte(&mut self) -> usize {
        self.piece(1).first().copied().unwrap_or(0).into()
    }

    fn piece(&mut self, length: usize) -> &'a [u8] {
        let (piece, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        piece
    }
}

fn put(bytes: &mut [u8], offset: usize, piece: &[u8]) {
    bytes[offset..][..piece.len()].copy_from_slice(piece);
}

/// A stream with definitions in page 1, records in pages 2 to 4 (two segments).
fn good_stream(tid: u32) -> Vec<u8> {
    let mut bytes = vec![0; N_PAGES * PAGE];
    put(&mut bytes, offset_of!(StreamHeader, magic), &STREAM_MAGIC.to_ne_bytes());
    put(&mut bytes, offset_of!(StreamHeader, version), &VERSION.to_ne_bytes());
    put(&mut bytes, offset_of!(StreamHeader, pid), &1_u32.to_ne_bytes());
    put(&mut bytes, offset_of!(StreamHeader, tid), &tid.to_ne_bytes());
    put(&mut bytes, offset_of!(StreamHeader, n_segments), &3_u32.to_ne_bytes());
    let definitions = SegmentKind::Definitions as u32;
    let records = SegmentKind::Records as u32;
    let rows = [(1, 1, definitions, 0), (2, 2, records, 0), (4, 1, records, 85_u64)];
    for (place, (page, n_pages, kind, first)) in rows.into_iter().enumerate() {
        let row = offset_of!(StreamHeader, segments) + place * size_of::<SegmentEntry>();
        let (offset, length) = ((page * PAGE) as u64, (n_pages * PAGE) as u32);
        put(&mut bytes, row + offset_of!(SegmentEntry, offset), &offset.to_ne_bytes());
        put(&mut bytes, row + offset_of!(SegmentEntry, bytes), &length.to_ne_bytes());
        put(&mut bytes, row + offset_of!(SegmentEntry, kind), &kind.to_ne_bytes());
        put(&mut bytes, row + offset_of!(SegmentEntry, first), &first.to_ne_bytes());
    }
    for number in 0..100_u64 {
        let page = if number < 85 { 2 * PAGE } else { 4 * PAGE };
        let idx = if number < 85 { number } else { number - 85 };
        let at = page + idx as usize * size_of::<Record>();
        put(&mut bytes, at, &(number + 1).to_ne_bytes());
    }
    bytes
}

/// A good stream with some of the input laid over it.
fn stream(input: &mut Input<'_>, tid: u32) -> Vec<u8> {
    let mut bytes = good_stream(tid);
    for _ in 0..input.byte() % 16 {
        let page = input.byte() % N_PAGES;
        // The beginning of a page is where most of what counts lies.
        let offset = (input.byte() % 64) * 8 + input.byte() * (input.byte() % 2) * 8;
        let length = 1 + input.byte() % 64;
        let piece = input.piece(length);
        let at = (page * PAGE + offset).min(bytes.len() - piece.len());
        put(&mut bytes, at, piece);
    }
    if input.byte() % 4 == 1 {
        bytes.truncate(input.byte() * 96 + input.byte());
    }
    bytes
}

/// Holds the reader to its promises.
#[derive(Default, PartialEq, Debug)]
struct Checked {
    known: HashSet<StreamNumber>,
    ended: HashSet<StreamNumber>,
    records: Vec<(StreamNumber, Call)>,
    definitions: Vec<(StreamNumber, u64, Vec<u8>)>,
}

impl Checked {
    fn check_open(&self, stream: StreamNumber) {
        assert!(self.known.contains(&stream) && !self.ended.contains(&stream));
    }
}

impl Sink for Checked {
    fn stream(&mut self, stream: StreamNumber, _: &StreamInfo) {
        assert!(self.known.insert(stream), "a stream is found once");
    }

    fn definition(&mut self, stream: StreamNumber, _: DefinitionKind, id: u64, payload: &[u8]) {
        self.check_open(stream);
        assert!(payload.len() <= MAX_DEFINITION_BYTES);
        self.definitions.push((stream, id, payload.to_vec()));
    }

    fn record(&mut self, stream: StreamNumber, call: &Call) {
        self.check_open(stream);
        // What continues the record of a call is no call, and is not counted as one.
        if call.function == CONTINUATION {
            return;
        }
        assert!(Function::try_from(call.function).is_ok());
        self.records.push((stream, *call));
    }

    fn ended(&mut self, stream: StreamNumber) {
        self.check_open(stream);
        self.ended.insert(stream);
    }
}

fn drain(mut job: Job) -> Checked {
    let mut sink = Checked::default();
    let n_records = job.drain(&mut sink).expect("the directory can be listed");
    assert_eq!((n_records, n_records), (sink.records.len(), job.totals().n_records as usize));
    assert_eq!(sink.known, sink.ended);
    sink
}

fuzz_target!(|bytes: &[u8]| {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let mut job = Job::create(&base, 1 << 30, 0).expect("there is room");
    let mut input = Input(bytes);
    let n_streams = 1 + input.byte() as u32 % 3;
    let mut n_places = 0;
    for tid in 0..n_streams {
        let bytes = stream(&mut input, tid);
        n_places += bytes.len() / size_of::<Record>();
        fs::write(job.directory().join(format!("1-{tid}-{tid}.stream")), bytes).expect("room");
    }
    let left = drain(Job::open(job.directory()).expect("the job page is good"));
    assert!(left.records.len() <= n_places, "more records than have room");
    let again = drain(Job::open(job.directory()).expect("the job page is good"));
    assert_eq!(left, again, "what is left is not changed by reading");

    let mut sink = Checked::default();
    for _ in 0..3 {
        job.poll(&mut sink).expect("the directory can be listed");
    }
    job.drain(&mut sink).expect("the directory can be listed");
    assert!(sink.records.len() <= n_places);
    assert_eq!(sink.known, sink.ended);
    job.remove().expect("nothing else lies there");
});
