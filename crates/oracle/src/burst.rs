// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is quiet: the line between waits within a burst and waits between
//! bursts, learned while the program runs.
//!
//! Waits differ by orders of magnitude, so they are counted by powers of two.
//! The line is put where it separates the two groups best (Otsu's method: most
//! variance between the groups), with the square root of the counts as weights,
//! because the waits between bursts are few but are what matters. Groups less
//! than a factor of eight apart are one group: then there are no bursts.

use serde::{Deserialize, Serialize};

const N_CLASSES: usize = 64;
/// The line is drawn again after so many operations.
const REDRAW_EVERY: u32 = 128;

/// Counts waits and detects quiet spells.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuietLine {
    /// By the position of the highest bit of the wait in nanoseconds.
    counts: Vec<u32>,
    n_until_redrawn: u32,
    threshold_ns: u64,
}

impl Default for QuietLine {
    fn default() -> QuietLine {
        QuietLine { counts: vec![0; N_CLASSES], n_until_redrawn: 16, threshold_ns: u64::MAX }
    }
}

impl QuietLine {
    /// Counts a wait.
    pub fn learn(&mut self, interarrival_ns: u64) {
        let class = (63 - interarrival_ns.max(1).leading_zeros()) as usize;
        if let Some(count) = self.counts.get_mut(class) {
            *count += 1;
            if *count >= 1 << 20 {
                // The far past fades, and counts never overflow.
                self.counts.iter_mut().for_each(|count| *count /= 2);
            }
        }
        self.n_until_redrawn = self.n_until_redrawn.saturating_sub(1);
        if self.n_until_redrawn == 0 {
            self.n_until_redrawn = REDRAW_EVERY;
            self.redraw();
        }
    }

    /// Whether a wait lies between bursts.
    pub fn is_quiet(&self, interarrival_ns: u64) -> bool {
        interarrival_ns >= self.threshold_ns
    }

    /// From where on a wait is quiet, once that is known.
    pub fn threshold_ns(&self) -> Option<u64> {
        (self.threshold_ns < u64::MAX).then_some(self.threshold_ns)
    }

    /// Adds the waits that another oracle counted.
    pub fn merge(&mut self, other: &QuietLine) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count = count.saturating_add(*more).min(1 << 20);
        }
        self.redraw();
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        self.counts.len() == N_CLASSES && self.counts.iter().all(|&count| count <= 1 << 20)
    }

    fn redraw(&mut self) {
        let weights = self.counts.iter().map(|&count| f64::from(count).sqrt());
        let total: f64 = weights.clone().sum();
        let moment: f64 = weights.clone().zip(0..).map(|(w, class)| w * f64::from(class)).sum();
        let (mut below, mut below_moment) = (0.0, 0.0);
        let mut best = (0.0, u64::MAX);
        for (class, weight) in (0..).zip(weights) {
            if below > 0.0 && below < total {
                let above_mean = (moment - below_moment) / (total - below);
                let distance = above_mean - below_moment / below;
                let separation = below * (total - below) * distance * distance;
                if distance >= 3.0 && separation > best.0 {
                    best = (separation, 1u64 << class);
                }
            }
            below += weight;
            below_moment += weight * f64::from(class);
        }
        self.threshold_ns = best.1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(waits: &[(u64, usize)]) -> QuietLine {
        let mut line = QuietLine::default();
        for _ in 0..20 {
            for &(wait, times) in waits {
                (0..times).for_each(|_| line.learn(wait));
            }
        }
        line
    }

    #[test]
    fn computing_phases_are_separated_from_waits_within_a_burst() {
        let line = line(&[(2_000, 30), (9_000, 20), (400_000_000, 1)]);
        assert!(line.is_quiet(400_000_000) && !line.is_quiet(9_000));
    }

    #[test]
    fn waits_of_one_kind_have_no_quiet_spells() {
        assert_eq!(line(&[(2_000, 30), (3_000, 30)]).threshold_ns(), None);
    }
}
