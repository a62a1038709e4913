// SPDX-License-Identifier: MIT OR Apache-2.0

//! What each policy is about, on a handful of pieces.

use super::*;
use crate::workload::TransferKind;

const KIB: u64 = 1 << 10;

/// A server's queue whose pieces have the numbers in which they were added.
struct Bench {
    pieces: Pieces,
    scheduler: Box<dyn Scheduler>,
}

impl Bench {
    fn new(policy: SchedulingPolicy) -> Bench {
        Bench { pieces: Pieces::default(), scheduler: policy.scheduler() }
    }

    /// Of process and application `process`, at a KiB of a file that begins at
    /// its number times a GiB.
    fn add(&mut self, process: u32, file: u32, offset_kib: u64, size_kib: u64, at_ns: u64) {
        let id = self.pieces.add(Piece {
            process,
            instance: process,
            server: 0,
            file,
            kind: TransferKind::Read,
            offset: offset_kib * KIB,
            bytes: size_kib * KIB,
            address: (u64::from(file) << 30) + offset_kib * KIB,
            ready_ns: at_ns,
            arrived_ns: at_ns,
            follower: None,
            sequence: 0,
        });
        self.scheduler.add(id, self.pieces.get(id));
    }

    fn next(&mut self, now_ns: u64, head: u64) -> (Decision, Vec<u32>) {
        let mut batch = Vec::new();
        let decision = self.scheduler.next(now_ns, head, &self.pieces, &mut batch);
        (decision, batch.into_iter().map(|id| id.0).collect())
    }

    /// All batches until nothing waits, waits of the scheduler included.
    fn drain(&mut self) -> Vec<Vec<u32>> {
        let (mut now_ns, mut head, mut batches) = (0, 0, Vec::new());
        loop {
            let (decision, batch) = self.next(now_ns, head);
            match decision {
                Decision::Idle => return batches,
                Decision::WaitUntil(at_ns) => now_ns = at_ns.max(now_ns + 1),
                Decision::Serve | Decision::ServeMerged => {
                    let last = self.pieces.get(PieceId(batch[batch.len() - 1]));
                    head = last.address + last.bytes;
                    batches.push(batch);
                }
            }
        }
    }
}

#[test]
fn time_order_is_first_come_first_served() {
    let mut bench = Bench::new(SchedulingPolicy::TimeOrder);
    for (file, offset) in [(1, 64), (0, 0), (1, 0)] {
        bench.add(0, file, offset, 64, 0);
    }
    assert_eq!(bench.drain(), [[0], [1], [2]]);
}

#[test]
fn aggregation_joins_what_waits_contiguously_around_the_oldest() {
    let mut bench = Bench::new(SchedulingPolicy::TimeOrderAggregating);
    for (file, offset) in [(1, 64), (0, 0), (1, 0), (1, 128), (1, 512)] {
        bench.add(0, file, offset, 64, 0);
    }
    assert_eq!(bench.drain(), [vec![2, 0, 3], vec![1], vec![4]]);
}

#[test]
fn aggregation_has_a_limit_and_loses_nothing() {
    let mut bench = Bench::new(SchedulingPolicy::TimeOrderAggregating);
    for number in (0..40).rev() {
        bench.add(0, 0, number * 256, 256, 0);
    }
    let batches = bench.drain();
    assert!(batches.iter().all(|batch| batch.len() <= 16), "{batches:?}");
    assert_eq!(batches.concat().len(), 40);
}

#[test]
fn the_queue_with_least_waiting_bytes_goes_first() {
    let mut bench = Bench::new(SchedulingPolicy::ShortestJobFirst);
    for (file, offset) in [(1, 0), (1, 1024), (0, 512), (0, 256), (0, 0), (2, 0)] {
        bench.add(0, file, offset, 64, 0);
    }
    assert_eq!(bench.drain(), [[5], [0], [1], [4], [3], [2]]);
}

#[test]
fn multilevel_feedback_lets_small_requests_pass_large_ones() {
    let mut bench = Bench::new(SchedulingPolicy::MultilevelFeedback);
    bench.add(0, 0, 0, 1024, 0);
    bench.add(0, 1, 0, 64, 0);
    assert_eq!(bench.drain(), [[1], [0]]);
}

#[test]
fn aioli_waits_where_requests_used_to_continue() {
    let mut bench = Bench::new(SchedulingPolicy::Aioli);
    bench.add(0, 0, 0, 32, 0);
    assert_eq!(bench.next(0, 0), (Decision::Serve, vec![0]));
    // It continues: the next one after that is worth waiting for.
    bench.add(0, 0, 32, 32, 100);
    let (waits, batch) = bench.next(100, 0);
    assert!(matches!(waits, Decision::WaitUntil(at_ns) if at_ns > 100), "{waits:?}");
    assert!(batch.is_empty());
    bench.add(0, 0, 64, 32, 200);
    assert_eq!(bench.next(200, 0), (Decision::Serve, vec![1, 2]));
}

#[test]
fn song_serves_one_application_after_the_other_within_a_window() {
    let mut bench = Bench::new(SchedulingPolicy::Song);
    for (application, at_ns) in [(1, 0), (0, 10), (1, 20), (0, 30), (0, 2_000_000_000)] {
        bench.add(application, application, 0, 64, at_ns);
    }
    assert_eq!(bench.drain(), [[1], [3], [0], [2], [4]]);
}

#[test]
fn the_baseline_takes_turns_and_moves_upwards() {
    let mut bench = Bench::new(SchedulingPolicy::Baseline);
    for (process, offset) in [(0, 9000), (1, 0), (2, 5000)] {
        bench.add(process, 0, offset, 64, 0);
    }
    let (_, first) = bench.next(0, 4000 * KIB);
    assert_eq!(first, [2]);
    assert_eq!(bench.drain(), [[1], [0]]);
}

#[test]
fn noop_leaves_the_choice_to_the_device() {
    let mut bench = Bench::new(SchedulingPolicy::Noop);
    for offset in [9000, 0, 5000, 3000] {
        bench.add(0, 0, offset, 64, 0);
    }
    assert_eq!(bench.next(0, 4900 * KIB).1, [2]);
    assert_eq!(bench.next(0, 3000 * KIB).1, [3]);
}

#[test]
fn names_are_read_back() {
    for policy in SchedulingPolicy::ALL {
        assert_eq!(policy.name().parse(), Ok(policy));
    }
    assert!("elevator".parse::<SchedulingPolicy>().unwrap_err().contains("to-agg"));
}
