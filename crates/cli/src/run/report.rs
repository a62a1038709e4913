// SPDX-License-Identifier: MIT OR Apache-2.0

//! Makes the summary of what was seen.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use ioracle_engine::Score;
use ioracle_events::{FileId, Function, StreamId};
use ioracle_oracle::Oracle;
use ioracle_spool::layout;
use ioracle_trace::{Process, Totals};

use super::Ran;
use super::advice::{Measured, advise};
use super::alike::Ranks;
use super::summary::{
    Bursts, BusyFile, Calls, Io, LibraryCalls, LoopSeen, Missing, MpiOwn, NextBurst, Predicted,
    Processes, StacksCompared, Summary, Unrecorded,
};
use super::tally::{self, FileTally, Library, LibraryTally, Moved, Tally};
use super::unseen::{Circumstances, Unseen};
use super::variables::{busiest_variables, series};
use super::watch::Watch;
use crate::shared::linked::{LinkedIn, Module, linked_into};
use crate::shared::loops::loops_of;
use crate::shared::process::is_alive;

/// Busy files, and calls of each, that a summary holds.
const MAX_FILES: usize = 10;
const MAX_CALLS: usize = 4;
/// Loops that a summary holds, and the share of operations that one must cover.
const MAX_LOOPS: usize = 5;
const MIN_COVERED: f64 = 0.05;

/// The summary of a run.
pub fn summarise(ran: &Ran, watch: &Watch, processes: &[Process], totals: &Totals) -> Summary {
    let tally = &watch.tally;
    let path = |file: FileId| match watch.paths.get(&file) {
        Some(path) => path.to_string(),
        None => "(unknown file)".to_owned(),
    };
    let main = busiest_stream(watch);
    let ranks = Ranks::of(tally, processes);
    let written = ranks.written();
    let series = series(&tally.variables, &path);
    let measured =
        Measured { tally, series: &series, path: &path, wall_s: ran.wall_s, ranks: &written };
    let circumstances = Circumstances {
        kind: ran.kind,
        disabled: ran.disabled,
        processes: totals.spool.n_processes,
        unrecorded: totals.spool.n_unrecorded(),
    };
    Summary {
        format: 1,
        application: ran.application.clone(),
        command: ran.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        rank: ran.place.map(|place| place.rank),
        world_size: ran.place.and_then(|place| place.world_size),
        ending: ran.ending,
        wall_s: ran.wall_s,
        processes: who_took_part(ran, processes, totals),
        ranks: ranks.groups(),
        io: io(tally),
        mpi_own: mpi_own(&tally.mpi_own),
        mpi_io: library(tally.libraries.of(Library::MpiIo)),
        hdf5: library(tally.libraries.of(Library::Hdf5)),
        netcdf: library(tally.libraries.of(Library::NetCdf)),
        pnetcdf: library(tally.libraries.of(Library::PnetCdf)),
        busiest_files: busiest_files(tally, &path),
        busiest_variables: busiest_variables(&series),
        loops: main.map(|(_, oracle)| loops(oracle)).unwrap_or_default(),
        predicted: predicted(&watch.learner.engine.score()),
        predicted_variables: predicted(&watch.learner.engine.variable_score()),
        bursts: main.and_then(|(stream, oracle)| bursts(watch, stream, oracle)),
        advice: advise(&measured),
        unrecorded: unrecorded(watch, totals),
        linked_in: linked_in(watch, processes),
        stacks: stacks(totals),
        unseen: (tally.events == 0).then(|| Unseen::why(&circumstances)),
        trace: None,
        model: None,
        own_cpu_s: ran.own_cpu_s,
    }
}

/// The thread with most operations.
fn busiest_stream<'a>(watch: &'a Watch) -> Option<(StreamId, &'a Oracle)> {
    let engine = &watch.learner.engine;
    let oracles = engine.streams().filter_map(|stream| Some((stream, engine.oracle(stream)?)));
    oracles.max_by_key(|(stream, _)| engine.operations(*stream))
}

fn who_took_part(ran: &Ran, processes: &[Process], totals: &Totals) -> Processes {
    let told: BTreeSet<u32> = processes.iter().filter_map(|process| process.rank).collect();
    let expected = processes.iter().filter_map(|process| process.world_size).max().unwrap_or(0);
    // One of many ranks itself, this command cannot miss the others.
    let (ranks_seen, ranks_expected) =
        if ran.place.is_some() { (0, 0) } else { (told.len() as u32, expected) };
    Processes {
        seen: totals.spool.n_processes,
        threads: totals.spool.n_streams,
        still_running: still_running(processes),
        ranks_expected,
        ranks_seen,
    }
}

/// Libraries that are linked into what made calls. This command has their names too.
fn linked_in(watch: &Watch, processes: &[Process]) -> Vec<LinkedIn> {
    let programs: HashSet<&Path> =
        processes.iter().map(|process| Path::new(&process.executable)).collect();
    let own = std::env::current_exe().ok();
    let modules = watch.modules.iter().filter(|path| own.as_ref() != Some(path));
    let found = modules.flat_map(|path| match programs.contains(path.as_path()) {
        true => linked_into(path, Module::Program),
        false => linked_into(path, Module::Shared),
    });
    found.collect()
}

fn still_running(processes: &[Process]) -> u64 {
    let pids: BTreeSet<u32> = processes.iter().map(|process| process.pid).collect();
    pids.into_iter().filter(|pid| is_alive(*pid)).count() as u64
}

fn io(tally: &Tally) -> Io {
    Io {
        operations: tally.operations,
        failed_calls: tally.failed,
        files: tally.files.values().filter(|file| file.operations > 0).count() as u64,
        reads: tally.read.operations,
        bytes_read: tally.read.bytes,
        writes: tally.written.operations,
        bytes_written: tally.written.bytes,
        io_time_s: in_seconds(tally.io_ns),
        busiest_thread_s: in_seconds(tally.busiest_thread_ns()),
    }
}

fn mpi_own(own: &tally::MpiOwn) -> Option<MpiOwn> {
    (own.operations + own.failed > 0).then(|| MpiOwn {
        operations: own.operations,
        failed_calls: own.failed,
        files: own.files.len() as u64,
        bytes_read: own.bytes_read,
        bytes_written: own.bytes_written,
        io_time_s: in_seconds(own.io_ns),
    })
}

fn library(calls: &LibraryTally) -> Option<LibraryCalls> {
    (calls.calls > 0).then(|| LibraryCalls {
        calls: calls.calls,
        collective_calls: calls.collective,
        reads: calls.read.operations,
        bytes_read: calls.read.bytes,
        writes: calls.written.operations,
        bytes_written: calls.written.bytes,
        io_time_s: in_seconds(calls.io_ns),
    })
}

fn busiest_files(tally: &Tally, path: &dyn Fn(FileId) -> String) -> Vec<BusyFile> {
    let mut files: Vec<(&FileId, &FileTally)> = tally.files.iter().collect();
    files.sort_by_key(|(id, file)| (std::cmp::Reverse(file.io_ns), **id));
    files.into_iter().take(MAX_FILES).map(|(id, file)| busy_file(path(*id), file)).collect()
}

/// The calls that took most time.
pub fn busiest_calls(calls: &[(Function, Moved)]) -> Vec<Calls> {
    let mut calls = calls.to_vec();
    calls.sort_by_key(|(function, moved)| {
        (std::cmp::Reverse((moved.io_ns, moved.operations)), *function)
    });
    let calls = calls.into_iter().take(MAX_CALLS).map(|(function, moved)| Calls {
        function: function.name(),
        calls: moved.operations,
        bytes: moved.bytes,
        io_time_s: in_seconds(moved.io_ns),
    });
    calls.collect()
}

fn busy_file(path: String, file: &FileTally) -> BusyFile {
    BusyFile {
        path,
        operations: file.operations,
        bytes_read: file.read.moved.bytes,
        bytes_written: file.written.moved.bytes,
        io_time_s: in_seconds(file.io_ns),
        calls: busiest_calls(&file.calls),
    }
}

fn loops(oracle: &Oracle) -> Vec<LoopSeen> {
    let least = oracle.operations() as f64 * MIN_COVERED;
    let mut loops: Vec<LoopSeen> = Vec::new();
    for found in loops_of(oracle) {
        let told_already = loops.iter().any(|other| other.turn == found.turn);
        if loops.len() < MAX_LOOPS && found.covered() as f64 >= least && !told_already {
            loops.push(LoopSeen {
                turn: found.turn,
                operations: found.operations,
                turns_min: found.turns.0,
                turns_max: found.turns.1,
                runs: found.runs,
            });
        }
    }
    loops
}

/// A score in percent, unless there was nothing to predict.
pub fn predicted(score: &Score) -> Option<Predicted> {
    (score.operations > 0).then(|| Predicted {
        operations: score.operations,
        context_accuracy: score.context_accuracy(),
        file_accuracy: score.file_accuracy(),
        offset_accuracy: score.offset_accuracy(),
        hit_ratio: score.hit_ratio(),
        time_error_s: score.time_error_s(),
    })
}

fn bursts(watch: &Watch, stream: StreamId, oracle: &Oracle) -> Option<Bursts> {
    let seen = watch.learner.bursts.of(stream)?;
    // Of a burst that has begun only the rest is known; the next one is whole.
    let next = oracle.bursts().take(2).find(|burst| burst.starts_in_ns > 0);
    Some(Bursts {
        seen: seen.n,
        operations: seen.operations as f64 / seen.n as f64,
        bytes: seen.bytes as f64 / seen.n as f64,
        period_s: in_seconds(seen.period_ns()),
        next: next.map(|burst| NextBurst {
            operations: burst.operations,
            bytes: burst.bytes,
            starts_in_s: in_seconds(burst.starts_in_ns),
            confidence: burst.confidence,
            at_least: burst.is_cut,
        }),
    })
}

fn stacks(totals: &Totals) -> Option<StacksCompared> {
    let checked = totals.spool.n_stacks_checked;
    let different = totals.spool.n_stacks_different;
    (checked > 0).then_some(StacksCompared { checked, different })
}

fn unrecorded(watch: &Watch, totals: &Totals) -> Unrecorded {
    let spool = &totals.spool;
    let calls = layout::Unrecorded::ALL.into_iter().filter_map(|cause| {
        let calls = spool.unrecorded(cause);
        let (cause, sentence) = in_words(cause);
        (calls > 0).then_some(Missing { cause, calls, sentence })
    });
    Unrecorded {
        calls: calls.collect(),
        unfinished: spool.n_holes,
        io_uring: spool.n_io_uring,
        not_learned: watch.learner.n_not_learned + watch.learner.engine.dropped_events(),
        given_up_threads: spool.n_given_up,
        damaged: spool.damaged.clone(),
    }
}

/// Why calls were not recorded: a word for programs, a sentence for people.
fn in_words(cause: layout::Unrecorded) -> (&'static str, &'static str) {
    match cause {
        layout::Unrecorded::NoRoom => (
            "no_room",
            "there was no room for records, or a limit of the process forbids it; name a roomier \
             place with --dir",
        ),
        layout::Unrecorded::Limit => (
            "limit",
            "the space limit was reached; raise it with --limit, or let the program wait with \
             --wait-ms",
        ),
        layout::Unrecorded::NoFile => (
            "no_file",
            "the file for a thread's records could not be made; 'ioracle doctor' checks the place",
        ),
        layout::Unrecorded::Interrupted => {
            ("interrupted", "made by a signal handler while a call was recorded")
        }
        layout::Unrecorded::Borrowed => ("borrowed", "made between vfork and exec"),
        layout::Unrecorded::Sandboxed => ("sandboxed", "made inside a seccomp sandbox"),
        layout::Unrecorded::LittleStack => ("little_stack", "made where little stack was left"),
    }
}

pub fn in_seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
