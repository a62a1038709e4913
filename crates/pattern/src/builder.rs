// SPDX-License-Identifier: MIT OR Apache-2.0

//! Builds patterns while requests come in.
//!
//! What the paper leaves open is decided here:
//! - The first request of a slice has no predecessor. It is counted but adds no
//!   value to the series, so a slice of one request has an empty series.
//! - The last bucket of a slice becomes a value with what it has.
//! - A slice without requests is no pattern.
//! - Both series hold all requests of the slice in their order and differ in
//!   their compression; the one of the more frequent kind is kept, that of reads
//!   if there are as many of both.

use crate::config::PatternConfig;
use crate::files::{FileTable, MAX_FILES};
use crate::pattern::{Pattern, PatternCounts};
use crate::profile::ProfileBuilder;
use crate::request::{Request, RequestKind};
use crate::series::SeriesBuilder;
use crate::streams::StreamTable;

/// Takes requests in and gives a pattern per slice.
///
/// ```
/// use ioracle_pattern::{PatternBuilder, PatternConfig, Request, RequestKind};
///
/// let mut builder = PatternBuilder::new(PatternConfig::server());
/// for n in 0..300 {
///     let kind = RequestKind::Read;
///     builder.observe(&Request { time_ns: n * 1000, file: 7, kind, offset: n * 4096, size: 4096 });
/// }
/// let pattern = builder.tick().expect("there were requests");
/// assert_eq!((pattern.counts.reads, pattern.counts.files), (300, 1));
/// assert_eq!(&*pattern.series, [0.0; 3], "contiguous, a hundred requests per value");
/// assert!(builder.tick().is_none());
/// ```
#[derive(Clone, Debug)]
pub struct PatternBuilder {
    config: PatternConfig,
    /// One for each kind.
    series: [SeriesBuilder; 2],
    n_of: [u64; 2],
    files: FileTable,
    streams: StreamTable,
    profile: ProfileBuilder,
    /// File and end of the request before, in this slice.
    previous: Option<(u64, u64)>,
    /// Counts slices, for what is remembered from one to the next.
    slice: u32,
}

impl PatternBuilder {
    /// Nothing observed yet.
    pub fn new(config: PatternConfig) -> PatternBuilder {
        let series = |compression| SeriesBuilder::new(compression, config.max_values);
        PatternBuilder {
            config,
            series: [series(config.read_compression), series(config.write_compression)],
            n_of: [0; 2],
            files: FileTable::new(MAX_FILES),
            streams: StreamTable::new(),
            profile: ProfileBuilder::new(),
            previous: None,
            slice: 0,
        }
    }

    /// Takes a request in: constant time, and no allocation once the slice is
    /// no longer and touches no more files than one before.
    #[inline]
    pub fn observe(&mut self, request: &Request) {
        self.n_of[request.kind.index()] += 1;
        let step = self.previous.and_then(|(file, end)| {
            (file == request.file).then(|| request.offset.abs_diff(end).min(self.config.infinite))
        });
        if self.previous.is_some() {
            let distance = step.unwrap_or(self.config.infinite) as f64;
            self.series[0].push(distance);
            self.series[1].push(distance);
        }
        let end = request.end();
        self.previous = Some((request.file, end));

        let file = self.files.get(request.file);
        let found = self.streams.observe(file.serial, request.offset, end, self.slice);
        self.profile.observe(request, step, file, found, self.slice);
        if file.slice == self.slice {
            file.span = (file.span.0.min(request.offset), file.span.1.max(end));
            file.n_requests = file.n_requests.saturating_add(1);
        } else {
            file.span = (request.offset, end);
            file.n_requests = 1;
            file.is_carried = file.was_used_before(self.slice);
        }
        file.slice = self.slice;
        file.last_end = end;
    }

    /// Ends the slice: its pattern, if there were requests.
    pub fn tick(&mut self) -> Option<Pattern> {
        let n_of = std::mem::take(&mut self.n_of);
        if n_of == [0; 2] {
            return None;
        }
        let [reads, writes] = n_of;
        let kind = if reads >= writes { RequestKind::Read } else { RequestKind::Write };
        let counts = PatternCounts { files: self.profile.n_files(), reads, writes };
        let series = self.series[kind.index()].take();
        self.series.iter_mut().for_each(SeriesBuilder::clear);
        self.previous = None;
        // Never the number that stands for no slice.
        self.slice = (self.slice + 1) % u32::MAX;
        let profile = Box::new(self.profile.finish(n_of, self.config.slice_ns));
        Some(Pattern { kind, counts, series, profile })
    }

    /// Requests in the slice so far.
    pub fn requests(&self) -> u64 {
        self.n_of[0] + self.n_of[1]
    }

    /// How patterns are built.
    pub fn config(&self) -> &PatternConfig {
        &self.config
    }

    /// Memory of what is remembered, the same for any number of requests.
    pub fn memory_bytes(&self) -> usize {
        size_of::<PatternBuilder>()
            + self.series.iter().map(SeriesBuilder::memory_bytes).sum::<usize>()
            + self.files.memory_bytes()
            + self.streams.memory_bytes()
            + self.profile.memory_bytes()
    }
}
