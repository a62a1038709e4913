// SPDX-License-Identifier: MIT OR Apache-2.0

//! How well the next context symbol was predicted.

use ioracle_events::ContextSymbol;

use super::calibration::CalibrationBins;
use super::sums::Mean;

/// What was stated of the next symbol: each symbol once, with its probability.
///
/// Kept between operations so that nothing is allocated for each.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    weights: Vec<(ContextSymbol, f64)>,
}

impl Distribution {
    /// Forgets the last statement.
    pub fn clear(&mut self) {
        self.weights.clear();
    }

    /// Adds probability to a symbol; predictions that differ only in other respects
    /// count together.
    pub fn add(&mut self, symbol: ContextSymbol, probability: f64) {
        match self.weights.iter_mut().find(|(known, _)| *known == symbol) {
            Some((_, weight)) => *weight += probability,
            None => self.weights.push((symbol, probability)),
        }
    }

    /// Each symbol with its probability.
    pub fn iter(&self) -> impl Iterator<Item = (ContextSymbol, f64)> + Clone + '_ {
        self.weights.iter().copied()
    }
}

/// The scores of the symbol predictions of a run.
#[derive(Clone, Debug, Default)]
pub struct ContextScore {
    weight: Mean,
    top1: Mean,
    brier: Mean,
    calibration: CalibrationBins,
}

impl ContextScore {
    /// Compares a statement, in which each symbol stands once, with the symbol
    /// that came; `None` is a symbol never seen before, which counts as weight 0
    /// and never as right. Returns the weight.
    ///
    /// Probability that was stated for 'a symbol never seen'
    /// ([`ContextSymbol::UNSEEN`]) is part of the stated distribution: for the
    /// Brier score and for calibration it came true if such a symbol came.
    pub fn add(
        &mut self,
        stated: impl Iterator<Item = (ContextSymbol, f64)>,
        came: Option<ContextSymbol>,
    ) -> f64 {
        let came_or_unseen = came.unwrap_or(ContextSymbol::UNSEEN);
        let (mut top, mut confidence) = (None, 0.0);
        let (mut stated_weight, mut squares) = (0.0, 0.0);
        for (symbol, probability) in stated {
            if top.is_none() || probability > confidence {
                (top, confidence) = (Some(symbol), probability);
            }
            if symbol == came_or_unseen {
                stated_weight = probability;
            }
            squares += probability * probability;
        }
        let weight = if came.is_some() { stated_weight } else { 0.0 };
        // A probability of 0 is not a statement.
        let right = came.is_some() && top == came && confidence > 0.0;
        self.weight.add(weight);
        self.top1.add(f64::from(u8::from(right)));
        self.brier.add(squares - 2.0 * stated_weight + 1.0);
        self.calibration.add(confidence, top == Some(came_or_unseen));
        weight
    }

    /// Takes in the scores of another stream.
    pub fn merge(&mut self, other: &ContextScore) {
        self.weight.merge(other.weight);
        self.top1.merge(other.top1);
        self.brier.merge(other.brier);
        self.calibration.merge(&other.calibration);
    }

    /// Mean weight given to the symbol that came, in percent.
    pub fn accuracy(&self) -> Option<f64> {
        self.weight.percent()
    }

    /// Percent of operations whose highest-weight symbol came.
    pub fn top1(&self) -> Option<f64> {
        self.top1.percent()
    }

    /// Mean over operations of the squared distance between the stated
    /// distribution and what came, summed over all symbols (0 to 2).
    pub fn brier(&self) -> Option<f64> {
        self.brier.value()
    }

    /// How far the probability of the top symbol can be trusted.
    pub fn calibration(&self) -> &CalibrationBins {
        &self.calibration
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(weights: &[(u32, f64)]) -> Distribution {
        let mut distribution = Distribution::default();
        for &(symbol, weight) in weights {
            distribution.add(ContextSymbol(symbol), weight);
        }
        distribution
    }

    #[test]
    fn the_weight_of_the_symbol_that_came_counts() {
        let mut score = ContextScore::default();
        score.add(stated(&[(1, 0.75), (2, 0.25)]).iter(), Some(ContextSymbol(2)));
        score.add(stated(&[(1, 1.0)]).iter(), Some(ContextSymbol(1)));
        assert_eq!(score.accuracy(), Some(62.5));
        assert_eq!(score.top1(), Some(50.0));
    }

    #[test]
    fn a_symbol_never_seen_has_weight_0() {
        let mut score = ContextScore::default();
        score.add(stated(&[(1, 0.5)]).iter(), None);
        assert_eq!(score.accuracy(), Some(0.0));
        assert_eq!(score.top1(), Some(0.0));
    }

    #[test]
    fn the_brier_score_is_the_squared_distance_to_what_came() {
        let mut score = ContextScore::default();
        // (0.6 - 1)^2 + 0.3^2 = 0.25
        score.add(stated(&[(1, 0.6), (2, 0.3)]).iter(), Some(ContextSymbol(1)));
        assert!((score.brier().unwrap() - 0.25).abs() < 1e-12);
        // 0.5^2 + 1 = 1.25; the mean of both is 0.75.
        score.add(stated(&[(1, 0.5)]).iter(), None);
        assert!((score.brier().unwrap() - 0.75).abs() < 1e-12);
    }

    #[test]
    fn calibration_compares_each_bin_with_how_often_it_was_right() {
        let mut score = ContextScore::default();
        // Bin 0.8 to 0.9: stated 0.8 four times, right twice.
        for came in [1, 1, 2, 2] {
            score.add(stated(&[(1, 0.8)]).iter(), Some(ContextSymbol(came)));
        }
        // The last bin holds 1.0 itself: stated four times, always right.
        for _ in 0..4 {
            score.add(stated(&[(1, 1.0)]).iter(), Some(ContextSymbol(1)));
        }
        // 4/8 * |0.8 - 0.5| + 4/8 * |1 - 1| = 0.15
        assert!((score.calibration().error().unwrap() - 0.15).abs() < 1e-12);
        assert_eq!(score.calibration().iter().count(), 2);
    }

    #[test]
    fn a_stated_surprise_is_calibrated_but_never_accurate() {
        let mut score = ContextScore::default();
        let surprise = stated(&[(ContextSymbol::UNSEEN.0, 1.0)]);
        score.add(surprise.iter(), None);
        assert_eq!(score.accuracy(), Some(0.0));
        assert_eq!(score.top1(), Some(0.0));
        assert_eq!(score.brier(), Some(0.0));
        assert_eq!(score.calibration().error(), Some(0.0));
        score.add(surprise.iter(), Some(ContextSymbol(1)));
        assert_eq!(score.brier(), Some(1.0));
        assert_eq!(score.calibration().error(), Some(0.5));
    }

    #[test]
    fn predictions_of_one_symbol_count_together() {
        let distribution = stated(&[(1, 0.3), (2, 0.3), (2, 0.3), (ContextSymbol::UNSEEN.0, 0.1)]);
        assert_eq!(distribution.iter().nth(1), Some((ContextSymbol(2), 0.6)));
        assert_eq!(distribution.iter().count(), 3);
    }

    #[test]
    fn merging_equals_adding_everything_to_one() {
        let mut left = ContextScore::default();
        let mut right = ContextScore::default();
        left.add(stated(&[(1, 0.5)]).iter(), Some(ContextSymbol(1)));
        right.add(stated(&[(1, 1.0)]).iter(), Some(ContextSymbol(1)));
        left.merge(&right);
        assert_eq!(left.accuracy(), Some(75.0));
        assert_eq!(left.calibration().error(), Some(0.25));
    }
}
