// SPDX-License-Identifier: MIT OR Apache-2.0

//! Expected calibration error: does what was stated with probability 0.8 come
//! true eight times in ten?

const BINS: usize = 10;

/// Stated probabilities in ten bins of equal width, each with how often it was
/// right.
#[derive(Clone, Debug, Default)]
pub struct CalibrationBins {
    bins: [Bin; BINS],
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    stated: f64,
    right: u64,
    count: u64,
    /// Variance of `right` if every statement held as often as it says.
    variance: f64,
}

impl CalibrationBins {
    /// Takes in a statement and whether it came true.
    pub fn add(&mut self, probability: f64, is_right: bool) {
        let bin = ((probability * BINS as f64) as usize).min(BINS - 1);
        if let Some(bin) = self.bins.get_mut(bin) {
            bin.stated += probability;
            bin.right += u64::from(is_right);
            bin.count += 1;
            bin.variance += probability * (1.0 - probability);
        }
    }

    /// Takes in the statements of another stream.
    pub fn merge(&mut self, other: &CalibrationBins) {
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            bin.stated += more.stated;
            bin.right += more.right;
            bin.count += more.count;
            bin.variance += more.variance;
        }
    }

    /// Mean distance between the stated probability and how often it was right;
    /// `None` if nothing was stated.
    pub fn error(&self) -> Option<f64> {
        let count: u64 = self.bins.iter().map(|bin| bin.count).sum();
        let distance: f64 = self.bins.iter().map(|bin| (bin.stated - bin.right as f64).abs()).sum();
        (count > 0).then(|| distance / count as f64)
    }

    /// The error to be expected by chance alone if every statement held as often as it
    /// says: a small number of statements never comes true exactly that often. `None`
    /// if nothing was stated.
    pub fn error_by_chance(&self) -> Option<f64> {
        let count: u64 = self.bins.iter().map(|bin| bin.count).sum();
        // The mean absolute deviation of a normal distribution.
        let deviation = |bin: &Bin| (bin.variance.max(0.0) * std::f64::consts::FRAC_2_PI).sqrt();
        (count > 0).then(|| self.bins.iter().map(deviation).sum::<f64>() / count as f64)
    }

    /// For each bin that holds any: mean stated probability, share that was
    /// right, and how many statements.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        self.bins.iter().filter(|bin| bin.count > 0).map(|bin| {
            let count = bin.count as f64;
            (bin.stated / count, bin.right as f64 / count, bin.count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_certain_has_no_error_by_chance_and_few_statements_have_much() {
        let mut bins = CalibrationBins::default();
        assert_eq!(bins.error_by_chance(), None);
        bins.add(1.0, true);
        assert_eq!(bins.error_by_chance(), Some(0.0));
        // A hundred tosses of a coin are off by 4 on average.
        let mut coins = CalibrationBins::default();
        (0..100).for_each(|toss| coins.add(0.5, toss % 2 == 0));
        assert!((coins.error_by_chance().unwrap() - 0.04).abs() < 0.001);
    }
}
