// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is quiet: the line between waits within a burst and waits between
//! bursts, learned while the program runs.
//!
//! Waits differ by orders of magnitude, so they are counted by powers of two.
//! The line is put where it separates the two groups best (Otsu's method: most
//! variance between the groups). A class of waits weighs as much as the time that
//! they took: those between bursts are few but are what matters, and a process
//! that loses its processor for some milliseconds now and then does not pause.
//! Groups less than a factor of eight apart are one group: then there are no
//! bursts; nor are there where a wait came only once, or lasts less than some
//! hundred microseconds.

use serde::{Deserialize, Serialize};

const N_CLASSES: usize = 64;
/// The line is drawn again after so many operations; more often at first.
const REDRAW_EVERY: u32 = 128;
const FIRST_REDRAW: u32 = 16;
/// Waits of fewer than 2^18 ns are never quiet.
const FIRST_QUIET: u32 = 18;

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
        QuietLine {
            counts: vec![0; N_CLASSES],
            n_until_redrawn: FIRST_REDRAW,
            threshold_ns: u64::MAX,
        }
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
            let n_waits: u32 = self.counts.iter().fold(0, |n, &count| n.saturating_add(count));
            self.n_until_redrawn = n_waits.clamp(FIRST_REDRAW, REDRAW_EVERY);
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
        let mean_wait = |class: i32| 1.5 * (1_u64 << class) as f64;
        let weights = (0..).zip(&self.counts).map(|(class, &n)| f64::from(n) * mean_wait(class));
        let n_waits: u64 = self.counts.iter().map(|&count| u64::from(count)).sum();
        let mut n_above = n_waits;
        let total: f64 = weights.clone().sum();
        let moment: f64 = weights.clone().zip(0..).map(|(w, class)| w * f64::from(class)).sum();
        let (mut below, mut below_moment) = (0.0, 0.0);
        let mut best = 0.0;
        let mut lines = None;
        for ((class, weight), &count) in (0..).zip(weights).zip(&self.counts) {
            if below > 0.0 && below < total && n_above > 1 && class >= FIRST_QUIET {
                let above_mean = (moment - below_moment) / (total - below);
                let distance = above_mean - below_moment / below;
                let separation = below * (total - below) * distance * distance;
                if distance >= 3.0 && separation > best {
                    best = separation;
                    lines = Some((class, class));
                } else if separation == best {
                    lines = lines.map(|(first, _)| (first, class));
                }
            }
            n_above -= u64::from(count);
            below += weight;
            below_moment += weight * f64::from(class);
        }
        // Where no waits are, all lines are as good: the middle one.
        self.threshold_ns = lines.map_or(u64::MAX, |(first, last)| 1 << ((first + last) / 2));
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
    fn preemption_is_no_pause() {
        // 50 MB every two seconds by a process that sometimes loses its processor.
        let line = line(&[(5_000, 150), (20_000, 8), (4_000_000, 2), (2_000_000_000, 3)]);
        assert!(line.is_quiet(1_800_000_000) && !line.is_quiet(8_000_000));
    }

    #[test]
    fn waits_of_one_kind_have_no_quiet_spells() {
        assert_eq!(line(&[(2_000, 30), (3_000, 30)]).threshold_ns(), None);
    }
}
