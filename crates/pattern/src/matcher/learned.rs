// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the adaptive matcher finds out by itself: how much of a difference is
//! noise, and from which distance on slices belong to different loads.

use crate::similarity::{Aspects, LEAST_SCALES, N_ASPECTS};

/// Distances that are remembered of each aspect.
const N_REMEMBERED: usize = 256;
/// Fewer say nothing.
const N_NEEDED: usize = 8;
/// Slices between two looks at what was remembered.
const REFRESH: u32 = 4;
/// One aspect counts as at most so many scales.
const MAX_SCALES: f32 = 10.0;
/// Medians of noise are stretched by this.
const STRETCH: f32 = 1.2;

/// The usual distance of slices that follow each other, by aspect.
#[derive(Clone, Debug)]
pub(crate) struct AspectScales {
    scales: Aspects,
    consecutive: RecentAspects,
    until_refresh: u32,
}

/// The usual distance of first slices of the same load, by aspect.
///
/// Nobody says which loads are the same, but on a server most come again, so the
/// median distance to the nearest known one is that of a recurrence. Where most
/// loads are new, it is larger, and patterns that resemble each other are taken
/// for one until they come again.
#[derive(Clone, Debug)]
pub(crate) struct RecurrenceScales {
    scales: Aspects,
    nearest: RecentAspects,
    is_learned: bool,
}

/// The last distances, oldest overwritten first.
#[derive(Clone, Debug, Default)]
struct RecentAspects {
    aspects: Vec<Aspects>,
    next: usize,
}

impl Default for AspectScales {
    fn default() -> AspectScales {
        AspectScales {
            scales: LEAST_SCALES.map(|scale| 2.0 * scale),
            consecutive: RecentAspects::default(),
            until_refresh: 0,
        }
    }
}

impl Default for RecurrenceScales {
    fn default() -> RecurrenceScales {
        let nearest = RecentAspects::default();
        RecurrenceScales { scales: LEAST_SCALES, nearest, is_learned: false }
    }
}

/// The distance of two profiles in units of what is usual.
#[inline]
fn scaled_distance(aspects: &Aspects, scales: &Aspects) -> f32 {
    let mut sum = 0.0;
    for (aspect, scale) in aspects.iter().zip(scales) {
        let relative = (aspect / scale).min(MAX_SCALES);
        sum += relative * relative;
    }
    (sum / N_ASPECTS as f32).sqrt()
}

impl RecurrenceScales {
    /// The distance of two first slices in units of what is usual. Until that is
    /// known, what is usual between slices that follow each other has to do.
    #[inline]
    pub fn distance(&self, aspects: &Aspects, consecutive: &AspectScales) -> f32 {
        let scales = if self.is_learned { &self.scales } else { &consecutive.scales };
        scaled_distance(aspects, scales)
    }

    /// An episode began, and its first slice is this far from the nearest known
    /// one.
    pub fn observe(&mut self, aspects: &Aspects) {
        self.nearest.push(aspects);
        if self.nearest.aspects.len() < N_NEEDED {
            return;
        }
        for (aspect, least) in LEAST_SCALES.into_iter().enumerate() {
            self.scales[aspect] = (0.5 * least).max(STRETCH * self.nearest.median(aspect));
        }
        self.is_learned = true;
    }

    pub fn scales(&self) -> &Aspects {
        &self.scales
    }

    pub fn restore(&mut self, scales: Aspects) {
        self.scales = scales;
        self.is_learned = true;
    }
}

impl AspectScales {
    /// The distance of two profiles in units of what is usual.
    #[inline]
    pub fn distance(&self, aspects: &Aspects) -> f32 {
        scaled_distance(aspects, &self.scales)
    }

    /// Two slices followed each other.
    pub fn observe_consecutive(&mut self, aspects: &Aspects) {
        self.consecutive.push(aspects);
        if self.until_refresh > 0 {
            self.until_refresh -= 1;
            return;
        }
        self.until_refresh = REFRESH - 1;
        if self.consecutive.aspects.len() < N_NEEDED {
            return;
        }
        for (aspect, least) in LEAST_SCALES.into_iter().enumerate() {
            self.scales[aspect] = least.max(STRETCH * self.consecutive.median(aspect));
        }
    }

    pub fn scales(&self) -> &Aspects {
        &self.scales
    }

    pub fn restore(&mut self, scales: Aspects) {
        self.scales = scales;
    }
}

impl RecentAspects {
    fn push(&mut self, aspects: &Aspects) {
        match self.aspects.get_mut(self.next) {
            Some(place) => *place = *aspects,
            None => self.aspects.push(*aspects),
        }
        self.next = (self.next + 1) % N_REMEMBERED;
    }

    /// 0 if there are too few.
    fn median(&self, aspect: usize) -> f32 {
        let n = self.aspects.len();
        if n < N_NEEDED {
            return 0.0;
        }
        let mut values = [0.0_f32; N_REMEMBERED];
        let values = &mut values[..n];
        values.iter_mut().zip(&self.aspects).for_each(|(value, aspects)| *value = aspects[aspect]);
        *values.select_nth_unstable_by(n / 2, f32::total_cmp).1
    }
}

/// First slices that are this near belong to the same load until more is known, in
/// units of what is usual.
const SAME_START: f32 = 0.3;
/// What is learned lies between these.
const MIN_SAME_START: f32 = 0.2;
const MAX_SAME_START: f32 = 3.0;
/// What a wrong match counts against a right one that is missed: it lasts as long
/// as its episode, while the other costs one slice.
const WRONG_MATCH: f32 = 3.0;
/// Fewer episodes say nothing.
const N_EPISODES: f32 = 8.0;

/// Finds the distance of first slices below which an episode is a known load.
///
/// Nobody says which loads are the same, but second slices do: each episode adds how
/// far its start is from the nearest known one, and whether that one goes on as it
/// does. On a server where noise hides the differences between loads the two rarely
/// agree, and only starts that are nearly equal match.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartThreshold {
    right: DistanceHistogram,
    wrong: DistanceHistogram,
    found: Option<f32>,
}

impl StartThreshold {
    pub fn observe(&mut self, distance: f32, is_right: bool) {
        let histogram = if is_right { &mut self.right } else { &mut self.wrong };
        histogram.count(distance);
        if self.right.weight() + self.wrong.weight() < N_EPISODES {
            return;
        }
        let (mut gain, mut most, mut found) = (0.0, 0.0, MIN_SAME_START);
        for (bin, (right, wrong)) in self.right.0.iter().zip(&self.wrong.0).enumerate() {
            gain += right - WRONG_MATCH * wrong;
            if gain > most {
                (most, found) = (gain, end_of_bin(bin));
            }
        }
        self.found = Some(found.clamp(MIN_SAME_START, MAX_SAME_START));
    }

    pub fn threshold(&self) -> f32 {
        self.found.unwrap_or(SAME_START)
    }

    /// Whether enough episodes have shown which starts are the same.
    pub fn is_learned(&self) -> bool {
        self.found.is_some()
    }

    /// From storage.
    pub fn restore(&mut self, threshold: f32) {
        self.found = Some(threshold.clamp(MIN_SAME_START, MAX_SAME_START));
    }
}

const N_BINS: usize = 64;
/// The logarithm of the lowest distance that differs from 0, and bins per unit.
const LOWEST: f32 = -1.6;
const BINS_PER_UNIT: f32 = 16.0;
/// What a distance counts after the next one.
const DISCOUNT: f32 = 0.998;
/// Fewer distances say nothing.
const MIN_WEIGHT: f32 = 12.0;
/// Used until then.
const FIRST_THRESHOLD: f32 = 1.2;

/// Distances on a logarithmic scale, of which old ones count less.
#[derive(Clone, Debug)]
struct DistanceHistogram([f32; N_BINS]);

/// Finds the distance that separates slices of one load from those of two.
#[derive(Clone, Debug)]
pub(crate) struct ThresholdFinder {
    consecutive: DistanceHistogram,
    others: DistanceHistogram,
    threshold: f32,
}

impl Default for ThresholdFinder {
    fn default() -> ThresholdFinder {
        let (consecutive, others) = Default::default();
        ThresholdFinder { consecutive, others, threshold: FIRST_THRESHOLD }
    }
}

impl ThresholdFinder {
    pub fn observe_consecutive(&mut self, distance: f32) {
        self.consecutive.count(distance);
        let found = separating(&self.consecutive, &self.others);
        self.threshold = found.unwrap_or(self.threshold);
    }

    pub fn observe_other(&mut self, distance: f32) {
        self.others.count(distance);
    }

    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// All numbers, for storage.
    pub fn numbers(&self) -> impl Iterator<Item = f32> {
        self.consecutive.0.into_iter().chain(self.others.0).chain([self.threshold])
    }

    /// From storage; `None` if they cannot be such numbers.
    pub fn from_numbers(numbers: &[f32]) -> Option<ThresholdFinder> {
        let (consecutive, rest) = numbers.split_at_checked(N_BINS)?;
        let (others, rest) = rest.split_at_checked(N_BINS)?;
        let &[threshold] = rest else { return None };
        let is_sound = numbers.iter().all(|number| number.is_finite() && *number >= 0.0);
        (is_sound && threshold > 0.0).then_some(ThresholdFinder {
            consecutive: DistanceHistogram(consecutive.try_into().ok()?),
            others: DistanceHistogram(others.try_into().ok()?),
            threshold,
        })
    }
}

impl Default for DistanceHistogram {
    fn default() -> DistanceHistogram {
        DistanceHistogram([0.0; N_BINS])
    }
}

impl DistanceHistogram {
    fn count(&mut self, distance: f32) {
        self.0.iter_mut().for_each(|weight| *weight *= DISCOUNT);
        let bin = (distance.max(1e-6).ln() - LOWEST) * BINS_PER_UNIT;
        self.0[(bin.max(0.0) as usize).min(N_BINS - 1)] += 1.0;
    }

    fn weight(&self) -> f32 {
        self.0.iter().sum()
    }
}

/// The distance where the share of near pairs below it exceeds that of far pairs by
/// most; none if there are too few. (The point of the Kolmogorov–Smirnov statistic;
/// also known as Youden's index.)
fn separating(near: &DistanceHistogram, far: &DistanceHistogram) -> Option<f32> {
    let (n_near, n_far) = (near.weight(), far.weight());
    if n_near.min(n_far) < MIN_WEIGHT {
        return None;
    }
    let (mut near_below, mut far_below) = (0.0, 0.0);
    let (mut best, mut best_bin) = (f32::MIN, 0);
    for bin in 0..N_BINS {
        near_below += near.0[bin] / n_near;
        far_below += far.0[bin] / n_far;
        let gain = near_below - far_below;
        if gain > best {
            (best, best_bin) = (gain, bin);
        }
    }
    Some(end_of_bin(best_bin))
}

/// The distance at which a bin ends.
fn end_of_bin(bin: usize) -> f32 {
    (LOWEST + (bin + 1) as f32 / BINS_PER_UNIT).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The threshold after episodes whose starts are this far from the known one,
    /// with some spread, of which every so manieth was the wrong one.
    fn learned(distance: f32, wrong_every: usize) -> f32 {
        let mut starts = StartThreshold::default();
        for n in 0..100 {
            let spread = 0.5 + 0.01 * n as f32;
            starts.observe(distance * spread, (n + 1) % wrong_every != 0);
        }
        starts.threshold()
    }

    #[test]
    fn starts_of_loads_that_can_be_told_apart_may_differ_more() {
        assert_eq!(StartThreshold::default().threshold(), SAME_START);
        assert!((1.4..2.0).contains(&learned(1.0, 1000)), "{}", learned(1.0, 1000));
        assert_eq!(learned(5.0, 1000), MAX_SAME_START);
    }

    #[test]
    fn starts_that_tell_nothing_apart_are_taken_strictly() {
        assert_eq!(learned(1.0, 2), MIN_SAME_START);
        let mut starts = StartThreshold::default();
        for n in 0..100 {
            starts.observe(if n % 2 == 0 { 0.4 } else { 1.5 }, n % 2 == 0);
        }
        assert!((0.4..0.5).contains(&starts.threshold()), "{}", starts.threshold());
    }
}
