// SPDX-License-Identifier: MIT OR Apache-2.0

//! Statistics of pairs of runs.

/// Measurements without and with capture, made in turn.
#[derive(Default)]
pub struct Pairs(Vec<(f64, f64)>);

impl Pairs {
    /// Measures `n` pairs. Which of the two comes first changes from pair to pair.
    pub fn measure(
        n: usize,
        mut plain: impl FnMut() -> f64,
        mut captured: impl FnMut() -> f64,
    ) -> Pairs {
        let mut pairs = Vec::with_capacity(n);
        for number in 0..n {
            if number % 2 == 0 {
                let first = plain();
                pairs.push((first, captured()));
            } else {
                let first = captured();
                pairs.push((plain(), first));
            }
        }
        Pairs(pairs)
    }

    /// Median without capture.
    pub fn plain(&self) -> f64 {
        median(self.0.iter().map(|pair| pair.0).collect())
    }

    /// Median with capture.
    pub fn captured(&self) -> f64 {
        median(self.0.iter().map(|pair| pair.1).collect())
    }

    /// Median of the differences.
    pub fn added(&self) -> f64 {
        median(self.0.iter().map(|pair| pair.1 - pair.0).collect())
    }

    /// Geometric mean of the ratios, and the upper end of its 95 % interval
    /// (Student's t on the logarithms).
    pub fn ratio(&self) -> (f64, f64) {
        let logarithms: Vec<f64> = self.0.iter().map(|pair| (pair.1 / pair.0).ln()).collect();
        let n = logarithms.len() as f64;
        let mean = logarithms.iter().sum::<f64>() / n;
        let variance =
            logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
        // Two-sided 95 % for 29 degrees of freedom, which is what is asked for.
        let t = 2.045;
        (mean.exp(), (mean + t * (variance / n).sqrt()).exp())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
