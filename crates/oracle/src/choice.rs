// SPDX-License-Identifier: MIT OR Apache-2.0

//! Choosing among hypotheses by how often each has been right lately.
//!
//! Every quantity (size, offset, file) has a fixed list of hypotheses. Each may
//! suggest a value; the rates say how often it was right when it did, apart for
//! suggestions that had been right before and such that had not. The one with
//! the highest rate is believed. Adding up the weights of those that agree was
//! tried and is worse: they mostly agree for the same reason.

use serde::{Deserialize, Serialize};

/// Hypotheses that a quantity may have at most.
pub const MAX_HYPOTHESES: usize = 18;

/// What each hypothesis of a quantity suggests at this moment.
#[derive(Clone, Debug)]
pub struct Guesses {
    values: [i64; MAX_HYPOTHESES],
    /// How often in a row each was right; [`SILENT`] where there is none.
    confidences: [u8; MAX_HYPOTHESES],
    n_hypotheses: usize,
}

/// In place of a confidence: the hypothesis suggests nothing.
pub const SILENT: u8 = u8::MAX;

impl Default for Guesses {
    fn default() -> Guesses {
        Guesses {
            values: [0; MAX_HYPOTHESES],
            confidences: [SILENT; MAX_HYPOTHESES],
            n_hypotheses: 0,
        }
    }
}

impl Guesses {
    /// Starts over.
    pub fn clear(&mut self) {
        self.n_hypotheses = 0;
    }

    /// What the next hypothesis suggests.
    #[inline]
    pub fn push(&mut self, value: i64, confidence: u8) {
        self.values[self.n_hypotheses] = value;
        self.confidences[self.n_hypotheses] = confidence;
        self.n_hypotheses += 1;
    }

    /// Number, value and confidence of those that suggest something.
    #[inline]
    fn iter(&self) -> impl DoubleEndedIterator<Item = (usize, i64, u8)> + '_ {
        (0..self.n_hypotheses)
            .map(|kind| (kind, self.values[kind], self.confidences[kind]))
            .filter(|&(_, _, confidence)| confidence != SILENT)
    }
}

/// How often each hypothesis was right lately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    untried: [Rate; MAX_HYPOTHESES],
    proven: [Rate; MAX_HYPOTHESES],
}

impl Default for Rates {
    fn default() -> Rates {
        Rates { untried: [Rate::UNKNOWN; MAX_HYPOTHESES], proven: [Rate::UNKNOWN; MAX_HYPOTHESES] }
    }
}

/// A share of times right: 13 bits of it, and in the lowest three how often it
/// was updated, up to 7, because the first times should count most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rate(u16);

/// The share of what was always right.
const MAX_SHARE: u16 = !7;

/// From this share on a hypothesis was right every time lately: a rate comes no
/// nearer to the highest.
const ALWAYS: u16 = MAX_SHARE - 512;

/// What part of the way a rate moves towards the outcome, in 1/65536, by times
/// updated: from a half to one in 32.
const PACES: [u32; 8] =
    [65536 / 2, 65536 / 3, 65536 / 4, 65536 / 6, 65536 / 8, 65536 / 12, 65536 / 20, 65536 / 32];

impl Rate {
    const UNKNOWN: Rate = Rate(0x5000);

    fn share(self) -> u16 {
        self.0 & !7
    }

    fn learn(&mut self, right: bool) {
        let n_seen = self.0 & 7;
        let pace = PACES[usize::from(n_seen)];
        let part = |distance: u16| ((u32::from(distance) * pace) >> 16) as u16;
        let share = self.share();
        let share = if right { share + part(MAX_SHARE - share) } else { share - part(share) };
        self.0 = (share & !7) | (n_seen + 1).min(7);
    }
}

/// Confidence from which a guess counts as proven.
const PROVEN: u8 = 2;

impl Rates {
    /// The value of the hypothesis that was right most often; of equals, the one
    /// that more agree with. And how often it was, between 0 and 1.
    pub fn choose(&self, guesses: &Guesses) -> Option<(i64, f32)> {
        let mut best: Option<(u16, i64)> = None;
        let mut tied = false;
        for (kind, value, confidence) in guesses.iter() {
            let share = self.share(kind, confidence);
            match best {
                Some((most, _)) if share < most => {}
                Some((most, first)) if share == most => tied |= first != value,
                _ => {
                    best = Some((share, value));
                    tied = false;
                }
            }
        }
        let (most, value) = best?;
        let value = if tied { self.most_agreed(guesses, most)? } else { value };
        Some((value, f32::from(most) / f32::from(MAX_SHARE)))
    }

    /// The same, but one of the hypotheses comes before all others as long as it
    /// is right every time. Others that fail once in a hundred times are as good
    /// by their rates before they fail again, and more may agree with them.
    pub fn choose_before(&self, first: usize, guesses: &Guesses) -> Option<(i64, f32)> {
        let suggested = guesses.iter().find(|&(kind, ..)| kind == first);
        let share = suggested.map(|(kind, value, sure)| (value, self.share(kind, sure)));
        match share {
            Some((value, share)) if share >= ALWAYS => {
                Some((value, f32::from(share) / f32::from(MAX_SHARE)))
            }
            _ => self.choose(guesses),
        }
    }

    /// Learns which hypotheses were right, and returns whether all were.
    pub fn learn(&mut self, guesses: &Guesses, actual: i64) -> bool {
        let mut all_right = true;
        for (kind, value, confidence) in guesses.iter() {
            let rates = if confidence < PROVEN { &mut self.untried } else { &mut self.proven };
            rates[kind].learn(value == actual);
            all_right &= value == actual;
        }
        all_right
    }

    fn most_agreed(&self, guesses: &Guesses, most: u16) -> Option<i64> {
        let support = |value: i64| {
            let agreeing = guesses.iter().filter(|&(_, other, _)| other == value);
            agreeing
                .map(|(kind, _, confidence)| u32::from(self.share(kind, confidence)))
                .sum::<u32>()
        };
        let best = guesses.iter().filter(|&(kind, _, sure)| self.share(kind, sure) == most);
        // The first of equals: `max_by_key` would give the last.
        best.map(|(_, value, _)| value).rev().max_by_key(|&value| support(value))
    }

    fn share(&self, kind: usize, confidence: u8) -> u16 {
        let rates = if confidence < PROVEN { &self.untried } else { &self.proven };
        rates[kind].share()
    }

    /// The same rates, to be learned anew: a symbol starts from what holds overall
    /// but soon follows its own.
    pub fn as_prior(mut self) -> Rates {
        for rate in self.untried.iter_mut().chain(&mut self.proven) {
            rate.0 = (rate.0 & !7) | (rate.0 & 7).min(1);
        }
        self
    }
}
