// SPDX-License-Identifier: MIT OR Apache-2.0

//! The second reading of a trace: every operation is predicted, then learned.

use std::collections::BTreeMap;

use ioracle_events::{Operation, StreamId};
use ioracle_trace::Trace;

use crate::drive::{Follower, drive};
use crate::error::Error;
use crate::evaluation::Evaluation;
use crate::figures::{Recorder, Series};
use crate::rank::{Details, RankScores};
use crate::stream::StreamRun;
use crate::survey::Survey;

/// Operations between two reports of progress.
const PROGRESS_STEP: u64 = 4096;

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

/// Evaluates the ranks of a surveyed trace, in their order. What learning costs
/// is left open; see [`measure_cost`](crate::measure_cost).
pub fn evaluate(
    trace: &Trace,
    survey: &Survey,
    options: &Options,
    progress: impl FnMut(Progress),
) -> Result<Vec<RankReport>, Error> {
    let ranks = BTreeMap::new();
    let mut examiner = Examiner { trace, survey, options, progress, operations: 0, ranks };
    drive(trace, survey, &mut examiner)?;
    let of = survey.operations();
    let Examiner { mut progress, ranks, .. } = examiner;
    progress(Progress { operations: of, of });
    let report = |(rank, (scores, series)): (u32, (RankScores, Option<Series>))| RankReport {
        evaluation: scores.evaluation(trace.name(), rank),
        details: scores.details(),
        series,
    };
    Ok(ranks.into_iter().map(report).collect())
}

/// Lets every operation be predicted and scored.
struct Examiner<'a, P> {
    trace: &'a Trace,
    survey: &'a Survey,
    options: &'a Options,
    progress: P,
    operations: u64,
    ranks: BTreeMap<u32, (RankScores, Option<Series>)>,
}

impl<'a, P: FnMut(Progress)> Follower for Examiner<'a, P> {
    type State = StreamRun<'a>;

    fn begin(&mut self, stream: StreamId, length: u64) -> StreamRun<'a> {
        let is_main = self.survey.main_stream(stream.rank) == Some(stream);
        let recorder = (self.options.series && is_main).then(|| Recorder::new(length));
        StreamRun::new(self.trace, length, self.options, recorder)
    }

    fn observe(&mut self, run: &mut StreamRun<'a>, operation: Operation) {
        run.observe(&operation);
        self.operations += 1;
        if self.operations.is_multiple_of(PROGRESS_STEP) {
            let of = self.survey.operations();
            (self.progress)(Progress { operations: self.operations, of });
        }
    }

    fn end(&mut self, stream: StreamId, run: StreamRun<'a>) {
        let (scores, series) = self.ranks.entry(stream.rank).or_default();
        if let Some(recorder) = run.finish(scores) {
            *series = Some(recorder.into_series());
        }
    }
}
