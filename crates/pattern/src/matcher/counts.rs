// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the counts alone reach: equation 2 and nothing else.

use crate::matcher::{PatternId, PatternMatcher, Recognition};
use crate::pattern::{Pattern, PatternCounts};

/// Matches the pattern whose counts differ least, if by less than a limit.
#[derive(Clone, Debug)]
pub struct CountsMatcher {
    max_difference: f64,
    known: Vec<PatternCounts>,
}

impl CountsMatcher {
    /// Nothing known yet.
    pub fn new(max_difference: f64) -> CountsMatcher {
        CountsMatcher { max_difference, known: Vec::new() }
    }
}

impl PatternMatcher for CountsMatcher {
    fn recognise(&mut self, pattern: Pattern) -> Recognition {
        let differences = self.known.iter().map(|known| known.difference(&pattern.counts));
        let nearest = differences.enumerate().min_by(|(_, a), (_, b)| a.total_cmp(b));
        match nearest.filter(|(_, difference)| *difference < self.max_difference) {
            Some((index, difference)) => {
                Recognition::matched(PatternId(index as u32), 1.0 - difference)
            }
            None => {
                self.known.push(pattern.counts);
                Recognition::new_pattern(PatternId(self.known.len() as u32 - 1))
            }
        }
    }

    fn known(&self) -> usize {
        self.known.len()
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.known)
    }
}
