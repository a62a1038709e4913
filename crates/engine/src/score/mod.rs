// SPDX-License-Identifier: MIT OR Apache-2.0

//! How good the predictions were. This is the only implementation of the
//! measures that `docs/eval.md` defines: each prediction is compared with the
//! operation that followed it, and every operation counts.

mod calibration;
mod context;
mod place;
mod sums;

pub use calibration::CalibrationBins;
pub use context::{ContextScore, Distribution};
pub use place::{AccessedRange, PlaceScore, SIZE_ERROR_CAP, Stated, hit, size_error};
pub use sums::{Mean, Moments};

use ioracle_events::{ContextSymbol, Operation, PredictedFile, Prediction, PredictionSource};

/// All measures over the operations of one stream or of several.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Operations scored.
    pub operations: u64,
    /// How well their context symbols were predicted.
    pub context: ContextScore,
    /// How well file, offset, size and time were.
    pub place: PlaceScore,
}

/// The scores of predictions by where they came from: each operation counts for
/// the source of the most probable prediction.
#[derive(Clone, Debug, Default)]
pub struct ScoreBySource {
    scores: [Score; PredictionSource::COUNT],
}

impl ScoreBySource {
    /// Compares predictions, the most probable first, with what came.
    pub fn add(&mut self, predictions: &[Prediction], came: &ObservedOperation<'_>) -> Scored {
        let source = predictions.first().map(|top| top.source).unwrap_or_default();
        self.scores[source as usize].add(predictions, came)
    }

    /// Takes in the scores of another stream.
    pub fn merge(&mut self, other: &ScoreBySource) {
        for (score, more) in self.scores.iter_mut().zip(&other.scores) {
            score.merge(more);
        }
    }

    /// Over the predictions of one source.
    pub fn of(&self, source: PredictionSource) -> &Score {
        &self.scores[source as usize]
    }

    /// Over all predictions.
    pub fn all(&self) -> Score {
        let mut all = Score::default();
        self.scores.iter().for_each(|score| all.merge(score));
        all
    }
}

/// An operation that came, as far as it is scored.
#[derive(Clone, Copy, Debug)]
pub struct ObservedOperation<'a> {
    /// The operation.
    pub operation: &'a Operation,
    /// Its symbol, if it was seen before.
    pub symbol: Option<ContextSymbol>,
    /// The path of its file, if the source gave it.
    pub path: Option<&'a str>,
    /// The wait before it, unless it is the first of its stream.
    pub interarrival_ns: Option<u64>,
}

/// What one operation added to a score.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scored {
    /// Weight given to the symbol that came.
    pub weight: f64,
    /// Hit ratio between 0 and 1, for data accesses.
    pub hit: Option<f64>,
    /// Relative error of the size, for data accesses that are not empty.
    pub size_error: Option<f64>,
}

impl Score {
    /// Compares predictions, the most probable first, with what came.
    pub fn add(&mut self, predictions: &[Prediction], came: &ObservedOperation<'_>) -> Scored {
        let top = predictions.first();
        self.operations += 1;
        let symbols =
            predictions.iter().map(|stated| (stated.symbol, stated.operation_probability));
        let weight = self.context.add(symbols, came.symbol);
        self.place.add_file(top.is_some_and(|top| came.is_file(&top.file)));
        if let Some(top) = top {
            self.place.calibration.add(top.probability, came.is_as_stated(top));
        }
        if let (Some(top), Some(came_ns)) = (top, came.interarrival_ns) {
            self.place.add_time(top.interarrival_ns, came_ns);
        }
        let mut scored = Scored { weight, ..Scored::default() };
        let operation = came.operation;
        if operation.access().is_data() {
            let segments = predictions
                .iter()
                .map(|stated| (stated.operation_probability, came.stated(stated)));
            let top_size = top.filter(|top| top.function.access().is_data()).map(|top| top.size);
            let segment = AccessedRange { start: operation.offset, size: operation.size };
            scored.hit = Some(self.place.add_data_access(segments, top_size, segment));
            scored.size_error = size_error(top_size.unwrap_or(0), operation.size);
        }
        scored
    }

    /// Takes in the score of another stream.
    pub fn merge(&mut self, other: &Score) {
        self.operations += other.operations;
        self.context.merge(&other.context);
        self.place.merge(&other.place);
    }

    /// Data accesses among the operations.
    pub fn data_accesses(&self) -> u64 {
        self.place.hit.count()
    }

    /// Mean weight given to the symbol that came, in percent; 0 without
    /// operations, and so for the others.
    pub fn context_accuracy(&self) -> f64 {
        self.context.accuracy().unwrap_or(0.0)
    }

    /// Mean hit ratio of data accesses, in percent.
    pub fn hit_ratio(&self) -> f64 {
        self.place.hit.percent().unwrap_or(0.0)
    }

    /// Data accesses whose file and offset were predicted, in percent.
    pub fn offset_accuracy(&self) -> f64 {
        self.place.offset.percent().unwrap_or(0.0)
    }

    /// Data accesses whose size was predicted exactly, in percent.
    pub fn size_exact_share(&self) -> f64 {
        self.place.size_exact.percent().unwrap_or(0.0)
    }

    /// Operations whose file was predicted, in percent.
    pub fn file_accuracy(&self) -> f64 {
        self.place.file.percent().unwrap_or(0.0)
    }

    /// Mean absolute error of the interarrival time, in seconds.
    pub fn time_error_s(&self) -> f64 {
        self.place.time_error.mean().unwrap_or(0.0)
    }
}

impl ObservedOperation<'_> {
    /// Whether this is the file of the operation.
    pub fn is_file(&self, file: &PredictedFile) -> bool {
        match file {
            PredictedFile::Known(id) => *id == self.operation.file,
            PredictedFile::New(name) => Some(name.as_str()) == self.path,
        }
    }

    /// Whether a prediction has operation, file and place right.
    pub fn is_as_stated(&self, prediction: &Prediction) -> bool {
        prediction.symbol == self.symbol.unwrap_or(ContextSymbol::UNSEEN)
            && self.is_file(&prediction.file)
            && prediction.offset == self.operation.offset
    }

    /// What a prediction says of where a data access is.
    fn stated(&self, prediction: &Prediction) -> Stated {
        let is_data = prediction.function.access().is_data();
        let segment = AccessedRange { start: prediction.offset, size: prediction.size };
        (is_data && self.is_file(&prediction.file)).then_some(segment)
    }
}
