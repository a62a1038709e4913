// SPDX-License-Identifier: MIT OR Apache-2.0

//! The forecast: a program's I/O time on a system on which it never ran.
//!
//! For each class of the program's calls, the ratio of the measured times of such
//! calls on both systems (the paper's equation 1) times the program's own time in
//! the class (equation 2). Beyond the paper:
//!
//! - **Replays.** Where both systems have replayed the program's calls, their times
//!   are those of the calls in their place: with the caches, the queues and the other
//!   processes that they meet there.
//! - **Caching.** A class of reads whose time lies between those of cached and
//!   uncached reads on the reference is taken as a mixture of both, with the share
//!   that explains its time.
//! - **Distant systems.** What the program's calls take more or less than the
//!   benchmark's on the reference is partly the program's way (its pages are cold,
//!   its files fragmented) and partly the reference's. The more the systems differ,
//!   the less of it is carried over.
//! - **Waiting.** Time that collective calls spend waiting for other ranks changes by
//!   as much as replays wait longer, or grows with the I/O of those.
//!
//! Time that no storage decides (a library's own work, files elsewhere) is kept.
//! Each of these can be switched off ([`Terms`]), so that an evaluation can tell
//! what it is worth.

mod actual;
mod combine;
mod what_if;

use crate::class::{IoClass, Kind, SizeBin};
use crate::lookup::{PairedSystems, Replays};
use crate::profile::{Direction, OwnTime, Profile};
use crate::system::System;

pub use actual::Comparison;
pub use what_if::WhatIf;

/// Of intervals.
pub const CONFIDENCE: f64 = 0.9;
/// Standard deviations on both sides that contain so much of a normal distribution.
const DEVIATIONS: f64 = 1.645;

/// Standard deviation, of the logarithm, of a forecast for another system, beyond what
/// the measurements say; see docs/evaluation-forecast.md for how often the intervals
/// hold.
const MODEL_SD: f64 = 0.12;

/// How far two systems may differ, as a logarithm, for half of the program's
/// peculiarity to be carried over.
const HALF_CARRIED: f64 = 1.0;

/// How far the program's calls usually are from the measured ones, as the standard
/// deviation of a logarithm. What is measured less exactly than this is carried over the
/// less.
const PECULIARITY_SD: f64 = 0.25;

/// A cache is visible if uncached reads take so many times longer.
const VISIBLE_CACHE: f64 = 1.5;

/// Reads of bytes that should be cached were not, if they take so many times longer.
const DROPPED: f64 = 3.0;

/// A class that nothing like was measured for: its ratio may be off by about this.
const UNCOVERED_SD: f64 = 0.6;

/// The parts of the model beyond the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Times of replayed calls.
    pub replays: bool,
    /// Mixtures of cached and uncached reads.
    pub caching: bool,
    /// Seek distances and patterns; without them, every access is sequential.
    pub seeks: bool,
    /// Concurrency and shared files; without them, every task is alone.
    pub concurrency: bool,
    /// Distant systems carry over less of the program's peculiarity.
    pub shrinking: bool,
    /// Collective calls wait as long as the I/O of others takes.
    pub waiting: bool,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms {
            replays: true,
            caching: true,
            seeks: true,
            concurrency: true,
            shrinking: true,
            waiting: true,
        }
    }
}

/// The I/O time expected on the target.
#[derive(Clone, Debug)]
pub struct Forecast {
    /// By class, that with the most time on the target first.
    pub classes: Vec<ClassForecast>,
    /// All the time in I/O calls on the reference, seconds.
    pub reference_s: f64,
    /// The same expected on the target.
    pub total_s: f64,
    /// Reads.
    pub read_s: f64,
    /// Writes, syncs, and closes of files that were written.
    pub write_s: f64,
    /// Where the total lies with the probability [`CONFIDENCE`].
    pub interval_s: (f64, f64),
    /// Time that is the same on both.
    pub kept_s: f64,
    /// Waiting of collective calls.
    pub waiting_s: f64,
    /// The whole run on the reference, if the trace tells.
    pub reference_run_s: Option<f64>,
    /// The whole run on the target: the rest kept, the I/O of the busiest process
    /// replaced.
    pub run_s: Option<f64>,
    /// RSD of the program's runs on the reference: reads, writes, total.
    pub application_rsd: [f64; 3],
    /// RSD of the benchmark on the reference and on the target, weighted by the
    /// program's time in each class: reads, writes, total.
    pub benchmark_rsd: [[f64; 3]; 2],
    /// What the reader should know.
    pub warnings: Vec<String>,
}

/// The calls of one class.
#[derive(Clone, Debug)]
pub struct ClassForecast {
    /// The class.
    pub class: IoClass,
    /// Calls per run.
    pub calls: f64,
    /// Bytes per call.
    pub mean_bytes: u64,
    /// Their time on the reference, seconds.
    pub reference_s: f64,
    /// What it is multiplied by.
    pub ratio: f64,
    /// Their time on the target.
    pub target_s: f64,
    /// Standard deviation of the logarithm of it.
    pub sd: f64,
    /// The share of cached reads, where it was found.
    pub cached_share: Option<f64>,
    /// The class whose measurements were used in its place.
    pub instead: Option<IoClass>,
}

impl Terms {
    fn lookup(self) -> Replays {
        if self.replays { Replays::Used } else { Replays::Ignored }
    }
}

impl Forecast {
    /// Forecasts from runs of one program on the reference, at least one.
    pub fn of(runs: &[Profile], reference: &System, target: &System, terms: Terms) -> Forecast {
        combine::forecast(runs, reference, target, terms)
    }
}

/// A class without what switched-off terms know.
fn simplified(class: &IoClass, terms: Terms) -> IoClass {
    let mut class = *class;
    if !terms.seeks {
        class.pattern = crate::class::ClassPattern::Sequential;
    }
    if !terms.concurrency {
        (class.concurrency, class.shared) = (1, false);
    }
    if !terms.caching && class.kind == Kind::Read {
        class.cached = false;
    }
    class
}

/// The ratio of one class.
struct Ratio {
    ratio: f64,
    sd: f64,
    cached_share: Option<f64>,
    instead: Option<IoClass>,
}

fn ratio(
    systems: &PairedSystems<'_>,
    class: &IoClass,
    bytes: u64,
    (mean_s, application_sd): (f64, f64),
    terms: Terms,
) -> Option<Ratio> {
    let class = simplified(class, terms);
    let times = systems.times(&class, bytes)?;
    let (mut reference_s, mut target_s) = (times.reference_s, times.target_s);
    let mut cached_share = None;
    let other = IoClass { cached: !class.cached, ..class };
    let is_replayed = times.replayed_calls.is_some();
    // A replay reads again what the program does, so it finds in the cache what the
    // program left there; unless the program dropped it, which replays do not do.
    let is_dropped = class.cached && mean_s > DROPPED * times.reference_s;
    if terms.caching
        && class.kind == Kind::Read
        && (!is_replayed || !class.cached || is_dropped)
        && let Some(others) = systems.times(&other, bytes)
        && others.instead.is_none()
        && times.instead.is_none()
        && !(is_replayed && times.unlike > 0.0)
        && !(others.replayed_calls.is_some() && others.unlike > 0.0)
        && (is_dropped || others.replayed_calls.is_some() == is_replayed)
    {
        let (warm, cold) = if class.cached { (times, others) } else { (others, times) };
        if cold.reference_s > VISIBLE_CACHE * warm.reference_s {
            let share = (cold.reference_s - mean_s) / (cold.reference_s - warm.reference_s);
            let share = share.clamp(0.0, 1.0);
            reference_s = share * warm.reference_s + (1.0 - share) * cold.reference_s;
            target_s = share * warm.target_s + (1.0 - share) * cold.target_s;
            cached_share = Some(share);
        }
    }
    let log_ratio = (target_s / reference_s).ln();
    if log_ratio == 0.0 {
        // The same measurements on both sides: nothing is forecast.
        return Some(Ratio {
            ratio: 1.0,
            sd: application_sd,
            cached_share,
            instead: times.instead,
        });
    }
    let peculiarity = (mean_s / reference_s).ln();
    let noise = application_sd.hypot(times.reference_sd);
    // The end of a file takes less to find than any measured read, on both systems.
    let is_unlike = is_empty(&class) && (times.unlike > 0.0 || !is_replayed);
    let carried = if terms.shrinking && !is_unlike {
        let known = PECULIARITY_SD.powi(2) / (PECULIARITY_SD.powi(2) + noise.powi(2));
        known * HALF_CARRIED / (HALF_CARRIED + log_ratio.abs())
    } else {
        1.0
    };
    // ratio * mean_s = target_s * exp(carried * peculiarity)
    let ratio = (target_s / mean_s) * (carried * peculiarity).exp();
    let variance = times.target_sd.powi(2)
        + times.unlike_sd.powi(2)
        + (carried * noise).powi(2)
        + ((1.0 - carried) * PECULIARITY_SD).powi(2)
        + MODEL_SD.powi(2);
    Some(Ratio { ratio, sd: variance.sqrt(), cached_share, instead: times.instead })
}

/// Sums by direction: reads, writes, all.
fn by_direction<'a>(rows: impl Iterator<Item = (&'a IoClass, f64)>) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for (class, value) in rows {
        sums[2] += value;
        match class.direction() {
            Direction::Read => sums[0] += value,
            Direction::Write => sums[1] += value,
            Direction::Metadata => {}
        }
    }
    sums
}

/// Time that stays as it is: neither in a class nor waiting.
fn kept_s(profile: &Profile) -> f64 {
    let kept = [
        OwnTime::Elsewhere,
        OwnTime::Memory,
        OwnTime::Buffered,
        OwnTime::Library,
        OwnTime::Unclassified,
    ];
    kept.iter().map(|own| profile.own_s(*own)).sum()
}

/// Whether a class moves nothing: reads at the end of a file, and writes of no bytes.
fn is_empty(class: &IoClass) -> bool {
    class.kind.is_data() && class.size == SizeBin::EMPTY
}
