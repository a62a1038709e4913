// SPDX-License-Identifier: MIT OR Apache-2.0

//! What learning costs, in nanoseconds.

use ioracle_engine::score::Moments;

/// Sub-buckets per power of two: a percentile is off by at most one part in 32.
const SUB_BUCKETS: usize = 32;
const SUB_BITS: u32 = SUB_BUCKETS.trailing_zeros();
const BUCKETS: usize = (64 - SUB_BITS as usize + 1) * SUB_BUCKETS;

/// A histogram of durations with buckets that widen with the value, so that it
/// holds any run in a constant 15 KB.
#[derive(Clone, Debug)]
pub struct Cost {
    counts: Vec<u64>,
    moments: Moments,
}

impl Default for Cost {
    fn default() -> Cost {
        Cost { counts: vec![0; BUCKETS], moments: Moments::default() }
    }
}

impl Cost {
    /// Takes one duration in.
    pub fn add(&mut self, ns: u64) {
        if let Some(count) = self.counts.get_mut(bucket(ns)) {
            *count += 1;
        }
        self.moments.add(ns as f64);
    }

    /// Takes in the durations of another stream.
    pub fn merge(&mut self, other: &Cost) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.moments.merge(other.moments);
    }

    /// Mean and deviation.
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// The duration that 99 of 100 do not exceed, to the upper end of its bucket.
    pub fn p99(&self) -> Option<u64> {
        let needed = (self.moments.count() * 99).div_ceil(100);
        let mut seen = 0;
        self.counts
            .iter()
            .position(|count| {
                seen += count;
                seen >= needed && seen > 0
            })
            .map(bucket_end)
    }
}

/// Values below `SUB_BUCKETS` have a bucket each; above, each power of two is
/// cut into `SUB_BUCKETS` equal ones.
fn bucket(ns: u64) -> usize {
    if ns < SUB_BUCKETS as u64 {
        return ns as usize;
    }
    let shift = 63 - ns.leading_zeros() - SUB_BITS;
    (shift as usize + 1) * SUB_BUCKETS + ((ns >> shift) as usize - SUB_BUCKETS)
}

/// The largest value of a bucket.
fn bucket_end(bucket: usize) -> u64 {
    if bucket < SUB_BUCKETS {
        return bucket as u64;
    }
    let shift = bucket / SUB_BUCKETS - 1;
    let first = ((bucket % SUB_BUCKETS + SUB_BUCKETS) as u64) << shift;
    first + ((1u64 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_in_its_bucket() {
        for ns in (0..2000).chain([u64::from(u32::MAX), u64::MAX]) {
            let bucket = bucket(ns);
            assert!(bucket < BUCKETS);
            assert!(ns <= bucket_end(bucket), "{ns}");
            assert!(bucket == 0 || ns > bucket_end(bucket - 1), "{ns}");
        }
    }

    #[test]
    fn the_slowest_one_in_a_hundred_is_left_out() {
        let mut cost = Cost::default();
        for _ in 0..99 {
            cost.add(20);
        }
        cost.add(1_000_000);
        assert_eq!(cost.p99(), Some(20));
        assert_eq!(cost.moments().mean(), Some((99.0 * 20.0 + 1e6) / 100.0));
        cost.add(1_000_000);
        assert!(cost.p99().unwrap() >= 1_000_000);
    }

    #[test]
    fn nothing_measured_has_no_percentile() {
        assert_eq!(Cost::default().p99(), None);
    }
}
