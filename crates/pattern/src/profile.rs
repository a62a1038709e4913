// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the series of distances does not show of a slice: how requests are
//! distributed over sizes, steps, interleaved streams and time.
//!
//! Each distribution is a histogram over powers of two, because requests span
//! ten orders of magnitude. All is counted in constant time per request.

use crate::files::{FileUse, KnownFile};
use crate::request::{Request, RequestKind};
use crate::streams::{Continuation, mix};

/// Bins of each histogram, one after the other.
pub(crate) const SIZE: Bins = Bins { first: 0, n: 24 };
pub(crate) const STEP: Bins = Bins { first: 24, n: 24 };
pub(crate) const FILE_STEP: Bins = Bins { first: 48, n: 36 };
pub(crate) const LAG: Bins = Bins { first: 84, n: 14 };
pub(crate) const GAP: Bins = Bins { first: 98, n: 22 };
pub(crate) const HISTOGRAMS: [Bins; 5] = [SIZE, STEP, FILE_STEP, LAG, GAP];
pub(crate) const N_BINS: usize = 120;

/// The numbers beside the histograms, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Scalar {
    /// Reads among all requests.
    ReadShare,
    /// Files, on a logarithmic scale as all that follow but shares.
    Files,
    /// Sequential streams.
    Streams,
    /// Bytes between the lowest and highest request of files, for each byte
    /// requested.
    Span,
    /// The share of blocks that were requested before.
    Reuse,
    /// Requests per second.
    Rate,
    /// Bytes per second.
    Bytes,
    /// Files that equally many requests each would make of it: two files with
    /// twice as many requests to one as to the other count as 1.8.
    EffectiveFiles,
    /// Requests between one and its continuation, the mean over those that
    /// continue something.
    MeanLag,
    /// Requests in a row that each begin where the one before ended.
    Burst,
    /// Bytes per request.
    MeanSize,
}

pub(crate) const N_SCALARS: usize = 11;

/// A histogram among them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bins {
    pub first: usize,
    pub n: usize,
}

/// Counts while a slice lasts.
#[derive(Clone, Debug)]
pub(crate) struct ProfileBuilder {
    bins: [u32; N_BINS],
    n_bytes: u64,
    /// Bytes between the lowest and highest request on each file, summed.
    span: u64,
    n_files: u64,
    /// Sum of the squares of each file's requests.
    squared_requests: u64,
    n_requests: u64,
    /// Requests to files that were in use in the slice before: all, and among the
    /// first [`N_FIRST`].
    n_carried: u64,
    n_first_carried: u64,
    /// Sum of the positions at which files came into use.
    fresh_positions: u64,
    n_streams: u64,
    n_reused: u64,
    /// Requests that begin where the one before ended.
    n_contiguous: u64,
    /// Requests that continue an earlier one, and the sum of their lags on a
    /// logarithmic scale, in 256ths.
    n_continued: u64,
    sum_lag: u64,
    last_time_ns: Option<u64>,
    /// The time between the slice before and the first request; `None` without either.
    pause_ns: Option<u64>,
    /// Tags of recently requested blocks, across slices.
    recent_blocks: Box<[u32]>,
}

const N_RECENT_BLOCKS: usize = 1 << 14;

/// Nobody has requested anything for so long: a load that begins then is not one that
/// goes on with other files.
const PAUSE_NS: u64 = 1_000_000_000;

/// Requests at the beginning of a slice that show whether the load before goes on.
const N_FIRST: u64 = 32;

/// The profile of a slice.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadProfile {
    /// Shares of requests, histogram by histogram.
    pub(crate) shares: [f32; N_BINS],
    /// In the order of [`Scalar`].
    pub(crate) scalars: [f32; N_SCALARS],
    /// The share of requests to files that were in use in the slice before, of all
    /// or of the first ones, whichever is larger: a server that keeps a large file in
    /// many small ones goes on with those that it was in, and then takes others. Of all
    /// slices since the last one of the same kind, the least.
    pub(crate) carried: f32,
    /// How much files are replaced by others all the time: 0 if all that came into use
    /// did so at the beginning, a half if they did so all over the slice.
    pub(crate) turnover: f32,
    /// Whether no slice came just before.
    pub(crate) after_pause: bool,
}

impl ProfileBuilder {
    pub fn new() -> ProfileBuilder {
        ProfileBuilder {
            bins: [0; N_BINS],
            n_bytes: 0,
            span: 0,
            n_files: 0,
            squared_requests: 0,
            n_requests: 0,
            n_carried: 0,
            n_first_carried: 0,
            fresh_positions: 0,
            n_streams: 0,
            n_reused: 0,
            n_contiguous: 0,
            n_continued: 0,
            sum_lag: 0,
            last_time_ns: None,
            pause_ns: None,
            recent_blocks: vec![0; N_RECENT_BLOCKS].into_boxed_slice(),
        }
    }

    /// Counts a request. `step` is the distance of equation 1 from the request
    /// before, `None` between files; `file` is still as its last request left it.
    #[inline]
    pub fn observe(
        &mut self,
        request: &Request,
        step: Option<u64>,
        file: &KnownFile,
        use_of_file: FileUse,
        continuation: Continuation,
    ) {
        self.n_bytes = self.n_bytes.saturating_add(request.size);
        self.count(SIZE, octave(request.size).saturating_sub(8));
        self.count(STEP, step.map_or(STEP.n - 1, |step| octave(step).div_ceil(2).min(STEP.n - 2)));
        self.observe_file(request, file, use_of_file);
        let lag = match continuation {
            Continuation::Jump => 0,
            Continuation::After { lag, .. } => {
                self.n_continued += 1;
                self.sum_lag += fine_log(lag);
                octave(lag)
            }
        };
        self.count(LAG, lag);
        self.n_contiguous += u64::from(step == Some(0));
        let continues = matches!(continuation, Continuation::After { same_slice: true, .. });
        self.n_streams += u64::from(!continues);
        if let Some(last_time_ns) = self.last_time_ns {
            let gap_ns = request.time_ns.saturating_sub(last_time_ns);
            self.count(GAP, octave(gap_ns).saturating_sub(10));
            if self.n_requests == 1 {
                self.pause_ns = Some(gap_ns);
            }
        }
        self.last_time_ns = Some(request.time_ns);
        self.observe_block(file.serial, request.offset);
    }

    #[inline]
    fn observe_file(&mut self, request: &Request, file: &KnownFile, use_of_file: FileUse) {
        self.n_carried += u64::from(use_of_file.is_carried);
        self.n_first_carried += u64::from(use_of_file.is_carried && self.n_requests < N_FIRST);
        // A file never seen is at its beginning, as one that was just opened.
        let bin = octave(request.offset.abs_diff(file.last_end)).div_ceil(2).min(17);
        self.count(FILE_STEP, if request.offset < file.last_end { bin + 17 } else { bin });
        if use_of_file.is_again {
            // From n squared to n + 1 squared.
            self.squared_requests =
                self.squared_requests.saturating_add(2 * u64::from(file.n_requests) + 1);
            let (low, high) = file.span;
            self.span = self.span.saturating_add(low.saturating_sub(request.offset));
            self.span = self.span.saturating_add(request.end().saturating_sub(high));
        } else {
            self.n_files += 1;
            self.squared_requests += 1;
            self.span = self.span.saturating_add(request.end() - request.offset);
            if !use_of_file.is_carried {
                self.fresh_positions = self.fresh_positions.saturating_add(self.n_requests);
            }
        }
        self.n_requests += 1;
    }

    /// Counts requests for blocks of 4 KiB that were requested before.
    #[inline]
    fn observe_block(&mut self, file: u64, offset: u64) {
        let key = mix(file, offset >> 12);
        let tag = (key >> 32) as u32;
        let place = &mut self.recent_blocks[key as usize % N_RECENT_BLOCKS];
        self.n_reused += u64::from(*place == tag);
        *place = tag;
    }

    #[inline]
    fn count(&mut self, bins: Bins, bin: usize) {
        self.bins[bins.first + bin.min(bins.n - 1)] += 1;
    }

    pub fn n_files(&self) -> u64 {
        self.n_files
    }

    /// Ends the slice.
    pub fn finish(&mut self, n_of: [u64; 2], slice_ns: u64) -> LoadProfile {
        let n_requests = (n_of[0] + n_of[1]).max(1) as f32;
        let log = |number: u64| (1.0 + number as f32).log2();
        let share = |number: u64| number as f32 / n_requests;
        let mut profile = LoadProfile {
            shares: [0.0; N_BINS],
            scalars: [
                share(n_of[RequestKind::Read.index()]),
                log(self.n_files),
                log(self.n_streams),
                log(self.span) - log(self.n_bytes),
                share(self.n_reused),
                n_requests.log2() - (slice_ns as f32 * 1e-9).log2(),
                log(self.n_bytes) - (slice_ns as f32 * 1e-9).log2(),
                2.0 * n_requests.log2() - (self.squared_requests.max(1) as f32).log2(),
                self.sum_lag as f32 / 256.0 / self.n_continued.max(1) as f32,
                n_requests.log2() - (n_requests - self.n_contiguous as f32).max(1.0).log2(),
                log(self.n_bytes) - n_requests.log2(),
            ],
            carried: share(self.n_carried)
                .max(self.n_first_carried as f32 / n_requests.min(N_FIRST as f32)),
            turnover: share(self.fresh_positions) / self.n_files.max(1) as f32,
            after_pause: self.pause_ns.is_none_or(|pause_ns| pause_ns > PAUSE_NS),
        };
        for bins in HISTOGRAMS {
            let range = bins.first..bins.first + bins.n;
            let total = self.bins[range.clone()].iter().sum::<u32>().max(1) as f32;
            for bin in range {
                profile.shares[bin] = self.bins[bin] as f32 / total;
            }
        }
        self.clear();
        profile
    }

    pub fn clear(&mut self) {
        self.bins = [0; N_BINS];
        self.pause_ns = None;
        self.n_bytes = 0;
        self.span = 0;
        self.n_files = 0;
        self.squared_requests = 0;
        self.n_requests = 0;
        self.n_carried = 0;
        self.n_first_carried = 0;
        self.fresh_positions = 0;
        self.n_streams = 0;
        self.n_reused = 0;
        self.n_contiguous = 0;
        self.n_continued = 0;
        self.sum_lag = 0;
    }

    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.recent_blocks)
    }
}

impl LoadProfile {
    /// Bytes per second, on a logarithmic scale.
    pub(crate) fn log_bytes(&self) -> f32 {
        self.scalars[Scalar::Bytes as usize]
    }
}

/// 0 for 0, 1 for 1, 2 for 2 and 3, 3 for 4 to 7…
#[inline]
pub(crate) fn octave(number: u64) -> usize {
    64 - number.leading_zeros() as usize
}

/// The logarithm to base 2 of a number that is not 0, in 256ths; straight
/// between powers of two.
#[inline]
fn fine_log(number: u64) -> u64 {
    let whole = u64::from(63 - number.max(1).leading_zeros());
    let mantissa = ((u128::from(number) << 8) >> whole) as u64 & 0xFF;
    (whole << 8) + mantissa
}
