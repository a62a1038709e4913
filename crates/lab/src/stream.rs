// SPDX-License-Identifier: MIT OR Apache-2.0

//! One stream under evaluation: its oracle, its scores, its baselines.
//!
//! Before, never after: every statement is compared with an operation before
//! the operation is learned. The path of a file is told only once an operation
//! has named it, as it would be live.

use ioracle_events::{ContextSymbol, Operation, PredictedFile, Prediction};
use ioracle_grammar::Grammar;
use ioracle_oracle::Oracle;
use ioracle_trace::Trace;

use crate::baselines::{Contiguous, History, Published};
use crate::evaluate::Options;
use crate::figures::Recorder;
use crate::metrics::context::{ContextScore, Distribution, Half};
use crate::metrics::horizon::Horizon;
use crate::metrics::place::{PlaceScore, Segment, Stated, size_error};
use crate::metrics::sums::Moments;
use crate::names::{tell_context, tell_file};
use crate::rank::{BaselineScores, RankScores};

const HORIZON_POSITIONS: u64 = 1000;
const HORIZON_REACH: u64 = 1000;

/// A stream that is being read.
pub(crate) struct StreamRun<'trace> {
    trace: &'trace Trace,
    length: u64,
    position: u64,
    oracle: Oracle,
    sequitur: Grammar,
    scores: Scores,
    horizon: Horizon,
    contiguous: Contiguous,
    baselines: Option<Box<(History, Published)>>,
    recorder: Option<Box<Recorder>>,
    previous: Option<Previous>,
    stated: Distribution,
    segments: Vec<(f64, Stated)>,
}

#[derive(Clone, Debug, Default)]
struct Scores {
    context: ContextScore,
    place: PlaceScore,
    immediate_error: Moments,
    last_time_error: Moments,
    access_size: Moments,
}

#[derive(Clone, Copy)]
struct Previous {
    end_ns: u64,
    interarrival_ns: u64,
}

/// What one operation showed, for the figures.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shown {
    /// Weight given to the symbol that came.
    pub weight: f64,
    /// The same if all stated symbols weighed the same.
    pub unweighted: f64,
    /// Relative error of the size, for data accesses that are not empty.
    pub size_error: Option<f64>,
    /// Hit ratio, 0 to 1, for data accesses.
    pub hit: Option<f64>,
    /// Observed and predicted interarrival time.
    pub interarrival_ns: Option<(u64, u64)>,
}

impl<'trace> StreamRun<'trace> {
    pub(crate) fn new(
        trace: &'trace Trace,
        length: u64,
        options: &Options,
        recorder: Option<Recorder>,
    ) -> StreamRun<'trace> {
        StreamRun {
            trace,
            length,
            position: 0,
            oracle: Oracle::new(options.oracle.clone()),
            sequitur: Grammar::new(ioracle_grammar::Config::sequitur()),
            scores: Scores::default(),
            horizon: Horizon::new(length / 2, length, HORIZON_POSITIONS, HORIZON_REACH),
            contiguous: Contiguous::default(),
            baselines: options.baselines.then(Box::default),
            recorder: recorder.map(Box::new),
            previous: None,
            stated: Distribution::default(),
            segments: Vec::new(),
        }
    }

    /// Compares what is predicted with the operation that came, then learns it.
    pub(crate) fn observe(&mut self, operation: &Operation) {
        let half = Half::of(self.position, self.length);
        tell_context(&mut self.oracle, self.trace, operation);
        self.ask_ahead();
        let shown = self.score(operation, half);
        self.contiguous.observe(operation, half);
        tell_file(&mut self.oracle, self.trace, operation);
        self.oracle.observe(operation);

        if let Some(symbol) = self.oracle.symbol_of(operation) {
            self.horizon.came(symbol);
            self.sequitur.push(symbol.0);
            if let Some(baselines) = &mut self.baselines {
                baselines.0.observe(symbol, half);
                baselines.1.observe(operation, symbol, half);
            }
            if let Some(recorder) = &mut self.recorder {
                let sizes = (self.oracle.grammar().size(), self.sequitur.size());
                recorder.add(symbol, shown, sizes);
            }
        }
        self.previous = Some(Previous {
            end_ns: operation.end_ns,
            interarrival_ns: self.interarrival_ns(operation).unwrap_or(0),
        });
        self.position += 1;
    }

    fn ask_ahead(&mut self) {
        if self.horizon.is_due(self.position) {
            self.horizon.ask(self.position, best_iterator(&self.oracle));
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.ask_ahead(self.position, &self.oracle);
        }
    }

    fn score(&mut self, operation: &Operation, half: Half) -> Shown {
        let interarrival_ns = self.interarrival_ns(operation);
        let predictions = self.oracle.predict();
        let top = predictions.first();
        let came = self.oracle.symbol_of(operation);

        self.stated.clear();
        for prediction in predictions {
            self.stated.add(prediction.symbol, prediction.probability);
        }
        self.scores.context.add(&self.stated, came, half);
        let weight = self.stated.weight_of(came);
        let mut shown = Shown {
            weight,
            unweighted: if weight > 0.0 { 1.0 / self.stated.support() as f64 } else { 0.0 },
            ..Shown::default()
        };

        let path = self.trace.files().get(operation.file);
        let place = &mut self.scores.place;
        place.add_file(top.is_some_and(|top| is_file(&top.file, operation, path)));
        if operation.access().is_data() {
            self.segments.clear();
            for prediction in predictions {
                self.segments.push((prediction.probability, segment(prediction, operation, path)));
            }
            let top_size = top.filter(|top| top.function.access().is_data()).map(|top| top.size);
            let came = Segment { start: operation.offset, size: operation.size };
            shown.hit = Some(place.add_data_access(&self.segments, top_size, came, half));
            shown.size_error = size_error(top_size.unwrap_or(0), operation.size);
            self.scores.access_size.add(operation.size as f64);
        }
        // The first operation of a stream follows none.
        if let (Some(came_ns), Some(previous)) = (interarrival_ns, self.previous) {
            let stated_ns = top.map_or(0, |top| top.interarrival_ns);
            place.add_time(stated_ns, came_ns);
            shown.interarrival_ns = Some((came_ns, stated_ns));
            self.scores.immediate_error.add(came_ns as f64 * 1e-9);
            let last_error_ns = previous.interarrival_ns.abs_diff(came_ns);
            self.scores.last_time_error.add(last_error_ns as f64 * 1e-9);
        }
        shown
    }

    fn interarrival_ns(&self, operation: &Operation) -> Option<u64> {
        // A call that encloses others may have begun before the last one ended.
        self.previous.map(|previous| operation.start_ns.saturating_sub(previous.end_ns))
    }

    /// Adds everything to the rank's scores; hands over what was recorded.
    pub(crate) fn finish(self, rank: &mut RankScores) -> Option<Recorder> {
        rank.operations += self.position;
        rank.symbols += self.oracle.symbols() as u64;
        rank.one_size_symbols += self.oracle.one_size_symbols() as u64;
        rank.grammar_size += self.oracle.grammar().size() as u64;
        rank.sequitur_grammar_size += self.sequitur.size() as u64;
        rank.model_bytes += self.oracle.memory_bytes() as u64;
        rank.context.merge(&self.scores.context);
        rank.place.merge(&self.scores.place);
        rank.contiguous.merge(self.contiguous.score());
        rank.immediate_error.merge(self.scores.immediate_error);
        rank.last_time_error.merge(self.scores.last_time_error);
        rank.horizon += self.horizon.share().value().unwrap_or(0.0) * self.position as f64;
        rank.access_size.merge(self.scores.access_size);
        if let Some(baselines) = &self.baselines {
            let (history, published) = &**baselines;
            let scores = rank.baselines.get_or_insert_with(BaselineScores::default);
            for (score, more) in scores.markov.iter_mut().zip(history.markov()) {
                score.merge(more);
            }
            scores.longest.merge(history.longest());
            scores.published_context.merge(published.context());
            scores.published_place.merge(published.place());
        }
        self.recorder.map(|recorder| *recorder)
    }
}

/// What the best iterator says; an unseen symbol leads nowhere.
pub(crate) fn best_iterator(oracle: &Oracle) -> impl Iterator<Item = ContextSymbol> + '_ {
    let mut predictions = oracle.predict().iter();
    let best = predictions.position(|prediction| prediction.symbol != ContextSymbol::UNSEEN);
    best.into_iter().flat_map(|best| oracle.ahead(best)).map(|prediction| prediction.symbol)
}

/// Whether a prediction names the file of the operation that came.
fn is_file(file: &PredictedFile, operation: &Operation, path: Option<&str>) -> bool {
    match file {
        PredictedFile::Known(id) => *id == operation.file,
        PredictedFile::New(name) => Some(name.as_str()) == path,
    }
}

fn segment(prediction: &Prediction, operation: &Operation, path: Option<&str>) -> Stated {
    let is_data = prediction.function.access().is_data();
    let segment = Segment { start: prediction.offset, size: prediction.size };
    (is_data && is_file(&prediction.file, operation, path)).then_some(segment)
}
