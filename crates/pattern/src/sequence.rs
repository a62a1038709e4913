// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which pattern comes next, and when: the paper's 'probabilistic chain between
//! known patterns', by the grammar that predicts I/O calls elsewhere.

use ioracle_grammar::{Config, StarSequitur};

use crate::matcher::PatternId;

/// Slices that are looked ahead at most.
const MAX_AHEAD: usize = 600;

/// A prediction above this probability decides what is prepared for.
const LIKELY: f64 = 0.5;

/// The pattern that is expected after the present one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NextPattern {
    /// The pattern.
    pub id: PatternId,
    /// It comes after so many slices: 1 means with the next one.
    pub slices: u64,
    /// How probable it is that exactly this happens.
    pub probability: f64,
}

/// The sequence of patterns a server went through.
#[derive(Clone, Debug)]
pub struct PatternSequence {
    grammar: StarSequitur,
    last: Option<PatternId>,
    n_since: u64,
}

impl PatternSequence {
    /// Nothing observed yet.
    pub fn new() -> PatternSequence {
        let grammar = StarSequitur::new(Config::new());
        PatternSequence { grammar, last: None, n_since: 0 }
    }

    /// The pattern of the next slice.
    pub fn observe(&mut self, id: PatternId) {
        self.grammar.push(id.0);
        self.n_since = if self.last == Some(id) { self.n_since + 1 } else { 1 };
        self.last = Some(id);
    }

    /// For how many slices the present pattern lasts already.
    pub fn since(&self) -> u64 {
        self.n_since
    }

    /// The pattern of the next slice, with its probability.
    pub fn predict(&self) -> Option<(PatternId, f64)> {
        self.grammar.next().first().map(|next| (PatternId(next.terminal), next.probability))
    }

    /// The pattern to prepare for: that of the next slice if one is likely,
    /// else the present one, because loads last; none before the first slice.
    pub fn expected(&self) -> Option<PatternId> {
        let next = self.predict().filter(|(_, probability)| *probability > LIKELY);
        next.map(|(id, _)| id).or(self.last)
    }

    /// The next pattern other than the present one, if one is in sight.
    pub fn predict_change(&self) -> Option<NextPattern> {
        let mut probability = 1.0;
        for (step, ahead) in self.grammar.ahead(0).take(MAX_AHEAD).enumerate() {
            probability *= ahead.probability;
            if Some(PatternId(ahead.terminal)) != self.last {
                let (id, slices) = (PatternId(ahead.terminal), step as u64 + 1);
                return Some(NextPattern { id, slices, probability });
            }
        }
        None
    }

    /// Memory of the grammar.
    pub fn memory_bytes(&self) -> usize {
        self.grammar.memory_bytes()
    }
}

impl Default for PatternSequence {
    fn default() -> PatternSequence {
        PatternSequence::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_of_loads_is_foreseen_with_the_time_they_last() {
        let mut sequence = PatternSequence::new();
        for _ in 0..10 {
            for id in [1, 1, 1, 1, 5, 5, 2] {
                sequence.observe(PatternId(id));
            }
        }
        sequence.observe(PatternId(1));
        sequence.observe(PatternId(1));
        let next = sequence.predict_change().expect("a change is in sight");
        assert_eq!((next.id, next.slices), (PatternId(5), 3));
        assert!(next.probability > 0.5, "{next:?}");
        assert_eq!(sequence.predict().map(|(id, _)| id), Some(PatternId(1)));
        assert_eq!(sequence.since(), 2);
    }

    #[test]
    fn nothing_is_foreseen_of_nothing() {
        let mut sequence = PatternSequence::new();
        assert_eq!(sequence.predict_change(), None);
        (0..100).for_each(|_| sequence.observe(PatternId(3)));
        assert_eq!(sequence.predict_change(), None, "no other pattern is known");
    }
}
