// SPDX-License-Identifier: MIT OR Apache-2.0

//! Makes the summary from what was counted and learned.

use std::cmp::Reverse;
use std::collections::HashMap;

use ioracle_engine::{Engine, Score, ScoreBySource};
use ioracle_events::{FileId, Function, PredictionSource, StreamId};
use ioracle_oracle::Oracle;

use crate::bursts::BurstTally;
use crate::file_groups::{FileGroup, FileGroups, UNKNOWN};
use crate::findings::{Measured, findings};
use crate::frames::Frames;
use crate::loops::loops_of;
use crate::rank_groups::RankTallies;
use crate::summary::{
    Bursts, BusyFile, BusyGroup, Calls, Finding, Io, LibraryCalls, LoopSeen, MappedFile,
    MappedTotals, MetadataTotals, MpiInternalTotals, NextBurst, Predicted, PredictedBySource,
    SourceScore, Summary,
};
use crate::tally::{self, CountedLibrary, FileTally, JobTally, LibraryTally, TransferTally};
use crate::variables::{busiest_variables, series};

/// Busy files, and calls of each, that a summary holds.
const MAX_FILES: usize = 10;
const MAX_CALLS: usize = 4;
/// Loops that a summary holds, and the share of operations that one must cover.
const MAX_LOOPS: usize = 5;
const MIN_COVERED: f64 = 0.05;
/// Groups of files that are named for a loop.
const MAX_LOOP_FILES: usize = 4;
/// Operations that are read ahead for the next burst, in bursts of the average size: the
/// rest of the present one, and the next, which may be larger.
const MAX_BURSTS_AHEAD: u64 = 4;

/// What is known of a job besides its events.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// What was learned from the events.
    pub engine: &'a Engine,
    /// The bursts of its threads.
    pub bursts: &'a BurstTally,
    /// The rank of each process that has one, by the number of the process.
    pub ranks: &'a HashMap<u32, u32>,
    /// How long the job took, in seconds.
    pub wall_s: f64,
    /// Whether all events were observed. For a part there is no advice, which may be wrong
    /// for the whole, and no next burst.
    pub is_whole: bool,
}

/// The summary of a job. `advised` gets the advice before the rest is put together.
pub fn summarise<'a>(
    tally: &'a JobTally,
    known_path: &dyn Fn(FileId) -> Option<&'a str>,
    frames: &Frames,
    surroundings: &Surroundings,
    advised: impl FnOnce(&[Finding]),
) -> Summary {
    let path: &dyn Fn(FileId) -> String = &|file| known_path(file).unwrap_or(UNKNOWN).to_owned();
    let &Surroundings { engine, bursts, wall_s, is_whole, .. } = surroundings;
    let main = busiest_stream(engine);
    let ranks = RankTallies::of(tally, surroundings.ranks);
    let series = series(&tally.variables, path);
    let groups = FileGroups::new(tally, known_path);
    let (series, groups, rank_bytes) = (&series, &groups, &ranks.bytes());
    let measured = Measured { tally, groups, series, wall_s, ranks: rank_bytes, frames };
    let advice = if is_whole { findings(&measured) } else { Vec::new() };
    advised(&advice);
    Summary {
        advice,
        ranks: ranks.groups(),
        io: io(tally),
        mapped: mapped(tally, path),
        mpi_own: mpi_own(&tally.mpi_own),
        metadata: metadata(&tally.metadata),
        mpi_io: library(tally.libraries.of(CountedLibrary::MpiIo)),
        hdf5: library(tally.libraries.of(CountedLibrary::Hdf5)),
        netcdf: library(tally.libraries.of(CountedLibrary::NetCdf)),
        pnetcdf: library(tally.libraries.of(CountedLibrary::PnetCdf)),
        busiest_files: busiest_files(tally, path),
        file_groups: groups.groups.iter().take(MAX_FILES).map(BusyGroup::from).collect(),
        busiest_variables: busiest_variables(series),
        loops: main.map(|(_, oracle)| loops(oracle, tally, groups)).unwrap_or_default(),
        predicted: predicted(&engine.score_by_source()),
        predicted_variables: predicted(&engine.variable_score_by_source()),
        bursts: main.and_then(|(stream, oracle)| bursts_of(bursts, stream, oracle, is_whole)),
    }
}

/// The thread with most operations; of several the one that began first.
fn busiest_stream(engine: &Engine) -> Option<(StreamId, &Oracle)> {
    let oracles = engine.streams().filter_map(|stream| Some((stream, engine.oracle(stream)?)));
    oracles.max_by_key(|&(stream, _)| {
        (engine.operations(stream), Reverse((engine.first_start_ns(stream), stream)))
    })
}

fn io(tally: &JobTally) -> Io {
    Io {
        operations: tally.operations,
        failed_calls: tally.failed,
        files: tally.files.values().filter(|file| file.operations > 0).count() as u64,
        reads: tally.read.operations,
        bytes_read: tally.read.bytes,
        writes: tally.written.operations,
        bytes_written: tally.written.bytes,
        io_time_s: in_seconds(tally.io_ns),
        library_time_s: in_seconds(tally.library_ns),
        file_system_time_s: in_seconds(tally.file_system_ns),
        busiest_thread_s: in_seconds(tally.busiest_thread_ns()),
    }
}

fn mapped(tally: &JobTally, path: &dyn Fn(FileId) -> String) -> Option<MappedTotals> {
    let files = tally.files.iter().map(|(id, file)| (*id, file.mapped));
    let mut files: Vec<(FileId, u64, u64)> = files
        .map(|(id, mapped)| (id, mapped.for_reading(), mapped.for_writing()))
        .filter(|(_, reading, writing)| reading + writing > 0)
        .collect();
    files.sort_by_key(|&(id, reading, writing)| (std::cmp::Reverse(reading.max(writing)), id));
    let sum = |bytes: fn(&(FileId, u64, u64)) -> u64| {
        files.iter().map(bytes).fold(0, u64::saturating_add)
    };
    let largest = files.iter().take(MAX_FILES).map(|&(id, reading, writing)| MappedFile {
        path: path(id),
        bytes_for_reading: reading,
        bytes_for_writing: writing,
    });
    (!files.is_empty()).then(|| MappedTotals {
        files: files.len() as u64,
        bytes_for_reading: sum(|file| file.1),
        bytes_for_writing: sum(|file| file.2),
        largest: largest.collect(),
    })
}

fn mpi_own(own: &tally::MpiInternalTally) -> Option<MpiInternalTotals> {
    (own.operations + own.failed > 0).then(|| MpiInternalTotals {
        operations: own.operations,
        failed_calls: own.failed,
        files: own.files.len() as u64,
        bytes_read: own.bytes_read,
        bytes_written: own.bytes_written,
        io_time_s: in_seconds(own.io_ns),
    })
}

fn metadata(calls: &tally::MetadataTally) -> Option<MetadataTotals> {
    let total = calls.total();
    (total.operations > 0).then(|| MetadataTotals {
        n_calls: total.operations,
        failed: calls.failed,
        io_time_s: in_seconds(total.io_ns),
        calls: sorted_calls(&calls.calls),
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
        other_calls: busiest_calls(&calls.others),
    })
}

impl From<&FileGroup> for BusyGroup {
    fn from(group: &FileGroup) -> BusyGroup {
        let tally = &group.tally;
        BusyGroup {
            path: group.path.clone(),
            files: group.n_files as u64,
            kind: group.kind,
            operations: tally.operations,
            bytes_read: tally.read.moved.bytes,
            bytes_written: tally.written.moved.bytes,
            io_time_s: in_seconds(tally.io_ns),
            file_system_time_s: in_seconds(tally.file_system_ns),
            opens: tally.opens,
            syncs: tally.syncs.operations,
            calls: busiest_calls(&tally.calls),
            library_calls: busiest_calls(&tally.library_calls),
        }
    }
}

fn busiest_files(tally: &JobTally, path: &dyn Fn(FileId) -> String) -> Vec<BusyFile> {
    let mut files: Vec<(&FileId, &FileTally)> = tally.files.iter().collect();
    files.sort_by_key(|(id, file)| (std::cmp::Reverse(file.io_ns), **id));
    files.into_iter().take(MAX_FILES).map(|(id, file)| busy_file(path(*id), file)).collect()
}

/// The calls that took most time.
pub fn busiest_calls(calls: &[(Function, TransferTally)]) -> Vec<Calls> {
    let mut calls = sorted_calls(calls);
    calls.truncate(MAX_CALLS);
    calls
}

/// All of them, those that took most time first.
fn sorted_calls(calls: &[(Function, TransferTally)]) -> Vec<Calls> {
    let mut calls = calls.to_vec();
    calls.sort_by_key(|(function, moved)| {
        (std::cmp::Reverse((moved.io_ns, moved.operations)), *function)
    });
    let calls = calls.into_iter().map(|(function, moved)| Calls {
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

fn loops(oracle: &Oracle, tally: &JobTally, groups: &FileGroups) -> Vec<LoopSeen> {
    let files_of = files_by_symbol(oracle, tally);
    let least = oracle.operations() as f64 * MIN_COVERED;
    let mut loops: Vec<LoopSeen> = Vec::new();
    for found in loops_of(oracle) {
        let files = names_of(&found.symbols, &files_of, groups);
        let is_listed = loops.iter().any(|other| other.turn == found.turn && other.files == files);
        if loops.len() < MAX_LOOPS && found.covered() as f64 >= least && !is_listed {
            loops.push(LoopSeen {
                turn: found.turn,
                operations: found.operations,
                turns_min: found.turns.0,
                turns_max: found.turns.1,
                runs: found.runs,
                files,
            });
        }
    }
    loops
}

/// The files that the calls of each symbol of the grammar are on.
fn files_by_symbol<'a>(oracle: &Oracle, tally: &'a JobTally) -> HashMap<u32, Vec<&'a [FileId]>> {
    let mut files: HashMap<u32, Vec<&[FileId]>> = HashMap::new();
    for (context, function, of_call) in tally.files_by_call.iter() {
        if let Some(symbol) = oracle.symbol_in(context, function) {
            files.entry(symbol.0).or_default().push(of_call);
        }
    }
    files
}

/// The groups of files that symbols stand for, in the order of the turn.
fn names_of(
    symbols: &[u32],
    files_of: &HashMap<u32, Vec<&[FileId]>>,
    groups: &FileGroups,
) -> Vec<String> {
    let files = symbols.iter().filter_map(|symbol| files_of.get(symbol)).flatten();
    group_names(files.flat_map(|files| files.iter().copied()), groups)
}

/// The groups of files, the first ones.
pub fn group_names(files: impl Iterator<Item = FileId>, groups: &FileGroups) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for file in files {
        if names.len() == MAX_LOOP_FILES {
            break;
        }
        if let Some(group) = groups.of(file)
            && !names.contains(&group.path)
        {
            names.push(group.path.clone());
        }
    }
    names
}

/// A score in percent, unless there was nothing to predict.
pub fn predicted(scores: &ScoreBySource) -> Option<Predicted> {
    let score = scores.all();
    let of = |source| source_score(scores.of(source));
    (score.operations > 0).then(|| Predicted {
        operations: score.operations,
        context_accuracy: score.context_accuracy(),
        file_accuracy: score.file_accuracy(),
        offset_accuracy: score.offset_accuracy(),
        hit_ratio: score.hit_ratio(),
        time_error_s: score.time_error_s(),
        by_source: PredictedBySource {
            grammar: of(PredictionSource::ThisRun),
            model: of(PredictionSource::Model),
        },
    })
}

fn source_score(score: &Score) -> Option<SourceScore> {
    (score.operations > 0).then(|| SourceScore {
        operations: score.operations,
        context_accuracy: score.context_accuracy(),
        offset_accuracy: score.offset_accuracy(),
        hit_ratio: score.hit_ratio(),
    })
}

fn bursts_of(
    tally: &BurstTally,
    stream: StreamId,
    oracle: &Oracle,
    is_whole: bool,
) -> Option<Bursts> {
    let seen = tally.of(stream, oracle.quiet_threshold_ns()?)?;
    // Only the rest of a burst that has begun is known; the next one is complete.
    let max_steps =
        usize::try_from(MAX_BURSTS_AHEAD * (seen.operations / seen.n)).unwrap_or(usize::MAX);
    let next = || oracle.bursts_within(max_steps).take(2).find(|burst| burst.starts_in_ns > 0);
    let next = is_whole.then(next).flatten();
    Some(Bursts {
        seen: seen.n,
        operations: seen.operations as f64 / seen.n as f64,
        bytes: seen.bytes as f64 / seen.n as f64,
        period_s: in_seconds(seen.period_ns()),
        is_periodic: seen.is_regular(),
        next: next.map(|burst| NextBurst {
            operations: burst.operations,
            bytes: burst.bytes,
            starts_in_s: in_seconds(burst.starts_in_ns),
            confidence: burst.confidence,
            at_least: burst.is_cut,
        }),
    })
}

pub fn in_seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
