// SPDX-License-Identifier: MIT OR Apache-2.0

//! How good predictions were over the run, by how many operations of its thread
//! an oracle had seen: Figures 2, 5, 6 and 7 of the Omnisc'IO report over all
//! threads.

use std::collections::HashMap;

use ioracle_engine::score::Score;
use ioracle_engine::{ObservedOperation, Watcher};
use ioracle_events::{ContextSymbol, Level, StreamId};
use ioracle_oracle::Oracle;
use serde::Serialize;

use super::bins::{FlowDirection, GrowingBins};

/// Bins over the operations of a thread.
const BINS: usize = 512;
/// Threads that are followed, as many as the engine follows.
const MAX_STREAMS: usize = 1024;
/// How far ahead is looked, and at how many positions of a thread.
const REACH: usize = 256;
const MAX_QUESTIONS: usize = 64;
/// Questions of all threads that are shown.
const MAX_SHOWN: usize = 1000;
/// Shares are added up as whole numbers, in millionths.
const MILLION: f64 = 1e6;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Measure {
    Operations,
    Context,
    Accesses,
    Hit,
    SizeErrors,
    SizeError,
    Waits,
    Wait,
    PredictedWait,
}

/// Watches the predictions of all threads.
#[derive(Debug)]
pub struct QualityWatcher {
    bins: GrowingBins<Measure>,
    streams: HashMap<StreamId, Followed>,
    reached: Vec<AheadReached>,
    /// Whose operations come now, and when its process started.
    pub stream: StreamId,
    pub shift_ns: u64,
    /// What was predicted of the operation that came last.
    pub predicted: Vec<PredictedBytes>,
}

/// Bytes that were predicted to move.
#[derive(Clone, Copy, Debug)]
pub struct PredictedBytes {
    pub way: FlowDirection,
    pub at_ns: u64,
    pub bytes: u64,
}

#[derive(Debug, Default)]
struct Followed {
    position: u64,
    /// What is expected, the next one last, since some position.
    asked: Option<(u64, Vec<ContextSymbol>, usize)>,
    next_question: u64,
    n_questions: usize,
}

/// How many operations ahead were right.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct AheadReached {
    /// Operations of the thread that were known.
    pub position: u64,
    /// Operations in a row that came as predicted.
    pub ahead: u64,
    /// Whether the look-ahead, or the thread, ended there.
    pub at_least: bool,
}

/// How good predictions were.
#[derive(Debug, Serialize)]
pub struct PredictionQuality {
    /// Operations of a thread in each bin.
    pub bin_operations: u64,
    /// Mean weight given to what came, in percent.
    pub context: Vec<Option<f64>>,
    /// Mean hit ratio of data accesses, in percent.
    pub hit: Vec<Option<f64>>,
    /// Mean relative error of their sizes.
    pub size_error: Vec<Option<f64>>,
    /// Mean wait before an operation, in seconds.
    pub wait_s: Vec<Option<f64>>,
    /// The same as it was predicted.
    pub predicted_wait_s: Vec<Option<f64>>,
    /// How far ahead predictions were right.
    pub ahead: Vec<AheadReached>,
    /// The limit of the look-ahead.
    pub reach: usize,
    /// Stated probability of the next operation, how often it was right, and how
    /// many statements.
    pub calibration: Vec<(f64, f64, u64)>,
    /// The same for operation, file and place together.
    pub place_calibration: Vec<(f64, f64, u64)>,
}

impl Default for QualityWatcher {
    fn default() -> QualityWatcher {
        QualityWatcher {
            bins: GrowingBins::new(BINS, 16, 1),
            streams: HashMap::new(),
            reached: Vec::new(),
            stream: StreamId { rank: 0, thread: 0 },
            shift_ns: 0,
            predicted: Vec::new(),
        }
    }
}

impl Watcher for QualityWatcher {
    fn watches(&self, level: Level) -> bool {
        level == Level::Bytes
    }

    fn before(&mut self, oracle: &Oracle, came: &ObservedOperation<'_>) {
        if self.streams.len() >= MAX_STREAMS && !self.streams.contains_key(&self.stream) {
            return;
        }
        let followed = self.streams.entry(self.stream).or_default();
        let position = followed.position;
        if followed.asked.is_none()
            && position >= followed.next_question
            && followed.n_questions < MAX_QUESTIONS
        {
            let mut expected: Vec<ContextSymbol> =
                oracle.ahead(0).take(REACH).map(|stated| stated.symbol).collect();
            let n_expected = expected.len();
            expected.reverse();
            followed.asked = Some((position, expected, n_expected));
            followed.n_questions += 1;
            followed.next_question = position + 16 + position / 8;
        }
        self.score(position, oracle, came);
        self.predict(oracle, came);
    }

    fn after(&mut self, oracle: &Oracle, came: &ObservedOperation<'_>) {
        let Some(followed) = self.streams.get_mut(&self.stream) else { return };
        followed.position += 1;
        let Some((position, expected, n_expected)) = &mut followed.asked else { return };
        let is_right = expected.pop() == oracle.symbol_of(came.operation);
        if is_right && !expected.is_empty() {
            return;
        }
        let ahead = (*n_expected - expected.len()) as u64 - u64::from(!is_right);
        self.reached.push(AheadReached { position: *position, ahead, at_least: is_right });
        followed.asked = None;
    }
}

impl QualityWatcher {
    /// A thread makes no more calls.
    pub fn end_stream(&mut self, stream: StreamId) {
        let Some(followed) = self.streams.remove(&stream) else { return };
        if let Some((position, expected, n_expected)) = followed.asked {
            let ahead = (n_expected - expected.len()) as u64;
            self.reached.push(AheadReached { position, ahead, at_least: true });
        }
    }

    fn score(&mut self, position: u64, oracle: &Oracle, came: &ObservedOperation<'_>) {
        let scored = Score::default().add(oracle.predict(), came);
        let mut add = |count, sum, value: f64| {
            self.bins.add(count, position, 1);
            self.bins.add(sum, position, (value.clamp(0.0, 1e9) * MILLION) as u64);
        };
        add(Measure::Operations, Measure::Context, scored.weight);
        if let Some(hit) = scored.hit {
            add(Measure::Accesses, Measure::Hit, hit);
        }
        if let Some(error) = scored.size_error {
            add(Measure::SizeErrors, Measure::SizeError, error);
        }
        if let (Some(top), Some(came_ns)) = (oracle.predict().first(), came.interarrival_ns) {
            self.bins.add(Measure::Waits, position, 1);
            self.bins.add(Measure::Wait, position, came_ns);
            self.bins.add(Measure::PredictedWait, position, top.interarrival_ns);
        }
    }

    fn predict(&mut self, oracle: &Oracle, came: &ObservedOperation<'_>) {
        let (Some(top), Some(waited_ns)) = (oracle.predict().first(), came.interarrival_ns) else {
            return;
        };
        let Some(way) = FlowDirection::of(top.function.access()) else { return };
        let last_end_ns = came.operation.start_ns.saturating_sub(waited_ns);
        let at_ns = last_end_ns.saturating_add(top.interarrival_ns).saturating_add(self.shift_ns);
        // A wait that was expected to be far longer than the whole run so far would
        // stretch the picture.
        let now_ns = came.operation.end_ns.saturating_add(self.shift_ns);
        let at_ns = at_ns.min(now_ns.saturating_mul(2));
        self.predicted.push(PredictedBytes { way, at_ns, bytes: top.size });
    }

    /// The measures, with the score of all predictions.
    pub fn finish(mut self, score: &Score) -> PredictionQuality {
        let streams: Vec<StreamId> = self.streams.keys().copied().collect();
        streams.into_iter().for_each(|stream| self.end_stream(stream));
        let mean = |count, sum, scale: f64| self.mean(count, sum, scale);
        let mut ahead = self.reached.clone();
        ahead.sort_by_key(|reached| (reached.position, reached.ahead));
        let step = ahead.len().div_ceil(MAX_SHOWN).max(1);
        PredictionQuality {
            bin_operations: self.bins.shape().0,
            context: mean(Measure::Operations, Measure::Context, 100.0 / MILLION),
            hit: mean(Measure::Accesses, Measure::Hit, 100.0 / MILLION),
            size_error: mean(Measure::SizeErrors, Measure::SizeError, 1.0 / MILLION),
            wait_s: mean(Measure::Waits, Measure::Wait, 1e-9),
            predicted_wait_s: mean(Measure::Waits, Measure::PredictedWait, 1e-9),
            ahead: ahead.into_iter().step_by(step).collect(),
            reach: REACH,
            calibration: score.context.calibration().iter().collect(),
            place_calibration: score.place.calibration.iter().collect(),
        }
    }

    fn mean(&self, count: Measure, sum: Measure, scale: f64) -> Vec<Option<f64>> {
        let (counts, sums) = (self.bins.get(&count), self.bins.get(&sum));
        let n_bins = self.bins.shape().1;
        let mean = |bin: usize| {
            let count = counts.get(bin).copied().filter(|count| *count > 0)?;
            Some(sums.get(bin).copied()? as f64 * scale / count as f64)
        };
        (0..n_bins).map(mean).collect()
    }
}
