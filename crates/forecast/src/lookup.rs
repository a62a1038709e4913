// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long calls of a class take on two systems, from the points of both.
//!
//! Points that differ only in size and concurrency belong to one shape. A class is
//! looked up in the shape most like it that both systems have, so that what the
//! shape does not capture is wrong on both sides alike and cancels in the ratio.
//! Within a shape, times are interpolated in the logarithms of size and
//! concurrency.

use std::collections::{BTreeMap, BTreeSet};

use crate::class::{Api, ClassPattern, IoClass, Kind, SizeBin};
use crate::statistics::deviations;
use crate::system::{Point, System};

/// How unlike a class the shape may be that is used for it without a warning.
const ALIKE: f64 = 0.75;

/// Standard deviation, of the logarithm, that each unit of unlikeness adds.
const SD_PER_UNLIKENESS: f64 = 0.15;

/// The same for each doubling of the size between a class and the nearest point.
const SD_PER_DOUBLING: f64 = 0.03;

/// Mean times of a call, and how uncertain they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PairedTimes {
    pub reference_s: f64,
    pub target_s: f64,
    /// Relative standard deviation of the two means.
    pub reference_sd: f64,
    pub target_sd: f64,
    /// Of the logarithm of the ratio, for what the points are not quite.
    pub unlike_sd: f64,
    /// What it was looked up as, if that is not much alike.
    pub instead: Option<IoClass>,
}

/// Both systems.
pub(crate) struct PairedSystems<'a> {
    /// By shape, the points of each system.
    shapes: BTreeMap<IoClass, [Vec<&'a Point>; 2]>,
}

impl<'a> PairedSystems<'a> {
    pub(crate) fn new(reference: &'a System, target: &'a System) -> PairedSystems<'a> {
        let mut shapes: BTreeMap<IoClass, [Vec<&Point>; 2]> = BTreeMap::new();
        for (side, system) in [reference, target].into_iter().enumerate() {
            for point in &system.points {
                shapes.entry(shape(&point.class)).or_default()[side].push(point);
            }
        }
        shapes.retain(|_, sides| sides.iter().all(|points| !points.is_empty()));
        PairedSystems { shapes }
    }

    /// The kinds that both systems have points for.
    pub(crate) fn kinds(&self) -> BTreeSet<Kind> {
        self.shapes.keys().map(|shape| shape.kind).collect()
    }

    /// The times of a call of a class with so many bytes; `None` if nothing like it
    /// was measured on both.
    pub(crate) fn times(&self, class: &IoClass, bytes: u64) -> Option<PairedTimes> {
        let candidates = self
            .shapes
            .iter()
            .filter_map(|(shape, sides)| Some((unlikeness(class, shape)?, shape, sides)));
        let (unlike, shape, sides) =
            candidates.min_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(other.1)))?;
        let [reference, target] =
            sides.each_ref().map(|points| interpolate(points, class.concurrency, bytes));
        let (reference, target) = (reference?, target?);
        // What is written through a buffer is written in blocks of it.
        let factor = buffered_share(class, shape, bytes);
        let between = reference.doublings.max(target.doublings);
        Some(PairedTimes {
            reference_s: reference.mean_s * factor,
            target_s: target.mean_s * factor,
            reference_sd: reference.sd,
            target_sd: target.sd,
            unlike_sd: unlike * SD_PER_UNLIKENESS + between * SD_PER_DOUBLING,
            instead: (unlike > ALIKE).then_some(*shape),
        })
    }
}

/// A class without size and concurrency.
fn shape(class: &IoClass) -> IoClass {
    IoClass { size: SizeBin::EMPTY, concurrency: 1, ..*class }
}

/// How much a shape differs from a class; `None` if it is something else.
fn unlikeness(class: &IoClass, shape: &IoClass) -> Option<f64> {
    if class.kind != shape.kind {
        return None;
    }
    let differs = |is_different: bool, weight: f64| if is_different { weight } else { 0.0 };
    let api = match (class.api, shape.api) {
        (one, other) if one == other => 0.0,
        // A stream's calls end in those of the system.
        (Api::Stdio, Api::Posix) | (Api::MpiIo, Api::Posix) => 0.5,
        _ => 2.0,
    };
    let order = match (class.pattern, shape.pattern) {
        (ClassPattern::Sequential, ClassPattern::Sequential) => 0.0,
        (ClassPattern::Strided { .. }, ClassPattern::Strided { .. })
        | (ClassPattern::Random { .. }, ClassPattern::Random { .. }) => {
            let log = |bin: SizeBin| (bin.bytes().max(1) as f64).log2();
            0.02 * (log(class.pattern.distance()) - log(shape.pattern.distance())).abs()
        }
        (ClassPattern::Sequential, _) | (_, ClassPattern::Sequential) => 1.0,
        _ => 0.5,
    };
    Some(
        api + order
            + differs(class.shared != shape.shared, 0.4)
            + differs(class.synchronous != shape.synchronous, 1.0)
            + differs(class.direct != shape.direct, 3.0)
            + differs(class.durable != shape.durable, 3.0)
            + differs(class.cached != shape.cached, 2.0),
    )
}

/// How many system calls one call of stdio is worth: those that fit into a buffer
/// share one.
fn buffered_share(class: &IoClass, shape: &IoClass, bytes: u64) -> f64 {
    const BUFFER: f64 = 4096.0;
    let is_buffered = class.api == Api::Stdio && shape.api == Api::Posix && class.kind.is_data();
    if is_buffered { (bytes as f64 / BUFFER).min(1.0) } else { 1.0 }
}

struct Interpolated {
    mean_s: f64,
    sd: f64,
    doublings: f64,
}

/// The time at a size and concurrency, between points of one shape.
fn interpolate(points: &[&Point], concurrency: u16, bytes: u64) -> Option<Interpolated> {
    let mut tasks: BTreeMap<u16, Vec<&Point>> = BTreeMap::new();
    for point in points {
        tasks.entry(point.class.concurrency).or_default().push(point);
    }
    let below = tasks.range(..=concurrency).next_back();
    let above = tasks.range(concurrency..).next();
    let at = |found: Option<(&u16, &Vec<&Point>)>| {
        found.and_then(|(tasks, points)| Some((f64::from(*tasks), along_size(points, bytes)?)))
    };
    match (at(below), at(above)) {
        (Some((low, a)), Some((high, b))) if high > low => {
            let share = (f64::from(concurrency) / low).ln() / (high / low).ln();
            Some(Interpolated {
                mean_s: mix(a.mean_s, b.mean_s, share),
                sd: a.sd.max(b.sd),
                doublings: a.doublings.max(b.doublings),
            })
        }
        (Some((_, only)), _) => Some(only),
        (None, Some((_, only))) => Some(only),
        (None, None) => None,
    }
}

/// Between two times, in their logarithms.
fn mix(a: f64, b: f64, share: f64) -> f64 {
    (a.ln() * (1.0 - share) + b.ln() * share).exp()
}

fn along_size(points: &[&Point], bytes: u64) -> Option<Interpolated> {
    let size = |point: &Point| point.transfer_bytes.max(1) as f64;
    let mut sorted = points.to_vec();
    sorted.sort_by_key(|point| point.transfer_bytes);
    let wanted = bytes.max(1) as f64;
    let next = sorted.partition_point(|point| size(point) < wanted);
    let (low, high) = (next.checked_sub(1).and_then(|low| sorted.get(low)), sorted.get(next));
    let alone = |point: &Point, mean_s: f64| Interpolated {
        mean_s,
        sd: sd_of_mean(point),
        doublings: (wanted / size(point)).log2().abs(),
    };
    match (low, high) {
        (_, Some(high)) if size(high) == wanted => Some(alone(high, high.mean_s)),
        (Some(low), Some(high)) => {
            let share = (wanted / size(low)).ln() / (size(high) / size(low)).ln();
            let nearest = (wanted / size(low)).log2().min((size(high) / wanted).log2());
            Some(Interpolated {
                mean_s: mix(low.mean_s, high.mean_s, share),
                sd: sd_of_mean(low).max(sd_of_mean(high)),
                doublings: nearest,
            })
        }
        // Longer calls than measured go on at the bandwidth of the longest, shorter
        // ones take as long as the shortest.
        (Some(low), None) => Some(alone(low, low.mean_s * wanted / size(low))),
        (None, Some(high)) => Some(alone(high, high.mean_s)),
        (None, None) => None,
    }
}

/// Of the mean, from its confidence interval and the spread of the repetitions:
/// whichever is larger, since few repetitions may agree by chance.
fn sd_of_mean(point: &Point) -> f64 {
    let (low, high) = point.interval_s;
    let from_interval = (high - low) / 2.0 / deviations(point.confidence) / point.mean_s;
    from_interval.max(point.rsd / f64::from(point.repetitions).sqrt())
}
