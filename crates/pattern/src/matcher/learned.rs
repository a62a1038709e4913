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
        RecurrenceScales { scales: LEAST_SCALES, nearest: RecentAspects::default() }
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
    /// The distance of two first slices in units of what is usual.
    #[inline]
    pub fn distance(&self, aspects: &Aspects) -> f32 {
        scaled_distance(aspects, &self.scales)
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
    }

    pub fn scales(&self) -> &Aspects {
        &self.scales
    }

    pub fn restore(&mut self, scales: Aspects) {
        self.scales = scales;
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

/// Finds the distance that separates slices of one load from those of two: where
/// the share of consecutive slices below it exceeds that of other pairs by most. (The point of
/// the Kolmogorov–Smirnov statistic; also known as Youden's index.)
#[derive(Clone, Debug)]
pub(crate) struct ThresholdFinder {
    consecutive: [f32; N_BINS],
    others: [f32; N_BINS],
    threshold: f32,
}

impl Default for ThresholdFinder {
    fn default() -> ThresholdFinder {
        let (consecutive, others) = ([0.0; N_BINS], [0.0; N_BINS]);
        ThresholdFinder { consecutive, others, threshold: FIRST_THRESHOLD }
    }
}

impl ThresholdFinder {
    pub fn observe_consecutive(&mut self, distance: f32) {
        count(&mut self.consecutive, distance);
        self.threshold = self.find().unwrap_or(self.threshold);
    }

    pub fn observe_other(&mut self, distance: f32) {
        count(&mut self.others, distance);
    }

    pub fn threshold(&self) -> f32 {
        self.threshold
    }

    /// All numbers, for storage.
    pub fn numbers(&self) -> impl Iterator<Item = f32> {
        self.consecutive.into_iter().chain(self.others).chain([self.threshold])
    }

    /// From storage; `None` if they cannot be such numbers.
    pub fn from_numbers(numbers: &[f32]) -> Option<ThresholdFinder> {
        let (consecutive, rest) = numbers.split_at_checked(N_BINS)?;
        let (others, rest) = rest.split_at_checked(N_BINS)?;
        let &[threshold] = rest else { return None };
        let is_sound = numbers.iter().all(|number| number.is_finite() && *number >= 0.0);
        (is_sound && threshold > 0.0).then_some(ThresholdFinder {
            consecutive: consecutive.try_into().ok()?,
            others: others.try_into().ok()?,
            threshold,
        })
    }

    fn find(&self) -> Option<f32> {
        let (n_consecutive, n_others) = (self.consecutive.iter().sum(), self.others.iter().sum());
        if f32::min(n_consecutive, n_others) < MIN_WEIGHT {
            return None;
        }
        let (mut below, mut others_below) = (0.0, 0.0);
        let (mut best, mut best_bin) = (f32::MIN, 0);
        for bin in 0..N_BINS {
            below += self.consecutive[bin] / n_consecutive;
            others_below += self.others[bin] / n_others;
            if below - others_below > best {
                (best, best_bin) = (below - others_below, bin);
            }
        }
        Some((LOWEST + (best_bin + 1) as f32 / BINS_PER_UNIT).exp())
    }
}

fn count(bins: &mut [f32; N_BINS], distance: f32) {
    bins.iter_mut().for_each(|weight| *weight *= DISCOUNT);
    let bin = (distance.max(1e-6).ln() - LOWEST) * BINS_PER_UNIT;
    bins[(bin.max(0.0) as usize).min(N_BINS - 1)] += 1.0;
}
