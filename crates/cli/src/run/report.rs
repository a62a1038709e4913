// SPDX-License-Identifier: MIT OR Apache-2.0

//! Makes the summary from what was seen.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;
use std::time::Duration;

use ioracle_insight::{Finding, Summary, Surroundings};
use ioracle_trace::{JobProcess, JobTotals};

use super::Ran;
use super::watch::RunObserver;
use crate::shared::linked::{LinkedIn, Module, linked_into};
use crate::shared::process::is_alive;
use crate::shared::summary::{
    Circumstances, MissingCalls, ProcessTotals, RunSummary, StacksCompared, UnrecordedProcessRow,
    UnrecordedTotals, Unseen, in_words,
};

/// The summary of a run. Functions and source lines are looked up for at most this
/// long, while the rest is put together.
pub fn summarise(
    ran: &Ran,
    watch: &mut RunObserver,
    processes: &[JobProcess],
    totals: &JobTotals,
    symbols: Duration,
) -> RunSummary {
    let unrecorded = unrecorded(watch, totals);
    let is_whole = !unrecorded.is_too_much() && watch.n_left_raw == 0;
    let mut lookup = None;
    let mut job = job(ran, watch, processes, is_whole, |advice| {
        lookup = (!symbols.is_zero()).then(|| watch.lookup_for(advice)).flatten();
    });
    let linked_in = linked_in(watch, processes);
    watch.look_up_places(symbols, lookup, &mut job.advice);
    let watch = &*watch;
    let circumstances = Circumstances {
        kind: ran.kind,
        disabled: ran.disabled,
        processes: totals.spool.n_processes,
        unrecorded: totals.spool.n_unrecorded(),
    };
    RunSummary {
        format: 1,
        application: ran.application.clone(),
        command: ran.command.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        rank: ran.place.map(|place| place.rank),
        world_size: ran.place.and_then(|place| place.world_size),
        ending: ran.ending,
        wall_s: ran.wall_s,
        processes: who_took_part(ran, processes, totals),
        job,
        unrecorded,
        linked_in,
        stacks: stacks(totals),
        unseen: (watch.insight.events() == 0 && watch.n_left_raw == 0)
            .then(|| Unseen::why(&circumstances)),
        trace: None,
        left_raw: watch.n_left_raw,
        model: None,
        prefetch: None,
        knowledge: None,
        own_cpu_s: ran.own_cpu_s,
    }
}

/// What was counted and learned. `advised` gets the advice before the rest is there.
fn job(
    ran: &Ran,
    watch: &RunObserver,
    processes: &[JobProcess],
    is_whole: bool,
    advised: impl FnOnce(&[Finding]),
) -> Summary {
    let ranks = (0..).zip(processes).filter_map(|(n, process)| Some((n, process.rank?))).collect();
    let surroundings = Surroundings {
        engine: &watch.learner.engine,
        bursts: &watch.learner.bursts,
        ranks: &ranks,
        wall_s: ran.wall_s,
        is_whole,
    };
    watch.insight.summarise_with(&surroundings, advised)
}

fn who_took_part(ran: &Ran, processes: &[JobProcess], totals: &JobTotals) -> ProcessTotals {
    let ranks: BTreeSet<u32> = processes.iter().filter_map(|process| process.rank).collect();
    let expected = processes.iter().filter_map(|process| process.world_size).max().unwrap_or(0);
    // If this command is itself one of many ranks, it does not expect the others.
    let (ranks_seen, ranks_expected) =
        if ran.place.is_some() { (0, 0) } else { (ranks.len() as u32, expected) };
    ProcessTotals {
        seen: totals.spool.n_processes,
        threads: totals.spool.n_streams,
        still_running: still_running(processes),
        ranks_expected,
        ranks_seen,
    }
}

/// Libraries that are linked into what made calls. This command contains their names
/// too.
fn linked_in(watch: &RunObserver, processes: &[JobProcess]) -> Vec<LinkedIn> {
    let programs: HashSet<&Path> =
        processes.iter().map(|process| Path::new(&process.executable)).collect();
    let own = std::env::current_exe().ok();
    let modules = watch.modules.keys().filter(|path| own.as_ref() != Some(path));
    let found = modules.flat_map(|path| match programs.contains(path.as_path()) {
        true => linked_into(path, Module::Program),
        false => linked_into(path, Module::Shared),
    });
    found.collect()
}

fn still_running(processes: &[JobProcess]) -> u64 {
    let pids: BTreeSet<u32> = processes.iter().map(|process| process.pid).collect();
    pids.into_iter().filter(|pid| is_alive(*pid)).count() as u64
}

fn stacks(totals: &JobTotals) -> Option<StacksCompared> {
    let checked = totals.spool.n_stacks_checked;
    let different = totals.spool.n_stacks_different;
    (checked > 0).then_some(StacksCompared { checked, different })
}

fn unrecorded(watch: &RunObserver, totals: &JobTotals) -> UnrecordedTotals {
    let spool = &totals.spool;
    let programs = spool.unrecorded_processes.iter().map(|process| UnrecordedProcessRow {
        pid: process.pid,
        name: process.name.clone(),
        cause: in_words(process.cause).0,
    });
    UnrecordedTotals {
        calls: MissingCalls::all(|cause, _| spool.unrecorded(cause)),
        recorded: watch.insight.events(),
        processes: spool.n_unrecorded_processes,
        threads: spool.n_unrecorded_threads,
        programs: programs.collect(),
        unfinished: spool.n_holes,
        io_uring: spool.n_io_uring,
        not_learned: watch.learner.n_not_learned + watch.learner.engine.dropped_events(),
        given_up_threads: spool.n_given_up,
        damaged: spool.damaged.clone(),
    }
}
