// SPDX-License-Identifier: MIT OR Apache-2.0

//! The times of many calls in bounded memory: their exact number and sum, and a
//! histogram whose buckets are at most 1.6 % wide.

use serde::{Deserialize, Serialize};

/// Buckets of each power of two.
const PER_OCTAVE: u64 = 64;
/// Times up to this are their own bucket.
const EXACT: u64 = PER_OCTAVE;

/// Times of calls in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CallTimes {
    n: u64,
    sum_ns: u64,
    /// Calls by bucket; at most 64 for each of 58 powers of two.
    buckets: std::collections::BTreeMap<u32, u64>,
}

impl CallTimes {
    /// Adds one call.
    pub fn add(&mut self, ns: u64) {
        self.n += 1;
        self.sum_ns = self.sum_ns.saturating_add(ns);
        *self.buckets.entry(bucket_of(ns)).or_default() += 1;
    }

    /// Adds the calls of another.
    pub fn merge(&mut self, other: &CallTimes) {
        self.n += other.n;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        for (bucket, n) in &other.buckets {
            *self.buckets.entry(*bucket).or_default() += n;
        }
    }

    /// How many calls there were.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// All their time.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// Their mean in seconds, if there were any.
    pub fn mean_s(&self) -> Option<f64> {
        (self.n > 0).then(|| self.sum_ns as f64 / self.n as f64 / 1e9)
    }

    /// The time in seconds that a share of the calls did not exceed.
    pub fn percentile_s(&self, share: f64) -> Option<f64> {
        let rank = ((self.n as f64 * share).ceil() as u64).clamp(1, self.n.max(1));
        let mut seen = 0;
        for (bucket, n) in &self.buckets {
            seen += n;
            if seen >= rank {
                return Some(middle_of(*bucket) as f64 / 1e9);
            }
        }
        None
    }
}

fn bucket_of(ns: u64) -> u32 {
    if ns < EXACT {
        return ns as u32;
    }
    let octave = u64::from(ns.ilog2()) - u64::from(EXACT.ilog2());
    // The leading bits, of which the first is always set.
    let leading = ns >> octave;
    (EXACT + octave * PER_OCTAVE + (leading - EXACT)) as u32
}

fn middle_of(bucket: u32) -> u64 {
    let bucket = u64::from(bucket);
    if bucket < EXACT {
        return bucket;
    }
    let octave = (bucket - EXACT) / PER_OCTAVE;
    let low = (EXACT + (bucket - EXACT) % PER_OCTAVE) << octave;
    low + (1 << octave) / 2
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn number_sum_and_percentiles_are_kept() {
        let mut times = CallTimes::default();
        assert_eq!((times.mean_s(), times.percentile_s(0.5)), (None, None));
        (1..=100).for_each(|ns| times.add(ns));
        assert_eq!((times.n(), times.sum_ns()), (100, 5050));
        assert_eq!(times.percentile_s(0.5), Some(50e-9));
        assert_eq!(times.percentile_s(0.0), Some(1e-9));
        let most = times.percentile_s(1.0).unwrap();
        assert!((most - 100e-9).abs() < 2e-9, "{most}");
    }

    proptest! {
        #[test]
        fn a_percentile_is_near_that_of_the_sorted_times(
            all in proptest::collection::vec(0_u64..1 << 50, 1..200),
            share in 0.0..=1.0_f64,
        ) {
            let mut times = CallTimes::default();
            let mut halves = (CallTimes::default(), CallTimes::default());
            for (at, ns) in all.iter().enumerate() {
                times.add(*ns);
                if at % 2 == 0 { halves.0.add(*ns) } else { halves.1.add(*ns) }
            }
            halves.0.merge(&halves.1);
            prop_assert_eq!(&halves.0, &times);
            let mut sorted = all;
            sorted.sort_unstable();
            let rank = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len());
            let exact = sorted[rank - 1] as f64 / 1e9;
            let near = times.percentile_s(share).unwrap();
            prop_assert!((near - exact).abs() <= exact * 0.016 + 1e-9, "{} {}", near, exact);
        }
    }
}
