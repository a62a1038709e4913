// SPDX-License-Identifier: MIT OR Apache-2.0

//! Bytes and calls over the time of the run: of all together, of each process and
//! of each file.

use std::collections::{BTreeMap, HashMap};

use ioracle_events::{FileId, Operation};
use serde::Serialize;

use super::bins::{FlowDirection, GrowingBins};
use crate::file_groups::FileGroups;
use crate::summarise::in_seconds;

/// Bins of the whole run, and of each process and file.
const FINE: usize = 4096;
const COARSE: usize = 256;
/// A bin's width at first; it only grows.
const WIDTH_NS: u64 = 1 << 10;
/// Processes and files that have a series of their own.
const MAX_PROCESSES: usize = 1 << 12;
const MAX_FILES: usize = 1 << 12;
/// Rows of the heat map; of more ranks, neighbours are added up.
const MAX_ROWS: usize = 1024;
/// Groups of files that are shown separately.
const MAX_SHOWN_FILES: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Total {
    Bytes(FlowDirection),
    Calls(FlowDirection),
    OtherCalls,
    BusyNs,
    Predicted(FlowDirection),
}

/// Takes operations in.
#[derive(Debug)]
pub struct TimelineTally {
    total: GrowingBins<Total>,
    by_process: GrowingBins<(u32, FlowDirection)>,
    by_file: GrowingBins<(FileId, FlowDirection)>,
}

/// The run over time.
#[derive(Debug, Serialize)]
pub struct ReportTimeline {
    /// Seconds of a bin.
    pub bin_s: f64,
    /// Bytes read in each bin.
    pub read: Vec<u64>,
    /// Bytes written.
    pub written: Vec<u64>,
    /// Read calls that began.
    pub reads: Vec<u64>,
    /// Write calls that began.
    pub writes: Vec<u64>,
    /// Other operations that began: opens, closes, syncs, truncations.
    pub others: Vec<u64>,
    /// Nanoseconds spent in operations, over all threads.
    pub busy_ns: Vec<u64>,
    /// Bytes that were predicted to be read, when they were predicted.
    pub predicted_read: Vec<u64>,
    /// The same for writes.
    pub predicted_written: Vec<u64>,
    /// Seconds of a bin of the series below.
    pub coarse_bin_s: f64,
    /// One row for each rank or process, or for several.
    pub rows: Vec<ReportTimelineRow>,
    /// The groups of files that took most time.
    pub files: Vec<FileTimeline>,
}

/// Bytes of a rank over time.
#[derive(Debug, Serialize)]
pub struct ReportTimelineRow {
    /// The first rank, or process where there are no ranks, and the last.
    pub first: u32,
    /// The last one.
    pub last: u32,
    /// Bytes read.
    pub read: Vec<u64>,
    /// Bytes written.
    pub written: Vec<u64>,
}

/// Bytes of a group of files over time.
#[derive(Debug, Serialize)]
pub struct FileTimeline {
    /// The place of the group among those of the report.
    pub group: usize,
    /// Bytes read.
    pub read: Vec<u64>,
    /// Bytes written.
    pub written: Vec<u64>,
}

impl Default for TimelineTally {
    fn default() -> TimelineTally {
        TimelineTally {
            total: GrowingBins::new(FINE, 16, WIDTH_NS),
            by_process: GrowingBins::new(COARSE, 2 * MAX_PROCESSES, WIDTH_NS),
            by_file: GrowingBins::new(COARSE, 2 * MAX_FILES, WIDTH_NS),
        }
    }
}

impl TimelineTally {
    /// Counts an operation of a process, in the time of the job.
    pub fn add(&mut self, process: u32, operation: &Operation, span: (u64, u64)) {
        self.total.spread(Total::BusyNs, span, span.1 - span.0);
        let Some(way) = FlowDirection::of(operation.access()) else {
            self.total.add(Total::OtherCalls, span.0, 1);
            return;
        };
        self.total.add(Total::Calls(way), span.0, 1);
        self.total.spread(Total::Bytes(way), span, operation.size);
        self.by_process.spread((process, way), span, operation.size);
        self.by_file.spread((operation.file, way), span, operation.size);
    }

    /// Counts what was predicted to come at a time.
    pub fn add_predicted(&mut self, way: FlowDirection, at_ns: u64, bytes: u64) {
        self.total.add(Total::Predicted(way), at_ns, bytes);
    }

    /// The series, with the files put together by group.
    pub fn finish(&self, ranks: &HashMap<u32, u32>, groups: &FileGroups) -> ReportTimeline {
        let total = |key| self.total.get(&key).to_vec();
        ReportTimeline {
            bin_s: in_seconds(self.total.shape().0),
            read: total(Total::Bytes(FlowDirection::Read)),
            written: total(Total::Bytes(FlowDirection::Written)),
            reads: total(Total::Calls(FlowDirection::Read)),
            writes: total(Total::Calls(FlowDirection::Written)),
            others: total(Total::OtherCalls),
            busy_ns: total(Total::BusyNs),
            predicted_read: total(Total::Predicted(FlowDirection::Read)),
            predicted_written: total(Total::Predicted(FlowDirection::Written)),
            coarse_bin_s: in_seconds(self.by_process.shape().0),
            rows: self.rows(ranks),
            files: self.files(groups),
        }
    }

    /// By rank where processes have one, else by process.
    fn rows(&self, ranks: &HashMap<u32, u32>) -> Vec<ReportTimelineRow> {
        let mut rows: BTreeMap<u32, ReportTimelineRow> = BTreeMap::new();
        for (process, way) in self.by_process.keys() {
            let number = match ranks.get(process) {
                Some(rank) => *rank,
                None if ranks.is_empty() => *process,
                None => continue,
            };
            let empty = || ReportTimelineRow::new(number, Vec::new(), Vec::new());
            let row = rows.entry(number).or_insert_with(empty);
            join(row.of_mut(*way), self.by_process.get(&(*process, *way)));
        }
        let n_together = rows.len().div_ceil(MAX_ROWS).max(1);
        let rows: Vec<ReportTimelineRow> = rows.into_values().collect();
        let together = rows.chunks(n_together).filter_map(|rows| {
            let (first, rest) = rows.split_first()?;
            let mut sum =
                ReportTimelineRow::new(first.first, first.read.clone(), first.written.clone());
            for row in rest {
                sum.last = row.last;
                join(&mut sum.read, &row.read);
                join(&mut sum.written, &row.written);
            }
            Some(sum)
        });
        together.collect()
    }

    fn files(&self, groups: &FileGroups) -> Vec<FileTimeline> {
        let mut files: BTreeMap<usize, FileTimeline> = BTreeMap::new();
        for (file, way) in self.by_file.keys() {
            let Some(group) = groups.place_of(*file).filter(|it| *it < MAX_SHOWN_FILES) else {
                continue;
            };
            let empty = || FileTimeline { group, read: Vec::new(), written: Vec::new() };
            let timeline = files.entry(group).or_insert_with(empty);
            let bins = match way {
                FlowDirection::Read => &mut timeline.read,
                FlowDirection::Written => &mut timeline.written,
            };
            join(bins, self.by_file.get(&(*file, *way)));
        }
        files.into_values().collect()
    }
}

impl ReportTimelineRow {
    fn new(number: u32, read: Vec<u64>, written: Vec<u64>) -> ReportTimelineRow {
        ReportTimelineRow { first: number, last: number, read, written }
    }

    fn of_mut(&mut self, way: FlowDirection) -> &mut Vec<u64> {
        match way {
            FlowDirection::Read => &mut self.read,
            FlowDirection::Written => &mut self.written,
        }
    }
}

/// Adds a series to another, which may be shorter.
fn join(sum: &mut Vec<u64>, other: &[u64]) {
    if sum.len() < other.len() {
        sum.resize(other.len(), 0);
    }
    for (sum, value) in sum.iter_mut().zip(other) {
        *sum = sum.saturating_add(*value);
    }
}
