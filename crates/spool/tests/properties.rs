// SPDX-License-Identifier: MIT OR Apache-2.0

//! Laws of the spool, under any order of what can happen.

mod support;

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use ioracle_spool::layout::{Call, DefinitionKind, MAX_DEFINITION_BYTES, UnrecordedCause};
use ioracle_spool::{Function, Job, Sink, StreamInfo, StreamNumber};
use proptest::prelude::*;
use support::{Memory, Thread, job, stream_files};

/// Something that happens to a job with three threads.
#[derive(Clone, Debug)]
enum Step {
    Append {
        thread: usize,
        n_records: u64,
    },
    Define {
        thread: usize,
        bytes: usize,
    },
    Poll,
    /// This many bytes can still be allocated.
    Room(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0..3_usize, 1..600_u64)
            .prop_map(|(thread, n_records)| Step::Append { thread, n_records }),
        2 => (0..3_usize, 0..3000_usize)
            .prop_map(|(thread, bytes)| Step::Define { thread, bytes }),
        4 => Just(Step::Poll),
        1 => (0..200_000_usize).prop_map(Step::Room),
    ];
    prop::collection::vec(step, 1..60)
}

/// What a run of steps has left.
struct Outcome {
    job: Job,
    threads: Vec<Thread>,
    /// Calls made per thread.
    n_calls: [u64; 3],
    defined: Vec<(u64, Vec<u8>)>,
    sink: Memory,
    _base: tempfile::TempDir,
}

fn run(steps: &[Step], limit_bytes: u64) -> Outcome {
    let (base, mut job) = job(limit_bytes);
    let threads = (0..3).map(|serial| Thread::start(job.directory(), serial)).collect();
    let mut sink = Memory::default();
    job.poll(&mut sink).unwrap();
    let mut outcome =
        Outcome { job, threads, n_calls: [0; 3], defined: Vec::new(), sink, _base: base };
    for step in steps {
        match *step {
            Step::Append { thread, n_records } => {
                for _ in 0..n_records {
                    outcome.threads[thread].append(outcome.n_calls[thread]);
                    outcome.n_calls[thread] += 1;
                }
            }
            Step::Define { thread, bytes } => {
                let id = outcome.defined.len() as u64;
                let payload = vec![id as u8; bytes];
                if outcome.threads[thread].define(id, &payload) {
                    outcome.defined.push((id, payload));
                }
            }
            Step::Poll => {
                outcome.job.poll(&mut outcome.sink).unwrap();
            }
            Step::Room(room) => {
                outcome.threads.iter_mut().for_each(|thread| thread.host.room = room);
            }
        }
    }
    outcome
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_call_is_delivered_in_order_or_counted(
        steps in steps(),
        limit_bytes in prop_oneof![50_000..400_000_u64, Just(1 << 30)],
    ) {
        let mut outcome = run(&steps, limit_bytes);
        outcome.job.drain(&mut outcome.sink).unwrap();
        let totals = outcome.job.totals();
        let n_calls: u64 = outcome.n_calls.iter().sum();
        prop_assert_eq!(totals.n_records + totals.n_unrecorded(), n_calls);
        prop_assert_eq!(totals.n_records, outcome.sink.n_records() as u64);
        prop_assert_eq!(totals.n_holes, 0);
        prop_assert_eq!(totals.n_damaged, 0);
        for records in outcome.sink.records.values() {
            prop_assert!(records.is_sorted_by(|one, next| one < next));
        }
        outcome.sink.definitions.sort();
        prop_assert_eq!(&outcome.sink.definitions, &outcome.defined);
        prop_assert_eq!(outcome.sink.ended.len(), 3);
    }

    #[test]
    fn without_a_limit_only_a_full_disk_loses_calls(steps in steps()) {
        let mut outcome = run(&steps, u64::MAX);
        outcome.job.drain(&mut outcome.sink).unwrap();
        let totals = outcome.job.totals();
        prop_assert_eq!(totals.unrecorded(UnrecordedCause::NoRoom), totals.n_unrecorded());
    }

    #[test]
    fn a_killed_reader_leaves_every_record_it_had_not_consumed(steps in steps()) {
        let outcome = run(&steps, 1 << 30);
        let delivered = outcome.sink;
        let mut sink = Memory::default();
        let mut job = Job::open(outcome.job.directory()).unwrap();
        job.drain(&mut sink).unwrap();
        let totals = job.totals();
        prop_assert_eq!(totals.n_damaged, 0);
        prop_assert_eq!(totals.n_holes, 0);
        let n_calls: u64 = outcome.n_calls.iter().sum();
        let n_accounted = totals.n_records + totals.n_consumed_before + totals.n_unrecorded();
        prop_assert_eq!(n_accounted, n_calls);
        let mut n_seen = 0;
        for stream in (0..3).map(StreamNumber) {
            let seen = [&delivered, &sink].map(|sink| sink.records.get(&stream).into_iter().flatten());
            n_seen += seen.into_iter().flatten().collect::<BTreeSet<_>>().len() as u64;
        }
        prop_assert_eq!(n_seen + totals.n_unrecorded(), n_calls);
    }

    #[test]
    fn damage_costs_records_and_invents_none(
        steps in steps(),
        damage in prop::collection::vec(
            (0..3_usize, 0.0..1.0_f64, any::<[u8; 8]>(), 1..8_usize), 1..40,
        ),
        cuts in prop::collection::vec((0..3_usize, 0.0..1.0_f64), 0..3),
        in_the_header in any::<bool>(),
    ) {
        let outcome = run(&steps, 1 << 30);
        let paths = stream_files(&outcome.job);
        let open = |idx: usize| OpenOptions::new().write(true).open(&paths[idx]).unwrap();
        for (idx, at, bytes, n_bytes) in damage {
            let length = if in_the_header { 4096 } else { open(idx).metadata().unwrap().len() };
            open(idx).write_all_at(&bytes[..n_bytes], (at * length as f64) as u64).unwrap();
        }
        for (idx, at) in cuts {
            let length = open(idx).metadata().unwrap().len();
            open(idx).set_len((at * length as f64) as u64).unwrap();
        }
        // A writer would fault on a file cut short; only readers look at it now.
        let mut job = Job::open(outcome.job.directory()).unwrap();
        let mut sink = Counted::default();
        let n_records = job.drain(&mut sink).unwrap() as u64;
        let n_calls: u64 = outcome.n_calls.iter().sum();
        prop_assert!(n_records <= n_calls, "{n_records} of {n_calls}");
        prop_assert_eq!(sink.n_records, n_records);
    }
}

/// Counts; what damaged records carry may be anything.
#[derive(Default)]
struct Counted {
    n_records: u64,
}

impl Sink for Counted {
    fn stream(&mut self, _: StreamNumber, _: &StreamInfo) {}

    fn definition(&mut self, _: StreamNumber, _: DefinitionKind, _: u64, payload: &[u8]) {
        assert!(payload.len() <= MAX_DEFINITION_BYTES);
    }

    fn record(&mut self, _: StreamNumber, call: &Call) {
        assert!(Function::try_from(call.function).is_ok());
        self.n_records += 1;
    }

    fn ended(&mut self, _: StreamNumber) {}
}
