// SPDX-License-Identifier: MIT OR Apache-2.0

//! All-to-all comparisons: how scores of pairs that should match differ from
//! those of pairs that should not (Tables II to V).

use ioracle_pattern::Pattern;
use ioracle_pattern::dtw::Warping;

/// Least, quartiles and most of some scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ScoreSpread(pub [f64; 5]);

/// A pair of patterns that was compared.
pub(super) struct ComparedPair {
    pub labels: (u32, u32),
    pub score: f64,
}

/// So many patterns are compared with each other at most, evenly taken.
const MAX_PATTERNS: usize = 160;

/// Compares patterns with each other; the score is one minus the distance in
/// units of the largest one.
pub(super) fn compare(patterns: &[(u32, &Pattern)], radius: usize) -> Vec<ComparedPair> {
    let step = patterns.len().div_ceil(MAX_PATTERNS).max(1);
    let taken: Vec<&(u32, &Pattern)> = patterns.iter().step_by(step).collect();
    let mut warping = Warping::new(radius);
    let mut pairs = Vec::new();
    for (index, (label, one)) in taken.iter().enumerate() {
        for (other_label, other) in &taken[..index] {
            let distance = warping.distance(&one.series, &other.series);
            pairs.push(ComparedPair { labels: (*label, *other_label), score: distance });
        }
    }
    let largest = pairs.iter().map(|pair| pair.score).fold(0.0, f64::max);
    for pair in &mut pairs {
        pair.score = if largest > 0.0 { 1.0 - pair.score / largest } else { 1.0 };
    }
    pairs
}

impl ScoreSpread {
    /// Of the pairs that a rule picks; none if there are none.
    pub(super) fn of(
        pairs: &[ComparedPair],
        rule: impl Fn(&ComparedPair) -> bool,
    ) -> Option<ScoreSpread> {
        let mut scores: Vec<f64> =
            pairs.iter().filter(|pair| rule(pair)).map(|pair| pair.score).collect();
        scores.sort_by(f64::total_cmp);
        let last = scores.len().checked_sub(1)?;
        Some(ScoreSpread([0, 1, 2, 3, 4].map(|quarter| scores[last * quarter / 4])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_five_numbers() {
        let pair = |score| ComparedPair { labels: (0, 0), score };
        let pairs: Vec<ComparedPair> = [0.5, 0.1, 0.9, 0.3, 0.7].map(pair).into();
        let spread = ScoreSpread::of(&pairs, |_| true);
        assert_eq!(spread, Some(ScoreSpread([0.1, 0.3, 0.5, 0.7, 0.9])));
        assert_eq!(ScoreSpread::of(&pairs, |_| false), None);
    }
}
