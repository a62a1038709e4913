// SPDX-License-Identifier: MIT OR Apache-2.0

//! A series of offset distances, compressed while it is built.
//!
//! Buckets of so many requests become their mean. The last bucket of a slice
//! counts with what it has. Values are `f32`: a distance of 10 GB is known to a
//! kilobyte, and what is stored per pattern halves.

/// Builds one series, without allocating once it has been as long before.
#[derive(Clone, Debug)]
pub(crate) struct SeriesBuilder {
    values: Vec<f32>,
    /// Requests per value as configured.
    compression: u32,
    /// Requests per value in this slice: grows when the series is too long.
    bucket_size: u64,
    max_values: usize,
    bucket_sum: f64,
    bucket_len: u64,
}

impl SeriesBuilder {
    pub fn new(compression: u32, max_values: usize) -> SeriesBuilder {
        let compression = compression.max(1);
        // Even, so that neighbours can be joined.
        let max_values = max_values.max(2) & !1;
        SeriesBuilder {
            values: Vec::with_capacity(max_values.min(1 << 10)),
            compression,
            bucket_size: u64::from(compression),
            max_values,
            bucket_sum: 0.0,
            bucket_len: 0,
        }
    }

    #[inline]
    pub fn push(&mut self, distance: f64) {
        self.bucket_sum += distance;
        self.bucket_len += 1;
        if self.bucket_len == self.bucket_size {
            self.end_bucket();
        }
    }

    fn end_bucket(&mut self) {
        self.values.push((self.bucket_sum / self.bucket_len as f64) as f32);
        self.bucket_sum = 0.0;
        self.bucket_len = 0;
        if self.values.len() == self.max_values {
            self.halve();
        }
    }

    /// Joins neighbours, which hold equally many requests.
    fn halve(&mut self) {
        let half = self.values.len() / 2;
        for index in 0..half {
            let pair = (self.values[2 * index], self.values[2 * index + 1]);
            self.values[index] = pair.0.midpoint(pair.1);
        }
        self.values.truncate(half);
        self.bucket_size *= 2;
    }

    /// Ends the series and leaves the builder empty.
    pub fn take(&mut self) -> Box<[f32]> {
        if self.bucket_len > 0 {
            self.end_bucket();
        }
        let series = self.values.as_slice().into();
        self.clear();
        series
    }

    pub fn clear(&mut self) {
        self.values.clear();
        self.bucket_size = u64::from(self.compression);
        self.bucket_sum = 0.0;
        self.bucket_len = 0;
    }

    pub fn memory_bytes(&self) -> usize {
        self.values.capacity() * size_of::<f32>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compressed(compression: u32, max_values: usize, n: u32) -> Vec<f32> {
        let mut builder = SeriesBuilder::new(compression, max_values);
        (0..n).for_each(|value| builder.push(f64::from(value)));
        builder.take().into_vec()
    }

    #[test]
    fn buckets_become_their_mean_and_the_last_one_counts_with_what_it_has() {
        assert_eq!(compressed(1, 100, 4), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(compressed(3, 100, 8), [1.0, 4.0, 6.5]);
        assert_eq!(compressed(100, 100, 0), []);
        assert_eq!(compressed(0, 100, 2), [0.0, 1.0], "0 stands for no compression");
    }

    #[test]
    fn a_series_that_is_too_long_is_halved() {
        assert_eq!(compressed(1, 4, 4), [0.5, 2.5]);
        assert_eq!(compressed(1, 4, 8), [1.5, 5.5], "and again");
        assert!(compressed(1, 4, 1_000_000).len() < 4);
    }

    #[test]
    fn the_next_series_starts_with_the_configured_compression() {
        let mut builder = SeriesBuilder::new(1, 4);
        (0..4).for_each(|value| builder.push(f64::from(value)));
        assert_eq!(&*builder.take(), [0.5, 2.5]);
        (0..3).for_each(|value| builder.push(f64::from(value)));
        assert_eq!(&*builder.take(), [0.0, 1.0, 2.0]);
    }
}
