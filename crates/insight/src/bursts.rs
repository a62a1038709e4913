// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counts the bursts of each thread: operations between two waits that its oracle takes
//! for quiet. The threshold for quiet is only learned while the program runs, so bursts
//! are counted for every possible threshold, each a power of two, and the summary uses
//! the one found in the end.

use ioracle_events::{Event, StreamId};

use crate::tally::RowTable;

/// Threads that are followed, as many as the engine follows.
const MAX_STREAMS: usize = 1024;

/// Waits from 2^16 ns (65 µs) to 2^42 ns (73 minutes) may be where quiet begins.
const FIRST_LINE: u32 = 16;
const N_LINES: usize = 27;

/// How regularly bursts must come to have a period: the standard deviation of the times
/// between their starts, relative to the mean.
const REGULAR: f64 = 0.35;

/// The bursts of all threads.
#[derive(Debug, Default)]
pub struct BurstTally {
    streams: RowTable<StreamId, Stream>,
}

/// The bursts of one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BurstsSeen {
    /// How many.
    pub n: u64,
    /// Operations of all of them.
    pub operations: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    first_start_ns: u64,
    last_start_ns: u64,
    /// Sum of the squared times between starts, in seconds.
    squares: f64,
}

impl BurstsSeen {
    /// From the start of one burst to the start of the next, on average.
    pub fn period_ns(&self) -> u64 {
        (self.last_start_ns - self.first_start_ns) / (self.n - 1).max(1)
    }

    /// Whether they come at regular times.
    pub fn is_regular(&self) -> bool {
        let n_between = self.n.saturating_sub(1).max(1) as f64;
        let mean = (self.last_start_ns - self.first_start_ns) as f64 * 1e-9 / n_between;
        let variance = (self.squares / n_between - mean * mean).max(0.0);
        self.n > 2 && variance.sqrt() <= REGULAR * mean
    }

    fn begin(&mut self, start_ns: u64) {
        if self.n == 0 {
            self.first_start_ns = start_ns;
        } else {
            let between = start_ns.saturating_sub(self.last_start_ns) as f64 * 1e-9;
            self.squares += between * between;
        }
        self.last_start_ns = self.last_start_ns.max(start_ns);
        self.n += 1;
    }
}

#[derive(Clone, Debug, Default)]
struct Stream {
    /// By the threshold from which on waits are quiet.
    seen: [BurstsSeen; N_LINES],
    operations: u64,
    bytes: u64,
    last_end_ns: Option<u64>,
}

impl BurstTally {
    /// Counts an operation.
    pub fn add(&mut self, event: &Event) {
        if let Some(stream) = self.streams.entry(event.stream, MAX_STREAMS) {
            stream.add(event);
        }
    }

    /// The bursts of a thread in which waits from `quiet_ns` on lie between them,
    /// if there were at least two.
    pub fn of(&self, stream: StreamId, quiet_ns: u64) -> Option<BurstsSeen> {
        let stream = self.streams.get(&stream)?;
        let seen = stream.seen[n_lines_up_to(quiet_ns).clamp(1, N_LINES) - 1];
        let seen = BurstsSeen { operations: stream.operations, bytes: stream.bytes, ..seen };
        (seen.n >= 2).then_some(seen)
    }

    /// Makes room for other threads.
    pub fn forget(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }
}

impl Stream {
    fn add(&mut self, event: &Event) {
        // The first operation begins a burst, whatever the threshold.
        let n_begun = match self.last_end_ns {
            Some(end_ns) => n_lines_up_to(event.start_ns.saturating_sub(end_ns)),
            None => N_LINES,
        };
        self.last_end_ns = Some(event.end_ns);
        self.operations += 1;
        self.bytes = self.bytes.saturating_add(event.transferred());
        self.seen[..n_begun].iter_mut().for_each(|seen| seen.begin(event.start_ns));
    }
}

/// For how many of the thresholds a wait is quiet.
fn n_lines_up_to(wait_ns: u64) -> usize {
    let class = 63 - wait_ns.max(1).leading_zeros();
    (class + 1).saturating_sub(FIRST_LINE).min(N_LINES as u32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::event;

    const STREAM: StreamId = StreamId { rank: 0, thread: 0 };

    /// Bursts of four writes 100 ns apart; `between` says how long after the start
    /// of the n-th the next one begins.
    fn bursts(between: impl Fn(u64) -> u64) -> BurstTally {
        let mut bursts = BurstTally::default();
        let mut burst_ns = 0;
        for burst in 0..10 {
            for n in 0..4 {
                let start_ns = burst_ns + n * 200;
                let write = event("write", 1, Some((burst * 40 + n * 10, 10)));
                bursts.add(&Event { start_ns, end_ns: start_ns + 100, ..write });
            }
            burst_ns += between(burst);
        }
        bursts
    }

    #[test]
    fn operations_between_quiet_waits_are_one_burst() {
        let seen = bursts(|_| 1_000_000_000).of(STREAM, 1_000_000).unwrap();
        assert_eq!((seen.n, seen.operations, seen.bytes), (10, 40, 400));
        assert_eq!(seen.period_ns(), 1_000_000_000);
        assert!(seen.is_regular());
    }

    #[test]
    fn bursts_at_any_time_have_no_period() {
        let seen = bursts(|n| if n % 3 == 0 { 9_000_000_000 } else { 500_000_000 });
        assert!(!seen.of(STREAM, 1_000_000).unwrap().is_regular());
    }

    #[test]
    fn a_wait_below_the_line_ends_no_burst() {
        let tally = bursts(|n| if n % 2 == 0 { 4_000_000 } else { 2_000_000_000 });
        assert_eq!(tally.of(STREAM, 1 << 24).unwrap().n, 5);
        assert_eq!(tally.of(STREAM, 1 << 20).unwrap().n, 10);
    }

    #[test]
    fn without_quiet_there_are_no_bursts() {
        assert_eq!(bursts(|_| 1000).of(STREAM, 1 << 20), None);
    }
}
