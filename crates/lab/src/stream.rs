// SPDX-License-Identifier: MIT OR Apache-2.0

//! One stream under evaluation: beside the score that the engine keeps, that of
//! its second half, how far ahead it sees, and the baselines.
//!
//! Before, never after: every statement is compared with an operation before
//! the operation is learned.

use ioracle_engine::score::{Moments, Score, Scored};
use ioracle_engine::{ObservedOperation, StreamLearner, Watcher};
use ioracle_events::ContextSymbol;
use ioracle_grammar::Grammar;
use ioracle_oracle::Oracle;

use crate::baselines::{Contiguous, History, OmniscioBaseline};
use crate::evaluate::EvaluateOptions;
use crate::figures::SeriesRecorder;
use crate::halves::{Half, Halves};
use crate::metrics::horizon::Horizon;
use crate::rank::{BaselineScores, RankScores};

const HORIZON_POSITIONS: u64 = 1000;
const HORIZON_REACH: u64 = 1000;

/// A stream that is being read.
pub(crate) struct StreamRun {
    length: u64,
    position: u64,
    second_half: Score,
    sequitur: Grammar,
    horizon: Horizon,
    contiguous: Contiguous,
    immediate_error: Moments,
    last_time_error: Moments,
    access_size: Moments,
    last_interarrival_ns: u64,
    baselines: Option<Box<(History, OmniscioBaseline)>>,
    recorder: Option<Box<SeriesRecorder>>,
    shown: ShownOperation,
}

/// What one operation showed, for the figures.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ShownOperation {
    /// What it added to the score.
    pub scored: Scored,
    /// The weight of its symbol if all stated symbols weighed the same.
    pub unweighted: f64,
    /// Observed and predicted interarrival time.
    pub interarrival_ns: Option<(u64, u64)>,
}

impl Watcher for StreamRun {
    fn before(&mut self, oracle: &Oracle, came: &ObservedOperation<'_>) {
        let half = Half::of(self.position, self.length);
        if self.horizon.is_due(self.position) {
            self.horizon.ask(self.position, best_iterator(oracle));
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.ask_ahead(self.position, oracle);
            self.shown = shown(oracle, came);
        }
        if half == Half::Second {
            self.second_half.add(oracle.predict(), came);
        }
        if came.operation.access().is_data() {
            self.access_size.add(came.operation.size as f64);
        }
        if let Some(came_ns) = came.interarrival_ns {
            self.immediate_error.add(came_ns as f64 * 1e-9);
            let last_error_ns = self.last_interarrival_ns.abs_diff(came_ns);
            self.last_time_error.add(last_error_ns as f64 * 1e-9);
        }
        self.last_interarrival_ns = came.interarrival_ns.unwrap_or(0);
        self.contiguous.observe(came.operation, half);
    }

    fn after(&mut self, oracle: &Oracle, came: &ObservedOperation<'_>) {
        let half = Half::of(self.position, self.length);
        if let Some(symbol) = oracle.symbol_of(came.operation) {
            self.horizon.came(symbol);
            self.sequitur.push(symbol.0);
            if let Some(baselines) = &mut self.baselines {
                baselines.0.observe(symbol, half);
                baselines.1.observe(came.operation, symbol, half);
            }
            if let Some(recorder) = &mut self.recorder {
                let sizes = (oracle.grammar().size(), self.sequitur.size());
                recorder.add(symbol, self.shown, sizes);
            }
        }
        self.position += 1;
    }
}

impl StreamRun {
    pub(crate) fn new(
        length: u64,
        options: &EvaluateOptions,
        recorder: Option<SeriesRecorder>,
    ) -> StreamRun {
        StreamRun {
            length,
            position: 0,
            second_half: Score::default(),
            sequitur: Grammar::new(ioracle_grammar::Config::sequitur()),
            horizon: Horizon::new(length / 2, length, HORIZON_POSITIONS, HORIZON_REACH),
            contiguous: Contiguous::default(),
            immediate_error: Moments::default(),
            last_time_error: Moments::default(),
            access_size: Moments::default(),
            last_interarrival_ns: 0,
            baselines: options.baselines.then(Box::default),
            recorder: recorder.map(Box::new),
            shown: ShownOperation::default(),
        }
    }

    /// Adds everything to the rank's scores; hands over what was recorded.
    pub(crate) fn finish(
        self,
        learned: &StreamLearner,
        rank: &mut RankScores,
    ) -> Option<SeriesRecorder> {
        let oracle = &learned.oracle;
        let score = Halves { whole: learned.score(), second: self.second_half };
        rank.symbols += oracle.symbols() as u64;
        rank.one_size_symbols += oracle.one_size_symbols() as u64;
        rank.grammar_size += oracle.grammar().size() as u64;
        rank.sequitur_grammar_size += self.sequitur.size() as u64;
        rank.model_bytes += oracle.memory_bytes() as u64;
        rank.horizon += self.horizon.share().value().unwrap_or(0.0) * score.whole.operations as f64;
        rank.score.merge(&score, Score::merge);
        rank.contiguous.merge(self.contiguous.score(), |all, more| all.merge(more));
        rank.immediate_error.merge(self.immediate_error);
        rank.last_time_error.merge(self.last_time_error);
        rank.access_size.merge(self.access_size);
        if let Some(baselines) = &self.baselines {
            let (history, omniscio) = &**baselines;
            let scores = rank.baselines.get_or_insert_with(BaselineScores::default);
            for (score, more) in scores.markov.iter_mut().zip(history.markov()) {
                score.merge(more, |all, more| all.merge(more));
            }
            scores.longest.merge(history.longest(), |all, more| all.merge(more));
            scores.omniscio_context.merge(omniscio.context(), |all, more| all.merge(more));
            scores.omniscio_place.merge(omniscio.place(), |all, more| all.merge(more));
        }
        self.recorder.map(|recorder| *recorder)
    }
}

fn shown(oracle: &Oracle, came: &ObservedOperation<'_>) -> ShownOperation {
    let predictions = oracle.predict();
    let scored = Score::default().add(predictions, came);
    let is_known = |symbol| symbol != ContextSymbol::UNSEEN;
    let n_stated = predictions.iter().filter(|stated| is_known(stated.symbol)).count();
    let predicted_ns = predictions.first().map_or(0, |top| top.interarrival_ns);
    ShownOperation {
        scored,
        unweighted: if scored.weight > 0.0 { 1.0 / n_stated as f64 } else { 0.0 },
        interarrival_ns: came.interarrival_ns.map(|came_ns| (came_ns, predicted_ns)),
    }
}

/// What the best iterator says; an unseen symbol leads nowhere.
pub(crate) fn best_iterator(oracle: &Oracle) -> impl Iterator<Item = ContextSymbol> + '_ {
    let mut predictions = oracle.predict().iter();
    let best = predictions.position(|prediction| prediction.symbol != ContextSymbol::UNSEEN);
    best.into_iter().flat_map(|best| oracle.ahead(best)).map(|prediction| prediction.symbol)
}
