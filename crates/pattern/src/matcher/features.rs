// SPDX-License-Identifier: MIT OR Apache-2.0

//! Nearest neighbours over simple features, as one would try first: counts and
//! bytes on a logarithmic scale, the share of reads, and mean and share of the
//! offset distances, each in units of its standard deviation so far.

use crate::matcher::{PatternId, PatternMatcher, Recognition};
use crate::pattern::Pattern;
use crate::profile::STEP;

const N_FEATURES: usize = 7;

/// Neighbours nearer than this are the same, in standard deviations per feature.
const MAX_DISTANCE: f64 = 0.25;

/// Matches the pattern with the most similar features, if similar enough.
#[derive(Clone, Debug, Default)]
pub struct FeaturesMatcher {
    known: Vec<[f32; N_FEATURES]>,
    n_seen: f64,
    mean: [f64; N_FEATURES],
    /// Sum of squared differences from the mean (Welford).
    squares: [f64; N_FEATURES],
}

impl FeaturesMatcher {
    /// Nothing known yet.
    pub fn new() -> FeaturesMatcher {
        FeaturesMatcher::default()
    }

    fn learn(&mut self, features: &[f32; N_FEATURES]) {
        self.n_seen += 1.0;
        for (index, &value) in features.iter().enumerate() {
            let difference = f64::from(value) - self.mean[index];
            self.mean[index] += difference / self.n_seen;
            self.squares[index] += difference * (f64::from(value) - self.mean[index]);
        }
    }

    fn distance(&self, a: &[f32; N_FEATURES], b: &[f32; N_FEATURES]) -> f64 {
        let square = |index: usize| {
            let deviation = (self.squares[index] / self.n_seen).sqrt().max(1e-3);
            (f64::from(a[index] - b[index]) / deviation).powi(2)
        };
        ((0..N_FEATURES).map(square).sum::<f64>() / N_FEATURES as f64).sqrt()
    }
}

impl PatternMatcher for FeaturesMatcher {
    fn recognise(&mut self, pattern: Pattern) -> Recognition {
        let features = features(&pattern);
        self.learn(&features);
        let distances = self.known.iter().map(|known| self.distance(known, &features));
        let nearest = distances.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
        match nearest.filter(|(_, distance)| *distance < MAX_DISTANCE) {
            Some((index, distance)) => {
                Recognition::matched(PatternId(index as u32), 1.0 - distance / MAX_DISTANCE)
            }
            None => {
                self.known.push(features);
                Recognition::new_pattern(PatternId(self.known.len() as u32 - 1))
            }
        }
    }

    fn known(&self) -> usize {
        self.known.len()
    }

    fn memory_bytes(&self) -> usize {
        size_of::<FeaturesMatcher>() + size_of_val(&*self.known)
    }
}

fn features(pattern: &Pattern) -> [f32; N_FEATURES] {
    let log = |number: f32| (1.0 + number).log2();
    let n_values = pattern.series.len().max(1) as f32;
    let shares = &pattern.profile.shares;
    [
        log(pattern.counts.reads as f32),
        log(pattern.counts.writes as f32),
        log(pattern.counts.files as f32),
        pattern.profile.log_bytes(),
        pattern.series.iter().map(|&value| log(value)).sum::<f32>() / n_values,
        shares[STEP.first],
        shares[STEP.first + STEP.n - 1],
    ]
}
