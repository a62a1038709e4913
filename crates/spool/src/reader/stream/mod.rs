// SPDX-License-Identifier: MIT OR Apache-2.0

//! One stream, and how far it has been read.
//!
//! A pass over all streams looks first ([`StreamReader::look`]) how many records are
//! published. Then it reads definitions, then those records, again: the copy in
//! which a record was seen to be published may hold its bytes from before.

mod holes;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Instant;

use super::definitions::DefinitionReader;
use super::read::{call_of, is_published, read_first_page, read_records, records};
use super::sink::{Sink, StreamInfo, StreamNumber};
use super::slot::SlotFile;
use super::table::{self, CheckedSegment, FirstPage, Header};
use super::totals::SpoolTotals;
use crate::Function;
use crate::layout::{Call, MAX_SEGMENT_BYTES, MAX_SEGMENTS, Record, UnrecordedCause};
use crate::selection::CONTINUATION;

/// Records of a stream that a pass takes.
const MAX_RECORDS: u64 = 8192;
/// Records that a final reading takes, whatever is written meanwhile.
const MAX_FINAL: u64 = (MAX_SEGMENTS * MAX_SEGMENT_BYTES / size_of::<Record>()) as u64;
/// How a stream is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadMode {
    /// While it is written: holes are waited for, consumed segments are given back.
    Live,
    /// To the end: holes are skipped, nothing is changed in the file.
    Final,
}

/// A stream that is followed.
pub(super) struct StreamReader {
    pub(super) number: StreamNumber,
    pub(super) info: StreamInfo,
    /// Kept open, if few are.
    pub(super) file: Option<File>,
    /// The thread's prediction slot, if it asks.
    pub(super) slot: Option<SlotFile>,
    pub(super) finished: bool,
    /// When it ended in order; 0 if it has not.
    pub(super) end_ns: u64,
    pub(super) unrecorded: [u64; UnrecordedCause::COUNT],
    pub(super) charged_bytes: u64,
    segments: Vec<CheckedSegment>,
    n_rows: u32,
    /// Number of the next record to deliver.
    position: u64,
    /// Number after the last one that may be delivered in this pass.
    ready: u64,
    definitions: DefinitionReader,
    /// The position, since when later records are seen to be published.
    waiting: Option<(u64, Instant)>,
    /// Number after the last hole that was skipped.
    after_hole: u64,
    /// Consumed segments with holes, to be given back later.
    releases: Vec<(Instant, CheckedSegment)>,
    /// Records that a final reading may still take.
    final_left: u64,
    /// What is wrong is reported once.
    is_damaged: bool,
}

impl StreamReader {
    /// Begins to follow; from the oldest record that is there.
    pub(super) fn new(number: StreamNumber, info: StreamInfo, header: Header) -> StreamReader {
        let records = header.segments.iter().filter(|segment| !segment.is_definitions());
        let position = records.map(|segment| segment.first).min().unwrap_or(0);
        StreamReader {
            number,
            info,
            file: None,
            slot: None,
            finished: header.finished,
            end_ns: header.end_ns,
            unrecorded: header.unrecorded,
            charged_bytes: header.charged_bytes,
            segments: header.segments,
            n_rows: header.n_rows,
            position,
            ready: position,
            definitions: DefinitionReader::default(),
            waiting: None,
            after_hole: 0,
            releases: Vec::new(),
            final_left: MAX_FINAL,
            is_damaged: false,
        }
    }

    /// Number of the next record to deliver.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Whether the last look has found something.
    pub(super) fn has_ready(&self) -> bool {
        self.ready > self.position
    }

    /// Looks how far records are published.
    pub(super) fn look(&mut self, file: &File, buffer: &mut [u8], totals: &mut SpoolTotals) {
        self.ready = self.position;
        let mut n_records = 16;
        let most = MAX_RECORDS.min(self.final_left);
        while self.ready - self.position < most {
            let (read, run) = self.published_run(file, self.ready, n_records, buffer, totals);
            self.ready += run;
            if run < read || read == 0 {
                break;
            }
            n_records = n_records.saturating_mul(4);
        }
        if self.has_ready() {
            self.waiting = None;
        }
    }

    /// Whether something is ready to be delivered; looks only if it does not know.
    pub(super) fn find_ready(
        &mut self,
        file: &File,
        buffer: &mut [u8],
        totals: &mut SpoolTotals,
    ) -> bool {
        if !self.has_ready() {
            self.look(file, buffer, totals);
        }
        self.has_ready()
    }

    /// Hands over the records found by the last look.
    pub(super) fn deliver(
        &mut self,
        file: &File,
        buffer: &mut [u8],
        mode: ReadMode,
        sink: &mut impl Sink,
        totals: &mut SpoolTotals,
    ) {
        self.deliver_while(file, buffer, mode, sink, totals, |_, _| true);
    }

    /// The same up to a record that names something which the sink does not know.
    pub(super) fn deliver_known<S: Sink>(
        &mut self,
        file: &File,
        buffer: &mut [u8],
        mode: ReadMode,
        sink: &mut S,
        totals: &mut SpoolTotals,
    ) {
        let is_known = |sink: &S, call: &Call| call.function == CONTINUATION || sink.knows(call);
        self.deliver_while(file, buffer, mode, sink, totals, is_known);
    }

    /// The same with the definitions that such a record needs. They are looked
    /// for only then, which spares most records half of the system calls.
    pub(super) fn deliver_with_definitions(
        &mut self,
        file: &File,
        buffer: &mut [u8],
        sink: &mut impl Sink,
        totals: &mut SpoolTotals,
    ) -> usize {
        let before = totals.n_records;
        self.deliver_known(file, buffer, ReadMode::Live, sink, totals);
        if self.has_ready() {
            self.deliver_definitions(file, buffer, sink, totals);
            self.deliver(file, buffer, ReadMode::Live, sink, totals);
        }
        usize::try_from(totals.n_records - before).unwrap_or(usize::MAX)
    }

    fn deliver_while<S: Sink>(
        &mut self,
        file: &File,
        buffer: &mut [u8],
        mode: ReadMode,
        sink: &mut S,
        totals: &mut SpoolTotals,
        may: impl Fn(&S, &Call) -> bool,
    ) {
        let first = self.position;
        while self.position < self.ready
            && self.deliver_some(file, buffer, mode, sink, totals, &may)
        {}
        if mode == ReadMode::Final {
            self.final_left = self.final_left.saturating_sub(self.position - first);
        }
    }

    /// Hands over as many of them as a read finds, up to one that may not be;
    /// false if there is such a one.
    fn deliver_some<S: Sink>(
        &mut self,
        file: &File,
        buffer: &mut [u8],
        mode: ReadMode,
        sink: &mut S,
        totals: &mut SpoolTotals,
        may: impl Fn(&S, &Call) -> bool,
    ) -> bool {
        let Some(segment) = self.segment_of(self.position) else {
            self.ready = self.position;
            return true;
        };
        let n_records = (self.ready - self.position) as usize;
        let read = read_records(file, &segment, self.position, n_records, buffer);
        for record in records(buffer, read) {
            if call_of(record).is_some_and(|call| !may(sink, &call)) {
                return false;
            }
            self.deliver_one(record, sink, totals);
        }
        if read == 0 {
            // Cut short since the look.
            self.damage("it is cut short", totals);
            self.ready = self.position;
        }
        if self.position == segment.end() && mode == ReadMode::Live {
            self.consumed(file, segment, sink);
        }
        true
    }

    /// Hands over all definitions that are published.
    pub(super) fn deliver_definitions(
        &mut self,
        file: &File,
        buffer: &mut [u8],
        sink: &mut impl Sink,
        totals: &mut SpoolTotals,
    ) {
        let mut word = [0; 4];
        if file.read_exact_at(&mut word, table::N_SEGMENTS_OFFSET).is_ok()
            && u32::from_ne_bytes(word) != self.n_rows
        {
            self.refresh(file, totals);
        }
        self.definitions.deliver(file, &self.segments, buffer, |kind, id, payload| {
            sink.definition(self.number, kind, id, payload);
        });
        if let Some(what) = self.definitions.damage() {
            self.damage(what, totals);
        }
    }

    /// Since when the thread is inside a call, CLOCK_MONOTONIC.
    pub(super) fn inside_since_ns(&self, file: &File) -> Option<u64> {
        let mut word = [0; 8];
        file.read_exact_at(&mut word, table::INSIDE_SINCE_OFFSET).ok()?;
        Some(u64::from_ne_bytes(word)).filter(|since_ns| *since_ns != 0)
    }

    /// Asks the thread to wake the reader with each record.
    pub(super) fn be_woken_by_each(&self, file: &File) {
        // Where that fails, its records are found a little later.
        let _ = file.write_all_at(&1_u32.to_ne_bytes(), table::WAKES_EACH_OFFSET);
    }

    /// Reads the header again; what has become of the stream.
    pub(super) fn refresh(&mut self, file: &File, totals: &mut SpoolTotals) {
        match read_first_page(file) {
            FirstPage::Header(header) => {
                self.finished = header.finished;
                self.end_ns = header.end_ns;
                self.unrecorded = header.unrecorded;
                self.charged_bytes = header.charged_bytes;
                self.segments = header.segments;
                self.n_rows = header.n_rows;
                if let Some(fault) = header.fault {
                    self.damage(fault, totals);
                }
            }
            FirstPage::Empty | FirstPage::Foreign(_) => {
                self.segments.clear();
                self.damage("its header was overwritten", totals);
            }
        }
    }

    /// Bytes of segments whose records were all handed over, and of definitions.
    pub(super) fn consumed_bytes(&self) -> u64 {
        let is_consumed = |it: &&CheckedSegment| it.is_definitions() || it.end() <= self.position;
        self.segments.iter().filter(is_consumed).map(|it| u64::from(it.bytes)).sum()
    }

    /// Remembers the first thing that is wrong with the file.
    pub(super) fn damage(&mut self, what: &str, totals: &mut SpoolTotals) {
        if !self.is_damaged {
            self.is_damaged = true;
            totals.damage(&self.info.name, what);
        }
    }

    fn segment_of(&self, number: u64) -> Option<CheckedSegment> {
        self.segments.iter().find(|segment| segment.holds(number)).copied()
    }

    /// Reads at most that many records; how many were read, and how many of them
    /// from the first on are published.
    fn published_run(
        &mut self,
        file: &File,
        number: u64,
        n_records: usize,
        buffer: &mut [u8],
        totals: &mut SpoolTotals,
    ) -> (u64, u64) {
        let mut found = self.segment_of(number);
        if found.is_none() {
            self.refresh(file, totals);
            found = self.segment_of(number);
        }
        let Some(segment) = found else { return (0, 0) };
        let read = read_records(file, &segment, number, n_records, buffer);
        let records = records(buffer, read);
        let run =
            records.zip(number..).take_while(|(record, number)| is_published(record, *number));
        (read as u64, run.count() as u64)
    }

    fn deliver_one(&mut self, record: &[u8], sink: &mut impl Sink, totals: &mut SpoolTotals) {
        let number = self.position;
        self.position += 1;
        if !is_published(record, number) {
            totals.n_holes += 1;
            return self.damage("a published record was overwritten", totals);
        }
        let Some(call) = call_of(record) else { return };
        let is_selection = call.function == CONTINUATION;
        if !is_selection && Function::try_from(call.function).is_err() {
            totals.n_holes += 1;
            return self.damage("a record names a function that does not exist", totals);
        }
        totals.n_records += u64::from(!is_selection);
        sink.record(self.number, &call);
    }
}
