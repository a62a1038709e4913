// SPDX-License-Identifier: MIT OR Apache-2.0

//! Learning a stream of a recorded trace, to the end or to some operation.

use std::path::Path;

use anyhow::Result;
use ioracle_engine::{Config, Levels, ObservedOperation, Score, Watcher};
use ioracle_events::{FileId, Level, Operation, SEPARATOR, StreamId, Variables};
use ioracle_lab::{Survey, engine_for};
use ioracle_oracle::{Model, Oracle, Role};
use ioracle_trace::{ReadOptions, Trace};

use crate::shared::failure::{open_trace, without_lenient};
use crate::shared::numbers::counted;
use crate::shared::output::say;
use crate::shared::progress::Progress;

/// Operations between two moves of the progress bar.
const PROGRESS_STEP: u64 = 4096;

/// What was learned, and what came after it.
pub struct LearnedTrace {
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
    /// What operations name instead of files, at [`Level::Variables`].
    pub variables: Option<Variables>,
}

/// How much of a stream to learn.
#[derive(Clone, Copy, Debug, Default)]
pub struct LearnLimits {
    /// The rank; without it the first one of the trace.
    pub rank: Option<u32>,
    /// Operations to learn.
    pub until: LearnUntil,
    /// Operations to keep that follow them.
    pub rest: usize,
    /// Which events are operations.
    pub level: Level,
}

/// Where in a stream learning ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LearnUntil {
    /// After this many operations.
    Operations(u64),
    /// In the middle of the stream.
    Half,
    /// At its end.
    #[default]
    End,
}

/// Learns the longest stream of a rank.
pub fn learn(path: &Path, options: ReadOptions, extent: LearnLimits) -> Result<LearnedTrace> {
    let trace = open_trace(path, options)?;
    let survey = Survey::at(extent.level, &trace, extent.rank)?;
    survey_warning(&trace, &survey);
    let first_rank = survey.streams.keys().next().map_or(0, |stream| stream.rank);
    let rank = extent.rank.unwrap_or(first_rank);
    let stream = survey.main_stream(rank).unwrap_or(StreamId { rank, thread: 0 });
    let length = survey.streams.get(&stream).copied().unwrap_or(0);
    let operations = match extent.until {
        LearnUntil::Operations(operations) => operations,
        LearnUntil::Half => length / 2,
        LearnUntil::End => length,
    };
    if operations > length {
        anyhow::bail!(
            "the trace '{}' has {} in rank {rank}, so --after {operations} is too large; use a smaller number",
            trace.name(),
            counted(length, "operation")
        );
    }
    let other_streams = survey.streams.keys().filter(|other| other.rank == rank).count() - 1;
    learn_stream(trace, stream, operations, extent)
        .map(|learned| LearnedTrace { other_streams, ..learned })
}

/// The name of a variable for an oracle, and for people.
pub fn variable_name(trace: &Trace, variables: &Variables, number: FileId) -> Option<String> {
    let (file, name) = variables.get(number)?;
    let path = trace.files().get(file).unwrap_or_default();
    Some(format!("{path}{SEPARATOR}{name}"))
}

/// Learns all streams of a rank, or of all ranks, each in its role.
pub fn learn_all(path: &Path, options: ReadOptions, rank: Option<u32>) -> Result<(Trace, Model)> {
    let trace = open_trace(path, options)?;
    let survey = Survey::of(&trace, rank)?;
    survey_warning(&trace, &survey);
    let progress = Progress::new();
    progress.expect(survey.operations());
    let has_ranks = survey.streams.keys().any(|stream| stream.rank > 0);
    let application = match trace.meta().application.as_str() {
        "" => trace.name(),
        application => application,
    };
    let config = Config { levels: Levels::Only(Level::Bytes), ..Config::default() };
    let mut engine = engine_for(&trace, config, Model::new(application));
    for stream in survey.streams.keys() {
        let role = Role {
            program: application.to_owned(),
            rank: has_ranks.then_some(stream.rank),
            process: 0,
            thread: stream.thread,
        };
        engine.define_role(*stream, role);
    }
    for event in trace.events(rank)? {
        engine.observe(&event?);
        progress.advance(1);
    }
    engine.finish();
    progress.finish();
    Ok((trace, engine.into_model()))
}

/// Says why events are missing from the recording of a trace, if some are.
pub fn say_incomplete(trace: &Trace) {
    if let Some(why) = trace.incomplete() {
        say(format_args!("{}: the recording {why}", trace.name()));
    }
}

/// Says what is missing from a trace: what its recording lacks, and how many
/// bad rows were skipped.
pub fn survey_warning(trace: &Trace, survey: &Survey) {
    say_incomplete(trace);
    let n_calls =
        trace.meta().not_recorded.values().fold(0, |n, calls| u64::saturating_add(n, *calls));
    if n_calls > 0 {
        let calls = counted(n_calls, "call");
        say(format_args!("{}: {calls} of the program could not be recorded", trace.name()));
    }
    if let (skipped @ 1.., Some(first)) = (survey.skipped, &survey.first_skipped) {
        let rows = if skipped == 1 { "row" } else { "rows" };
        let first = without_lenient(first);
        say(format_args!("{}: skipped {skipped} bad {rows}, the first: {first}", trace.name()));
    }
}

fn learn_stream(
    trace: Trace,
    stream: StreamId,
    operations: u64,
    LearnLimits { level, rest, .. }: LearnLimits,
) -> Result<LearnedTrace> {
    let config = Config { levels: Levels::Only(level), ..Config::default() };
    let mut engine = engine_for(&trace, config, Model::default());
    let progress = Progress::new();
    progress.expect(operations);
    let mut span =
        Span { left: operations, max_rest: rest, rest: Vec::new(), end_ns: 0, progress: &progress };
    engine.begin_stream(stream);
    for event in trace.events(Some(stream.rank))? {
        let event = event?;
        if event.stream != stream {
            engine.pass_over(&event);
            continue;
        }
        engine.observe_with(&event, &mut span);
        // Variables of what follows would be forgotten in a long trace.
        if span.is_over() {
            break;
        }
    }
    engine.finish_stream(stream, &mut span);
    progress.finish();
    let Span { rest, end_ns, .. } = span;
    let variables = (level == Level::Variables).then(|| engine.variables().clone());
    let learned = engine.take_stream(level, stream);
    let score = learned.as_ref().map(|learned| learned.score()).unwrap_or_default();
    let oracle = match learned {
        Some(learned) => learned.oracle,
        None => Oracle::new(ioracle_oracle::Config::default()),
    };
    let other_streams = 0;
    Ok(LearnedTrace {
        trace,
        stream,
        other_streams,
        operations,
        end_ns,
        oracle,
        score,
        rest,
        variables,
    })
}

/// Learns this many operations, and keeps those that follow.
struct Span<'a> {
    left: u64,
    max_rest: usize,
    rest: Vec<Operation>,
    /// When the last one learned ended.
    end_ns: u64,
    progress: &'a Progress,
}

impl Span<'_> {
    fn is_over(&self) -> bool {
        self.left == 0 && self.rest.len() >= self.max_rest
    }
}

impl Watcher for Span<'_> {
    fn admits(&mut self, operation: &Operation) -> bool {
        if self.left > 0 {
            return true;
        }
        if self.rest.len() < self.max_rest {
            self.rest.push(operation.clone());
        }
        false
    }

    fn after(&mut self, _: &Oracle, came: &ObservedOperation<'_>) {
        self.left -= 1;
        self.end_ns = came.operation.end_ns;
        if self.left.is_multiple_of(PROGRESS_STEP) {
            self.progress.advance(PROGRESS_STEP);
        }
    }
}
