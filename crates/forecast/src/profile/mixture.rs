// SPDX-License-Identifier: MIT OR Apache-2.0

//! Two speeds in the times of a class.
//!
//! Whether a cache served a read cannot be seen from outside, but it shows in the
//! times: they lie around two values far apart. So the times go into a histogram of
//! their logarithms, and two normal distributions are fitted to it by expectation
//! maximisation. Two speeds are reported only if they are clearly apart.

/// Bins for each doubling of the time.
const BINS_PER_OCTAVE: usize = 4;
const BINS: usize = 64 * BINS_PER_OCTAVE;
const ROUNDS: usize = 60;

/// Two speeds, the slow one at least this many times slower.
const MIN_RATIO: f64 = 3.0;
/// And each one with this share of the calls.
const MIN_SHARE: f64 = 0.02;
/// Too few calls tell nothing.
const MIN_CALLS: u64 = 16;

/// Two groups of calls that take clearly different times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoSpeeds {
    /// Share of the fast ones, 0 to 1.
    pub fast_share: f64,
    /// Their usual time, nanoseconds.
    pub fast_ns: f64,
    /// The usual time of the others.
    pub slow_ns: f64,
}

/// Times of calls, by their logarithm.
#[derive(Clone, Debug)]
pub(crate) struct TimeHistogram {
    counts: Box<[u32; BINS]>,
    total: u64,
}

impl TimeHistogram {
    pub(crate) fn new() -> TimeHistogram {
        TimeHistogram { counts: Box::new([0; BINS]), total: 0 }
    }

    pub(crate) fn add(&mut self, time_ns: u64) {
        let log = (time_ns.max(1) as f64).log2();
        let bin = ((log * BINS_PER_OCTAVE as f64) as usize).min(BINS - 1);
        self.counts[bin] = self.counts[bin].saturating_add(1);
        self.total += 1;
    }

    /// The time that this share of the calls stays below.
    pub(crate) fn percentile_ns(&self, share: f64) -> u64 {
        let mut left = share * self.total as f64;
        for (bin, count) in self.counts.iter().enumerate() {
            left -= f64::from(*count);
            if left <= 0.0 && *count > 0 {
                return middle(bin).exp2() as u64;
            }
        }
        0
    }

    pub(crate) fn two_speeds(&self) -> Option<TwoSpeeds> {
        if self.total < MIN_CALLS {
            return None;
        }
        let bins: Vec<(f64, f64)> = (self.counts.iter().enumerate())
            .filter(|(_, count)| **count > 0)
            .map(|(bin, count)| (middle(bin), f64::from(*count)))
            .collect();
        let (first, last) = (bins.first()?.0, bins.last()?.0);
        let mut fast = Normal { mean: first, variance: 1.0, share: 0.5 };
        let mut slow = Normal { mean: last, variance: 1.0, share: 0.5 };
        let total = self.total as f64;
        for _ in 0..ROUNDS {
            let (mut of_fast, mut of_slow) = (Moments::default(), Moments::default());
            for &(log, count) in &bins {
                let (a, b) = (fast.density(log), slow.density(log));
                let belongs = if a + b > 0.0 {
                    a / (a + b)
                } else if (log - fast.mean).abs() < (log - slow.mean).abs() {
                    1.0
                } else {
                    0.0
                };
                of_fast.add(log, count * belongs);
                of_slow.add(log, count * (1.0 - belongs));
            }
            (fast, slow) = (of_fast.normal(total, fast), of_slow.normal(total, slow));
        }
        if fast.mean > slow.mean {
            (fast, slow) = (slow, fast);
        }
        let is_apart = slow.mean - fast.mean >= MIN_RATIO.log2()
            && slow.mean - fast.mean > 1.5 * (fast.variance.sqrt() + slow.variance.sqrt())
            && fast.share.min(slow.share) >= MIN_SHARE;
        is_apart.then(|| TwoSpeeds {
            fast_share: fast.share,
            fast_ns: fast.mean.exp2(),
            slow_ns: slow.mean.exp2(),
        })
    }
}

fn middle(bin: usize) -> f64 {
    (bin as f64 + 0.5) / BINS_PER_OCTAVE as f64
}

#[derive(Clone, Copy)]
struct Normal {
    mean: f64,
    variance: f64,
    share: f64,
}

impl Normal {
    fn density(&self, log: f64) -> f64 {
        let distance = log - self.mean;
        self.share * (-distance * distance / (2.0 * self.variance)).exp() / self.variance.sqrt()
    }
}

#[derive(Default)]
struct Moments {
    weight: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64, weight: f64) {
        self.weight += weight;
        self.sum += weight * value;
        self.squares += weight * value * value;
    }

    /// A bin has a width, so nothing is narrower than it.
    fn normal(&self, total: f64, before: Normal) -> Normal {
        if self.weight < 1e-9 {
            return Normal { share: 0.0, ..before };
        }
        let mean = self.sum / self.weight;
        let variance = (self.squares / self.weight - mean * mean).max(0.02);
        Normal { mean, variance, share: self.weight / total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(groups: &[(u64, u64)]) -> TimeHistogram {
        let mut histogram = TimeHistogram::new();
        for &(calls, time_ns) in groups {
            // Spread by a quarter in both directions.
            (0..calls).for_each(|n| histogram.add(time_ns * (75 + n % 51) / 100));
        }
        histogram
    }

    #[test]
    fn hits_and_misses_of_a_cache_are_two_speeds() {
        let speeds = histogram(&[(700, 3_000), (300, 900_000)]).two_speeds().unwrap();
        assert!((speeds.fast_share - 0.7).abs() < 0.02, "{speeds:?}");
        assert!((2_400.0..3_600.0).contains(&speeds.fast_ns), "{speeds:?}");
        assert!((700_000.0..1_100_000.0).contains(&speeds.slow_ns), "{speeds:?}");
    }

    #[test]
    fn one_speed_is_not_split() {
        assert_eq!(histogram(&[(1000, 50_000)]).two_speeds(), None);
        assert_eq!(histogram(&[(3, 50), (3, 50_000)]).two_speeds(), None);
        assert_eq!(TimeHistogram::new().two_speeds(), None);
    }

    #[test]
    fn percentiles_are_within_a_bin() {
        let histogram = histogram(&[(90, 1_000), (10, 1_000_000)]);
        assert!((700..1_300).contains(&histogram.percentile_ns(0.5)));
        assert!(histogram.percentile_ns(0.95) > 500_000);
        assert_eq!(TimeHistogram::new().percentile_ns(0.5), 0);
    }
}
