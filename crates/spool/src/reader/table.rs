// SPDX-License-Identifier: MIT OR Apache-2.0

//! The first page of a stream file, taken apart without trust: what does not
//! hold together is left out and reported.

use std::mem::offset_of;

use crate::layout::{
    FIRST_BYTES, MAX_SEGMENT_BYTES, MAX_SEGMENTS, PAGE, Record, STREAM_MAGIC, SegmentEntry,
    SegmentKind, StreamHeader, UnrecordedCause, VERSION,
};

/// Higher counts of calls and numbers of records are false: a thread that makes a call
/// every 100 ns needs most of a year for that many.
pub(super) const MAX_COUNT: u64 = 1 << 48;
/// What is reported about such counts.
pub(super) const COUNTS_OVERWRITTEN: &str = "its counts were overwritten";

/// Largest stream.
const MAX_STREAM_BYTES: u64 = (FIRST_BYTES + MAX_SEGMENTS * MAX_SEGMENT_BYTES) as u64;

/// What a first page says.
pub(super) enum FirstPage {
    /// The writer has not come this far, or was killed before.
    Empty,
    /// Not the header of a stream, and why.
    Foreign(&'static str),
    /// A header.
    Header(Header),
}

/// What a header says, as far as it is believed.
pub(super) struct Header {
    pub(super) finished: bool,
    pub(super) pid: u32,
    pub(super) tid: u32,
    pub(super) parent_pid: u32,
    pub(super) rank: Option<u32>,
    pub(super) world_size: u32,
    pub(super) process_start_ns: u64,
    pub(super) process_start_realtime_ns: u64,
    pub(super) begin_ns: u64,
    /// 0 if it has not ended in order.
    pub(super) end_ns: u64,
    pub(super) unrecorded: [u64; UnrecordedCause::COUNT],
    /// At most what a stream can take.
    pub(super) charged_bytes: u64,
    /// Rows of the table that are in use, as the file says.
    pub(super) n_rows: u32,
    /// Segments that lie in the file and not in each other, as in the table.
    pub(super) segments: Vec<CheckedSegment>,
    /// What was wrong with others.
    pub(super) fault: Option<&'static str>,
}

/// A segment that has been checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CheckedSegment {
    /// Row in the table.
    pub(super) place: usize,
    pub(super) offset: u64,
    pub(super) bytes: u32,
    /// 0 for definitions.
    pub(super) n_records: u64,
    pub(super) first: u64,
}

impl CheckedSegment {
    pub(super) fn is_definitions(&self) -> bool {
        self.n_records == 0
    }

    pub(super) fn end(&self) -> u64 {
        self.first + self.n_records
    }

    pub(super) fn holds(&self, number: u64) -> bool {
        (self.first..self.end()).contains(&number)
    }
}

/// Takes the first page of a file of `file_bytes` apart.
pub(super) fn parse(page: &[u8; PAGE], file_bytes: u64) -> FirstPage {
    match u64_at(page, offset_of!(StreamHeader, magic)) {
        STREAM_MAGIC => {}
        0 => return FirstPage::Empty,
        _ => return FirstPage::Foreign("it does not begin as a stream"),
    }
    if u32_at(page, offset_of!(StreamHeader, version)) != VERSION {
        return FirstPage::Foreign("it was made by another version");
    }
    let n_rows = u32_at(page, offset_of!(StreamHeader, n_segments));
    let mut segments: Vec<CheckedSegment> = Vec::new();
    let mut fault = (n_rows as usize > MAX_SEGMENTS).then_some("its table of segments is too long");
    for place in 0..MAX_SEGMENTS.min(n_rows as usize) {
        match segment(page, place, file_bytes) {
            Ok(new) if segments.iter().any(|segment| overlap(segment, &new)) => {
                fault = Some("segments overlap");
            }
            Ok(new) => segments.push(new),
            Err(wrong) => fault = Some(wrong),
        }
    }
    let count_at = |cause| u64_at(page, offset_of!(StreamHeader, unrecorded) + 8 * cause);
    let mut unrecorded: [u64; UnrecordedCause::COUNT] = std::array::from_fn(count_at);
    if unrecorded.iter().any(|count| *count > MAX_COUNT) {
        unrecorded = [0; UnrecordedCause::COUNT];
        fault = fault.or(Some(COUNTS_OVERWRITTEN));
    }
    FirstPage::Header(Header {
        finished: u32_at(page, offset_of!(StreamHeader, finished)) == 1,
        pid: u32_at(page, offset_of!(StreamHeader, pid)),
        tid: u32_at(page, offset_of!(StreamHeader, tid)),
        parent_pid: u32_at(page, offset_of!(StreamHeader, parent_pid)),
        rank: u32::try_from(u32_at(page, offset_of!(StreamHeader, rank)) as i32).ok(),
        world_size: u32_at(page, offset_of!(StreamHeader, world_size)),
        process_start_ns: u64_at(page, offset_of!(StreamHeader, process_start_ns)),
        begin_ns: u64_at(page, offset_of!(StreamHeader, begin_ns)),
        end_ns: u64_at(page, offset_of!(StreamHeader, end_ns)),
        process_start_realtime_ns: u64_at(
            page,
            offset_of!(StreamHeader, process_start_realtime_ns),
        ),
        unrecorded,
        charged_bytes: u64_at(page, offset_of!(StreamHeader, charged_bytes)).min(MAX_STREAM_BYTES),
        n_rows,
        segments,
        fault,
    })
}

/// Where the reader stores what it has consumed of a segment.
pub(super) fn consumed_offset(place: usize) -> u64 {
    (row(place) + offset_of!(SegmentEntry, consumed)) as u64
}

/// Where the file says since when its thread is inside a call.
pub(super) const INSIDE_SINCE_OFFSET: u64 = offset_of!(StreamHeader, inside_since_ns) as u64;

/// Where the reader asks to be woken by each record.
pub(super) const WAKES_EACH_OFFSET: u64 = offset_of!(StreamHeader, wakes_each) as u64;

/// Where the file says how many segments it has.
pub(super) const N_SEGMENTS_OFFSET: u64 = offset_of!(StreamHeader, n_segments) as u64;

fn segment(
    page: &[u8; PAGE],
    place: usize,
    file_bytes: u64,
) -> Result<CheckedSegment, &'static str> {
    let row = row(place);
    let offset = u64_at(page, row + offset_of!(SegmentEntry, offset));
    let bytes = u32_at(page, row + offset_of!(SegmentEntry, bytes));
    let kind = u32_at(page, row + offset_of!(SegmentEntry, kind));
    let first = u64_at(page, row + offset_of!(SegmentEntry, first));
    let is_records = kind == SegmentKind::Records as u32;
    if !is_records && kind != SegmentKind::Definitions as u32 {
        return Err("a segment is of no known kind");
    }
    let fits = (PAGE..=MAX_SEGMENT_BYTES).contains(&(bytes as usize))
        && (bytes as usize).is_multiple_of(PAGE)
        && offset.is_multiple_of(PAGE as u64)
        && offset >= PAGE as u64;
    if !fits || first > MAX_COUNT {
        return Err("a segment lies where none can be");
    }
    if offset.checked_add(bytes.into()).is_none_or(|end| end > file_bytes) {
        return Err("it is cut short");
    }
    let n_records = if is_records { bytes as usize / size_of::<Record>() } else { 0 };
    Ok(CheckedSegment { place, offset, bytes, n_records: n_records as u64, first })
}

fn overlap(one: &CheckedSegment, other: &CheckedSegment) -> bool {
    one.offset < other.offset + u64::from(other.bytes)
        && other.offset < one.offset + u64::from(one.bytes)
}

fn row(place: usize) -> usize {
    offset_of!(StreamHeader, segments) + place * size_of::<SegmentEntry>()
}

/// The number at `offset`; 0 beyond the end.
pub(super) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_ne_bytes(*word))
}

/// The number at `offset`; 0 beyond the end.
pub(super) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes.get(offset..).and_then(<[u8]>::first_chunk).map_or(0, |word| u32::from_ne_bytes(*word))
}
