// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sums in bins of equal width over a span whose length is not known beforehand.
//!
//! The width doubles, and neighbouring bins are added up, whenever something
//! lies beyond the last bin. So a series has between half and all of its bins in
//! use, in constant memory, whatever comes.

use std::hash::Hash;

use ioracle_events::{Access, FastMap};

/// Several series over the same bins, found by a key.
#[derive(Debug)]
pub struct GrowingBins<K> {
    n_bins: usize,
    max_series: usize,
    width: u64,
    /// One past the last bin in use.
    used: usize,
    series: FastMap<K, Vec<u64>>,
}

impl<K: Eq + Hash> GrowingBins<K> {
    /// Bins that are `width` wide at first.
    pub fn new(n_bins: usize, max_series: usize, width: u64) -> GrowingBins<K> {
        GrowingBins { n_bins, max_series, width, used: 0, series: FastMap::default() }
    }

    /// Adds to the bin at a position.
    pub fn add(&mut self, key: K, at: u64, amount: u64) {
        let bin = self.bin(at);
        if let Some(bins) = self.of_mut(key) {
            bins[bin] = bins[bin].saturating_add(amount);
        }
    }

    /// Shares an amount out over the bins from `start` to `end`, by how much of
    /// the span lies in each.
    pub fn spread(&mut self, key: K, (start, end): (u64, u64), amount: u64) {
        if amount == 0 {
            return;
        }
        let last = self.bin(end.max(start));
        let first = self.bin(start);
        let width = self.width;
        let Some(bins) = self.of_mut(key) else { return };
        if first == last {
            bins[first] = bins[first].saturating_add(amount);
            return;
        }
        let span = u128::from(end - start);
        // Rounding down each share would lose bytes, so each is the difference of
        // what has been given out up to its ends.
        let given_at = |at: u64| (u128::from(amount) * u128::from(at - start) / span) as u64;
        let mut given = 0;
        for (bin, sum) in bins.iter_mut().enumerate().take(last + 1).skip(first) {
            let to = end.min(width.saturating_mul(bin as u64 + 1));
            let share = given_at(to) - given;
            given += share;
            *sum = sum.saturating_add(share);
        }
    }

    /// The width of a bin, and how many are in use.
    pub fn shape(&self) -> (u64, usize) {
        (self.width, self.used)
    }

    /// The bins in use of a series; empty if nothing was added to it.
    pub fn get(&self, key: &K) -> &[u64] {
        self.series.get(key).map_or(&[], |bins| &bins[..self.used])
    }

    /// The keys of all series, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.series.keys()
    }

    fn of_mut(&mut self, key: K) -> Option<&mut Vec<u64>> {
        if self.series.len() >= self.max_series && !self.series.contains_key(&key) {
            return None;
        }
        let n_bins = self.n_bins;
        Some(self.series.entry(key).or_insert_with(|| vec![0; n_bins]))
    }

    fn bin(&mut self, at: u64) -> usize {
        while at / self.width >= self.n_bins as u64 {
            self.widen();
        }
        let bin = (at / self.width) as usize;
        self.used = self.used.max(bin + 1);
        bin
    }

    fn widen(&mut self) {
        self.width *= 2;
        self.used = self.used.div_ceil(2);
        for bins in self.series.values_mut() {
            for bin in 0..self.n_bins {
                let pair = bins.get(2 * bin..2 * bin + 2).unwrap_or(&[]);
                bins[bin] = pair.iter().fold(0, |sum, part| sum.saturating_add(*part));
            }
        }
    }
}

/// The direction of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlowDirection {
    Read,
    Written,
}

impl FlowDirection {
    /// The direction of an access that moves data.
    pub fn of(access: Access) -> Option<FlowDirection> {
        match access {
            Access::Read => Some(FlowDirection::Read),
            Access::Write => Some(FlowDirection::Written),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_widen_and_lose_nothing() {
        let mut bins = GrowingBins::new(8, 2, 10);
        (0..100).for_each(|n| bins.add('a', n * 10, 3));
        assert_eq!(bins.shape(), (160, 7));
        assert_eq!(bins.get(&'a').iter().sum::<u64>(), 300);
        assert_eq!(bins.get(&'b'), &[] as &[u64]);
    }

    #[test]
    fn an_amount_is_shared_out_over_its_span() {
        let mut bins = GrowingBins::new(8, 2, 10);
        bins.spread('a', (5, 35), 100);
        assert_eq!(bins.get(&'a'), [16, 34, 33, 17]);
        bins.spread('a', (0, 0), 7);
        assert_eq!(bins.get(&'a')[0], 23);
        bins.spread('a', (0, u64::MAX), 1_000_000);
        assert_eq!(bins.get(&'a').iter().sum::<u64>(), 1_000_107);
    }

    #[test]
    fn beyond_the_bound_there_are_no_new_series() {
        let mut bins = GrowingBins::new(4, 1, 10);
        bins.add(1, 0, 5);
        bins.add(2, 0, 5);
        assert_eq!((bins.get(&1), bins.get(&2)), (&[5][..], &[][..]));
    }
}
