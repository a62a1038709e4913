// SPDX-License-Identifier: MIT OR Apache-2.0

//! Times: how many, their mean, spread and the last one.

use serde::{Deserialize, Serialize};

/// What is known about some durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeStats {
    /// How many there were.
    pub count: u64,
    /// Their mean, in nanoseconds.
    pub mean_ns: f64,
    /// The sum of squared distances from the mean (Welford).
    squares: f64,
    /// The last one.
    pub last_ns: u64,
}

impl TimeStats {
    /// Takes one in.
    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        let distance = ns as f64 - self.mean_ns;
        self.mean_ns += distance / self.count as f64;
        self.squares += distance * (ns as f64 - self.mean_ns);
        self.last_ns = ns;
    }

    /// Takes others in, which came later.
    pub fn merge(&mut self, other: &TimeStats) {
        if other.count == 0 {
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let distance = other.mean_ns - self.mean_ns;
        self.mean_ns += distance * m / (n + m);
        self.squares += other.squares + distance * distance * n * m / (n + m);
        self.count = self.count.saturating_add(other.count);
        self.last_ns = other.last_ns;
    }

    /// Their standard deviation, in nanoseconds.
    pub fn deviation_ns(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).max(0.0).sqrt() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_together_are_as_all_at_once() {
        let times = [5, 9, 1, 1, 40, 7];
        let mut all = TimeStats::default();
        times.into_iter().for_each(|ns| all.add(ns));
        let (mut first, mut second) = (TimeStats::default(), TimeStats::default());
        times[..2].iter().for_each(|ns| first.add(*ns));
        times[2..].iter().for_each(|ns| second.add(*ns));
        first.merge(&second);
        assert_eq!((first.count, first.last_ns), (6, 7));
        assert!((first.mean_ns - all.mean_ns).abs() < 1e-9);
        assert!((first.deviation_ns() - all.deviation_ns()).abs() < 1e-9);
    }
}
