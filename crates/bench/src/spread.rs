// SPDX-License-Identifier: MIT OR Apache-2.0

//! How well a mean is known, and when that is well enough.

use serde::{Deserialize, Serialize};

/// Mean and spread of repeated measurements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanSpread {
    /// Measurements.
    pub n: u32,
    /// Their mean.
    pub mean: f64,
    /// Relative standard deviation, in percent of the mean; 0 for one measurement.
    pub rsd_percent: f64,
    /// 95 % confidence interval of the mean, by Student's t.
    pub ci95: (f64, f64),
}

impl MeanSpread {
    /// The spread of some values; none has none.
    pub fn of(values: &[f64]) -> Option<MeanSpread> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        if n == 1 {
            // One value says nothing about the others.
            return Some(MeanSpread { n: 1, mean, rsd_percent: 0.0, ci95: (0.0, f64::MAX) });
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (n - 1) as f64).sqrt();
        let half = student_t(n - 1) * deviation / (n as f64).sqrt();
        let rsd_percent = if mean > 0.0 { 100.0 * deviation / mean } else { 0.0 };
        Some(MeanSpread {
            n: n as u32,
            mean,
            rsd_percent,
            ci95: ((mean - half).max(0.0), mean + half),
        })
    }

    /// Half of the confidence interval, as a share of the mean.
    pub fn relative_half_width(&self) -> f64 {
        if self.mean > 0.0 { (self.ci95.1 - self.mean) / self.mean } else { 0.0 }
    }
}

/// The 97.5 % quantile of Student's distribution.
fn student_t(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    match degrees {
        0 => f64::INFINITY,
        degrees if degrees <= TABLE.len() => TABLE[degrees - 1],
        degrees => 1.96 + 2.4 / degrees as f64,
    }
}

/// When to stop repeating.
#[derive(Clone, Copy, Debug)]
pub struct RepetitionRule {
    /// Measurements at least.
    pub min: u32,
    /// Measurements at most.
    pub max: u32,
    /// Half of the confidence interval is to be below this share of the mean.
    pub precision: f64,
}

impl RepetitionRule {
    /// Whether these values suffice.
    pub fn is_enough(&self, values: &[f64]) -> bool {
        if values.len() < self.min.max(1) as usize {
            return false;
        }
        let is_known = MeanSpread::of(values)
            .is_some_and(|spread| spread.relative_half_width() <= self.precision);
        is_known || values.len() >= self.max as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spread_of_five_values_is_that_of_the_textbook() {
        let spread = MeanSpread::of(&[9.0, 10.0, 11.0, 10.0, 10.0]).unwrap();
        assert_eq!((spread.n, spread.mean), (5, 10.0));
        assert!((spread.rsd_percent - 7.071).abs() < 0.001, "{spread:?}");
        // 2.776 * 0.7071 / sqrt(5)
        assert!((spread.relative_half_width() - 0.0878).abs() < 0.0001, "{spread:?}");
        assert_eq!(MeanSpread::of(&[]), None);
        assert_eq!(MeanSpread::of(&[4.0]).unwrap().rsd_percent, 0.0);
        assert_eq!(MeanSpread::of(&[0.0, 0.0]).unwrap().relative_half_width(), 0.0);
    }

    #[test]
    fn repetition_ends_when_the_spread_is_known_or_the_limit_reached() {
        let rule = RepetitionRule { min: 3, max: 6, precision: 0.05 };
        assert!(!rule.is_enough(&[1.0, 1.0]));
        assert!(rule.is_enough(&[1.0, 1.0, 1.0]));
        assert!(!rule.is_enough(&[1.0, 2.0, 3.0, 1.0, 2.0]));
        assert!(rule.is_enough(&[1.0, 2.0, 3.0, 1.0, 2.0, 3.0]));
    }

    #[test]
    fn quantiles_of_student_fall_to_that_of_gauss() {
        let quantiles: Vec<f64> = (1..2000).map(student_t).collect();
        assert!(quantiles.windows(2).all(|pair| pair[0] >= pair[1]));
        assert!((student_t(1999) - 1.961).abs() < 0.001);
    }
}
