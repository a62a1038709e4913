// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which rank a process is, and which ranks do the same.

use std::collections::BTreeSet;

use ioracle_trace::{Options, Trace};

use crate::agree::behaves_the_same;
use crate::parallel::installed;

/// Batch systems have launchers of their own, with variables that nobody knows.
#[test]
fn mpi_tells_the_rank_where_the_launcher_does_not() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_ranks") else { continue };
        let done = behaves_the_same(&mpi.run(&program, 4));
        let processes = &done.summary()["processes"];
        let told = (processes["ranks_seen"].as_u64(), processes["ranks_expected"].as_u64());
        assert_eq!(told, (Some(4), Some(4)), "{}: {}", mpi.name, done.err);
        let trace = Trace::open(&done.beside().join("trace"), Options::default()).unwrap();
        let mut places = BTreeSet::new();
        for event in trace.events(None).unwrap().map(Result::unwrap) {
            if event.function.name() == "mpi_write_at" {
                places.insert((event.stream.rank, event.offset.unwrap()));
            }
        }
        let expected =
            (0..4).flat_map(|rank| (0..3).map(move |n| (rank, u64::from(rank * 1000 + n * 100))));
        assert_eq!(places, expected.collect(), "{}", mpi.name);
    }
}

/// A world of one is no parallel job: its processes stay together.
#[test]
fn a_program_that_was_started_without_a_launcher_is_no_rank() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_ranks") else { continue };
        let done = behaves_the_same(&crate::run::Program::new(program));
        assert_eq!(done.summary()["processes"]["ranks_seen"], 0, "{}: {}", mpi.name, done.err);
    }
}
