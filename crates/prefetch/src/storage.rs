// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is known of the storage: how long requests take, alone and beside others.

/// Weight of the newest request in the averages.
const NEWEST: f64 = 0.1;
/// Requests that are seen before anything is concluded.
const FEW: u32 = 8;
/// A share of another request that is not worth one.
const NOT_WORTH_ONE: f64 = 0.1;

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

    /// How many requests of so many bytes at a time bring as many bytes per second as
    /// the storage can, and no more than `at_most`.
    ///
    /// A request takes a latency and a transfer; latencies overlap, transfers do not.
    /// While one transfers, others can wait for theirs: as many as there are transfers
    /// in a latency.
    pub fn useful_in_flight(&self, bytes: u64, at_most: usize) -> usize {
        let Some((latency_ns, ns_per_byte)) = self.latency_and_transfer() else { return at_most };
        let transfer_ns = ns_per_byte * bytes as f64;
        if transfer_ns * at_most as f64 <= latency_ns {
            return at_most;
        }
        let beside = (latency_ns / transfer_ns - NOT_WORTH_ONE).ceil().max(0.0) as usize;
        (1 + beside).min(at_most)
    }

    /// Latency, and time per byte of transfer; none until requests were seen alone and
    /// beside others.
    fn latency_and_transfer(&self) -> Option<(f64, f64)> {
        let (alone, shared) = (&self.alone, &self.shared);
        let at_once = shared.bytes * shared.at_a_time;
        if alone.n < FEW || shared.n < FEW || at_once < 1.5 * alone.bytes {
            return None;
        }
        let ns_per_byte = ((shared.ns - alone.ns) / (at_once - alone.bytes)).max(0.0);
        Some(((alone.ns - ns_per_byte * alone.bytes).max(0.0), ns_per_byte))
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
    fn requests_at_a_time_fill_the_latency_with_transfers() {
        // Alone, latency and transfer; beside three others, their transfers, too.
        for (latency_ns, transfer_ns, useful) in [
            (1_000_000, 5_000_000, 2),
            (10_000_000, 5_000_000, 3),
            (40_000_000, 5_000_000, 4),
            (0, 5_000_000, 1),
            (1_000_000, 0, 4),
        ] {
            let mut storage = StorageModel::default();
            assert_eq!(storage.useful_in_flight(MB, 4), 4);
            (0..20).for_each(|_| storage.learn(MB, latency_ns + transfer_ns, 1));
            (0..20).for_each(|_| storage.learn(MB, latency_ns + 4 * transfer_ns, 4));
            assert_eq!(storage.useful_in_flight(MB, 4), useful, "{latency_ns} {transfer_ns}");
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
