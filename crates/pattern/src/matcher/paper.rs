// SPDX-License-Identifier: MIT OR Apache-2.0

//! Algorithm 1 of the paper, with its constants.
//!
//! Candidates whose counts differ too much are skipped; the others are compared
//! by DTW, and the score is one minus the distance in units of the largest
//! distance ever seen for that kind. The largest distance is updated in the loop
//! before the score is taken, and all inequalities are strict, as printed.
//!
//! A comparison is given up when it can neither become the best match nor the
//! largest distance ([`upper_bound`] says so), so giving up changes no result.

use crate::config::PatternConfig;
use crate::dtw::{Warping, WarpingDistance, upper_bound};
use crate::matcher::{PatternId, PatternMatcher, Recognition};
use crate::pattern::{Pattern, PatternCounts};
use crate::request::RequestKind;

/// Matches as the paper does.
#[derive(Clone, Debug)]
pub struct PaperMatcher {
    config: PatternConfig,
    warping: Warping,
    /// By kind.
    sides: [Side; 2],
    n_ids: u32,
}

/// What is known of one kind.
#[derive(Clone, Debug, Default)]
struct Side {
    known: Vec<StoredPattern>,
    largest: f64,
    /// Pairs before this one were compared again since the largest distance
    /// grew; `None` if it has not.
    recompared: Option<(usize, usize)>,
}

#[derive(Clone, Debug)]
struct StoredPattern {
    id: PatternId,
    counts: PatternCounts,
    series: Box<[f32]>,
    n_seen: u64,
}

/// Two known patterns that are one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MergedPatterns {
    /// The older one, which stays.
    pub kept: PatternId,
    /// The one that is gone.
    pub gone: PatternId,
}

impl PaperMatcher {
    /// Nothing known yet.
    pub fn new(config: PatternConfig) -> PaperMatcher {
        let warping = Warping::new(config.radius);
        PaperMatcher { config, warping, sides: Default::default(), n_ids: 0 }
    }

    /// Starts from a largest distance that was found before, as in the paper's
    /// evaluation.
    pub fn set_largest_distance(&mut self, kind: RequestKind, distance: f64) {
        self.sides[kind.index()].largest = distance;
    }

    /// The largest distance seen so far.
    pub fn largest_distance(&self, kind: RequestKind) -> f64 {
        self.sides[kind.index()].largest
    }

    /// How often a known pattern was seen; `None` if there is no such.
    pub fn occurrences(&self, id: PatternId) -> Option<u64> {
        let mut known = self.sides.iter().flat_map(|side| &side.known);
        known.find(|stored| stored.id == id).map(|stored| stored.n_seen)
    }

    /// Compares known patterns again if the largest distance has grown, at most
    /// so many pairs, and merges those that now match. To be called in the
    /// background until it finds nothing.
    pub fn recompare(&mut self, n_pairs: usize) -> Vec<MergedPatterns> {
        let mut merged = Vec::new();
        for side in &mut self.sides {
            side.recompare(&self.config, &mut self.warping, n_pairs, &mut merged);
        }
        merged
    }

    /// Whether [`recompare`](Self::recompare) has something to do.
    pub fn is_unsettled(&self) -> bool {
        self.sides.iter().any(|side| side.recompared.is_some())
    }
}

impl PatternMatcher for PaperMatcher {
    fn recognise(&mut self, pattern: Pattern) -> Recognition {
        let side = &mut self.sides[pattern.kind.index()];
        if let Some((index, score)) = side.best(&self.config, &mut self.warping, &pattern) {
            side.known[index].n_seen += 1;
            return Recognition::matched(side.known[index].id, score);
        }
        let id = PatternId(self.n_ids);
        self.n_ids = self.n_ids.saturating_add(1);
        let Pattern { counts, series, .. } = pattern;
        side.known.push(StoredPattern { id, counts, series, n_seen: 1 });
        Recognition::new_pattern(id)
    }

    fn known(&self) -> usize {
        self.sides.iter().map(|side| side.known.len()).sum()
    }

    fn memory_bytes(&self) -> usize {
        let stored = self.sides.iter().flat_map(|side| &side.known);
        let bytes = |stored: &StoredPattern| size_of_val(stored) + size_of_val(&*stored.series);
        size_of::<PaperMatcher>() + stored.map(bytes).sum::<usize>()
    }
}

impl Side {
    /// Lines 2 to 10 of the algorithm.
    fn best(
        &mut self,
        config: &PatternConfig,
        warping: &mut Warping,
        pattern: &Pattern,
    ) -> Option<(usize, f64)> {
        let is_candidate = |stored: &StoredPattern| {
            stored.counts.difference(&pattern.counts) < config.max_difference
        };
        let before = self.largest;
        let mut best: Option<(usize, f64)> = None;
        for (index, stored) in self.known.iter().enumerate() {
            if !is_candidate(stored) {
                continue;
            }
            let least = best.map_or(config.threshold, |(_, score)| score.max(config.threshold));
            let limit = match upper_bound(&pattern.series, &stored.series) <= self.largest {
                true => (1.0 - least) * self.largest,
                false => f64::INFINITY,
            };
            // What is above the limit scores too little.
            let found = warping.distance_within(&pattern.series, &stored.series, limit);
            let WarpingDistance::Is(distance) = found else { continue };
            self.largest = self.largest.max(distance);
            let score = score(distance, self.largest);
            if score > config.threshold && best.is_none_or(|(_, other)| score > other) {
                best = Some((index, score));
            }
        }
        if self.largest > before {
            self.recompared = Some((0, 1));
        }
        best
    }

    fn recompare(
        &mut self,
        config: &PatternConfig,
        warping: &mut Warping,
        n_pairs: usize,
        merged: &mut Vec<MergedPatterns>,
    ) {
        for _ in 0..n_pairs {
            let Some((older, newer)) = self.recompared else { return };
            if newer >= self.known.len() {
                let next = older + 1;
                self.recompared = (next + 1 < self.known.len()).then_some((next, next + 1));
                continue;
            }
            match self.matches(config, warping, older, newer) {
                true => {
                    let gone = self.known.remove(newer);
                    self.known[older].n_seen += gone.n_seen;
                    merged.push(MergedPatterns { kept: self.known[older].id, gone: gone.id });
                }
                false => self.recompared = Some((older, newer + 1)),
            }
        }
    }

    fn matches(
        &mut self,
        config: &PatternConfig,
        warping: &mut Warping,
        older: usize,
        newer: usize,
    ) -> bool {
        let (a, b) = (&self.known[older], &self.known[newer]);
        if a.counts.difference(&b.counts) >= config.max_difference {
            return false;
        }
        let distance = warping.distance(&a.series, &b.series);
        self.largest = self.largest.max(distance);
        score(distance, self.largest) > config.threshold
    }
}

/// Equal patterns score 1 also where no distance was ever seen.
fn score(distance: f64, largest: f64) -> f64 {
    if largest > 0.0 { 1.0 - distance / largest } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::PatternBuilder;
    use crate::request::Request;

    fn config() -> PatternConfig {
        PatternConfig { read_compression: 1, write_compression: 1, ..PatternConfig::server() }
    }

    /// A pattern of 50 reads of one file, each this far behind the one before.
    fn strided(gap: u64, n: u64) -> Pattern {
        let mut builder = PatternBuilder::new(config());
        for index in 0..n {
            let offset = index * (4096 + gap);
            let kind = RequestKind::Read;
            builder.observe(&Request { time_ns: index, file: 3, kind, offset, size: 4096 });
        }
        builder.tick().unwrap()
    }

    #[test]
    fn the_same_pattern_matches_even_before_any_distance_was_seen() {
        let mut matcher = PaperMatcher::new(config());
        assert!(!matcher.recognise(strided(0, 50)).is_match);
        let again = matcher.recognise(strided(0, 50));
        assert_eq!((again.is_match, again.score, again.id), (true, 1.0, PatternId(0)));
        assert_eq!(matcher.occurrences(PatternId(0)), Some(2));
    }

    #[test]
    fn counts_that_differ_by_a_quarter_are_not_compared() {
        let mut matcher = PaperMatcher::new(config());
        matcher.recognise(strided(0, 100));
        assert!(!matcher.recognise(strided(0, 125)).is_match, "25 % is not less than 25 %");
        assert!(matcher.recognise(strided(0, 124)).is_match);
    }

    #[test]
    fn the_largest_distance_is_updated_before_the_score_is_taken() {
        let mut matcher = PaperMatcher::new(config());
        matcher.recognise(strided(0, 50));
        // The first distance ever is the largest: its score is 0.
        assert!(!matcher.recognise(strided(1000, 50)).is_match);
        assert_eq!(matcher.largest_distance(RequestKind::Read), 49_000.0);
        assert_eq!(matcher.largest_distance(RequestKind::Write), 0.0);
        // 49 * 10 of 49,000 scores 0.99.
        let near = matcher.recognise(strided(10, 50));
        assert!(near.is_match && (near.score - 0.99).abs() < 1e-9, "{near:?}");
    }

    /// The first comparisons find few matches because the largest distance is
    /// small; the paper compares again when it has grown.
    #[test]
    fn known_patterns_are_merged_when_the_largest_distance_has_grown() {
        let mut matcher = PaperMatcher::new(config());
        let ids: Vec<PatternId> =
            [0, 1000, 1_000_000].map(|gap| matcher.recognise(strided(gap, 50)).id).into();
        assert_eq!(matcher.known(), 3);
        assert!(matcher.is_unsettled());
        let mut merged = Vec::new();
        while matcher.is_unsettled() {
            merged.extend(matcher.recompare(1));
        }
        assert_eq!(merged, [MergedPatterns { kept: ids[0], gone: ids[1] }]);
        assert_eq!(matcher.known(), 2);
        assert_eq!(matcher.occurrences(ids[0]), Some(2));
        assert_eq!(matcher.recompare(1000), []);
    }

    #[test]
    fn a_pattern_takes_less_than_eight_bytes_per_value_and_128() {
        let mut matcher = PaperMatcher::new(config());
        let empty = matcher.memory_bytes();
        let pattern = strided(0, 1001);
        let n_values = pattern.series.len();
        matcher.recognise(pattern);
        assert_eq!(n_values, 1000);
        assert!(matcher.memory_bytes() - empty <= 8 * n_values + 128);
    }
}
