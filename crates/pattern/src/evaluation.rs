// SPDX-License-Identifier: MIT OR Apache-2.0

//! Precision and recall of matching on labelled runs, as in section VI-B of the
//! paper.
//!
//! The runs of a server are fed in random orders to a matcher that knows
//! nothing, the patterns that read and those that write apart. A match with a
//! known pattern of the same label is a true positive, with one of another label
//! a false positive. No match is a false negative if a pattern of the label was
//! known, else a true negative. The label of a known pattern is that of the
//! pattern it was first seen as.

use std::time::{Duration, Instant};

use std::collections::{HashMap, HashSet};

use crate::config::PatternConfig;
use crate::dtw::{Warping, upper_bound};
use crate::matcher::{
    AdaptiveConfig, AdaptiveMatcher, CountsMatcher, FeaturesMatcher, PaperMatcher, PatternId,
    PatternMatcher,
};
use crate::pattern::Pattern;
use crate::random::Random;
use crate::request::RequestKind;

/// A run of a benchmark as one server saw it.
#[derive(Clone, Debug)]
pub struct LabelledRun {
    /// Which benchmark; equal numbers should match.
    pub label: u32,
    /// Its patterns in the order of time.
    pub patterns: Vec<Pattern>,
}

/// A way to match, as it is called in reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Algorithm 1 of the paper.
    Paper,
    /// Equation 2 alone.
    Counts,
    /// Nearest neighbours over simple features.
    Features,
    /// Load profiles, with scales and a threshold found while it runs.
    Ours,
}

/// What came of one order of runs, or the sum over several.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MatchCounts {
    /// Matches with the same label.
    pub true_positives: u64,
    /// Matches with another label.
    pub false_positives: u64,
    /// No match although the label was known.
    pub false_negatives: u64,
    /// No match, and the label was new.
    pub true_negatives: u64,
}

/// The figures of one order of the runs of one server.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OrderReport {
    /// What came of it.
    pub counts: MatchCounts,
    /// Known patterns at the end.
    pub known: usize,
    /// Time of all matching.
    pub time: Duration,
    /// Memory of the known patterns at the end.
    pub bytes: usize,
}

impl Algorithm {
    /// All of them, in the order of reports.
    pub const ALL: [Algorithm; 4] =
        [Algorithm::Paper, Algorithm::Counts, Algorithm::Features, Algorithm::Ours];

    /// As it is called in reports.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Paper => "paper",
            Algorithm::Counts => "counts",
            Algorithm::Features => "features",
            Algorithm::Ours => "ours",
        }
    }

    /// A matcher that knows nothing. `largest_distance` is what an all-to-all
    /// comparison found, which only the paper's algorithm is given.
    pub fn matcher(
        self,
        config: PatternConfig,
        kind: RequestKind,
        largest_distance: f64,
    ) -> Box<dyn PatternMatcher> {
        match self {
            Algorithm::Paper => {
                let mut matcher = PaperMatcher::new(config);
                matcher.set_largest_distance(kind, largest_distance);
                Box::new(matcher)
            }
            Algorithm::Counts => Box::new(CountsMatcher::new(config.max_difference)),
            Algorithm::Features => Box::new(FeaturesMatcher::new()),
            Algorithm::Ours => Box::new(AdaptiveMatcher::new(AdaptiveConfig::default())),
        }
    }
}

impl MatchCounts {
    /// Right matches among all matches, in percent; none without a match.
    pub fn precision(&self) -> Option<f64> {
        percent(self.true_positives, self.false_positives)
    }

    /// Right matches among those that should have been, in percent; none if no
    /// label came twice.
    pub fn recall(&self) -> Option<f64> {
        percent(self.true_positives, self.false_negatives)
    }

    /// Patterns that matched.
    pub fn matches(&self) -> u64 {
        self.true_positives + self.false_positives
    }

    /// Patterns that were fed.
    pub fn patterns(&self) -> u64 {
        self.matches() + self.false_negatives + self.true_negatives
    }
}

fn percent(right: u64, wrong: u64) -> Option<f64> {
    let all = right + wrong;
    (all > 0).then(|| 100.0 * right as f64 / all as f64)
}

/// The order in which runs are fed: the same for the same seed.
pub fn shuffled(n_runs: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n_runs).collect();
    let mut random = Random::new(seed);
    for last in (1..n_runs).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}

/// Feeds the patterns of one kind, run by run in this order.
pub fn feed(
    matcher: &mut dyn PatternMatcher,
    runs: &[LabelledRun],
    order: &[usize],
    kind: RequestKind,
) -> OrderReport {
    let mut report = OrderReport::default();
    let mut labels: HashMap<PatternId, u32> = HashMap::new();
    let mut known_labels: HashSet<u32> = HashSet::new();
    for run in order.iter().filter_map(|&index| runs.get(index)) {
        for pattern in run.patterns.iter().filter(|pattern| pattern.kind == kind) {
            let pattern = pattern.clone();
            let start = Instant::now();
            let found = matcher.recognise(pattern);
            report.time += start.elapsed();
            let counts = &mut report.counts;
            match (found.is_match, labels.get(&found.id)) {
                (true, Some(label)) if *label == run.label => counts.true_positives += 1,
                (true, _) => counts.false_positives += 1,
                (false, _) if known_labels.contains(&run.label) => counts.false_negatives += 1,
                (false, _) => counts.true_negatives += 1,
            }
            if !found.is_match {
                labels.insert(found.id, run.label);
                known_labels.insert(run.label);
            }
        }
    }
    report.known = matcher.known();
    report.bytes = matcher.memory_bytes();
    report
}

/// The largest distance between any two patterns of a kind.
pub fn largest_distance(runs: &[LabelledRun], kind: RequestKind, radius: usize) -> f64 {
    let patterns = runs.iter().flat_map(|run| &run.patterns);
    let series: Vec<&[f32]> =
        patterns.filter(|pattern| pattern.kind == kind).map(|pattern| &*pattern.series).collect();
    let mut warping = Warping::new(radius);
    let mut largest = 0.0_f64;
    for (index, one) in series.iter().enumerate() {
        for other in &series[..index] {
            // Most pairs cannot be further apart than what is known.
            if upper_bound(one, other) > largest {
                largest = largest.max(warping.distance(one, other));
            }
        }
    }
    largest
}
