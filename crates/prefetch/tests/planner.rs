// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a planner decides, as tables: what is expected and seen, what is asked for.

use std::fmt::Write;
use std::ops::Range;

use expect_test::{Expect, expect};
use ioracle_events::PredictionSource;
use ioracle_prefetch::{
    ExpectedRead, FileKey, ObservedRead, Opening, Planner, PrefetchOutcome, PrefetchRequest,
    PrefetchSettings, Situation, StopReason, StorageKey,
};

const KIB: u64 = 1 << 10;
const MS: u64 = 1_000_000;

/// A planner and a clock.
struct Bench {
    planner: Planner,
    now_ns: u64,
}

impl Bench {
    fn new(settings: PrefetchSettings) -> Bench {
        let mut bench = Bench::untouched(settings);
        // The end of some file: the program has begun to use the storage.
        bench.planner.observe(&ObservedRead {
            file: FileKey(99),
            storage: StorageKey::default(),
            bytes: 0..0,
            site: 0,
            start_ns: 0,
            end_ns: 0,
            expected: None,
        });
        bench
    }

    /// The same before the program has read anything.
    fn untouched(settings: PrefetchSettings) -> Bench {
        let mut planner = Planner::new(settings);
        planner.begin_with_foreknowledge();
        Bench { planner, now_ns: 0 }
    }

    fn plan(&mut self, inside_call: bool, reads: &[ExpectedRead]) -> (Vec<PrefetchRequest>, usize) {
        self.planner.plan(Situation { now_ns: self.now_ns, inside_call }, reads.iter().cloned())
    }

    /// All that is asked for is fetched, each in a millisecond.
    fn fetch(&mut self, requests: &[PrefetchRequest]) {
        for request in requests {
            self.now_ns += MS;
            let bytes = request.bytes.end - request.bytes.start;
            let fetched = PrefetchOutcome::Fetched { bytes, took_ns: MS };
            self.planner.complete(request.id, fetched, self.now_ns);
        }
    }

    /// The program reads; what it expected of itself is said by the caller.
    fn read(&mut self, file: u32, bytes: Range<u64>, took_ns: u64, expected: bool) {
        let start_ns = self.now_ns + 1_000;
        let end_ns = start_ns + took_ns;
        self.now_ns = end_ns;
        let file = FileKey(file);
        let storage = StorageKey::default();
        let expected = Some(expected);
        let read = ObservedRead { file, storage, bytes, site: 1, start_ns, end_ns, expected };
        self.planner.observe(&read);
    }

    /// A planner whose predictions have proved right on file 0.
    fn proven(settings: PrefetchSettings) -> Bench {
        let mut bench = Bench::new(settings);
        for n in 0..8 {
            let range = n * 128 * KIB..(n + 1) * 128 * KIB;
            let expected = [expected(0, range.clone(), 5 * MS)];
            let (requests, _) = bench.plan(false, &expected);
            bench.fetch(&requests);
            bench.read(0, range, 10_000, true);
        }
        bench
    }
}

fn expected(file: u32, bytes: Range<u64>, in_ns: u64) -> ExpectedRead {
    let (probability, source) = (1.0, PredictionSource::ThisRun);
    let storage = StorageKey::default();
    ExpectedRead { file: FileKey(file), storage, bytes, in_ns, probability, source }
}

/// Reads of 8 KiB each, one after the other, a millisecond apart, from 20 ms on.
fn sequence(file: u32, from: u64, n: u64) -> Vec<ExpectedRead> {
    let step = |n: u64| {
        let start = from + n * 8 * KIB;
        expected(file, start..start + 8 * KIB, 20 * MS + n * MS)
    };
    (0..n).map(step).collect()
}

fn check((requests, n_planned): (Vec<PrefetchRequest>, usize), expect: Expect) {
    let mut text = String::new();
    for PrefetchRequest { file, bytes, .. } in requests {
        let (start, end) = (bytes.start / KIB, bytes.end / KIB);
        writeln!(text, "file {} from {start} to {end} KiB", file.0).unwrap();
    }
    writeln!(text, "{n_planned} reads planned").unwrap();
    expect.assert_eq(&text);
}

#[test]
fn before_trust_one_small_request_and_only_between_calls() {
    let mut bench = Bench::new(PrefetchSettings::default());
    check(
        bench.plan(true, &sequence(0, 0, 100)),
        expect![[r#"
            0 reads planned
        "#]],
    );
    check(
        bench.plan(false, &sequence(0, 0, 100)),
        expect![[r#"
            file 0 from 0 to 128 KiB
            16 reads planned
        "#]],
    );
    check(
        bench.plan(false, &sequence(0, 128 * KIB, 100)),
        expect![[r#"
            0 reads planned
        "#]],
    );
}

/// While it starts, a program keeps no storage busy that it has not read from.
#[test]
fn with_foreknowledge_a_storage_is_used_fully_until_the_program_reads_from_it() {
    let mut bench = Bench::untouched(PrefetchSettings::default());
    let (requests, _) = bench.plan(true, &sequence(0, 0, 256));
    let bytes: Vec<u64> = requests.iter().map(|it| it.bytes.end - it.bytes.start).collect();
    assert!(bytes.len() > 1 && bytes[0] > 128 << 10, "{bytes:?}");
    bench.fetch(&requests);
    // From now on it is in the way, until what was read ahead has proved right.
    bench.read(1, 0..4096, 1_000_000, false);
    let more = sequence(0, 256 * 8 * KIB, 64);
    assert_eq!(bench.plan(true, &more).0, []);
    assert_eq!(bench.plan(false, &more).0.len(), 1);
}

#[test]
fn with_trust_several_large_requests_also_during_calls() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    check(
        bench.plan(true, &sequence(0, 1024 * KIB, 1000)),
        expect![[r#"
            file 0 from 1024 to 2048 KiB
            file 0 from 2048 to 3072 KiB
            file 0 from 3072 to 4096 KiB
            file 0 from 4096 to 5120 KiB
            512 reads planned
        "#]],
    );
}

#[test]
fn reads_of_other_files_and_reads_again_are_asked_for_once() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    let mut reads = vec![expected(1, 100..200, 20 * MS), expected(2, 5000..5001, 20 * MS)];
    reads.push(expected(1, 4000..4097, 20 * MS));
    // Read before by the program.
    reads.push(expected(0, 0..4096, 20 * MS));
    check(
        bench.plan(true, &reads),
        expect![[r#"
            file 1 from 0 to 4 KiB
            file 2 from 4 to 8 KiB
            file 1 from 4 to 8 KiB
            4 reads planned
        "#]],
    );
}

#[test]
fn what_is_too_near_or_too_unlikely_is_left_to_the_program() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    let mut reads = vec![expected(1, 0..4096, 10_000), expected(2, 0..4096, 20 * MS)];
    reads[1].probability = 0.3;
    check(
        bench.plan(true, &reads),
        expect![[r#"
            2 reads planned
        "#]],
    );
}

#[test]
fn a_request_that_may_grow_waits_while_there_is_time() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    check(
        bench.plan(true, &sequence(1, 0, 4)),
        expect![[r#"
            0 reads planned
        "#]],
    );
    check(
        bench.plan(true, &sequence(1, 0, 40)),
        expect![[r#"
            file 1 from 0 to 320 KiB
            40 reads planned
        "#]],
    );
}

#[test]
fn the_lead_is_bounded_in_bytes_and_files() {
    let lead = PrefetchSettings { lead_bytes: 1 << 20, ..PrefetchSettings::default() };
    let mut bench = Bench::proven(lead);
    let (requests, _) = bench.plan(true, &sequence(0, 1024 * KIB, 1000));
    assert_eq!(requests.len(), 1);
    bench.fetch(&requests);
    check(
        bench.plan(true, &sequence(0, 2048 * KIB, 1000)),
        expect![[r#"
            0 reads planned
        "#]],
    );
    let files = PrefetchSettings { max_files_ahead: 3, ..PrefetchSettings::default() };
    let mut bench = Bench::proven(files);
    let reads: Vec<ExpectedRead> = (1..9).map(|file| expected(file, 0..4096, 20 * MS)).collect();
    assert_eq!(bench.plan(true, &reads).0.len(), 3);
}

#[test]
fn a_rate_is_kept() {
    let rate = Some(10 << 20);
    let mut bench =
        Bench::proven(PrefetchSettings { rate_bytes_per_s: rate, ..PrefetchSettings::default() });
    let start_ns = bench.now_ns;
    let mut bytes = 0;
    let mut at = 1 << 20;
    while bench.now_ns < start_ns + 1_000 * MS {
        let (requests, _) = bench.plan(true, &sequence(0, at, 1000));
        for request in &requests {
            bytes += request.bytes.end - request.bytes.start;
            at = at.max(request.bytes.end);
        }
        bench.fetch(&requests);
        bench.read(0, 0..4096, MS, true);
    }
    assert!((8 << 20..=15 << 20).contains(&bytes), "{bytes} bytes in a second");
}

#[test]
fn one_unexpected_read_takes_trust_away_and_it_comes_back() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    // One from the cache does not.
    bench.read(7, 0..4096, 10_000, false);
    assert!(!bench.plan(true, &sequence(0, 8192 * KIB, 100)).0.is_empty());
    bench.read(7, 65_536..69_632, 1_000_000, false);
    check(
        bench.plan(true, &sequence(0, 1024 * KIB, 100)),
        expect![[r#"
            0 reads planned
        "#]],
    );
    (0..8).for_each(|n| bench.read(7, n * 4096..(n + 1) * 4096, 10_000, true));
    assert!(!bench.plan(true, &sequence(0, 1024 * KIB, 100)).0.is_empty());
}

#[test]
fn every_byte_is_accounted_for() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    let before = bench.planner.report();
    assert_eq!((before.bytes, before.used, before.wasted), (1 << 20, 1 << 20, 0));
    let (requests, _) = bench.plan(true, &sequence(0, 1024 * KIB, 256));
    assert_eq!(requests.len(), 2);
    // One is used, one is asked for while it is on its way, half of the last is not.
    bench.fetch(&requests[..1]);
    bench.read(0, requests[0].bytes.clone(), 10_000, true);
    let late = requests[1].bytes.start..requests[1].bytes.start + 512 * KIB;
    bench.read(0, late, MS, true);
    bench.fetch(&requests[1..]);
    let report = bench.planner.report();
    assert_eq!(report.bytes, 3 << 20);
    assert_eq!((report.used, report.late, report.wasted), (2 << 20, 512 * KIB, 512 * KIB));
    assert_eq!(report.by_source.grammar, 2 << 20);
    assert!(report.saved_s > 0.0 && report.possible_s > report.saved_s);
}

/// What the program has read by itself meanwhile is not ours, early or late.
#[test]
fn requests_that_fetch_nothing_are_not_late() {
    for outcome in [PrefetchOutcome::Resident, PrefetchOutcome::Dropped, PrefetchOutcome::Refused] {
        let mut bench = Bench::proven(PrefetchSettings::default());
        let (requests, _) = bench.plan(true, &sequence(0, 1024 * KIB, 128));
        bench.read(0, requests[0].bytes.clone(), MS, true);
        bench.planner.complete(requests[0].id, outcome, bench.now_ns);
        let report = bench.planner.report();
        assert_eq!((report.bytes, report.used, report.late), (1 << 20, 1 << 20, 0), "{outcome:?}");
    }
}

/// The planner may hear of a read only after bytes have arrived that the read was
/// waiting for.
#[test]
fn bytes_that_arrive_during_a_read_are_late_whoever_is_heard_first() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    let (requests, _) = bench.plan(true, &sequence(0, 1024 * KIB, 128));
    bench.fetch(&requests);
    let (ready_ns, bytes) = (bench.now_ns, requests[0].bytes.clone());
    let file = FileKey(0);
    let (start_ns, end_ns) = (ready_ns - 1, ready_ns + 5);
    let (storage, expected) = (StorageKey::default(), Some(true));
    let read = ObservedRead { file, storage, bytes, site: 1, start_ns, end_ns, expected };
    bench.planner.observe(&read);
    assert_eq!(bench.planner.report().late, 1 << 20);
}

#[test]
fn files_that_are_written_or_refused_are_left_alone() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    bench.planner.exclude(FileKey(3));
    assert_eq!(bench.plan(true, &sequence(3, 0, 64)).0, []);
    let (requests, _) = bench.plan(true, &sequence(4, 0, 64));
    bench.planner.complete(requests[0].id, PrefetchOutcome::Refused, bench.now_ns);
    assert_eq!(bench.plan(true, &sequence(4, 512 * KIB, 64)).0, []);
}

#[test]
fn a_file_in_the_cache_is_left_alone_until_the_program_waits_for_it() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    let mut n_requests = 0;
    let mut at = 1 << 20;
    for _ in 0..100 {
        let (requests, n_planned) = bench.plan(true, &sequence(0, at, 128));
        n_requests += requests.len();
        for request in requests {
            bench.planner.complete(request.id, PrefetchOutcome::Resident, bench.now_ns);
        }
        at += n_planned as u64 * 8 * KIB;
        bench.read(0, at - 4096..at, 2_000, true);
    }
    assert_eq!(n_requests, 4);
    assert_eq!(bench.planner.report().bytes, 1 << 20);
    bench.read(0, at..at + 4096, 3 * MS, true);
    assert!(!bench.plan(true, &sequence(0, at + 4096, 128)).0.is_empty());
}

#[test]
fn where_all_is_in_the_cache_the_program_is_left_alone_until_it_waits() {
    let mut bench = Bench { planner: Planner::new(PrefetchSettings::default()), now_ns: 0 };
    assert!(bench.planner.is_dormant(), "nothing is known, and nobody has waited");
    bench.read(0, 0..8 * KIB, 5_000, true);
    assert_eq!(bench.plan(false, &sequence(1, 0, 4)).0, []);
    let mut file = 1;
    // Each time, fewer requests that find everything in the cache are enough.
    for enough in [8, 4, 2, 1, 1] {
        bench.read(0, 0..8 * KIB, MS, true);
        for n in 0..enough {
            assert!(!bench.planner.is_dormant(), "{n} of {enough}");
            file += 1;
            let (requests, _) = bench.plan(false, &sequence(file, 0, 4));
            assert_eq!(requests.len(), 1, "{n} of {enough}");
            bench.planner.complete(requests[0].id, PrefetchOutcome::Resident, bench.now_ns);
        }
        assert!(bench.planner.is_dormant(), "{enough}");
        assert_eq!(bench.plan(false, &sequence(file + 1, 0, 4)).0, []);
        bench.read(0, 0..8 * KIB, 5_000, false);
        assert!(bench.planner.is_dormant(), "a read from the cache changes nothing");
    }
    // What is cached on one storage tells nothing of another that is going to be read.
    let mut bench = Bench::new(PrefetchSettings::default());
    let elsewhere = |mut read: ExpectedRead| {
        read.storage = StorageKey(1);
        read
    };
    let data: Vec<ExpectedRead> = sequence(100, 0, 4).into_iter().map(elsewhere).collect();
    bench.planner.expect_storage(StorageKey(1));
    for file in 1..=8 {
        let (requests, _) = bench.plan(false, &sequence(file, 0, 4));
        bench.planner.complete(requests[0].id, PrefetchOutcome::Resident, bench.now_ns);
    }
    assert_eq!(bench.plan(false, &sequence(9, 0, 4)).0, []);
    assert_eq!(bench.plan(false, &data).0.len(), 1);
    // With what earlier runs know it is tried first.
    let mut bench = Bench::new(PrefetchSettings::default());
    assert_eq!(bench.plan(false, &sequence(1, 0, 4)).0.len(), 1);
}

#[test]
fn it_stops_where_its_bytes_are_not_used() {
    let settings = PrefetchSettings { lead_bytes: 4 << 20, ..PrefetchSettings::default() };
    let mut bench = Bench::proven(settings);
    let mut at = 1 << 20;
    for n in 0..400 {
        let (requests, n_planned) = bench.plan(true, &sequence(0, at, 512));
        bench.fetch(&requests);
        at += n_planned as u64 * 8 * KIB;
        // It reads something else, though that was expected, too.
        bench.read(1, n << 20..(n + 1) << 20, MS, true);
    }
    assert_eq!(bench.planner.stopped(), Some(StopReason::WrongPredictions));
    let report = bench.planner.report();
    assert!(report.wasted < 32 << 20, "{} bytes were wasted", report.wasted);
    assert_eq!((report.stopped, report.why.is_some()), (true, true));
}

#[test]
fn it_stops_where_the_storage_has_no_cache() {
    let mut bench = Bench::new(PrefetchSettings::default());
    for n in 0..100 {
        let range = n * 128 * KIB..(n + 1) * 128 * KIB;
        let (requests, _) = bench.plan(false, &[expected(0, range.clone(), 5 * MS)]);
        bench.fetch(&requests);
        bench.read(0, range.clone(), 2 * MS, true);
        // The same call site, without help.
        bench.read(1, range, 2 * MS, true);
    }
    assert_eq!(bench.planner.stopped(), Some(StopReason::NotFaster));
}

#[test]
fn reads_that_take_no_time_are_not_helped() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    bench.now_ns += 100_000 * MS;
    assert_eq!(bench.plan(true, &sequence(0, 1024 * KIB, 100)).0, []);
}

/// Loops over blocks are predicted to go on behind the end of a file.
#[test]
fn nothing_is_asked_for_behind_the_end_of_a_file() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    bench.planner.end_file(FileKey(0), 1024 * KIB + 100);
    check(
        bench.plan(true, &sequence(0, 1024 * KIB, 100)),
        expect![[r#"
            0 reads planned
        "#]],
    );
    // Another file of that name may be longer.
    bench.planner.reopen(FileKey(0), Opening::KeepsCache);
    assert!(!bench.plan(true, &sequence(0, 1024 * KIB, 100)).0.is_empty());
}

#[test]
fn an_opening_that_drops_the_cache_makes_its_pages_missing_again() {
    for (opening, n_requests) in [(Opening::KeepsCache, 0), (Opening::DropsCache, 1)] {
        let mut bench = Bench::proven(PrefetchSettings::default());
        let (requests, _) = bench.plan(true, &sequence(3, 0, 64));
        bench.fetch(&requests);
        bench.planner.reopen(FileKey(3), opening);
        let (again, _) = bench.plan(true, &sequence(3, 0, 64));
        assert_eq!(again.len(), n_requests, "{opening:?}");
        // Every byte has one fate.
        bench.fetch(&again);
        bench.read(3, 0..512 * KIB, 10_000, true);
        let report = bench.planner.report();
        assert_eq!(report.bytes, report.used + report.late + report.wasted);
        assert_eq!(report.wasted, n_requests as u64 * 512 * KIB);
    }
}

#[test]
fn other_branches_are_read_where_there_is_nothing_else_to_do() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    let mut branch = vec![expected(5, 0..64 * KIB, 5 * MS), expected(6, 0..64 * KIB, 5 * MS)];
    (branch[0].probability, branch[1].probability) = (0.3, 0.1);
    assert_eq!(bench.plan(false, &branch).0, []);
    let situation = |inside_call| Situation { now_ns: 100 * MS, inside_call };
    assert_eq!(bench.planner.plan_branch(situation(true), branch.clone()), []);
    let requests = bench.planner.plan_branch(situation(false), branch.clone());
    assert_eq!(requests.iter().map(|request| request.file.0).collect::<Vec<_>>(), [5]);
    // Not beside other requests.
    branch[0].file = FileKey(7);
    assert_eq!(bench.planner.plan_branch(situation(false), branch), []);
}

/// A program that never pauses, such as `tar`, would otherwise never be helped. Fewer are
/// needed where earlier runs told what comes; else the first one only shows that it waits.
#[test]
fn many_expected_reads_in_a_row_are_proof_enough() {
    let foreknown = Bench::new(PrefetchSettings::default());
    let first_run = Bench { planner: Planner::new(PrefetchSettings::default()), now_ns: 0 };
    for (mut bench, n_needed) in [(foreknown, 8), (first_run, 33)] {
        for n in 0..n_needed {
            assert_eq!(bench.plan(true, &sequence(0, 16 << 20, 100)).0, [], "{n}");
            bench.read(0, n * 8 * KIB..(n + 1) * 8 * KIB, MS, true);
        }
        assert!(!bench.plan(true, &sequence(0, 16 << 20, 100)).0.is_empty());
    }
}

/// The program opens files in an order of its own, and each request follows it.
#[test]
fn it_stops_where_its_bytes_always_come_too_late() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    for file in 1..400 {
        let (requests, _) = bench.plan(false, &[expected(file, 0..64 * KIB, 5 * MS)]);
        bench.read(file, 0..64 * KIB, MS, false);
        bench.fetch(&requests);
    }
    assert_eq!(bench.planner.stopped(), Some(StopReason::TooLate));
}

/// A program that is being waited for is later than it was expected to be: what lies
/// behind the read that it waits for is read in order, not what lies far ahead.
#[test]
fn only_the_nearest_read_is_left_to_the_program() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    let reads = [0, 1, 2, 3].map(|file| expected(file + 1, 0..4096, 10_000));
    check(
        bench.plan(true, &reads),
        expect![[r#"
            file 2 from 0 to 4 KiB
            file 3 from 0 to 4 KiB
            file 4 from 0 to 4 KiB
            4 reads planned
        "#]],
    );
}

/// The grammar counts names up, also beyond the last file: `member_6.nc`, `member_7.nc`…
#[test]
fn after_some_names_that_are_not_there_no_others_are_tried_until_a_file_is_opened() {
    let mut bench = Bench::proven(PrefetchSettings::default());
    let reads: Vec<ExpectedRead> = (10..40).map(|file| expected(file, 0..4096, 1 << 30)).collect();
    let mut n_tried = 0;
    loop {
        let (requests, _) = bench.plan(true, &reads);
        if requests.is_empty() {
            break;
        }
        n_tried += requests.len();
        for request in requests {
            bench.planner.complete(request.id, PrefetchOutcome::Refused, 0);
        }
    }
    assert!((8..12).contains(&n_tried), "{n_tried}");
    bench.planner.reopen(FileKey(50), Opening::KeepsCache);
    let reads = [expected(50, 0..4096, 1 << 30), expected(51, 0..4096, 1 << 30)];
    assert!(!bench.plan(true, &reads).0.is_empty());
}
