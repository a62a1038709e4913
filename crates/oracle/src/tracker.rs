// SPDX-License-Identifier: MIT OR Apache-2.0

//! One tracked quantity: hypotheses side by side, the believed one predicts.
//!
//! What differs between sizes, offsets and files is only which contexts are
//! worth remembering and from which base a value is counted; that is the
//! [`Evidence`] that their modules put together.

use serde::{Deserialize, Serialize};

use crate::choice::{Guesses, MAX_HYPOTHESES, Rates, SILENT};
use crate::recall::{MAX_CONFIDENCE, Recall, RecallIndex};

/// What the hypotheses of a quantity go by at this moment.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The context of each; 0 for those that go by no memory.
    contexts: [u64; MAX_HYPOTHESES],
    /// What a remembered value is counted from, or the value itself.
    bases: [i64; MAX_HYPOTHESES],
    n_hypotheses: usize,
    /// One bit for each that has nothing to go by.
    silent: u32,
}

impl Default for Evidence {
    fn default() -> Evidence {
        Evidence {
            contexts: [0; MAX_HYPOTHESES],
            bases: [0; MAX_HYPOTHESES],
            n_hypotheses: 0,
            silent: 0,
        }
    }
}

impl Evidence {
    /// The next hypothesis: what followed `context`, as a distance from `base`.
    #[inline]
    pub fn remembered(&mut self, context: u64, base: u64) {
        // The number of the hypothesis is part of the context, so that no two
        // hypotheses share what they remember.
        let kind = (self.n_hypotheses as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.push((context ^ kind).max(1), base as i64);
    }

    /// The next hypothesis: this value, if there is one.
    #[inline]
    pub fn computed(&mut self, value: Option<i64>) {
        if value.is_none() {
            self.silent |= 1 << self.n_hypotheses;
        }
        self.push(0, value.unwrap_or_default());
    }

    #[inline]
    fn push(&mut self, context: u64, base: i64) {
        debug_assert!(self.n_hypotheses < MAX_HYPOTHESES, "raise MAX_HYPOTHESES");
        self.contexts[self.n_hypotheses] = context;
        self.bases[self.n_hypotheses] = base;
        self.n_hypotheses += 1;
    }
}

/// Evidence, and what each hypothesis makes of it. Some hundred bytes, so it is
/// filled in place and never copied.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    evidence: Evidence,
    guesses: Guesses,
    /// Where each context stood.
    places: Places,
    expected: Option<i64>,
    certainty: f32,
}

#[derive(Clone, Debug)]
struct Places([RecallIndex; MAX_HYPOTHESES]);

impl Default for Places {
    fn default() -> Places {
        Places([RecallIndex::NONE; MAX_HYPOTHESES])
    }
}

impl Looked {
    /// Starts over, and gives what the evidence is put into.
    pub fn begin(&mut self) -> &mut Evidence {
        self.evidence.n_hypotheses = 0;
        self.evidence.silent = 0;
        &mut self.evidence
    }

    /// Believes the hypothesis that these rates favour.
    pub fn choose(&mut self, rates: &Rates) -> Option<i64> {
        self.believe(rates.choose(&self.guesses))
    }

    /// The same, but the one of this number as long as it is always right.
    pub fn choose_before(&mut self, first: usize, rates: &Rates) -> Option<i64> {
        self.believe(rates.choose_before(first, &self.guesses))
    }

    fn believe(&mut self, chosen: Option<(i64, f32)>) -> Option<i64> {
        self.expected = chosen.map(|(value, _)| value);
        self.certainty = chosen.map_or(0.0, |(_, certainty)| certainty);
        self.expected
    }

    /// How often lately what suggests the chosen value was right.
    pub fn certainty(&self) -> f32 {
        self.certainty
    }

    /// The value that was chosen last.
    pub fn expected(&self) -> Option<i64> {
        self.expected
    }
}

/// Times up to which a symbol counts as young.
pub const YOUNG: u64 = 64;

/// What all symbols together remember of one quantity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Tracker {
    recall: Recall,
    /// Over all symbols while they were new: what a new symbol starts from.
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

    /// Finds out what each hypothesis makes of the evidence; those that suggest
    /// something impossible are silent.
    pub fn look(&self, looked: &mut Looked, possible: impl Fn(i64) -> bool) {
        let Looked { evidence, guesses, places, .. } = looked;
        guesses.clear();
        for kind in 0..evidence.n_hypotheses {
            let (context, base) = (evidence.contexts[kind], evidence.bases[kind]);
            let (value, confidence) = if context == 0 {
                let silent = evidence.silent & 1 << kind != 0;
                (base, if silent { SILENT } else { MAX_CONFIDENCE })
            } else {
                match self.recall.find(context) {
                    Some((place, guess)) => {
                        places.0[kind] = place;
                        (guess.value.wrapping_add(base), guess.confidence)
                    }
                    None => {
                        places.0[kind] = RecallIndex::NONE;
                        (0, SILENT)
                    }
                }
            };
            let confidence =
                if confidence == SILENT || possible(value) { confidence } else { SILENT };
            guesses.push(value, confidence);
        }
    }

    /// Learns the value that came.
    pub fn learn(&mut self, looked: &Looked, rates: &mut Rates, actual: i64, is_young: bool) {
        let all_right = rates.learn(&looked.guesses, actual);
        // New symbols start from how symbols began, so what old ones do counts
        // no more; nor does a moment that does not distinguish the hypotheses.
        if is_young && !all_right {
            self.overall.learn(&looked.guesses, actual);
        }
        for kind in 0..looked.evidence.n_hypotheses {
            let context = looked.evidence.contexts[kind];
            if context != 0 {
                let value = actual.wrapping_sub(looked.evidence.bases[kind]);
                self.recall.learn_at(looked.places.0[kind], context, value);
            }
        }
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
}
