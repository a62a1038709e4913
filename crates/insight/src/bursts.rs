// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counts the bursts of each thread: operations between two waits that its
//! oracle takes for quiet. Where quiet begins is learned, so the first bursts
//! are missed and the line may move; what is counted is a pattern, not a
//! protocol.

use ioracle_events::{Event, FastMap, StreamId};

/// Threads that are followed, as many as the engine follows.
const MAX_STREAMS: usize = 1024;

/// The bursts of all threads.
#[derive(Debug, Default)]
pub struct BurstTally {
    streams: FastMap<StreamId, Stream>,
}

/// The bursts of one thread that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BurstsSeen {
    /// How many.
    pub n: u64,
    /// Operations of all of them.
    pub operations: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    first_start_ns: u64,
    last_start_ns: u64,
}

impl BurstsSeen {
    /// From the start of one burst to the start of the next, on average.
    pub fn period_ns(&self) -> u64 {
        (self.last_start_ns - self.first_start_ns) / (self.n - 1).max(1)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Stream {
    seen: BurstsSeen,
    last_end_ns: Option<u64>,
    /// The burst that goes on, once its start was seen.
    current: Option<Current>,
}

#[derive(Clone, Copy, Debug)]
struct Current {
    start_ns: u64,
    operations: u64,
    bytes: u64,
}

impl BurstTally {
    /// Counts an operation; waits from `quiet_ns` on lie between bursts.
    pub fn add(&mut self, event: &Event, quiet_ns: Option<u64>) {
        if self.streams.len() < MAX_STREAMS || self.streams.contains_key(&event.stream) {
            self.streams.entry(event.stream).or_default().add(event, quiet_ns);
        }
    }

    /// The bursts of a thread, if there were at least two.
    pub fn of(&self, stream: StreamId) -> Option<BurstsSeen> {
        self.streams.get(&stream).map(|stream| stream.seen).filter(|seen| seen.n >= 2)
    }

    /// Makes room for other threads.
    pub fn forget(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }
}

impl Stream {
    fn add(&mut self, event: &Event, quiet_ns: Option<u64>) {
        let wait_ns = self.last_end_ns.map(|end_ns| event.start_ns.saturating_sub(end_ns));
        self.last_end_ns = Some(event.end_ns);
        let begins = wait_ns.zip(quiet_ns).is_some_and(|(wait_ns, quiet_ns)| wait_ns >= quiet_ns);
        if begins {
            self.end_burst();
            self.current = Some(Current { start_ns: event.start_ns, operations: 0, bytes: 0 });
        }
        if let Some(current) = &mut self.current {
            current.operations += 1;
            current.bytes = current.bytes.saturating_add(event.transferred());
        }
    }

    fn end_burst(&mut self) {
        let Some(ended) = self.current.take() else { return };
        let seen = &mut self.seen;
        if seen.n == 0 {
            seen.first_start_ns = ended.start_ns;
        }
        seen.last_start_ns = seen.last_start_ns.max(ended.start_ns);
        seen.n += 1;
        seen.operations += ended.operations;
        seen.bytes = seen.bytes.saturating_add(ended.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::event;

    #[test]
    fn operations_between_quiet_waits_are_one_burst() {
        let mut bursts = BurstTally::default();
        let stream = StreamId { rank: 0, thread: 0 };
        for n in 0..40 {
            // Four writes 100 ns apart, then a second of nothing.
            let start_ns = n / 4 * 1_000_000_000 + n % 4 * 200;
            let write = event("write", 1, Some((n * 10, 10)));
            bursts.add(&Event { start_ns, end_ns: start_ns + 100, ..write }, Some(1_000_000));
        }
        let seen = bursts.of(stream).unwrap();
        // The first one began out of sight, the last one goes on.
        assert_eq!((seen.n, seen.operations, seen.bytes), (8, 32, 320));
        assert_eq!(seen.period_ns(), 1_000_000_000);
    }

    #[test]
    fn without_quiet_there_are_no_bursts() {
        let mut bursts = BurstTally::default();
        (0..40).for_each(|n| bursts.add(&event("write", 1, Some((n, 1))), None));
        assert_eq!(bursts.of(StreamId { rank: 0, thread: 0 }), None);
    }
}
