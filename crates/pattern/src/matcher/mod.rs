// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ways to tell whether a pattern is a known one.

mod adaptive;
mod counts;
mod features;
mod learned;
mod paper;

#[cfg(feature = "persistence")]
pub(crate) use adaptive::MAX_APPEARANCES;
pub use adaptive::{AdaptiveConfig, AdaptiveMatcher, KnownPattern};
pub use counts::CountsMatcher;
pub use features::FeaturesMatcher;
pub(crate) use learned::ThresholdFinder;
pub use paper::{MergedPatterns, PaperMatcher};

use crate::pattern::Pattern;

/// Names a known pattern; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PatternId(pub u32);

/// Which known pattern a new one is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recognition {
    /// The known pattern, or the one that the new pattern has become.
    pub id: PatternId,
    /// The first known pattern that it resembles, by which options are chosen;
    /// the pattern itself where a matcher has no such notion.
    pub family: PatternId,
    /// Whether it was known before.
    pub is_match: bool,
    /// How sure that is, between 0 and 1; 0 where nothing matched.
    pub score: f64,
}

impl Recognition {
    pub(crate) fn matched(id: PatternId, score: f64) -> Recognition {
        Recognition { id, family: id, is_match: true, score }
    }

    pub(crate) fn new_pattern(id: PatternId) -> Recognition {
        Recognition { id, family: id, is_match: false, score: 0.0 }
    }
}

/// Remembers patterns and recognises them.
pub trait PatternMatcher {
    /// Which known pattern this is; if none, it is known from now on.
    fn recognise(&mut self, pattern: Pattern) -> Recognition;

    /// How many patterns are known.
    fn known(&self) -> usize;

    /// Memory of all that is remembered.
    fn memory_bytes(&self) -> usize;
}
