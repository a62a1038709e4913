// SPDX-License-Identifier: MIT OR Apache-2.0

//! Counts of what followed something, and how far they are to be believed.
//!
//! Where something beside the symbols tells which way a program goes, what followed
//! it is counted, and the most frequent follower stands against what the grammar holds
//! most probable. How often each of them was right in such cases is the probability
//! given to it.

use ioracle_grammar::Candidate;
use serde::{Deserialize, Serialize};

/// Different symbols that are counted.
const MAX_FOLLOWERS: usize = 3;
/// Counts are halved where one reaches this, so that the recent past weighs more.
const MAX_TIMES: u16 = 1 << 8;
/// How many outcomes the grammar's own probability is worth in a fresh cell.
const PRIOR: f32 = 4.0;
/// Outcomes after which a cell forgets half of them, to follow changes.
const MAX_OUTCOMES: f32 = 1024.0;

/// The symbols that followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Followers([(u32, u16); MAX_FOLLOWERS]);

impl Followers {
    pub fn count(&mut self, symbol: u32) {
        let known = self.0.iter().position(|&(known, times)| times > 0 && known == symbol);
        let at = known.unwrap_or_else(|| {
            let least = (0..MAX_FOLLOWERS).min_by_key(|&at| self.0[at].1).unwrap_or(0);
            self.0[least] = (symbol, 0);
            least
        });
        self.0[at].1 += 1;
        if self.0[at].1 >= MAX_TIMES {
            self.0.iter_mut().for_each(|(_, times)| *times /= 2);
        }
    }

    /// The most frequent one, and how often it and all came.
    pub fn best(&self) -> Option<(u32, u16, u16)> {
        let &(symbol, times) = self.0.iter().max_by_key(|(_, times)| *times)?;
        (times > 0).then(|| (symbol, times, self.seen()))
    }

    /// How often anything followed.
    pub fn seen(&self) -> u16 {
        self.0.iter().map(|(_, times)| times).sum()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self, n_symbols: usize) -> bool {
        self.0.iter().all(|&(symbol, times)| {
            times == 0 || ((symbol as usize) < n_symbols && times < MAX_TIMES)
        })
    }
}

/// Where what the counts say stands among the candidates of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contest {
    /// It is the most probable one.
    Agree,
    /// It is this one.
    Other(usize),
    /// It is none of them.
    Added,
    /// It is a symbol never seen.
    Unseen,
}

impl Contest {
    pub fn of(at: Option<usize>) -> Contest {
        match at {
            Some(0) => Contest::Agree,
            Some(at) => Contest::Other(at),
            None => Contest::Added,
        }
    }
}

/// How often the grammar and the counts were right.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ContestCell {
    outcomes: f32,
    grammar: f32,
    counts: f32,
}

impl ContestCell {
    pub fn learn(&mut self, grammar: bool, counts: bool) {
        if self.outcomes >= MAX_OUTCOMES {
            self.outcomes /= 2.0;
            self.grammar /= 2.0;
            self.counts /= 2.0;
        }
        self.outcomes += 1.0;
        self.grammar += f32::from(u8::from(grammar));
        self.counts += f32::from(u8::from(counts));
    }

    fn estimate(&self, right: f32, expected: f32) -> f64 {
        f64::from((right + PRIOR * expected) / (self.outcomes + PRIOR)).clamp(0.0, 1.0)
    }

    /// Gives the candidates, the most probable first, the probabilities that this
    /// suggests, where the counts say that `symbol` comes.
    pub fn apply(&self, contest: Contest, symbol: u32, candidates: &mut Vec<Candidate>) {
        let stated: f64 = candidates.iter().map(|it| it.probability).sum();
        let top = candidates.first().map_or(0.0, |first| first.probability);
        if contest == Contest::Agree {
            let counted = self.estimate(self.counts, top as f32);
            scale(candidates, (1.0 - counted) / (1.0 - top).max(1e-9));
            candidates[0].probability = counted;
        } else {
            // What is left goes to the others as it was theirs.
            let counted = self.estimate(self.counts, (1.0 - top as f32) / 2.0);
            let kept = self.estimate(self.grammar, top as f32).min(1.0 - counted);
            let left = (1.0 - counted - kept).max(0.0);
            let others = match contest {
                Contest::Other(at) => 1.0 - top - candidates[at].probability,
                Contest::Unseen => stated - top,
                _ => 1.0 - top,
            };
            scale(candidates, left / others.max(1e-9));
            if let Some(first) = candidates.first_mut() {
                first.probability = kept;
            }
            match contest {
                Contest::Other(at) => candidates[at].probability = counted,
                Contest::Added => {
                    candidates.push(Candidate { terminal: symbol, probability: counted })
                }
                _ => {}
            }
        }
        candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        let of_all = 0.0..=self.outcomes;
        self.outcomes.is_finite() && of_all.contains(&self.grammar) && of_all.contains(&self.counts)
    }
}

fn scale(candidates: &mut [Candidate], factor: f64) {
    candidates.iter_mut().for_each(|it| it.probability *= factor);
}
