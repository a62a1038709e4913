// SPDX-License-Identifier: MIT OR Apache-2.0

//! Numbers that were taken and not published: an interrupted thread may still publish
//! them, or was killed, or has jumped away. How long to wait for them, and what happens
//! to their segments.

use std::fs::File;
use std::time::{Duration, Instant};

use super::{ReadMode, StreamReader};
use crate::reader::read::{is_published, read_records, records, tell_consumed};
use crate::reader::sink::Sink;
use crate::reader::table::CheckedSegment;
use crate::reader::totals::SpoolTotals;

/// Records behind a hole that are looked at while the stream lives.
const LOOK_PAST: u64 = 256;
/// How long a hole may be filled later.
const HOLE_PATIENCE: Duration = Duration::from_secs(1);
/// How long a segment with a hole is kept from the writer: a call that was interrupted
/// there may still resume and write.
const HOLE_RELEASE: Duration = Duration::from_secs(30);

impl StreamReader {
    /// Whether a hole was found that may still be filled.
    pub(in crate::reader) fn waits_for_hole(&self) -> bool {
        self.waiting.is_some()
    }

    /// Looks for records behind one that is not published, and skips it if it
    /// will not be any more.
    pub(in crate::reader) fn look_past_hole(
        &mut self,
        file: &File,
        buffer: &mut [u8],
        mode: ReadMode,
        now: Instant,
        totals: &mut SpoolTotals,
    ) {
        let last = match mode {
            ReadMode::Live => self.position + LOOK_PAST,
            ReadMode::Final => u64::MAX,
        };
        let Some(found) = self.next_published(file, last, buffer, totals) else {
            self.waiting = None;
            return;
        };
        // A record published just now is not a hole: the one before it may have been
        // published too.
        if self.published_run(file, self.position, 1, buffer, totals).1 == 0 {
            let since = match self.waiting {
                Some((number, since)) if number == self.position => since,
                _ => now,
            };
            self.waiting = Some((self.position, since));
            if mode == ReadMode::Live && now.duration_since(since) < HOLE_PATIENCE {
                return;
            }
            self.skip_to(found, mode, totals);
        }
        self.look(file, buffer, totals);
    }

    /// Returns segments with holes to the writer once nothing can be written to them.
    pub(in crate::reader) fn release(&mut self, file: &File, now: Instant, sink: &mut impl Sink) {
        self.releases.retain(|(since, segment)| {
            let wait = now.duration_since(*since) < HOLE_RELEASE;
            if !wait {
                sink.keep();
                tell_consumed(file, segment);
            }
            wait
        });
    }

    /// Returns a segment to the writer whose records are all delivered.
    pub(super) fn consumed(&mut self, file: &File, segment: CheckedSegment, sink: &mut impl Sink) {
        if self.after_hole > segment.first {
            self.releases.push((Instant::now(), segment));
        } else {
            sink.keep();
            tell_consumed(file, &segment);
        }
    }

    /// The first published record behind the position, at most `last`.
    fn next_published(
        &mut self,
        file: &File,
        last: u64,
        buffer: &mut [u8],
        totals: &mut SpoolTotals,
    ) -> Option<u64> {
        self.refresh(file, totals);
        let mut segments: Vec<CheckedSegment> = self.segments.clone();
        segments.retain(|segment| !segment.is_definitions() && segment.end() > self.position);
        segments.sort_unstable_by_key(|segment| segment.first);
        for segment in segments {
            let mut number = segment.first.max(self.position + 1);
            let mut n_records = 16_usize;
            while number < segment.end() && number <= last {
                let read = read_records(file, &segment, number, n_records, buffer);
                n_records = n_records.saturating_mul(4);
                let records = records(buffer, read);
                let mut records = records.zip(number..);
                if let Some((_, found)) = records.find(|(record, it)| is_published(record, *it)) {
                    return (found <= last).then_some(found);
                }
                if read == 0 {
                    break;
                }
                number += read as u64;
            }
        }
        None
    }

    /// Leaves out the numbers up to `found`: holes where they have a place in a
    /// segment; else they were consumed by an earlier reader, or the table lies.
    fn skip_to(&mut self, found: u64, mode: ReadMode, totals: &mut SpoolTotals) {
        let skipped = self.position..found;
        let placed = |segment: &CheckedSegment| {
            let end = segment.end().min(skipped.end);
            end.saturating_sub(segment.first.max(skipped.start))
        };
        let n_placed = self.segments.iter().map(placed).sum::<u64>().min(found - self.position);
        totals.n_holes += n_placed;
        let n_gone = found - self.position - n_placed;
        totals.n_consumed_before = totals.n_consumed_before.saturating_add(n_gone);
        if n_gone > 0 && mode == ReadMode::Live {
            self.damage("numbers of records are missing", totals);
        }
        if mode == ReadMode::Live {
            let now = Instant::now();
            let passed = self
                .segments
                .iter()
                .filter(|segment| segment.end() > skipped.start && segment.end() <= skipped.end);
            self.releases.extend(passed.map(|segment| (now, *segment)));
        }
        self.position = found;
        self.after_hole = found;
    }
}
