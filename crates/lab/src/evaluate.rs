// SPDX-License-Identifier: MIT OR Apache-2.0

//! The second reading of a trace: every operation is predicted, then learned.

use std::collections::BTreeMap;

use ioracle_events::{OperationFilter, StreamId};
use ioracle_trace::Trace;

use crate::error::Error;
use crate::evaluation::Evaluation;
use crate::figures::{Recorder, Series};
use crate::rank::{Details, RankScores};
use crate::stream::StreamRun;
use crate::survey::Survey;

/// Operations between two reports of progress.
const PROGRESS_STEP: u64 = 4096;

/// Streams that may be under way at once; each has an oracle of some hundred
/// kilobytes.
const MAX_STREAMS: usize = 1024;

/// What to measure.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The configuration of each stream's oracle.
    pub oracle: ioracle_oracle::Config,
    /// Run the baselines beside it.
    pub baselines: bool,
    /// Record the series of the figures.
    pub series: bool,
}

/// How far an evaluation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Operations learned so far.
    pub operations: u64,
    /// Operations in all.
    pub of: u64,
}

/// All that was measured on one rank.
#[derive(Clone, Debug)]
pub struct RankReport {
    /// What `ioracle eval --json` prints.
    pub evaluation: Evaluation,
    /// What the tables of the evaluation document need beyond it.
    pub details: Details,
    /// What the figures need, of the rank's longest stream.
    pub series: Option<Series>,
}

/// Evaluates one rank of a trace, or each of them, in the order of ranks.
///
/// An oracle is dropped when its stream has ended, so that a trace of many
/// ranks needs the memory of those that are interleaved in it only.
pub fn evaluate(
    trace: &Trace,
    survey: &Survey,
    options: &Options,
    mut progress: impl FnMut(Progress),
) -> Result<Vec<RankReport>, Error> {
    // `None` is a stream that is over: seeks may still follow its operations.
    let mut runs: BTreeMap<StreamId, Option<(OperationFilter, StreamRun<'_>)>> = BTreeMap::new();
    let mut ranks: BTreeMap<u32, (RankScores, Option<Series>)> = BTreeMap::new();
    let of = survey.operations();
    let mut operations = 0;
    let mut under_way = 0;

    let mut finish = |run: StreamRun<'_>, rank: u32| {
        let (scores, series) = ranks.entry(rank).or_default();
        if let Some(recorder) = run.finish(scores) {
            *series = Some(recorder.into_series());
        }
    };
    for event in trace.events(survey.rank)? {
        let event = event?;
        let Some(&length) = survey.streams.get(&event.stream) else { continue };
        let entry = runs.entry(event.stream).or_insert_with(|| {
            under_way += 1;
            let is_main = survey.main_stream(event.stream.rank) == Some(event.stream);
            let recorder = (options.series && is_main).then(|| Recorder::new(length));
            Some((OperationFilter::default(), StreamRun::new(trace, length, options, recorder)))
        });
        if under_way > MAX_STREAMS {
            return Err(Error::TooManyStreams {
                trace: trace.name().to_owned(),
                most: MAX_STREAMS,
            });
        }
        let Some((filter, run)) = entry else { continue };
        filter.push(&event, |operation| {
            run.observe(&operation);
            operations += 1;
            if operations % PROGRESS_STEP == 0 {
                progress(Progress { operations, of });
            }
        });
        if let Some((_, run)) = entry.take_if(|(_, run)| run.is_over()) {
            finish(run, event.stream.rank);
            under_way -= 1;
        }
    }
    for (stream, entry) in runs {
        let Some((mut filter, mut run)) = entry else { continue };
        filter.finish(|operation| run.observe(&operation));
        finish(run, stream.rank);
    }
    progress(Progress { operations: of, of });
    let report = |(rank, (scores, series)): (u32, (RankScores, Option<Series>))| RankReport {
        evaluation: scores.evaluation(trace.name(), rank),
        details: scores.details(),
        series,
    };
    Ok(ranks.into_iter().map(report).collect())
}
