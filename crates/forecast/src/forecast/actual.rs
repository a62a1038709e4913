// SPDX-License-Identifier: MIT OR Apache-2.0

//! A forecast against what a real run took.

use super::{Forecast, is_empty};
use crate::profile::{Direction, Profile};
use crate::statistics::{mean, rsd};

/// Reads, writes and total of real runs on the target, and how far off the forecast
/// was (the paper's equation 3: positive if too long was predicted).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Seconds: reads, writes, total.
    pub actual_s: [f64; 3],
    /// Percent; `None` where there was nothing.
    pub error_percent: [Option<f64>; 3],
    /// RSD of the real runs.
    pub rsd: [f64; 3],
    /// Whether the interval contains the real total.
    pub is_inside: bool,
}

impl Forecast {
    /// Compares with real runs, at least one.
    pub fn compare(&self, runs: &[Profile]) -> Comparison {
        let series: [Vec<f64>; 3] = [
            runs.iter().map(|run| run.direction_s(Direction::Read)).collect(),
            runs.iter().map(|run| run.direction_s(Direction::Write)).collect(),
            runs.iter().map(Profile::total_s).collect(),
        ];
        let actual_s = series.each_ref().map(|values| mean(values));
        let expected = [self.read_s, self.write_s, self.total_s];
        let error_percent = std::array::from_fn(|n| {
            (actual_s[n] > 0.0).then(|| 100.0 * (expected[n] - actual_s[n]) / actual_s[n])
        });
        let (low, high) = self.interval_s;
        let is_inside = low <= actual_s[2] && actual_s[2] <= high;
        Comparison { actual_s, error_percent, rsd: series.each_ref().map(|it| rsd(it)), is_inside }
    }

    /// Whether anything could be forecast: there is time in classes that moves data.
    pub fn has_io(&self) -> bool {
        self.classes.iter().any(|row| row.reference_s > 0.0 && !is_empty(&row.class))
    }
}
