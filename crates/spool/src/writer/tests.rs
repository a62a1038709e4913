// SPDX-License-Identifier: MIT OR Apache-2.0

//! The writer over a host of plain memory.

use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;
use core::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::*;
use crate::layout::{DefinitionHeader, DefinitionKind, MAX_DEFINITION_BYTES, Record, SegmentEntry};

/// 64 bytes, aligned as mappings are.
#[repr(align(64))]
#[derive(Clone)]
struct Line {
    _bytes: [u8; 64],
}

/// A file system of that many bytes, in memory.
struct Memory {
    room: usize,
    mappings: Vec<Box<[Line]>>,
    n_asked: usize,
    n_woken: usize,
    n_pauses: usize,
    reader_lives: bool,
    /// What happens while the writer waits for the reader.
    on_pause: fn(&Memory),
}

impl Memory {
    fn new(room: usize) -> Memory {
        Memory {
            room,
            mappings: Vec::new(),
            n_asked: 0,
            n_woken: 0,
            n_pauses: 0,
            reader_lives: true,
            on_pause: |_| {},
        }
    }

    fn map(&mut self, bytes: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        self.n_asked += 1;
        self.room = self.room.checked_sub(bytes).ok_or(UnrecordedCause::NoRoom)?;
        let mut mapping = vec![Line { _bytes: [0; 64] }; bytes / 64].into_boxed_slice();
        let base = NonNull::from(&mut *mapping).cast();
        self.mappings.push(mapping);
        Ok(base)
    }

    fn header(&self) -> &StreamHeader {
        // SAFETY: the first mapping begins with the header.
        unsafe { &*self.mappings[0].as_ptr().cast() }
    }

    fn entries(&self) -> &[SegmentEntry] {
        let header = self.header();
        &header.segments[..header.n_segments.load(SeqCst) as usize]
    }

    /// Where a segment lies in memory.
    fn segment(&self, place: usize) -> *const u8 {
        match place {
            0 | 1 => self.mappings[0].as_ptr().cast::<u8>().wrapping_add(PAGE * (place + 1)),
            _ => self.mappings[place - 1].as_ptr().cast(),
        }
    }

    /// Numbers and sizes of all published records.
    fn records(&self) -> Vec<(u64, u64)> {
        let mut records = Vec::new();
        for (place, entry) in self.entries().iter().enumerate() {
            if entry.kind != SegmentKind::Records as u32 {
                continue;
            }
            let first = entry.first.load(SeqCst);
            for idx in 0..entry.bytes as usize / size_of::<Record>() {
                // SAFETY: that many records lie in the segment.
                let record = unsafe { &*self.segment(place).cast::<Record>().add(idx) };
                let number = first + idx as u64;
                if record.published.load(SeqCst) == number + 1 {
                    records.push((number, record.call.requested));
                }
            }
        }
        records.sort_unstable();
        records
    }

    /// Identities and payloads of all published definitions.
    fn definitions(&self) -> Vec<(u64, Vec<u8>)> {
        let mut definitions = Vec::new();
        for (place, entry) in self.entries().iter().enumerate() {
            if entry.kind != SegmentKind::Definitions as u32 {
                continue;
            }
            let mut used = 0;
            while used + size_of::<DefinitionHeader>() <= entry.bytes as usize {
                let at = self.segment(place).wrapping_add(used);
                // SAFETY: the header lies in the segment.
                let header = unsafe { &*at.cast::<DefinitionHeader>() };
                let Some(length) = header.published.load(SeqCst).checked_sub(1) else { break };
                // SAFETY: the writer has put that many bytes behind the header.
                let payload =
                    unsafe { core::slice::from_raw_parts(at.wrapping_add(16), length as usize) };
                definitions.push((header.id, payload.to_vec()));
                used += 16 + (length as usize).next_multiple_of(8);
            }
        }
        definitions
    }

    /// Does what the reader does with the segments before the last.
    fn consume_all_but_the_last(&self) {
        let last = self.entries().iter().map(|entry| entry.first.load(SeqCst)).max();
        for entry in self.entries() {
            let first = entry.first.load(SeqCst);
            if entry.kind == SegmentKind::Records as u32 && Some(first) != last {
                entry.consumed.store(first + u64::from(entry.bytes) / 96, SeqCst);
            }
        }
    }

    fn unrecorded(&self, cause: UnrecordedCause) -> u64 {
        self.header().unrecorded[cause as usize].load(SeqCst)
    }
}

// SAFETY: boxes of lines are aligned to 64 bytes, zeroed, and live as long as
// the host; unmapping only checks that they were given out.
unsafe impl Host for Memory {
    fn create(&mut self, _: &StreamName, bytes: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        self.map(bytes)
    }

    fn extend(
        &mut self,
        _: &StreamName,
        _: u64,
        bytes: usize,
    ) -> Result<NonNull<u8>, UnrecordedCause> {
        self.map(bytes)
    }

    fn unmap(&mut self, address: NonNull<u8>, bytes: usize) {
        let place = self
            .mappings
            .iter()
            .position(|mapping| mapping.as_ptr().cast() == address.as_ptr().cast_const());
        let mapping = self.mappings.remove(place.expect("it was mapped"));
        assert_eq!(mapping.len() * 64, bytes);
    }

    fn wake(&mut self, _: &AtomicU32) {
        self.n_woken += 1;
    }

    fn reader_is_alive(&mut self, _: u32) -> bool {
        self.reader_lives
    }

    fn pause(&mut self) {
        self.n_pauses += 1;
        (self.on_pause)(self);
    }
}

fn job(limit_bytes: u64) -> JobPage {
    // SAFETY: a job page is numbers only.
    let job: JobPage = unsafe { core::mem::zeroed() };
    job.open.store(1, SeqCst);
    job.limit_bytes.store(limit_bytes, SeqCst);
    job
}

fn call(size: u64) -> Call {
    Call { requested: size, ..Call::default() }
}

fn numbered(n_records: u64) -> Vec<(u64, u64)> {
    (0..n_records).map(|number| (number, number)).collect()
}

const ROOMY: usize = 1 << 30;

fn started(memory: &mut Memory, job: &JobPage) -> Writer {
    Writer::start(
        memory,
        job,
        &StreamIdentity { pid: 7, tid: 8, rank: -1, ..StreamIdentity::default() },
    )
    .expect("there is room")
}

#[test]
fn a_stream_begins_with_16_kib_and_its_identity() {
    let (mut memory, job) = (Memory::new(ROOMY), job(u64::MAX));
    let _writer = started(&mut memory, &job);
    let header = memory.header();
    assert_eq!(header.magic.load(SeqCst), STREAM_MAGIC);
    assert_eq!((header.pid, header.tid, header.rank), (7, 8, -1));
    assert_eq!(job.taken_bytes.load(SeqCst), 16 * 1024);
    assert_eq!(job.n_streams.load(SeqCst), 1);
}

#[test]
fn room_made_in_advance_is_used_without_asking_the_system() {
    let (mut memory, job) = (Memory::new(ROOMY), job(u64::MAX));
    let writer = started(&mut memory, &job);
    writer.append(&mut memory, &job, &call(0));
    writer.reserve(&mut memory, &job);
    writer.reserve(&mut memory, &job);
    assert_eq!(memory.mappings.len(), 3, "the first one, records and definitions");
    memory.room = 0;
    let n_asked = memory.n_asked;
    // 85 in the first segment and 682 in the second.
    for size in 1..85 + 682 {
        writer.append(&mut memory, &job, &call(size));
    }
    assert_eq!(memory.records(), numbered(85 + 682));
    assert!(writer.define(&mut memory, &job, DefinitionKind::File, 1, &[&[b'x'; 60_000]]));
    assert_eq!(memory.n_asked, n_asked);
    writer.append(&mut memory, &job, &call(0));
    assert_eq!(memory.header().unrecorded[UnrecordedCause::NoRoom as usize].load(SeqCst), 1);
}

#[test]
fn records_are_numbered_through_all_segments() {
    let (mut memory, job) = (Memory::new(ROOMY), job(u64::MAX));
    let writer = started(&mut memory, &job);
    for size in 0..10_000 {
        writer.append(&mut memory, &job, &call(size));
    }
    assert_eq!(memory.records(), numbered(10_000));
    let sizes: Vec<u32> = memory.entries().iter().map(|entry| entry.bytes / 1024).collect();
    assert_eq!(sizes, [4, 8, 16, 32, 64, 128, 256, 512]);
}

#[test]
fn consumed_segments_are_taken_again_before_the_file_grows() {
    let (mut memory, job) = (Memory::new(ROOMY), job(u64::MAX));
    let writer = started(&mut memory, &job);
    for size in 0..1_000_000 {
        writer.append(&mut memory, &job, &call(size));
        memory.consume_all_but_the_last();
    }
    assert_eq!(memory.header().n_segments.load(SeqCst), 3);
    assert_eq!(memory.records().last(), Some(&(999_999, 999_999)));
}

#[test]
fn calls_beyond_the_limit_are_counted_until_the_reader_has_consumed_something() {
    let (mut memory, job) = (Memory::new(ROOMY), job(16 * 1024 + 16 * 1024));
    let writer = started(&mut memory, &job);
    let fits = 8192 / 96 + 16384 / 96;
    for size in 0..fits + 5000 {
        writer.append(&mut memory, &job, &call(size));
    }
    assert_eq!(memory.records(), numbered(fits));
    assert_eq!(memory.unrecorded(UnrecordedCause::Limit), 5000);
    memory.consume_all_but_the_last();
    writer.append(&mut memory, &job, &call(fits));
    assert_eq!(memory.records().last(), Some(&(fits, fits)));
    assert_eq!(job.taken_bytes.load(SeqCst), 32 * 1024);
}

#[test]
fn on_a_full_disk_smaller_segments_are_tried_and_the_system_is_rarely_asked() {
    let (mut memory, job) = (Memory::new(16 * 1024 + 16 * 1024 + 8 * 1024), job(u64::MAX));
    let writer = started(&mut memory, &job);
    let fits = 8192 / 96 + 16384 / 96 + 8192 / 96;
    for size in 0..fits + 10 * 1024 {
        writer.append(&mut memory, &job, &call(size));
    }
    assert_eq!(memory.records(), numbered(fits));
    assert_eq!(memory.unrecorded(UnrecordedCause::NoRoom), 10 * 1024);
    assert!(memory.n_asked < 60, "asked {} times", memory.n_asked);
    assert_eq!(job.taken_bytes.load(SeqCst), 40 * 1024);
}

#[test]
fn a_stream_that_cannot_begin_costs_nothing() {
    let (mut memory, job) = (Memory::new(100), job(u64::MAX));
    let started = Writer::start(&mut memory, &job, &StreamIdentity::default());
    assert_eq!(started.err(), Some(UnrecordedCause::NoRoom));
    assert_eq!(job.taken_bytes.load(SeqCst), 0);
    assert_eq!(job.n_streams.load(SeqCst), 0);
}

#[test]
fn a_writer_waits_for_a_living_reader_if_the_job_wants_that() {
    let (mut memory, job) = (Memory::new(ROOMY), job(32 * 1024));
    job.wait_ms.store(100, SeqCst);
    job.reader_pid.store(1, SeqCst);
    memory.on_pause = Memory::consume_all_but_the_last;
    let writer = started(&mut memory, &job);
    for size in 0..100_000 {
        writer.append(&mut memory, &job, &call(size));
    }
    assert_eq!(memory.unrecorded(UnrecordedCause::Limit), 0);
    assert_eq!(memory.records().last(), Some(&(99_999, 99_999)));
    assert!(memory.n_pauses > 100);
}

#[test]
fn a_reader_that_is_dead_or_stuck_is_not_waited_for_long() {
    for lives in [false, true] {
        let (mut memory, job) = (Memory::new(ROOMY), job(32 * 1024));
        memory.reader_lives = lives;
        job.wait_ms.store(50, SeqCst);
        job.reader_pid.store(1, SeqCst);
        let writer = started(&mut memory, &job);
        for size in 0..1200 {
            writer.append(&mut memory, &job, &call(size));
        }
        assert_eq!(memory.n_pauses, if lives { 50 } else { 0 });
        assert_eq!(memory.unrecorded(UnrecordedCause::Limit), 1200 - 255);
    }
}

#[test]
fn definitions_fill_their_segments_in_order() {
    let (mut memory, job) = (Memory::new(ROOMY), job(u64::MAX));
    let writer = started(&mut memory, &job);
    let mut expected = Vec::new();
    for id in 0..2000_u64 {
        let payload = vec![id as u8; id as usize];
        let (head, tail) = payload.split_at(payload.len() / 3);
        assert!(writer.define(&mut memory, &job, DefinitionKind::File, id, &[head, tail]));
        expected.push((id, payload));
    }
    assert!(memory.definitions() == expected);
}

#[test]
fn a_definition_that_is_too_long_is_refused_and_the_longest_is_not() {
    let (mut memory, job) = (Memory::new(ROOMY), job(u64::MAX));
    let writer = started(&mut memory, &job);
    let payload = vec![7; MAX_DEFINITION_BYTES + 1];
    assert!(!writer.define(&mut memory, &job, DefinitionKind::File, 1, &[&payload]));
    assert!(writer.define(&mut memory, &job, DefinitionKind::File, 2, &[&payload[1..]]));
    assert_eq!(memory.definitions(), [(2, payload[1..].to_vec())]);
}

#[test]
fn places_are_kept_for_definitions_when_records_have_taken_all_others() {
    let (mut memory, job) = (Memory::new(ROOMY), job(1 << 20));
    // Segments are as small as for a small limit, which is never reached.
    job.returned_bytes.store(u64::MAX / 2, SeqCst);
    let writer = started(&mut memory, &job);
    for size in 0..80 * 22_000 {
        writer.append(&mut memory, &job, &call(size));
    }
    assert_eq!(memory.header().n_segments.load(SeqCst), 80);
    assert!(memory.unrecorded(UnrecordedCause::Limit) > 0);
    for id in 0..1000 {
        assert!(writer.define(&mut memory, &job, DefinitionKind::File, id, &[&[1; 500]]));
    }
}

/// A thread stopped at 77 to 137 MB of 256, for want of places in its table.
#[test]
fn a_single_thread_can_take_all_of_the_limit() {
    const LIMIT: u64 = 256 << 20;
    let (mut memory, job) = (Memory::new(ROOMY), job(LIMIT));
    let writer = started(&mut memory, &job);
    let mut n_recorded = 0;
    while memory.unrecorded(UnrecordedCause::Limit) == 0 {
        writer.append(&mut memory, &job, &call(n_recorded));
        n_recorded += 1;
    }
    let taken = job.taken_bytes.load(SeqCst);
    assert!(taken > LIMIT - 16 * 1024, "{taken} bytes");
    assert!(n_recorded * 96 > LIMIT / 100 * 99, "{n_recorded} records");
}

#[test]
fn the_reader_is_woken_once_when_it_sleeps_and_a_batch_is_full() {
    let (mut memory, job) = (Memory::new(ROOMY), job(u64::MAX));
    let writer = started(&mut memory, &job);
    job.sleeping.0.store(1, SeqCst);
    for size in 0..63 {
        writer.append(&mut memory, &job, &call(size));
    }
    assert_eq!(memory.n_woken, 0);
    writer.append(&mut memory, &job, &call(63));
    assert_eq!(memory.n_woken, 1);
    for size in 64..200 {
        writer.append(&mut memory, &job, &call(size));
    }
    assert_eq!(memory.n_woken, 1);
}

#[test]
fn a_finished_writer_has_unmapped_everything_and_writes_nowhere() {
    let (mut memory, job) = (Memory::new(ROOMY), job(u64::MAX));
    let writer = started(&mut memory, &job);
    for size in 0..1000 {
        writer.append(&mut memory, &job, &call(size));
    }
    writer.finish(&mut memory);
    assert!(memory.mappings.is_empty());
    writer.append(&mut memory, &job, &call(1));
    writer.count_unrecorded(UnrecordedCause::Borrowed);
    assert!(!writer.define(&mut memory, &job, DefinitionKind::File, 1, &[b"x"]));
    writer.repair();
    writer.append(&mut memory, &job, &call(1));
    assert!(memory.mappings.is_empty());
}

#[test]
fn a_job_page_full_of_lies_costs_records_only() {
    let (mut memory, job) = (Memory::new(ROOMY), job(u64::MAX));
    let writer = started(&mut memory, &job);
    job.taken_bytes.store(u64::MAX, SeqCst);
    job.open.store(77, SeqCst);
    job.sleeping.0.store(u32::MAX, SeqCst);
    for entry in memory.entries() {
        entry.consumed.store(u64::MAX, SeqCst);
        entry.first.store(u64::MAX, SeqCst);
    }
    memory.header().n_segments.store(u32::MAX, SeqCst);
    for size in 0..100_000 {
        writer.append(&mut memory, &job, &call(size));
    }
    assert!(writer.next.load(Relaxed) >= 85);
}

/// A handler that jumped away from the middle of a segment change, after each
/// of its steps, leaves a writer that goes on.
#[test]
fn a_writer_goes_on_after_it_was_left_by_a_jump() {
    let (mut memory, job) = (Memory::new(ROOMY), job(u64::MAX));
    let writer = started(&mut memory, &job);
    for size in 0..85 {
        writer.append(&mut memory, &job, &call(size));
    }
    // The segment is made, yet not current; the flag is set.
    let before = writer.current.load(Relaxed);
    writer.append(&mut memory, &job, &call(85));
    writer.next.fetch_sub(1, Relaxed);
    writer.current.store(before, Relaxed);
    writer.busy.store(true, Relaxed);
    writer.append(&mut memory, &job, &call(0));
    assert_eq!(memory.unrecorded(UnrecordedCause::Interrupted), 1);
    writer.repair();
    for size in 85..200 {
        writer.append(&mut memory, &job, &call(size));
    }
    assert_eq!(memory.records(), numbered(200));

    // A definition is published, yet not counted; then one half written.
    assert!(writer.define(&mut memory, &job, DefinitionKind::File, 1, &[b"first"]));
    writer.definitions.store(0, 0);
    assert!(writer.define(&mut memory, &job, DefinitionKind::File, 2, &[&[0xff; 100]]));
    let (place, used) = writer.definitions.load();
    let base = memory.segment(place).cast_mut().wrapping_add(24);
    // SAFETY: the second definition begins there.
    unsafe { &(*base.cast::<DefinitionHeader>()).published }.store(0, SeqCst);
    writer.definitions.store(place, 24);
    assert!(used > 24);
    assert!(writer.define(&mut memory, &job, DefinitionKind::File, 3, &[b"short"]));
    assert_eq!(memory.definitions(), [(1, b"first".to_vec()), (3, b"short".to_vec())]);
}
