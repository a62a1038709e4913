// SPDX-License-Identifier: MIT OR Apache-2.0

//! How well the next context symbol was predicted.

use ioracle_events::ContextSymbol;

use super::sums::Mean;

const BINS: usize = 10;

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

    /// Adds probability to a symbol; predictions that differ only in what else
    /// they say of it count together.
    pub fn add(&mut self, symbol: ContextSymbol, probability: f64) {
        match self.weights.iter_mut().find(|(known, _)| *known == symbol) {
            Some((_, weight)) => *weight += probability,
            None => self.weights.push((symbol, probability)),
        }
    }

    /// The probability given to this symbol.
    pub fn weight_of(&self, symbol: Option<ContextSymbol>) -> f64 {
        let symbol = match symbol {
            Some(symbol) => symbol,
            None => return 0.0,
        };
        self.weights.iter().find(|(known, _)| *known == symbol).map_or(0.0, |(_, weight)| *weight)
    }

    /// The symbol with the highest probability, the first of equals.
    pub fn top(&self) -> Option<(ContextSymbol, f64)> {
        self.weights.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best })
    }

    /// How many known symbols were given any probability.
    pub fn support(&self) -> usize {
        let is_stated = |(symbol, weight): &&(ContextSymbol, f64)| {
            *weight > 0.0 && *symbol != ContextSymbol::UNSEEN
        };
        self.weights.iter().filter(is_stated).count()
    }

    fn sum_of_squares(&self) -> f64 {
        self.weights.iter().map(|(_, weight)| weight * weight).sum()
    }
}

/// The scores of the symbol predictions of a run.
#[derive(Clone, Debug, Default)]
pub struct ContextScore {
    whole: Mean,
    second_half: Mean,
    top1: Mean,
    brier: Mean,
    bins: [Bin; BINS],
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    stated: f64,
    right: u64,
    count: u64,
}

impl ContextScore {
    /// Compares a statement with the symbol that came; `None` is a symbol never
    /// seen before, which counts as weight 0 and never as right.
    ///
    /// Probability that was stated for 'a symbol never seen'
    /// ([`ContextSymbol::UNSEEN`]) is part of the stated distribution: for the
    /// Brier score and for calibration it came true if such a symbol came.
    pub fn add(&mut self, stated: &Distribution, came: Option<ContextSymbol>, half: Half) {
        let weight = stated.weight_of(came);
        let (top, confidence) = match stated.top() {
            Some((symbol, probability)) => (Some(symbol), probability),
            None => (None, 0.0),
        };
        // A statement of probability 0 is no statement.
        let right = came.is_some() && top == came && confidence > 0.0;
        self.whole.add(weight);
        if half == Half::Second {
            self.second_half.add(weight);
        }
        self.top1.add(f64::from(u8::from(right)));
        let came_or_unseen = came.unwrap_or(ContextSymbol::UNSEEN);
        let stated_weight = stated.weight_of(Some(came_or_unseen));
        self.brier.add(stated.sum_of_squares() - 2.0 * stated_weight + 1.0);
        let bin = ((confidence * BINS as f64) as usize).min(BINS - 1);
        if let Some(bin) = self.bins.get_mut(bin) {
            bin.stated += confidence;
            bin.right += u64::from(top == Some(came_or_unseen));
            bin.count += 1;
        }
    }

    /// Takes in the scores of another stream.
    pub fn merge(&mut self, other: &ContextScore) {
        self.whole.merge(other.whole);
        self.second_half.merge(other.second_half);
        self.top1.merge(other.top1);
        self.brier.merge(other.brier);
        for (bin, more) in self.bins.iter_mut().zip(&other.bins) {
            bin.stated += more.stated;
            bin.right += more.right;
            bin.count += more.count;
        }
    }

    /// Mean weight given to the symbol that came, in percent.
    pub fn accuracy(&self) -> Option<f64> {
        self.whole.percent()
    }

    /// The same over the second half of the run.
    pub fn accuracy_stationary(&self) -> Option<f64> {
        self.second_half.percent()
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

    /// Expected calibration error: mean distance between the stated top
    /// probability and how often it was right, over ten bins of equal width.
    pub fn calibration_error(&self) -> Option<f64> {
        let count = self.whole.count();
        let distance: f64 = self.bins.iter().map(|bin| (bin.stated - bin.right as f64).abs()).sum();
        (count > 0).then(|| distance / count as f64)
    }

    /// For each bin that holds any: mean stated probability, share that was
    /// right, and how many operations.
    pub fn calibration(&self) -> impl Iterator<Item = (f64, f64, u64)> + '_ {
        self.bins.iter().filter(|bin| bin.count > 0).map(|bin| {
            let count = bin.count as f64;
            (bin.stated / count, bin.right as f64 / count, bin.count)
        })
    }
}

/// Which half of its stream an operation lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The learning phase.
    First,
    /// What the report calls the stationary regime.
    Second,
}

impl Half {
    /// The half that the operation at `position` (from 0) of `length` lies in.
    pub fn of(position: u64, length: u64) -> Half {
        if position >= length / 2 { Half::Second } else { Half::First }
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
        score.add(&stated(&[(1, 0.75), (2, 0.25)]), Some(ContextSymbol(2)), Half::First);
        score.add(&stated(&[(1, 1.0)]), Some(ContextSymbol(1)), Half::Second);
        assert_eq!(score.accuracy(), Some(62.5));
        assert_eq!(score.accuracy_stationary(), Some(100.0));
        assert_eq!(score.top1(), Some(50.0));
    }

    #[test]
    fn a_symbol_never_seen_has_weight_0() {
        let mut score = ContextScore::default();
        score.add(&stated(&[(1, 0.5)]), None, Half::First);
        assert_eq!(score.accuracy(), Some(0.0));
        assert_eq!(score.top1(), Some(0.0));
    }

    #[test]
    fn the_brier_score_is_the_squared_distance_to_what_came() {
        let mut score = ContextScore::default();
        // (0.6 - 1)^2 + 0.3^2 = 0.25
        score.add(&stated(&[(1, 0.6), (2, 0.3)]), Some(ContextSymbol(1)), Half::First);
        assert!((score.brier().unwrap() - 0.25).abs() < 1e-12);
        // 0.5^2 + 1 = 1.25; the mean of both is 0.75.
        score.add(&stated(&[(1, 0.5)]), None, Half::First);
        assert!((score.brier().unwrap() - 0.75).abs() < 1e-12);
    }

    #[test]
    fn calibration_compares_each_bin_with_how_often_it_was_right() {
        let mut score = ContextScore::default();
        // Bin 0.8 to 0.9: stated 0.8 four times, right twice.
        for came in [1, 1, 2, 2] {
            score.add(&stated(&[(1, 0.8)]), Some(ContextSymbol(came)), Half::First);
        }
        // The last bin holds 1.0 itself: stated four times, always right.
        for _ in 0..4 {
            score.add(&stated(&[(1, 1.0)]), Some(ContextSymbol(1)), Half::First);
        }
        // 4/8 * |0.8 - 0.5| + 4/8 * |1 - 1| = 0.15
        assert!((score.calibration_error().unwrap() - 0.15).abs() < 1e-12);
        assert_eq!(score.calibration().count(), 2);
    }

    #[test]
    fn a_stated_surprise_is_calibrated_but_never_accurate() {
        let mut score = ContextScore::default();
        let surprise = stated(&[(ContextSymbol::UNSEEN.0, 1.0)]);
        score.add(&surprise, None, Half::First);
        assert_eq!(score.accuracy(), Some(0.0));
        assert_eq!(score.top1(), Some(0.0));
        assert_eq!(score.brier(), Some(0.0));
        assert_eq!(score.calibration_error(), Some(0.0));
        score.add(&surprise, Some(ContextSymbol(1)), Half::First);
        assert_eq!(score.brier(), Some(1.0));
        assert_eq!(score.calibration_error(), Some(0.5));
    }

    #[test]
    fn predictions_of_one_symbol_count_together() {
        let distribution = stated(&[(1, 0.3), (2, 0.3), (2, 0.3), (ContextSymbol::UNSEEN.0, 0.1)]);
        assert_eq!(distribution.top(), Some((ContextSymbol(2), 0.6)));
        assert_eq!(distribution.support(), 2);
    }

    #[test]
    fn merging_equals_adding_everything_to_one() {
        let mut left = ContextScore::default();
        let mut right = ContextScore::default();
        left.add(&stated(&[(1, 0.5)]), Some(ContextSymbol(1)), Half::First);
        right.add(&stated(&[(1, 1.0)]), Some(ContextSymbol(1)), Half::Second);
        left.merge(&right);
        assert_eq!(left.accuracy(), Some(75.0));
        assert_eq!(left.calibration_error(), Some(0.25));
    }

    #[test]
    fn an_odd_run_has_its_middle_in_the_second_half() {
        assert_eq!(Half::of(0, 3), Half::First);
        assert_eq!(Half::of(1, 3), Half::Second);
        assert_eq!(Half::of(0, 1), Half::Second);
    }
}
