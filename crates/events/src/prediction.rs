// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the oracle predicts.

use serde::{Deserialize, Serialize};

use crate::event::FileId;
use ioracle_functions::Function;

/// The small number that stands for a context and a kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ContextSymbol(pub u32);

impl ContextSymbol {
    /// Stands for any symbol not seen before: what is expected of an operation
    /// when nothing known is expected.
    pub const UNSEEN: ContextSymbol = ContextSymbol(u32::MAX);
}

/// The file of a predicted operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PredictedFile {
    /// A file that the stream has used before.
    Known(FileId),
    /// A file never seen, by the name it is expected to have.
    New(String),
}

/// How far a predicted number may be off: the range and deviation seen so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Smallest value seen where this prediction was made.
    pub min: f64,
    /// Largest value seen.
    pub max: f64,
    /// Standard deviation of the values seen.
    pub deviation: f64,
}

/// Where a prediction comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PredictionSource {
    /// This run has made the same step before, or nothing else was known.
    #[default]
    ThisRun,
    /// Earlier runs have, according to a saved model, and this one has not yet.
    Model,
    /// Earlier runs have, with whatever inputs, according to the application's
    /// knowledge graph.
    Graph,
}

impl PredictionSource {
    /// How many there are.
    pub const COUNT: usize = 3;
    /// All of them.
    pub const ALL: [PredictionSource; PredictionSource::COUNT] =
        [PredictionSource::ThisRun, PredictionSource::Model, PredictionSource::Graph];

    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            PredictionSource::ThisRun => "grammar",
            PredictionSource::Model => "model",
            PredictionSource::Graph => "graph",
        }
    }
}

/// A ranked statement about one future operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The expected context and kind of operation.
    pub symbol: ContextSymbol,
    /// The expected function.
    pub function: Function,
    /// The expected file.
    pub file: PredictedFile,
    /// Where a data access is expected to start.
    pub offset: Option<u64>,
    /// Bytes it is expected to move; 0 for operations that move none.
    pub size: u64,
    /// Spread of `size`.
    pub size_spread: Spread,
    /// Spread of the distance between predicted and seen offsets.
    pub offset_spread: Spread,
    /// From now (the end of the last operation) to its start.
    pub from_now_ns: u64,
    /// From the end of the operation before it to its start.
    pub interarrival_ns: u64,
    /// Spread of `interarrival_ns`.
    pub interarrival_spread: Spread,
    /// How long the call itself is expected to take.
    pub io_time_ns: u64,
    /// Spread of `io_time_ns`.
    pub io_time_spread: Spread,
    /// That this operation comes on this file at this offset; between 0 and 1,
    /// never more than `operation_probability`. Ahead of the next operation, also
    /// that all operations up to it come, and that new files on the way which it
    /// depends on have the expected names.
    pub probability: f64,
    /// That this operation comes, on any file. In a set of predictions they add up to
    /// at most 1. Ahead, that all operations up to it come.
    pub operation_probability: f64,
    /// Where it comes from.
    pub source: PredictionSource,
}

/// The next dense group of operations between two quiet spells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// From now to the start of its first operation; 0 inside a burst.
    pub starts_in_ns: u64,
    /// From now to the end of its last operation.
    pub ends_in_ns: u64,
    /// Operations in it (still to come, inside a burst).
    pub operations: u64,
    /// Bytes they move.
    pub bytes: u64,
    /// Probability that the sequence of operations comes as predicted.
    pub confidence: f64,
    /// Whether its end lies beyond the look-ahead: then the operations, bytes and end
    /// are lower bounds.
    pub is_cut: bool,
}

/// The accesses expected within a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WithinTime {
    /// How many operations.
    pub operations: u64,
    /// How many bytes they move.
    pub bytes: u64,
    /// Probability that the sequence of operations comes as predicted.
    pub confidence: f64,
}
