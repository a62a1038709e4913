// SPDX-License-Identifier: MIT OR Apache-2.0

//! The second reading of a trace: every operation is predicted, then learned.

use std::cell::RefCell;
use std::collections::BTreeMap;

use ioracle_engine::{ObservedOperation, StreamLearner, Watcher};
use ioracle_events::StreamId;
use ioracle_oracle::Oracle;
use ioracle_trace::Trace;

use crate::drive::{Examiner, drive};
use crate::error::Error;
use crate::evaluation::Evaluation;
use crate::figures::{FigureSeries, SeriesRecorder};
use crate::rank::{EvaluationDetails, RankScores};
use crate::stream::StreamRun;
use crate::survey::Survey;

/// Operations between two reports of progress.
const PROGRESS_STEP: u64 = 4096;

/// What to measure.
#[derive(Clone, Debug, Default)]
pub struct EvaluateOptions {
    /// The configuration of each stream's oracle.
    pub oracle: ioracle_oracle::Config,
    /// Run the baselines beside it.
    pub baselines: bool,
    /// Record the series of the figures.
    pub series: bool,
}

/// How far an evaluation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EvaluationProgress {
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
    pub details: EvaluationDetails,
    /// What the figures need, of the rank's longest stream.
    pub series: Option<FigureSeries>,
}

/// Evaluates the ranks of a surveyed trace, in their order. What learning costs
/// is left open; see [`measure_cost`](crate::measure_cost).
pub fn evaluate(
    trace: &Trace,
    survey: &Survey,
    options: &EvaluateOptions,
    progress: impl FnMut(EvaluationProgress),
) -> Result<Vec<RankReport>, Error> {
    let state = RefCell::new((0, progress));
    let mut evaluator = Evaluator { survey, options, progress: &state, ranks: BTreeMap::new() };
    drive(trace, survey, &options.oracle, &mut evaluator)?;
    let of = survey.operations();
    let ranks = evaluator.ranks;
    (state.into_inner().1)(EvaluationProgress { operations: of, of });
    let report = |(rank, (scores, series)): (u32, (RankScores, Option<FigureSeries>))| RankReport {
        evaluation: scores.evaluation(trace.name(), rank),
        details: scores.details(),
        series,
    };
    Ok(ranks.into_iter().map(report).collect())
}

/// Scores every stream.
struct Evaluator<'a, P> {
    survey: &'a Survey,
    options: &'a EvaluateOptions,
    /// Operations learned so far, and who wants to know.
    progress: &'a RefCell<(u64, P)>,
    ranks: BTreeMap<u32, (RankScores, Option<FigureSeries>)>,
}

/// A stream, and how far the evaluation is.
struct Followed<'a, P> {
    run: StreamRun,
    survey: &'a Survey,
    progress: &'a RefCell<(u64, P)>,
}

impl<P: FnMut(EvaluationProgress)> Watcher for Followed<'_, P> {
    fn before(&mut self, oracle: &Oracle, came: &ObservedOperation<'_>) {
        self.run.before(oracle, came);
    }

    fn after(&mut self, oracle: &Oracle, came: &ObservedOperation<'_>) {
        self.run.after(oracle, came);
        let (operations, progress) = &mut *self.progress.borrow_mut();
        *operations += 1;
        if operations.is_multiple_of(PROGRESS_STEP) {
            progress(EvaluationProgress { operations: *operations, of: self.survey.operations() });
        }
    }
}

impl<'a, P: FnMut(EvaluationProgress)> Examiner for Evaluator<'a, P> {
    type Watch = Followed<'a, P>;

    fn begin(&mut self, stream: StreamId, length: u64) -> Followed<'a, P> {
        let is_main = self.survey.main_stream(stream.rank) == Some(stream);
        let recorder = (self.options.series && is_main).then(|| SeriesRecorder::new(length));
        let run = StreamRun::new(length, self.options, recorder);
        Followed { run, survey: self.survey, progress: self.progress }
    }

    fn end(&mut self, stream: StreamId, watch: Followed<'a, P>, learned: StreamLearner) {
        let (scores, series) = self.ranks.entry(stream.rank).or_default();
        if let Some(recorder) = watch.run.finish(&learned, scores) {
            *series = Some(recorder.into_series());
        }
    }
}
