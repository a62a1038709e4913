// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is known of the storage: how long requests take, alone and beside others.

/// Weight of the newest request in the averages.
const NEWEST: f64 = 0.1;
/// Requests that are seen before anything is concluded.
const FEW: u32 = 8;
/// Where requests beside others take this share of `n` times as long, `n` at a
/// time bring no more bytes per second than one.
const SATURATED: f64 = 0.75;

/// Averages of the time that requests took.
#[derive(Clone, Debug, Default)]
pub struct StorageModel {
    alone: Average,
    shared: Average,
}

#[derive(Clone, Debug, Default)]
struct Average {
    n: u32,
    ns: f64,
    bytes: f64,
    at_a_time: f64,
}

impl StorageModel {
    /// A request of so many bytes took so long, beside `at_a_time - 1` others.
    pub fn learn(&mut self, bytes: u64, took_ns: u64, at_a_time: usize) {
        let average = if at_a_time <= 1 { &mut self.alone } else { &mut self.shared };
        average.learn(bytes as f64, took_ns as f64, at_a_time as f64);
    }

    /// How long a request is going to take; none if nothing is known yet.
    pub fn service_ns(&self, bytes: u64) -> Option<u64> {
        let average = if self.alone.n > 0 { &self.alone } else { &self.shared };
        // A larger request is taken to cost in proportion, a smaller one as much.
        let larger = (bytes as f64 / average.bytes.max(1.0)).max(1.0);
        (average.n > 0).then_some((average.ns * larger) as u64)
    }

    /// Nanoseconds per byte of whole requests; none if nothing is known yet.
    pub fn ns_per_byte(&self) -> Option<f64> {
        let average = if self.alone.n > 0 { &self.alone } else { &self.shared };
        (average.n > 0).then(|| average.ns / average.bytes.max(1.0))
    }

    /// Whether several requests at a time bring no more than one.
    pub fn is_saturated(&self) -> bool {
        let (alone, shared) = (&self.alone, &self.shared);
        if alone.n < FEW || shared.n < FEW || shared.at_a_time < 1.5 {
            return false;
        }
        let slower = (shared.ns / shared.bytes.max(1.0)) / (alone.ns / alone.bytes.max(1.0));
        slower >= SATURATED * shared.at_a_time
    }
}

impl Average {
    fn learn(&mut self, bytes: f64, ns: f64, at_a_time: f64) {
        self.n = self.n.saturating_add(1);
        // The first few count equally.
        let weight = NEWEST.max(1.0 / f64::from(self.n));
        self.ns += weight * (ns - self.ns);
        self.bytes += weight * (bytes - self.bytes);
        self.at_a_time += weight * (at_a_time - self.at_a_time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    #[test]
    fn storage_that_serves_several_at_once_is_not_saturated() {
        for (four_ns, saturated) in [(6_000_000, false), (12_000_000, false), (24_000_000, true)] {
            let mut storage = StorageModel::default();
            (0..20).for_each(|_| storage.learn(MB, 6_000_000, 1));
            (0..20).for_each(|_| storage.learn(MB, four_ns, 4));
            assert_eq!(storage.is_saturated(), saturated, "{four_ns}");
        }
    }

    #[test]
    fn a_small_request_takes_as_long_and_a_large_one_longer() {
        let mut storage = StorageModel::default();
        assert_eq!(storage.service_ns(1), None);
        storage.learn(MB, 1_000_000, 1);
        assert_eq!(storage.service_ns(4096), Some(1_000_000));
        assert_eq!(storage.service_ns(4 * MB), Some(4_000_000));
    }
}
