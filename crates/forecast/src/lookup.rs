// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long calls of a class take on two systems, from the points of both.
//!
//! Points that differ only in size and concurrency belong to one shape. A class is
//! looked up in the shape most like it that both systems have, so that what the
//! shape does not capture is wrong on both sides alike and cancels in the ratio.
//! Within a shape, times are interpolated in the logarithms of size and
//! concurrency.
//!
//! Where both systems have replayed the program, their times come first. How many
//! calls are under way at a time follows from the system, so it does not tell
//! replayed calls apart. Which order and neighbours a call has may differ from run to
//! run, and from system to system, so a class that was not replayed itself is looked up
//! in the replayed one most like it.

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

/// The most unlike replayed class that is still taken rather than a measurement of calls
/// by themselves.
const LIKE_REPLAYED: f64 = 1.5;

/// Unlikeness of replayed classes for each doubling of the size between them.
const UNLIKENESS_PER_DOUBLING: f64 = 0.3;

/// What is less than a page takes as long as one.
const PAGE: u64 = 4096;

/// Calls that move less than this tell how soon storage answers, and no bandwidth.
const BANDWIDTH_BYTES: f64 = 65536.0;

/// No mean is taken to be less certain than this: beyond it, an interval would say
/// nothing any more.
const MAX_SD: f64 = 0.7;

/// Mean times of a call, and how uncertain they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PairedTimes {
    pub reference_s: f64,
    pub target_s: f64,
    /// Relative standard deviation of the repetitions on the reference.
    pub reference_rsd: f64,
    /// Relative standard deviation of the two means.
    pub reference_sd: f64,
    pub target_sd: f64,
    /// How unlike the class the points are.
    pub unlike: f64,
    /// Of the logarithm of the ratio, for what the points are not quite.
    pub unlike_sd: f64,
    /// What it was looked up as, if that is not much alike.
    pub instead: Option<IoClass>,
    /// Calls of each replay, if the times are those of replays.
    pub replayed_calls: Option<f64>,
}

/// Both systems.
pub(crate) struct PairedSystems<'a> {
    /// By shape, the points of each system.
    shapes: BTreeMap<IoClass, [Vec<&'a Point>; 2]>,
    /// Replayed calls, by shape and size.
    replays: BTreeMap<IoClass, [Vec<&'a Point>; 2]>,
}

/// Whether replayed calls are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replays {
    Used,
    Ignored,
}

impl<'a> PairedSystems<'a> {
    pub(crate) fn new(
        reference: &'a System,
        target: &'a System,
        replays: Replays,
    ) -> PairedSystems<'a> {
        let mut found = PairedSystems { shapes: BTreeMap::new(), replays: BTreeMap::new() };
        for (side, system) in [reference, target].into_iter().enumerate() {
            for point in &system.points {
                if point.replayed && replays == Replays::Used {
                    let key = IoClass { concurrency: 1, ..point.class };
                    found.replays.entry(key).or_default()[side].push(point);
                } else if !point.replayed {
                    found.shapes.entry(shape(&point.class)).or_default()[side].push(point);
                }
            }
        }
        for table in [&mut found.shapes, &mut found.replays] {
            table.retain(|_, sides| sides.iter().all(|points| !points.is_empty()));
        }
        found
    }

    /// The kinds that both systems have points for.
    pub(crate) fn kinds(&self) -> BTreeSet<Kind> {
        self.shapes.keys().chain(self.replays.keys()).map(|shape| shape.kind).collect()
    }

    /// The times of a call of a class with so many bytes; `None` if nothing like it
    /// was measured on both.
    pub(crate) fn times(&self, class: &IoClass, bytes: u64) -> Option<PairedTimes> {
        let replayed = || {
            let (unlike, other) = nearest(class, self.replays.keys(), |other| {
                UNLIKENESS_PER_DOUBLING * doublings(class.size.bytes(), other.size.bytes())
            })?;
            let times = self.replayed(other).filter(|_| unlike <= LIKE_REPLAYED)?;
            let instead = (unlike > ALIKE).then_some(*other);
            let scale = match class.kind.is_data() {
                true => longer(class.size.bytes() as f64, other.size.bytes() as f64),
                false => 1.0,
            };
            Some(PairedTimes {
                reference_s: times.reference_s * scale,
                target_s: times.target_s * scale,
                unlike,
                unlike_sd: unlike * SD_PER_UNLIKENESS,
                instead,
                ..times
            })
        };
        self.replayed(class).or_else(replayed).or_else(|| self.measured(class, bytes))
    }

    /// The times of replayed calls of a class, of any number at a time.
    pub(crate) fn replayed(&self, class: &IoClass) -> Option<PairedTimes> {
        let sides = self.replays.get(&IoClass { concurrency: 1, ..*class })?;
        let [reference, target] = sides.each_ref().map(|points| pooled(points));
        Some(PairedTimes {
            reference_s: reference.mean_s,
            target_s: target.mean_s,
            reference_rsd: reference.rsd,
            reference_sd: reference.sd,
            target_sd: target.sd,
            unlike: 0.0,
            unlike_sd: 0.0,
            instead: None,
            replayed_calls: Some(reference.calls),
        })
    }

    /// The same from points of the benchmark.
    fn measured(&self, class: &IoClass, bytes: u64) -> Option<PairedTimes> {
        let (unlike, shape) = nearest(class, self.shapes.keys(), |_| 0.0)?;
        let sides = self.shapes.get(shape)?;
        let [reference, target] =
            sides.each_ref().map(|points| interpolate(points, class.concurrency, bytes));
        let (reference, target) = (reference?, target?);
        let between = reference.doublings.max(target.doublings);
        Some(PairedTimes {
            reference_s: reference.mean_s,
            target_s: target.mean_s,
            reference_rsd: reference.rsd,
            reference_sd: reference.sd,
            target_sd: target.sd,
            unlike,
            unlike_sd: unlike * SD_PER_UNLIKENESS + between * SD_PER_DOUBLING,
            instead: (unlike > ALIKE).then_some(*shape),
            replayed_calls: None,
        })
    }
}

/// A class without size and concurrency.
fn shape(class: &IoClass) -> IoClass {
    IoClass { size: SizeBin::EMPTY, concurrency: 1, ..*class }
}

/// The class most like another, and how unlike it is, with what a difference that shapes
/// do not have adds.
fn nearest<'a>(
    class: &IoClass,
    among: impl Iterator<Item = &'a IoClass>,
    more: impl Fn(&IoClass) -> f64,
) -> Option<(f64, &'a IoClass)> {
    let candidates =
        among.filter_map(|other| Some((unlikeness(class, other)? + more(other), other)));
    candidates.min_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(other.1)))
}

/// Between two sizes, where those within a page are the same.
fn doublings(one: u64, other: u64) -> f64 {
    let log = |bytes: u64| (bytes.max(PAGE) as f64).log2();
    (log(one) - log(other)).abs()
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
            // A cache changes reads more than bytes that are there change writes.
            + differs(class.cached != shape.cached, if class.kind == Kind::Read { 2.0 } else { 0.7 }),
    )
}

/// Points of one shape and size together, each with the weight of its calls.
struct Pooled {
    mean_s: f64,
    sd: f64,
    rsd: f64,
    /// Calls of one repetition.
    calls: f64,
}

fn pooled(points: &[&Point]) -> Pooled {
    let calls: f64 = points.iter().map(|point| point.calls as f64).sum();
    let time = |point: &&Point| point.mean_s * point.calls as f64;
    let times: f64 = points.iter().map(time).sum();
    let weighted =
        |of: &dyn Fn(&Point) -> f64| points.iter().map(|it| time(it) * of(it)).sum::<f64>() / times;
    let per_repetition =
        points.iter().map(|point| point.calls as f64 / f64::from(point.repetitions)).sum();
    Pooled {
        mean_s: times / calls,
        sd: weighted(&sd_of_mean),
        rsd: weighted(&|point| point.rsd),
        calls: per_repetition,
    }
}

struct Interpolated {
    mean_s: f64,
    sd: f64,
    rsd: f64,
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
                rsd: a.rsd.max(b.rsd),
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
        rsd: point.rsd,
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
                rsd: low.rsd.max(high.rsd),
                doublings: nearest,
            })
        }
        // Longer calls than measured go on at the bandwidth of the longest, if that is one;
        // shorter ones take as long as the shortest.
        (Some(low), None) => Some(alone(low, low.mean_s * longer(wanted, size(low)))),
        (None, Some(high)) => Some(alone(high, high.mean_s)),
        (None, None) => None,
    }
}

/// How many times longer a call takes that moves so many bytes instead of others.
fn longer(bytes: f64, than: f64) -> f64 {
    bytes.max(BANDWIDTH_BYTES) / than.max(BANDWIDTH_BYTES)
}

/// Of the mean, relative to it, from the spread of the repetitions; wider for few of
/// them, which may agree by chance. One alone is judged by its confidence interval.
fn sd_of_mean(point: &Point) -> f64 {
    let n = f64::from(point.repetitions);
    let sd = if point.repetitions > 1 {
        point.rsd / n.sqrt() * (n + 1.0) / (n - 1.0)
    } else {
        let (low, high) = point.interval_s;
        (high - low) / 2.0 / deviations(point.confidence) / point.mean_s
    };
    sd.min(MAX_SD)
}
