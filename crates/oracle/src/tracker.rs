// SPDX-License-Identifier: MIT OR Apache-2.0

//! One tracked quantity: hypotheses side by side, the believed one predicts.
//!
//! What differs between sizes, offsets and files is only which contexts are
//! worth remembering and from which base a value is counted; that is the
//! [`Evidence`] that their modules put together.

use serde::{Deserialize, Serialize};

use crate::choice::{Guesses, MAX_HYPOTHESES, Pace, Rates};
use crate::recall::{Guess, MAX_CONFIDENCE, Recall};

/// What the hypotheses of a quantity go by at this moment.
#[derive(Clone, Copy, Debug)]
pub struct Evidence {
    hypotheses: [Hypothesis; MAX_HYPOTHESES],
    n_hypotheses: usize,
    pub skip: usize,
}

#[derive(Clone, Copy, Debug)]
enum Hypothesis {
    /// Has nothing to go by now.
    Silent,
    /// What followed this context, counted from this base.
    Remembered { context: u64, base: i64 },
    /// This value.
    Computed(i64),
}

impl Default for Evidence {
    fn default() -> Evidence {
        Evidence { hypotheses: [Hypothesis::Silent; MAX_HYPOTHESES], n_hypotheses: 0, skip: 99 }
    }
}

impl Evidence {
    /// The next hypothesis: what followed `context`, as a distance from `base`.
    pub fn remembered(&mut self, context: u64, base: u64) {
        self.push(Hypothesis::Remembered { context, base: base as i64 });
    }

    /// The next hypothesis: this value, if there is one.
    pub fn computed(&mut self, value: Option<i64>) {
        self.push(value.map_or(Hypothesis::Silent, Hypothesis::Computed));
    }

    /// The next hypothesis has nothing to go by.
    pub fn silent(&mut self) {
        self.push(Hypothesis::Silent);
    }

    fn push(&mut self, hypothesis: Hypothesis) {
        debug_assert!(self.n_hypotheses < MAX_HYPOTHESES);
        // The kind is part of the context: two hypotheses never share a slot.
        let kind = self.n_hypotheses as u64;
        self.hypotheses[self.n_hypotheses] = match hypothesis {
            _ if self.n_hypotheses == self.skip => Hypothesis::Silent,
            Hypothesis::Remembered { context, base } => Hypothesis::Remembered {
                context: context ^ kind.wrapping_mul(0x9E37_79B9_7F4A_7C15),
                base,
            },
            other => other,
        };
        self.n_hypotheses += 1;
    }
}

/// What all symbols together remember of one quantity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tracker {
    recall: Recall,
    /// Over all symbols: what a new symbol starts from.
    overall: Rates,
}

impl Tracker {
    /// A tracker that remembers at most so many contexts.
    pub fn new(max_contexts: usize) -> Tracker {
        Tracker { recall: Recall::new(max_contexts), overall: Rates::default() }
    }

    /// Where a symbol's own rates start from.
    pub fn overall(&self) -> Rates {
        self.overall.as_prior()
    }

    /// The value believed most among those that are `possible`.
    pub fn expect(
        &self,
        evidence: &Evidence,
        rates: &Rates,
        possible: impl Fn(i64) -> bool,
    ) -> Option<i64> {
        rates.choose(&self.guesses(evidence, possible))
    }

    /// Learns the value that came, and returns the one that was expected.
    pub fn learn(
        &mut self,
        evidence: &Evidence,
        rates: &mut Rates,
        actual: i64,
        possible: impl Fn(i64) -> bool,
    ) -> Option<i64> {
        let guesses = self.guesses(evidence, possible);
        let expected = rates.choose(&guesses);
        rates.learn(&guesses, actual, Pace::Symbol);
        self.overall.learn(&guesses, actual, Pace::Overall);
        for hypothesis in &evidence.hypotheses[..evidence.n_hypotheses] {
            if let Hypothesis::Remembered { context, base } = *hypothesis {
                self.recall.learn(context, actual.wrapping_sub(base));
            }
        }
        expected
    }

    /// Joins what another tracker remembers, with its values translated.
    pub fn merge(&mut self, other: &Tracker, translate: impl Fn(i64) -> Option<i64>) {
        self.recall.merge(&other.recall, translate);
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.recall.memory_bytes() + size_of::<Rates>()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        self.recall.is_valid()
    }

    fn guesses(&self, evidence: &Evidence, possible: impl Fn(i64) -> bool) -> Guesses {
        let mut guesses = [None; MAX_HYPOTHESES];
        let hypotheses = &evidence.hypotheses[..evidence.n_hypotheses];
        for (guess, hypothesis) in guesses.iter_mut().zip(hypotheses) {
            *guess = match *hypothesis {
                Hypothesis::Silent => None,
                Hypothesis::Remembered { context, base } => self
                    .recall
                    .get(context)
                    .map(|guess| Guess { value: guess.value.wrapping_add(base), ..guess }),
                Hypothesis::Computed(value) => Some(Guess { value, confidence: MAX_CONFIDENCE }),
            }
            .filter(|guess| possible(guess.value));
        }
        guesses
    }
}
