// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where a writer finds room: in a segment that the reader has consumed, else
//! at the end of the file, within the job's limit.
//!
//! Each segment of records is about as large as the whole file before it, from 8 KiB
//! to a share of the job's limit; where that is too much, half is tried, and so on.
//! When there is no room at all, each call looks whether the reader has consumed a
//! segment (some dozen loads), and every [`RETRY`]th asks the system again.

use core::ptr::NonNull;
use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicU32, AtomicU64};

use super::{Host, Writer};
use crate::layout::{
    FIRST_BYTES, JobPage, MAX_DEFINITION_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS, PAGE, SPARE_BYTES,
    SegmentEntry, SegmentKind, UnrecordedCause,
};

/// The largest segments that a job with the usual limit makes: allocating one takes
/// a call of the program half a millisecond.
const USUAL_SEGMENT_BYTES: usize = 2 * 1024 * 1024;
/// The largest segment of other jobs is the power of 2 below this part of their
/// limit: with fewer than 48 of them, and some 20 small ones at the beginning and at
/// the end, a thread reaches the limit, and its table has 80 places.
const SEGMENTS_OF_LIMIT: u64 = 24;
/// Smallest segment of records.
const MIN_RECORDS_BYTES: usize = FIRST_BYTES - 2 * PAGE;
/// Places in the table that are kept for definitions.
const DEFINITIONS_SEGMENTS: usize = 16;
/// Calls without room between two attempts to extend the file.
const RETRY: u32 = 1024;
/// Bytes of records, and of definitions, that are made in advance.
const RESERVED_BYTES: usize = 64 * 1024;
/// Longest wait for the reader, whatever the job page says.
const MAX_WAIT_MS: u32 = 60_000;

impl Writer {
    /// Makes a segment current in which the next record has its place.
    pub(super) fn open_records(
        &self,
        host: &mut impl Host,
        job: &JobPage,
    ) -> Result<(), UnrecordedCause> {
        let current =
            self.segments.get(self.current.load(Relaxed)).ok_or(UnrecordedCause::NoRoom)?;
        if current.holds(self.next.load(Relaxed)) {
            return Ok(());
        }
        let first = current.end();
        if let Some(place) = self.segment_from(first) {
            self.current.store(place, Relaxed);
            self.records_stall.end();
            return Ok(());
        }
        if let Some(place) = self.consumed_segment() {
            self.recycle(place, first);
            self.records_stall.end();
            return Ok(());
        }
        self.records_stall.check()?;
        let largest = largest_segment(job.limit_bytes.load(Relaxed));
        let file_bytes = usize::try_from(self.file_bytes.load(Relaxed)).unwrap_or(usize::MAX);
        // A power of 2, so that a half of it, and a half of that, is made of pages.
        let wanted = 1 << file_bytes.clamp(MIN_RECORDS_BYTES, largest).ilog2();
        let place = self
            .extend_records(host, job, wanted, first)
            .map_err(|cause| self.records_stall.begin(cause))?;
        self.current.store(place, Relaxed);
        self.records_stall.end();
        Ok(())
    }

    /// Makes room in advance for a process that is about to lose the right to allocate:
    /// with it, a stream that is read in time can continue forever. Done once for each
    /// stream.
    pub fn reserve(&self, host: &mut impl Host, job: &JobPage) {
        let is_reserved = |wanted: bool, enough: usize| {
            let of_kind = self.segments.iter().filter(|it| it.is_records() == wanted);
            of_kind.map(|it| it.bytes()).max().is_some_and(|bytes| bytes >= enough)
        };
        host.uninterrupted(|host| {
            let _ = self.guarded(|| {
                let current = self.segments.get(self.current.load(Relaxed));
                let first = current.map_or(0, |segment| segment.end());
                if !is_reserved(true, RESERVED_BYTES) && self.segment_from(first).is_none() {
                    self.extend_records(host, job, RESERVED_BYTES, first)?;
                }
                if !is_reserved(false, RESERVED_BYTES) {
                    let kind = SegmentKind::Definitions;
                    let place = self.extend(host, job, kind, RESERVED_BYTES, 0)?;
                    self.definitions.store(place, 0);
                }
                Ok(())
            });
        });
    }

    /// The segment made in advance for the records from a number on.
    fn segment_from(&self, first: u64) -> Option<usize> {
        let n_segments = self.n_segments.load(Relaxed);
        let mut segments = self.segments.iter().take(n_segments);
        segments.position(|segment| segment.is_records() && segment.first() == first)
    }

    /// Why there was no room, if there is none now and it is too early to ask
    /// the system again.
    pub(super) fn still_no_room(&self) -> Option<UnrecordedCause> {
        match self.consumed_segment() {
            Some(_) => None,
            None => self.records_stall.check().err(),
        }
    }

    /// Waits, if the job wants that, until the reader has consumed a segment.
    pub(super) fn wait_for_reader(&self, host: &mut impl Host, job: &JobPage) -> bool {
        for _ in 0..job.wait_ms.load(Relaxed).min(MAX_WAIT_MS) {
            let reader = job.reader_pid.load(Relaxed);
            if reader == 0 || job.open.load(Relaxed) == 0 || !host.reader_is_alive(reader) {
                return false;
            }
            self.wake(host, job);
            host.pause();
            if self.consumed_segment().is_some() {
                return true;
            }
        }
        false
    }

    /// Makes a segment for definitions that takes one of `needed` bytes.
    pub(super) fn open_definitions(
        &self,
        host: &mut impl Host,
        job: &JobPage,
        needed: usize,
    ) -> Result<usize, UnrecordedCause> {
        self.definitions_stall.check()?;
        let last = self.segments.get(self.definitions.load().0).map_or(PAGE, |it| it.bytes());
        let bytes = last
            .saturating_mul(4)
            .max(needed.checked_next_multiple_of(PAGE).unwrap_or(needed))
            .min(USUAL_SEGMENT_BYTES);
        let place = self
            .extend(host, job, SegmentKind::Definitions, bytes, 0)
            .map_err(|cause| self.definitions_stall.begin(cause))?;
        self.definitions_stall.end();
        self.definitions.store(place, 0);
        Ok(place)
    }

    /// Enters a mapping into the table.
    pub(super) fn add_segment(
        &self,
        kind: SegmentKind,
        base: NonNull<u8>,
        offset: u64,
        bytes: usize,
        first: u64,
    ) -> Option<usize> {
        let place = self.n_segments.load(Relaxed);
        let segment = self.segments.get(place)?;
        let entry = self.entry(place)?;
        match kind {
            SegmentKind::Records => segment.hold_records(base, bytes, first),
            SegmentKind::Definitions => segment.hold_definitions(base, bytes),
        }
        let header = self.header.load(Relaxed);
        // SAFETY: `entry` has found a mapped header and a place in its table, and
        // the reader does not look at a place before it is counted.
        unsafe {
            (&raw mut (*entry).offset).write(offset);
            (&raw mut (*entry).bytes).write(bytes as u32);
            (&raw mut (*entry).kind).write(kind as u32);
            (*entry).first.store(first, Relaxed);
            (*entry).consumed.store(first, Relaxed);
            // Our own table first: a handler that jumps away between the two stores
            // must not make another segment at a place that the reader has seen.
            let n_segments = place.wrapping_add(1);
            self.n_segments.store(n_segments, Relaxed);
            (*header).n_segments.store(n_segments as u32, Release);
        }
        Some(place)
    }

    /// Sets the current segments to the last ones made.
    pub(super) fn find_ends(&self) {
        let current = self.segments.get(self.current.load(Relaxed));
        let end = current.map(|segment| segment.end());
        let n_segments = self.n_segments.load(Relaxed);
        for (place, segment) in self.segments.iter().enumerate().take(n_segments) {
            if segment.is_records() {
                if Some(segment.first()) == end {
                    self.current.store(place, Relaxed);
                }
            } else if place > self.definitions.load().0 {
                self.definitions.store(place, 0);
            }
        }
    }

    /// The largest segment of records that the reader is done with.
    fn consumed_segment(&self) -> Option<usize> {
        let n_segments = self.n_segments.load(Relaxed);
        let consumed = self.segments.iter().enumerate().take(n_segments).filter(|(place, it)| {
            it.is_records()
                && self.entry(*place).is_some_and(|entry| {
                    // SAFETY: `entry` has found a mapped header and a place in its table.
                    unsafe { &(*entry).consumed }.load(Acquire) == it.end()
                })
        });
        consumed.max_by_key(|(_, segment)| segment.bytes()).map(|(place, _)| place)
    }

    /// Makes a consumed segment the current one.
    fn recycle(&self, place: usize, first: u64) {
        if let (Some(entry), Some(segment)) = (self.entry(place), self.segments.get(place)) {
            // SAFETY: `entry` has found a mapped header and a place in its table.
            unsafe { &(*entry).first }.store(first, Release);
            segment.restart(first);
            self.current.store(place, Relaxed);
        }
    }

    /// Adds a segment of `wanted` bytes, or as much as there is room for.
    fn extend_records(
        &self,
        host: &mut impl Host,
        job: &JobPage,
        wanted: usize,
        first: u64,
    ) -> Result<usize, UnrecordedCause> {
        let mut bytes = wanted;
        loop {
            match self.extend(host, job, SegmentKind::Records, bytes, first) {
                Err(UnrecordedCause::Limit | UnrecordedCause::NoRoom)
                    if bytes > MIN_RECORDS_BYTES =>
                {
                    bytes /= 2;
                }
                done => return done,
            }
        }
    }

    /// Adds a segment at the end of the file.
    fn extend(
        &self,
        host: &mut impl Host,
        job: &JobPage,
        kind: SegmentKind,
        bytes: usize,
        first: u64,
    ) -> Result<usize, UnrecordedCause> {
        let n_places = match kind {
            SegmentKind::Records => MAX_SEGMENTS - DEFINITIONS_SEGMENTS,
            SegmentKind::Definitions => MAX_SEGMENTS,
        };
        // A job that is closed has no reader who would give anything back.
        if self.n_segments.load(Relaxed) >= n_places || job.open.load(Relaxed) == 0 {
            return Err(UnrecordedCause::Limit);
        }
        charge(job, bytes)?;
        self.note_charged(bytes);
        let offset = self.file_bytes.load(Relaxed);
        let base = host.extend(&self.name, offset, bytes).inspect_err(|_| {
            self.note_charged(bytes.wrapping_neg());
            give_back(job, bytes);
        })?;
        self.file_bytes.store(offset.wrapping_add(bytes as u64), Relaxed);
        self.add_segment(kind, base, offset, bytes, first).ok_or(UnrecordedCause::Limit)
    }

    /// Notes in the file what the reader has to give back.
    pub(super) fn note_charged(&self, bytes: usize) {
        // SAFETY: the header is mapped as long as the pointer is not null.
        if let Some(header) = unsafe { self.header.load(Relaxed).as_ref() } {
            header.charged_bytes.fetch_add(bytes as u64, Relaxed);
        }
    }

    /// A row of the file's table, if the header is mapped and has it.
    fn entry(&self, place: usize) -> Option<*mut SegmentEntry> {
        let header = self.header.load(Relaxed);
        if header.is_null() || place >= MAX_SEGMENTS {
            return None;
        }
        // SAFETY: the header is mapped, and the place lies in its table.
        Some(unsafe { (&raw mut (*header).segments).cast::<SegmentEntry>().add(place) })
    }
}

impl JobPage {
    /// Takes the room of a stream that is made in advance from the job's limit; whether
    /// there is enough.
    pub fn charge_spare(&self) -> bool {
        charge(self, SPARE_BYTES).is_ok()
    }

    /// Gives that back.
    pub fn give_spare_back(&self) {
        give_back(self, SPARE_BYTES);
    }
}

/// Takes `bytes` from the job's limit.
pub(super) fn charge(job: &JobPage, bytes: usize) -> Result<(), UnrecordedCause> {
    let limit: &AtomicU64 = &job.limit_bytes;
    let taken = job.taken_bytes.fetch_add(bytes as u64, Relaxed).saturating_add(bytes as u64);
    if taken.saturating_sub(job.returned_bytes.load(Relaxed)) > limit.load(Relaxed) {
        give_back(job, bytes);
        return Err(UnrecordedCause::Limit);
    }
    Ok(())
}

/// Whether more than half of the job's limit is taken.
pub(super) fn is_short(job: &JobPage) -> bool {
    let taken = job.taken_bytes.load(Relaxed);
    taken.saturating_sub(job.returned_bytes.load(Relaxed)) > job.limit_bytes.load(Relaxed) / 2
}

/// The largest segment of records in a job with this limit.
fn largest_segment(limit_bytes: u64) -> usize {
    let share = usize::try_from(limit_bytes / SEGMENTS_OF_LIMIT).unwrap_or(usize::MAX);
    share.clamp(USUAL_SEGMENT_BYTES, MAX_SEGMENT_BYTES)
}

/// Undoes [`charge`].
pub(super) fn give_back(job: &JobPage, bytes: usize) {
    job.taken_bytes.fetch_sub(bytes as u64, Relaxed);
}

/// Remembers that there was no room, so as not to ask the system every time.
pub(super) struct Stall {
    /// Calls refused since there was no room; 0: there is some.
    n_calls: AtomicU32,
    /// Place of the cause among all.
    cause: AtomicU32,
}

impl Stall {
    pub(super) const fn new() -> Stall {
        Stall { n_calls: AtomicU32::new(0), cause: AtomicU32::new(0) }
    }

    /// Whether to ask the system; else the cause of the last refusal.
    fn check(&self) -> Result<(), UnrecordedCause> {
        let n_calls = self.n_calls.load(Relaxed);
        if n_calls.is_multiple_of(RETRY) {
            return Ok(());
        }
        self.n_calls.store(n_calls.wrapping_add(1), Relaxed);
        let cause = UnrecordedCause::ALL.get(self.cause.load(Relaxed) as usize);
        Err(cause.copied().unwrap_or(UnrecordedCause::NoRoom))
    }

    fn begin(&self, cause: UnrecordedCause) -> UnrecordedCause {
        self.cause.store(cause as u32, Relaxed);
        self.n_calls.store(1, Relaxed);
        cause
    }

    fn end(&self) {
        self.n_calls.store(0, Relaxed);
    }
}

const _: () = assert!(MAX_DEFINITION_BYTES + PAGE <= USUAL_SEGMENT_BYTES);
