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
use crate::files::{FileTable, FileUse, KnownFile, MAX_FILES};
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
    files: FileTable,
    open: OpenSlice,
    waiting: WaitingRequests,
    /// Whether requests may wait: if slices are split at all, and the one before
    /// was not cut off.
    may_wait: bool,
}

/// The slice that requests are added to.
#[derive(Clone, Debug)]
struct OpenSlice {
    /// Counts slices, for what is remembered from one to the next.
    number: u32,
    infinite: u64,
    /// One for each kind.
    series: [SeriesBuilder; 2],
    n_of: [u64; 2],
    /// Requests of all slices.
    n_requests: u64,
    streams: StreamTable,
    profile: ProfileBuilder,
    /// File and end of the request before, in this slice.
    previous: Option<(u64, u64)>,
    /// The least that slices have carried on since the last one of each kind.
    least_carried: [f32; 2],
    /// The first files of this slice, and of the one before.
    first_files: FirstFiles,
    files_before: FirstFiles,
}

/// The first files that a slice accesses.
#[derive(Clone, Copy, Debug, Default)]
struct FirstFiles {
    files: [u64; N_FIRST_FILES],
    n: usize,
}

const N_FIRST_FILES: usize = 8;

/// Requests that may be the first ones of another load.
///
/// A load is recognised by its first slice, which says most if it holds nothing
/// else. So requests to files that came into use wait until it is known whether
/// the load before goes on: then they belong to its slice, else to a new one.
#[derive(Clone, Debug)]
struct WaitingRequests {
    requests: Vec<Request>,
    /// Requests of the slice to files that were in use in the slice before, and to
    /// others.
    n_carried: u64,
    n_fresh: u64,
}

/// So many requests in a row to files that came into use are a load of their own.
const N_IN_ROW: usize = 64;

impl PatternBuilder {
    /// Nothing observed yet.
    pub fn new(config: PatternConfig) -> PatternBuilder {
        let series = |compression| SeriesBuilder::new(compression, config.max_values);
        PatternBuilder {
            config,
            files: FileTable::new(MAX_FILES),
            open: OpenSlice {
                number: 0,
                infinite: config.infinite,
                series: [series(config.read_compression), series(config.write_compression)],
                n_of: [0; 2],
                n_requests: 0,
                streams: StreamTable::new(),
                profile: ProfileBuilder::new(),
                previous: None,
                least_carried: [1.0; 2],
                first_files: FirstFiles::default(),
                files_before: FirstFiles::default(),
            },
            waiting: WaitingRequests::new(),
            may_wait: config.splits_at_loads,
        }
    }

    /// Takes a request in: constant time, and no allocation once the slice is
    /// no longer and touches no more files than one before.
    #[inline]
    pub fn observe(&mut self, request: &Request) {
        let file = self.files.get(request.file);
        let use_of_file = file.use_in(self.open.number, self.open.n_requests);
        if use_of_file.is_carried {
            self.waiting.n_carried += 1;
        } else if self.waiting.holds_back() && self.may_wait {
            self.waiting.requests.push(*request);
            return;
        } else {
            self.waiting.n_fresh += 1;
        }
        if self.waiting.requests.is_empty() {
            self.open.add(request, file, use_of_file);
        } else {
            self.take_waiting();
            self.add(request);
        }
    }

    /// Whether another load has begun: many requests in a row went to files that
    /// were not in use before. Now is the moment for [`cut`](Self::cut); with the
    /// next request it has passed.
    #[inline]
    pub fn load_has_changed(&self) -> bool {
        self.waiting.requests.len() == N_IN_ROW
    }

    /// Whether a load has just begun, with this slice: many requests went to files
    /// that were not in use in the slice before, and few to others.
    #[inline]
    pub fn load_has_begun(&self) -> bool {
        self.waiting.n_fresh == N_IN_ROW as u64
            && 4 * self.waiting.n_carried < self.waiting.n_fresh
            && self.waiting.requests.is_empty()
    }

    /// The first files that the present slice has accessed so far.
    pub fn first_files(&self) -> &[u64] {
        self.open.first_files.all()
    }

    /// The first files that the last slice has accessed.
    pub fn files_before(&self) -> &[u64] {
        self.open.files_before.all()
    }

    /// Ends the slice early, after so long a time, because the load has changed.
    /// The requests of the new load are in the next slice. Until a tick there is no
    /// further cut.
    pub fn cut(&mut self, elapsed_ns: u64) -> Option<Pattern> {
        let pattern = self.end_slice(elapsed_ns.clamp(1, self.config.slice_ns.max(1)));
        self.may_wait = false;
        pattern
    }

    /// Ends the slice: its pattern, if there were requests. The last ones are in
    /// the next slice if another load may have begun with them.
    pub fn tick(&mut self) -> Option<Pattern> {
        self.end_slice(self.config.slice_ns)
    }

    /// Ends the last slice, with all requests.
    pub fn finish(&mut self) -> Option<Pattern> {
        self.take_waiting();
        self.tick()
    }

    fn add(&mut self, request: &Request) {
        let file = self.files.get(request.file);
        let use_of_file = file.use_in(self.open.number, self.open.n_requests);
        self.open.add(request, file, use_of_file);
    }

    /// What has waited belongs to the open slice.
    #[cold]
    fn take_waiting(&mut self) {
        let mut requests = std::mem::take(&mut self.waiting.requests);
        self.waiting.n_fresh += requests.len() as u64;
        requests.iter().for_each(|request| self.add(request));
        requests.clear();
        self.waiting.requests = requests;
    }

    fn end_slice(&mut self, elapsed_ns: u64) -> Option<Pattern> {
        let pattern = self.open.end(elapsed_ns)?;
        (self.waiting.n_carried, self.waiting.n_fresh) = (0, 0);
        self.may_wait = self.config.splits_at_loads;
        self.take_waiting();
        Some(pattern)
    }

    /// Requests in the slice so far.
    pub fn requests(&self) -> u64 {
        self.open.n_of[0] + self.open.n_of[1] + self.waiting.requests.len() as u64
    }

    /// How patterns are built.
    pub fn config(&self) -> &PatternConfig {
        &self.config
    }

    /// Memory of what is remembered, the same for any number of requests.
    pub fn memory_bytes(&self) -> usize {
        size_of::<PatternBuilder>()
            + self.open.series.iter().map(SeriesBuilder::memory_bytes).sum::<usize>()
            + self.files.memory_bytes()
            + self.open.streams.memory_bytes()
            + self.open.profile.memory_bytes()
            + self.waiting.requests.capacity() * size_of::<Request>()
    }
}

impl WaitingRequests {
    fn new() -> WaitingRequests {
        WaitingRequests { requests: Vec::with_capacity(N_IN_ROW), n_carried: 0, n_fresh: 0 }
    }

    /// Whether a request to a file that came into use has to wait. A load that
    /// uses new files all the time is no row of loads.
    #[inline]
    fn holds_back(&self) -> bool {
        self.n_carried > 4 * self.n_fresh && self.requests.len() < N_IN_ROW
    }
}

impl FirstFiles {
    #[inline]
    fn add(&mut self, file: u64) {
        if let Some(place) = self.files.get_mut(self.n) {
            *place = file;
            self.n += 1;
        }
    }

    fn all(&self) -> &[u64] {
        &self.files[..self.n]
    }
}

impl OpenSlice {
    #[inline]
    fn add(&mut self, request: &Request, file: &mut KnownFile, use_of_file: FileUse) {
        self.n_of[request.kind.index()] += 1;
        let step = self.previous.and_then(|(file, end)| {
            (file == request.file).then(|| request.offset.abs_diff(end).min(self.infinite))
        });
        if self.previous.is_some() {
            let distance = step.unwrap_or(self.infinite) as f64;
            self.series[0].push(distance);
            self.series[1].push(distance);
        }
        if !use_of_file.is_again {
            self.first_files.add(request.file);
        }
        let end = request.end();
        self.previous = Some((request.file, end));

        let found = self.streams.observe(file.serial, request.offset, end, self.number);
        self.profile.observe(request, step, file, use_of_file, found);
        file.observe(self.number, self.n_requests, use_of_file, request.offset, end);
        self.n_requests += 1;
    }

    fn end(&mut self, elapsed_ns: u64) -> Option<Pattern> {
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
        self.files_before = std::mem::take(&mut self.first_files);
        // Never the number that stands for no slice.
        self.number = (self.number + 1) % u32::MAX;
        let mut profile = Box::new(self.profile.finish(n_of, elapsed_ns));
        for least in &mut self.least_carried {
            *least = least.min(profile.carried);
        }
        // Where reads and writes are mixed, slices are now of this kind, now of that. A
        // load that has begun with the other kind has begun for this one, too.
        profile.carried = std::mem::replace(&mut self.least_carried[kind.index()], 1.0);
        Some(Pattern { kind, counts, series, profile })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn builder() -> PatternBuilder {
        PatternBuilder::new(PatternConfig { splits_at_loads: true, ..PatternConfig::server() })
    }

    /// Requests in turn to files from `first` on.
    fn serve(builder: &mut PatternBuilder, first: u64, n_files: u64, n: u64) {
        for n in 0..n {
            let (kind, offset) = (RequestKind::Read, n * 4096);
            let file = first + n % n_files;
            builder.observe(&Request { time_ns: n, file, kind, offset, size: 4096 });
        }
    }

    #[test]
    fn a_load_on_other_files_ends_the_slice_and_begins_the_next() {
        let mut builder = builder();
        serve(&mut builder, 1, 2, 500);
        assert!(!builder.load_has_changed(), "there was none before");
        builder.tick();
        serve(&mut builder, 1, 2, 500);
        assert!(!builder.load_has_changed());
        serve(&mut builder, 10, 3, 63);
        assert!(!builder.load_has_changed());
        serve(&mut builder, 10, 3, 1);
        assert!(builder.load_has_changed());
        let cut = builder.cut(300_000_000).unwrap();
        assert_eq!((cut.counts.requests(), cut.profile.carried), (500, 1.0));
        assert!(builder.load_has_begun());
        assert_eq!(
            (builder.files_before(), builder.first_files()),
            (&[1, 2][..], &[10, 11, 12][..])
        );
        serve(&mut builder, 10, 3, 500);
        assert!(!builder.load_has_changed() && !builder.load_has_begun());
        let first = builder.tick().unwrap();
        assert_eq!((first.counts.requests(), first.profile.carried), (564, 0.0));
        serve(&mut builder, 10, 3, 500);
        assert_eq!(builder.tick().unwrap().profile.carried, 1.0);
    }

    #[test]
    fn a_load_that_begins_at_the_end_of_a_slice_is_in_the_next() {
        let mut builder = builder();
        serve(&mut builder, 1, 1, 100);
        builder.tick();
        serve(&mut builder, 1, 1, 100);
        serve(&mut builder, 7, 1, 20);
        assert_eq!(builder.requests(), 120);
        assert_eq!(builder.tick().unwrap().counts.requests(), 100);
        serve(&mut builder, 7, 1, 50);
        let first = builder.tick().unwrap();
        assert_eq!((first.counts.requests(), first.profile.carried), (70, 0.0));
    }

    #[test]
    fn a_file_that_joins_those_in_use_is_no_other_load() {
        let mut builder = builder();
        serve(&mut builder, 1, 2, 100);
        builder.tick();
        for n in 0..50 {
            serve(&mut builder, 1, 2, 4);
            serve(&mut builder, 7 + n, 1, 50);
            assert!(!builder.load_has_changed(), "{n}");
        }
        serve(&mut builder, 1, 2, 4);
        let pattern = builder.tick().unwrap();
        assert_eq!((pattern.counts.requests(), pattern.counts.files), (2704, 52));
    }

    #[test]
    fn a_load_that_begins_with_reads_has_begun_for_its_writes() {
        let mut builder = builder();
        let mut carried = |kind: RequestKind, file: u64| {
            let request = Request { time_ns: 0, file, kind, offset: 0, size: 512 };
            (0..100).for_each(|_| builder.observe(&request));
            builder.tick().unwrap().profile.carried
        };
        let (read, write) = (RequestKind::Read, RequestKind::Write);
        assert_eq!([carried(read, 1), carried(write, 1), carried(write, 1)], [0.0, 0.0, 1.0]);
        assert_eq!([carried(read, 1), carried(write, 1)], [1.0, 1.0]);
        assert_eq!([carried(write, 2), carried(read, 2), carried(write, 2)], [0.0, 0.0, 1.0]);
    }

    #[test]
    fn the_last_slice_has_all_requests() {
        let mut builder = builder();
        serve(&mut builder, 1, 1, 100);
        builder.tick();
        serve(&mut builder, 1, 1, 100);
        serve(&mut builder, 7, 1, 20);
        assert_eq!(builder.finish().unwrap().counts.requests(), 120);
        assert!(builder.finish().is_none());
    }
}
