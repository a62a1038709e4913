// SPDX-License-Identifier: MIT OR Apache-2.0

//! Learning a stream of a recorded trace, to the end or to some operation.

use std::path::Path;

use anyhow::Result;
use ioracle_engine::{Came, Engine, Score};
use ioracle_events::{FileId, Level, Operation, Picker, SEPARATOR, StreamId, Variables};
use ioracle_lab::{Survey, tell_context, tell_file};
use ioracle_oracle::{Model, Naming, Oracle, Role, StackId};
use ioracle_trace::{Options, Trace};

use crate::shared::failure::without_lenient;
use crate::shared::numbers::counted;
use crate::shared::output::say;
use crate::shared::progress::Progress;

/// Operations between two moves of the progress bar.
const PROGRESS_STEP: u64 = 4096;

/// What was learned, and what came after it.
pub struct Learned {
    /// The trace it came from.
    pub trace: Trace,
    /// The stream that was learned.
    pub stream: StreamId,
    /// Streams of the same rank that were not.
    pub other_streams: usize,
    /// Operations that were learned.
    pub operations: u64,
    /// When the last of them ended.
    pub end_ns: u64,
    /// The oracle after them.
    pub oracle: Oracle,
    /// How well they were predicted, each before it came.
    pub score: Score,
    /// The operations that followed, as many as were asked for.
    pub rest: Vec<Operation>,
    /// What operations name in the place of files, at [`Level::Variables`].
    pub variables: Option<Variables>,
}

/// How much of a stream to learn.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// The rank; without it the first one of the trace.
    pub rank: Option<u32>,
    /// Operations to learn; without it all of them.
    pub operations: Option<u64>,
    /// Operations to keep that follow them.
    pub rest: usize,
    /// Which events are operations.
    pub level: Level,
}

/// Learns the longest stream of a rank.
pub fn learn(path: &Path, options: Options, extent: Extent) -> Result<Learned> {
    let trace = Trace::open(path, options)?;
    let survey = Survey::at(extent.level, &trace, extent.rank)?;
    survey_warning(&trace, &survey);
    let first_rank = survey.streams.keys().next().map_or(0, |stream| stream.rank);
    let rank = extent.rank.unwrap_or(first_rank);
    let stream = survey.main_stream(rank).unwrap_or(StreamId { rank, thread: 0 });
    let length = survey.streams.get(&stream).copied().unwrap_or(0);
    let operations = extent.operations.unwrap_or(length);
    if operations > length {
        anyhow::bail!(
            "the trace '{}' has {} in rank {rank}, --after {operations} lies beyond; name a smaller number",
            trace.name(),
            counted(length, "operation")
        );
    }
    let other_streams = survey.streams.keys().filter(|other| other.rank == rank).count() - 1;
    learn_stream(trace, stream, Extent { operations: Some(operations), ..extent })
        .map(|learned| Learned { other_streams, ..learned })
}

/// The name of a variable for an oracle, and for people.
pub fn variable_name(trace: &Trace, variables: &Variables, number: FileId) -> Option<String> {
    let (file, name) = variables.get(number)?;
    let path = trace.files().get(file).unwrap_or_default();
    Some(format!("{path}{SEPARATOR}{name}"))
}

/// Learns all streams of a rank, or of all ranks, each in its role.
pub fn learn_all(path: &Path, options: Options, rank: Option<u32>) -> Result<(Trace, Model)> {
    let trace = Trace::open(path, options)?;
    let survey = Survey::of(&trace, rank)?;
    survey_warning(&trace, &survey);
    let progress = Progress::new();
    progress.expect(survey.operations());
    let has_ranks = survey.streams.keys().any(|stream| stream.rank > 0);
    let application = match trace.meta().application.as_str() {
        "" => trace.name(),
        application => application,
    };
    let mut engine = Engine::with_model(ioracle_engine::Config::default(), Model::new(application));
    for stream in survey.streams.keys() {
        let role = Role {
            program: application.to_owned(),
            rank: has_ranks.then_some(stream.rank),
            process: 0,
            thread: stream.thread,
        };
        engine.define_role(*stream, role);
    }
    trace.contexts().iter().for_each(|(id, frames)| engine.define_context(id, frames));
    trace.files().iter().for_each(|(id, path)| engine.define_file(id, path));
    for event in trace.events(rank)? {
        engine.observe(&event?);
        progress.advance(1);
    }
    engine.finish();
    progress.finish();
    Ok((trace, engine.into_model()))
}

/// Tells how many bad rows were skipped, if any were.
pub fn survey_warning(trace: &Trace, survey: &Survey) {
    if let (skipped @ 1.., Some(first)) = (survey.skipped, &survey.first_skipped) {
        let rows = if skipped == 1 { "row" } else { "rows" };
        let first = without_lenient(first);
        say(format_args!("{}: skipped {skipped} bad {rows}, the first: {first}", trace.name()));
    }
}

fn learn_stream(trace: Trace, stream: StreamId, extent: Extent) -> Result<Learned> {
    let operations = extent.operations.unwrap_or(u64::MAX);
    let naming = match extent.level {
        Level::Bytes => Naming::Opens,
        Level::Variables => Naming::All,
    };
    let mut oracle = Oracle::new(ioracle_oracle::Config { naming, ..Default::default() });
    let mut score = Score::default();
    let mut rest = Vec::new();
    let mut seen = 0;
    let mut end_ns = 0;
    let progress = Progress::new();
    progress.expect(operations);
    let mut take = |operation: Operation, variables: Option<&Variables>| {
        if seen < operations {
            match variables {
                Some(variables) => tell_variable(&mut oracle, &trace, variables, &operation),
                None => {
                    tell_context(&mut oracle, &trace, &operation);
                    tell_file(&mut oracle, &trace, &operation);
                }
            }
            let path = match variables {
                Some(variables) => variable_name(&trace, variables, operation.file),
                None => trace.files().get(operation.file).map(str::to_owned),
            };
            let wait_ns = (seen > 0).then(|| operation.start_ns.saturating_sub(end_ns));
            let came = Came {
                operation: &operation,
                symbol: oracle.symbol_of(&operation),
                path: path.as_deref(),
                interarrival_ns: wait_ns,
            };
            score.add(oracle.predict(), &came);
            oracle.observe(&operation);
            end_ns = operation.end_ns;
            if (seen + 1).is_multiple_of(PROGRESS_STEP) {
                progress.advance(PROGRESS_STEP);
            }
        } else if rest.len() < extent.rest {
            rest.push(operation);
        }
        seen += 1;
        seen < operations || rest.len() < extent.rest
    };
    let mut picker = Picker::new(extent.level);
    let mut picked = Vec::new();
    for event in trace.events(Some(stream.rank))? {
        let event = event?;
        if event.stream != stream {
            continue;
        }
        picker.push(&event, |operation| picked.push(operation));
        // Variables of what follows would be forgotten in a long trace.
        if !picked.drain(..).all(|operation| take(operation, picker.variables())) {
            break;
        }
    }
    picker.finish(|operation| picked.push(operation));
    for operation in picked {
        take(operation, picker.variables());
    }
    progress.finish();
    let variables = picker.variables().cloned();
    Ok(Learned {
        trace,
        stream,
        other_streams: 0,
        operations,
        end_ns,
        oracle,
        score,
        rest,
        variables,
    })
}

fn tell_variable(oracle: &mut Oracle, trace: &Trace, variables: &Variables, operation: &Operation) {
    if !oracle.knows_context(operation.context)
        && let Some(place) = variables.context(operation.context)
        && let Some(frames) = trace.contexts().get(place.stack)
    {
        oracle.define_stack(operation.context, StackId::of(frames).on(&place.mark()));
    }
    if !oracle.knows_file(operation.file)
        && let Some(name) = variable_name(trace, variables, operation.file)
    {
        oracle.define_file(operation.file, &name);
    }
}
