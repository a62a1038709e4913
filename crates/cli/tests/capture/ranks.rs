// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which rank a process is, and which ranks do the same.

use std::collections::BTreeSet;

use ioracle_trace::{ReadOptions, Trace};

use crate::agree::behaves_the_same;
use crate::parallel::installed;
use crate::summary::check_operations;

/// Batch systems have launchers of their own, with variables that nobody knows.
#[test]
fn mpi_tells_the_rank_where_the_launcher_does_not() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_ranks") else { continue };
        let done = behaves_the_same(&mpi.run(&program, 4));
        let processes = &done.summary()["processes"];
        let ranks = (processes["ranks_seen"].as_u64(), processes["ranks_expected"].as_u64());
        assert_eq!(ranks, (Some(4), Some(4)), "{}: {}", mpi.name, done.err);
        check_alike(&done.summary()["ranks"], mpi.name);
        let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).unwrap();
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

/// All but the first do the same: that one makes the file, and what MPI needs.
fn check_alike(ranks: &serde_json::Value, mpi: &str) {
    let groups = ranks["groups"].as_array().expect("groups");
    let others = &groups[0];
    assert_eq!(others["ranks"], serde_json::json!([[1, 3]]), "{mpi}: {ranks}");
    assert_eq!(others["operations"]["least"], others["operations"]["most"], "{mpi}: {ranks}");
    assert_eq!((&groups[1]["ranks"][0][0], &ranks["kinds"]), (&0.into(), &2.into()), "{mpi}");
}

/// Shared memory and files of the session were once the busiest files of a program
/// that writes 600 bytes.
#[test]
fn what_mpi_does_for_itself_is_kept_separate() {
    for mpi in installed() {
        let Some(program) = mpi.c("mpi_ranks") else { continue };
        let done = behaves_the_same(&mpi.run(&program, 2));
        let summary = done.summary();
        assert_eq!(summary["io"]["bytes_written"], 600, "{}: {}", mpi.name, done.err);
        let files = summary["busiest_files"].as_array().expect("files");
        let is_own =
            |path: &str| ["/dev/shm/", "/ompi.", "pmix"].iter().any(|it| path.contains(it));
        let own = files.iter().find(|file| is_own(file["path"].as_str().unwrap()));
        assert_eq!(own, None, "{}", mpi.name);
        let operations = summary["mpi_own"]["operations"].as_u64();
        assert!(operations > Some(5), "{}: {}", mpi.name, summary["mpi_own"]);
        assert!(done.err.contains("MPI's own"), "{}: {}", mpi.name, done.err);
        check_operations(&done, summary["io"]["operations"].as_u64().expect("a number"));
        let trace = Trace::open(&done.beside().join("trace"), ReadOptions::default()).unwrap();
        assert!(trace.files().iter().any(|(_, path)| is_own(path)), "{}", mpi.name);
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
