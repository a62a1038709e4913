// SPDX-License-Identifier: MIT OR Apache-2.0

//! Running means and deviations that can be merged.

/// A running mean; without values it has none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean {
    sum: f64,
    count: u64,
}

impl Mean {
    /// Takes one value in.
    pub fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    /// Takes in all values of another mean.
    pub fn merge(&mut self, other: Mean) {
        self.sum += other.sum;
        self.count += other.count;
    }

    /// How many values were taken in.
    pub fn count(self) -> u64 {
        self.count
    }

    /// The mean.
    pub fn value(self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64)
    }

    /// The mean of shares between 0 and 1, in percent.
    pub fn percent(self) -> Option<f64> {
        self.value().map(|share| 100.0 * share)
    }
}

/// Mean, deviation and range of a stream of values (Welford's recurrence).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
    min: f64,
    max: f64,
}

impl Default for Moments {
    fn default() -> Moments {
        Moments { count: 0, mean: 0.0, squares: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Moments {
    /// Takes one value in.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Takes in all values of another.
    pub fn merge(&mut self, other: Moments) {
        if other.count == 0 {
            return;
        }
        let count = self.count + other.count;
        let distance = other.mean - self.mean;
        let share = other.count as f64 / count as f64;
        self.squares += other.squares + distance * distance * self.count as f64 * share;
        self.mean += distance * share;
        self.count = count;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many values were taken in.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean)
    }

    /// The standard deviation of the values themselves (not of a larger set
    /// that they might be a sample of).
    pub fn deviation(&self) -> Option<f64> {
        (self.count > 0).then(|| (self.squares / self.count as f64).sqrt())
    }

    /// The smallest value.
    pub fn min(&self) -> Option<f64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value.
    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then_some(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_nothing_is_nothing() {
        assert_eq!(Mean::default().value(), None);
        assert_eq!(Moments::default().mean(), None);
    }

    #[test]
    fn merged_moments_equal_those_of_all_values_together() {
        let values = [3.0, 4.0, 8.0, 1.0, 9.0];
        let (mut all, mut left, mut right) =
            (Moments::default(), Moments::default(), Moments::default());
        for (index, value) in values.into_iter().enumerate() {
            all.add(value);
            if index < 2 { left.add(value) } else { right.add(value) }
        }
        left.merge(right);
        assert_eq!(left.mean(), Some(5.0));
        assert!((left.deviation().unwrap() - all.deviation().unwrap()).abs() < 1e-12);
        assert!((all.deviation().unwrap() - 9.2f64.sqrt()).abs() < 1e-12);
        assert_eq!((left.min(), left.max()), (Some(1.0), Some(9.0)));
    }
}
