// SPDX-License-Identifier: MIT OR Apache-2.0

//! The path ahead: the next operations of a stream, kept for callers that act on them.
//!
//! Deriving thousands of steps takes milliseconds, far longer than most programs need
//! for the next operation. So the path is kept: an operation that comes as predicted
//! removes the first step, and a few are added at the far end, read on from where the
//! reading stopped ([`Oracle::read_on`]). Times and probabilities are stored from the
//! beginning of the path and converted to the present position when a step is read, so
//! that moving on touches no other step. The path is derived again, a few steps per
//! operation, only after an operation that was not the predicted one, or when what is
//! predicted next has changed.
//!
//! A path of thousands of steps hardly ever holds to its end, but its bytes may
//! all be accessed nonetheless: one extra operation on the way breaks the path
//! and changes nothing else. [`AccessRecord`] learns how often that is so.

use std::collections::VecDeque;

use ioracle_events::{
    ContextSymbol, FileId, Function, Operation, PredictedFile, Prediction, PredictionSource,
};
use ioracle_oracle::Oracle;

use crate::access_record::AccessRecord;
use crate::names::Names;

/// The longest path that is kept.
pub const MAX_PATH_STEPS: usize = 16_384;

/// Steps that are added for each operation while the path is shorter than its horizon.
/// One is enough if everything goes as predicted.
const STEPS_PER_OPERATION: usize = 4;

/// Stands for the logarithm of 0, and for the times that do not fit.
const NEVER: f64 = -1e9;
const LONGEST_NS: u64 = 1 << 60;

/// The next operations of a stream, the nearest first.
#[derive(Clone, Debug)]
pub struct PathAhead {
    horizon: usize,
    steps: VecDeque<KeptStep>,
    /// Number of the first step; every step that was ever added has its own.
    first_number: u64,
    /// Where the stream stands on the path.
    now: Mark,
    /// Where the last step ends.
    end: Mark,
    /// Nothing can be read beyond the last step.
    is_whole: bool,
    record: AccessRecord,
    n_derived: u64,
}

/// A place on the path, from its beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    time_ns: i64,
    /// Natural logarithm of the probability that the path holds so far.
    log_probability: f64,
}

#[derive(Clone, Debug)]
struct KeptStep {
    /// Times and probabilities in it are not used.
    prediction: Prediction,
    starts: Mark,
    /// Probability that the operation is at this place, if it comes.
    place_probability: f64,
}

/// One step of a path, as it is seen from where the stream stands.
#[derive(Clone, Copy, Debug)]
pub struct PathStep<'a> {
    /// The expected context and kind of operation.
    pub symbol: ContextSymbol,
    /// The expected function.
    pub function: Function,
    /// The expected file.
    pub file: &'a PredictedFile,
    /// Where a data access is expected to start.
    pub offset: Option<u64>,
    /// Bytes it is expected to move.
    pub size: u64,
    /// From the end of the last operation to the start of this one.
    pub from_now_ns: u64,
    /// How long the call itself is expected to take.
    pub io_time_ns: u64,
    /// That the path holds up to here, in this file and at this offset.
    pub probability: f64,
    /// That the operations of the path up to here come, on any file.
    pub operation_probability: f64,
    /// That these bytes (for a step that moves none, this file) are accessed soon,
    /// whether or not the path holds: within twice as many operations as there are
    /// up to here, and 64 more.
    pub access_probability: f64,
    /// Where the prediction comes from.
    pub source: PredictionSource,
    kept: &'a KeptStep,
}

impl PathStep<'_> {
    /// Everything predicted about the step.
    pub fn prediction(&self) -> Prediction {
        Prediction {
            from_now_ns: self.from_now_ns,
            probability: self.probability,
            operation_probability: self.operation_probability,
            ..self.kept.prediction.clone()
        }
    }
}

impl PathAhead {
    /// A path of at most this many steps, and no more than [`MAX_PATH_STEPS`].
    pub(crate) fn new(horizon: usize) -> PathAhead {
        PathAhead {
            horizon: horizon.clamp(1, MAX_PATH_STEPS),
            steps: VecDeque::new(),
            first_number: 0,
            now: Mark::default(),
            end: Mark::default(),
            is_whole: false,
            record: AccessRecord::default(),
            n_derived: 0,
        }
    }

    /// Steps known now.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are no steps.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many steps it should have.
    pub fn horizon(&self) -> usize {
        self.horizon
    }

    /// Whether it has all steps that it should or can have.
    pub fn is_complete(&self) -> bool {
        self.is_whole || self.steps.len() >= self.horizon
    }

    /// The number of the first step. Those behind it have the numbers that follow,
    /// and a number is never given to another step.
    pub fn first_number(&self) -> u64 {
        self.first_number
    }

    /// How often the path had to be derived again.
    pub fn n_derived(&self) -> u64 {
        self.n_derived
    }

    /// A step, from 0 on.
    pub fn step(&self, place: usize) -> Option<PathStep<'_>> {
        self.steps.get(place).map(|kept| self.seen(place, kept))
    }

    /// All steps, the nearest first.
    pub fn steps(&self) -> impl Iterator<Item = PathStep<'_>> {
        self.steps.iter().enumerate().map(|(place, kept)| self.seen(place, kept))
    }

    fn seen<'a>(&self, place: usize, kept: &'a KeptStep) -> PathStep<'a> {
        let KeptStep { prediction, starts, place_probability } = kept;
        let operation_probability =
            (starts.log_probability - self.now.log_probability).exp().min(1.0);
        let probability = operation_probability * place_probability;
        let from_now_ns = starts.time_ns.saturating_sub(self.now.time_ns).max(0).unsigned_abs();
        PathStep {
            symbol: prediction.symbol,
            function: prediction.function,
            file: &prediction.file,
            offset: prediction.offset,
            size: prediction.size,
            from_now_ns,
            io_time_ns: prediction.io_time_ns,
            probability,
            operation_probability,
            access_probability: self.record.probability(
                place,
                operation_probability,
                *place_probability,
            ),
            source: prediction.source,
            kept,
        }
    }

    /// Makes the path longer.
    pub(crate) fn lengthen(&mut self, horizon: usize) {
        self.horizon = self.horizon.max(horizon).min(MAX_PATH_STEPS);
    }

    /// An operation of this symbol has come, and the oracle has learned it.
    pub(crate) fn advance(
        &mut self,
        operation: &Operation,
        symbol: Option<ContextSymbol>,
        oracle: &mut Oracle,
        names: &Names,
    ) {
        let path = names.files.get(&operation.file).map(|path| &**path);
        self.record.observe(operation, path);
        let agrees = self.take_first(operation, symbol, path)
            && oracle.keep_path()
            && self.renew_first(oracle, names);
        if !agrees {
            self.derive(oracle);
        }
        self.extend(oracle, STEPS_PER_OPERATION);
        let Some(place) = self.record.wants(self.steps.len()) else { return };
        if let Some(step) = self.step(place) {
            let chances = (step.operation_probability, step.kept.place_probability);
            let prediction = step.kept.prediction.clone();
            self.record.sample(&prediction, place, chances);
        }
    }

    /// What is predicted next has changed before it came.
    pub(crate) fn reconsider(&mut self, oracle: &mut Oracle, names: &Names) {
        if !self.renew_first(oracle, names) {
            self.derive(oracle);
            self.extend(oracle, STEPS_PER_OPERATION);
        }
    }

    /// Adds at most this many steps.
    pub(crate) fn extend(&mut self, oracle: &mut Oracle, n_steps: usize) {
        if self.steps.is_empty() {
            self.derive(oracle);
        }
        for _ in 0..n_steps {
            if self.is_complete() {
                return;
            }
            match oracle.read_on() {
                Some(prediction) => self.push(prediction),
                None => self.is_whole = true,
            }
        }
    }

    /// Starts over with what is predicted now.
    pub(crate) fn derive(&mut self, oracle: &mut Oracle) {
        self.first_number += self.steps.len() as u64;
        self.steps.clear();
        (self.now, self.end) = (Mark::default(), Mark::default());
        self.n_derived += 1;
        let first = oracle.begin_path();
        self.is_whole = first.is_none();
        // Nothing can be read on from an operation that was never seen.
        if let Some(first) = first.or_else(|| oracle.predict().first().cloned()) {
            self.push(first);
        }
    }

    /// Takes the first step away, if it is the operation that came.
    fn take_first(
        &mut self,
        operation: &Operation,
        symbol: Option<ContextSymbol>,
        path: Option<&str>,
    ) -> bool {
        let Some(KeptStep { prediction, starts, .. }) = self.steps.front() else { return false };
        let is_file = match &prediction.file {
            PredictedFile::Known(file) => *file == operation.file,
            PredictedFile::New(name) => Some(name.as_str()) == path,
        };
        let is_place = !operation.access().is_data()
            || (prediction.offset == operation.offset && prediction.size == operation.size);
        if Some(prediction.symbol) != symbol || !is_file || !is_place {
            return false;
        }
        self.now = starts.after(prediction.io_time_ns, 1.0);
        self.steps.pop_front();
        self.first_number += 1;
        true
    }

    /// Replaces the first step by what is predicted now, if both say the same; the
    /// steps after it keep their distance.
    fn renew_first(&mut self, oracle: &Oracle, names: &Names) -> bool {
        let (Some(first), Some(stated)) = (self.steps.front_mut(), oracle.predict().first()) else {
            return false;
        };
        let known = &first.prediction;
        let is_file = known.file == stated.file || is_named(&known.file, &stated.file, names);
        let is_same = (known.symbol, known.offset, known.size)
            == (stated.symbol, stated.offset, stated.size)
            && is_file;
        if is_same {
            let wait = Mark::default().after(stated.from_now_ns, stated.operation_probability);
            self.now = Mark {
                time_ns: first.starts.time_ns.saturating_sub(wait.time_ns),
                log_probability: first.starts.log_probability - wait.log_probability,
            };
            first.place_probability = place_probability(stated);
            first.prediction.clone_from(stated);
        }
        is_same
    }

    fn push(&mut self, prediction: Prediction) {
        let Prediction { from_now_ns, io_time_ns, operation_probability, .. } = prediction;
        let starts = self.end.after(from_now_ns, operation_probability);
        self.end = starts.after(io_time_ns, 1.0);
        let place_probability = place_probability(&prediction);
        self.steps.push_back(KeptStep { prediction, starts, place_probability });
    }
}

impl Mark {
    /// The position after a step of this duration and probability.
    fn after(self, wait_ns: u64, probability: f64) -> Mark {
        let wait_ns = wait_ns.min(LONGEST_NS).cast_signed();
        let time_ns = self.time_ns.saturating_add(wait_ns);
        let log_probability = self.log_probability + probability.ln().max(NEVER);
        Mark { time_ns, log_probability }
    }
}

/// Probability that an operation is where it is predicted, if it comes.
fn place_probability(prediction: &Prediction) -> f64 {
    let Prediction { probability, operation_probability, .. } = *prediction;
    if operation_probability > 0.0 { (probability / operation_probability).min(1.0) } else { 0.0 }
}

/// Whether a file that was new when it was predicted is the one that is known now.
fn is_named(new: &PredictedFile, known: &PredictedFile, names: &Names) -> bool {
    match (new, known) {
        (PredictedFile::New(name), PredictedFile::Known(file)) => {
            *file != FileId::UNKNOWN && names.files.get(file).is_some_and(|path| **path == **name)
        }
        _ => false,
    }
}
