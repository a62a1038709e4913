// SPDX-License-Identifier: MIT OR Apache-2.0

//! The scores of all streams of a rank, merged.

use ioracle_engine::Score;
use ioracle_engine::score::{ContextScore, Moments, PlaceScore};

use crate::baselines::{BaselineResult, BaselineResults, ORDERS};
use crate::evaluation::Evaluation;
use crate::halves::Halves;

/// Sums over the streams of a rank; each stream is merged in when it ends.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankScores {
    pub symbols: u64,
    pub one_size_symbols: u64,
    pub grammar_size: u64,
    pub sequitur_grammar_size: u64,
    pub model_bytes: u64,
    pub score: Halves<Score>,
    pub contiguous: Halves<PlaceScore>,
    pub immediate_error: Moments,
    pub last_time_error: Moments,
    /// Share of each stream times its operations.
    pub horizon: f64,
    pub access_size: Moments,
    pub baselines: Option<BaselineScores>,
}

/// The baselines that are run only when asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct BaselineScores {
    pub markov: [Halves<ContextScore>; ORDERS.len()],
    pub longest: Halves<ContextScore>,
    pub omniscio_context: Halves<ContextScore>,
    pub omniscio_place: Halves<PlaceScore>,
}

/// What the tables of the evaluation document need beyond the JSON fields.
#[derive(Clone, Debug, Default)]
pub struct EvaluationDetails {
    /// Sizes of the data accesses.
    pub access_size: Moments,
    /// Absolute error of the interarrival time, in seconds.
    pub time_error: Moments,
    /// The same for 'immediately'.
    pub immediate_error: Moments,
    /// Cost of learning one operation, in nanoseconds.
    pub observe: Moments,
    /// Stated top probability, share that was right, operations; per bin.
    pub calibration: Vec<(f64, f64, u64)>,
}

impl RankScores {
    pub(crate) fn details(&self) -> EvaluationDetails {
        EvaluationDetails {
            access_size: self.access_size,
            time_error: self.score.whole.place.time_error,
            immediate_error: self.immediate_error,
            observe: Moments::default(),
            calibration: self.score.whole.context.calibration().iter().collect(),
        }
    }

    pub(crate) fn evaluation(&self, trace: &str, rank: u32) -> Evaluation {
        let Score { operations, context, place } = &self.score.whole;
        let stationary = &self.score.second;
        Evaluation {
            trace: trace.to_owned(),
            rank,
            operations: *operations,
            symbols: self.symbols,
            context_accuracy: context.accuracy(),
            context_accuracy_stationary: stationary.context.accuracy(),
            context_top1: context.top1(),
            context_brier: context.brier(),
            calibration_error: context.calibration().error(),
            place_calibration_error: place.calibration.error(),
            place_calibration_by_chance: place.calibration.error_by_chance(),
            horizon_share: share(self.horizon, *operations),
            grammar_size: self.grammar_size,
            sequitur_grammar_size: self.sequitur_grammar_size,
            one_size_symbols: share(100.0 * self.one_size_symbols as f64, self.symbols),
            size_error_mean: place.size_error.value(),
            size_exact: place.size_exact.percent(),
            offset_accuracy: place.offset.percent(),
            contiguous_accuracy: self.contiguous.whole.offset.percent(),
            file_accuracy: place.file.percent(),
            hit_ratio: place.hit.percent(),
            hit_ratio_stationary: stationary.place.hit.percent(),
            time_error_s: place.time_error.mean(),
            immediate_error_s: self.immediate_error.mean(),
            observe_ns_mean: None,
            observe_ns_p99: None,
            model_bytes: self.model_bytes,
            baselines: self.baselines.as_ref().map(|scores| self.baseline_results(scores)),
        }
    }

    fn baseline_results(&self, scores: &BaselineScores) -> BaselineResults {
        let timed = |error: &Moments| BaselineResult {
            time_error_s: error.mean(),
            ..BaselineResult::default()
        };
        let [markov1, markov2, markov4, markov8] =
            scores.markov.each_ref().map(BaselineResult::of_context);
        BaselineResults {
            contiguous: BaselineResult::default().with_place(&self.contiguous),
            immediate: timed(&self.immediate_error),
            sequitur_equal: BaselineResult::of_context(&scores.omniscio_context)
                .with_place(&scores.omniscio_place),
            markov1,
            markov2,
            markov4,
            markov8,
            longest16: BaselineResult::of_context(&scores.longest),
            last_time: timed(&self.last_time_error),
        }
    }
}

fn share(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}
