// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the figures show, thinned out while it is recorded.
//!
//! The length of a stream is known from the survey, so each operation falls
//! into one of a fixed number of bins that keep least, mean and most.

use std::collections::VecDeque;

use ioracle_events::ContextSymbol;
use ioracle_oracle::Oracle;

use crate::metrics::horizon::{Horizon, Reached};
use crate::stream::{ShownOperation, best_iterator};
use ioracle_engine::score::Moments;

const BINS: u64 = 500;
/// The recent window of Figure 2.
const WINDOW: usize = 10;
/// Figure 8 shows the last so many operations.
const LAST: usize = 1000;
const AHEAD_POSITIONS: u64 = 160;
/// A longer iterator is not followed to its end; the figure says so.
const AHEAD_REACH: u64 = 10_000;

/// The series of one stream.
#[derive(Clone, Debug)]
pub struct FigureSeries {
    /// Operations of the stream.
    pub operations: u64,
    /// Context accuracy over the last 10 operations, in percent.
    pub context: Binned,
    /// The same if all stated symbols weighed the same.
    pub context_unweighted: Binned,
    /// How many symbols ahead were right, by position.
    pub ahead: Vec<Reached>,
    /// Symbols in all rule bodies.
    pub grammar: Binned,
    /// The same for plain Sequitur.
    pub sequitur: Binned,
    /// Relative size error, cut at 5.
    pub size_error: Binned,
    /// Hit ratio in percent.
    pub hit: Binned,
    /// Observed interarrival time in seconds.
    pub interarrival: Binned,
    /// Predicted interarrival time in seconds.
    pub interarrival_predicted: Binned,
    /// Position of the first of `last_errors`.
    pub last_from: u64,
    /// Absolute error of the interarrival time of the last 1000 operations, in
    /// seconds.
    pub last_errors: Vec<f64>,
}

/// A series in bins of equal width.
#[derive(Clone, Debug)]
pub struct Binned {
    length: u64,
    bins: Vec<Moments>,
}

/// One bin that holds any value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The operation in its middle.
    pub position: f64,
    /// Least value.
    pub min: f64,
    /// Mean value.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
}

impl Binned {
    fn new(length: u64) -> Binned {
        let count = length.clamp(1, BINS) as usize;
        Binned { length: length.max(1), bins: vec![Moments::default(); count] }
    }

    fn add(&mut self, position: u64, value: f64) {
        let count = self.bins.len() as u128;
        let bin = (u128::from(position) * count / u128::from(self.length)) as usize;
        if let Some(bin) = self.bins.get_mut(bin) {
            bin.add(value);
        }
    }

    /// The bins that hold any value, in order.
    pub fn iter(&self) -> impl Iterator<Item = Bin> + '_ {
        let width = self.length as f64 / self.bins.len() as f64;
        self.bins.iter().enumerate().filter_map(move |(index, bin)| {
            let position = (index as f64 + 0.5) * width;
            Some(Bin { position, min: bin.min()?, mean: bin.mean()?, max: bin.max()? })
        })
    }

    /// The largest value of all.
    pub fn max(&self) -> Option<f64> {
        self.iter().map(|bin| bin.max).reduce(f64::max)
    }
}

/// Takes the series down while a stream is evaluated.
#[derive(Clone, Debug)]
pub(crate) struct SeriesRecorder {
    position: u64,
    window: VecDeque<(f64, f64)>,
    last: VecDeque<f64>,
    ahead: Horizon,
    series: FigureSeries,
}

impl SeriesRecorder {
    pub(crate) fn new(length: u64) -> SeriesRecorder {
        let binned = || Binned::new(length);
        SeriesRecorder {
            position: 0,
            window: VecDeque::with_capacity(WINDOW),
            last: VecDeque::with_capacity(LAST),
            ahead: Horizon::new(0, length, AHEAD_POSITIONS, AHEAD_REACH),
            series: FigureSeries {
                operations: length,
                context: binned(),
                context_unweighted: binned(),
                ahead: Vec::new(),
                grammar: binned(),
                sequitur: binned(),
                size_error: binned(),
                hit: binned(),
                interarrival: binned(),
                interarrival_predicted: binned(),
                last_from: 0,
                last_errors: Vec::new(),
            },
        }
    }

    pub(crate) fn ask_ahead(&mut self, position: u64, oracle: &Oracle) {
        if self.ahead.is_due(position) {
            self.ahead.ask(position, best_iterator(oracle));
        }
    }

    pub(crate) fn add(
        &mut self,
        came: ContextSymbol,
        shown: ShownOperation,
        grammar_sizes: (usize, usize),
    ) {
        let position = self.position;
        self.position += 1;
        self.ahead.came(came);

        if self.window.len() == WINDOW {
            self.window.pop_front();
        }
        self.window.push_back((shown.scored.weight, shown.unweighted));
        let percent = 100.0 / self.window.len() as f64;
        let weighted: f64 = self.window.iter().map(|(weight, _)| weight).sum();
        let unweighted: f64 = self.window.iter().map(|(_, unweighted)| unweighted).sum();

        let series = &mut self.series;
        series.context.add(position, percent * weighted);
        series.context_unweighted.add(position, percent * unweighted);
        series.grammar.add(position, grammar_sizes.0 as f64);
        series.sequitur.add(position, grammar_sizes.1 as f64);
        if let Some(error) = shown.scored.size_error {
            series.size_error.add(position, error);
        }
        if let Some(hit) = shown.scored.hit {
            series.hit.add(position, 100.0 * hit);
        }
        if let Some((observed_ns, predicted_ns)) = shown.interarrival_ns {
            series.interarrival.add(position, observed_ns as f64 * 1e-9);
            series.interarrival_predicted.add(position, predicted_ns as f64 * 1e-9);
            if self.last.len() == LAST {
                self.last.pop_front();
            }
            self.last.push_back(observed_ns.abs_diff(predicted_ns) as f64 * 1e-9);
        }
    }

    pub(crate) fn into_series(self) -> FigureSeries {
        let mut ahead = self.ahead.reached().to_vec();
        ahead.sort_by_key(|reached| reached.position);
        let last_from = self.position.saturating_sub(self.last.len() as u64);
        FigureSeries { ahead, last_from, last_errors: self.last.into(), ..self.series }
    }
}

#[cfg(test)]
mod tests {
    use ioracle_engine::score::Scored;

    use super::*;

    #[test]
    fn a_long_series_is_thinned_to_its_bins() {
        let mut binned = Binned::new(5000);
        for position in 0..5000 {
            binned.add(position, position as f64);
        }
        assert_eq!(binned.iter().count(), 500);
        let first = binned.iter().next().unwrap();
        assert_eq!(first, Bin { position: 5.0, min: 0.0, mean: 4.5, max: 9.0 });
    }

    #[test]
    fn a_short_series_has_a_bin_for_each_operation() {
        let mut binned = Binned::new(3);
        for position in 0..3 {
            binned.add(position, 1.0);
        }
        assert_eq!(binned.iter().count(), 3);
    }

    #[test]
    fn the_window_is_the_mean_of_the_last_ten() {
        let mut recorder = SeriesRecorder::new(20);
        for position in 0..20 {
            let weight = if position < 10 { 0.0 } else { 1.0 };
            let scored = Scored { weight, ..Scored::default() };
            let shown = ShownOperation { scored, ..ShownOperation::default() };
            recorder.add(ContextSymbol(0), shown, (0, 0));
        }
        let series = recorder.into_series();
        let means: Vec<f64> = series.context.iter().map(|bin| bin.mean).collect();
        assert_eq!(means[9], 0.0);
        assert_eq!(means[14], 50.0);
        assert_eq!(means[19], 100.0);
    }
}
