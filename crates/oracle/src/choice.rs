// SPDX-License-Identifier: MIT OR Apache-2.0

//! Choosing among hypotheses by how often each has been right lately.
//!
//! Every quantity (size, offset, file) has a fixed list of hypotheses. Each may
//! suggest a value; the rates say how often it was right when it did, apart for
//! suggestions that had been right before and such that had not. Hypotheses
//! that agree add up their weights, so two fair ones can beat a good one.

use serde::{Deserialize, Serialize};

use crate::recall::Guess;

/// Hypotheses that a quantity may have at most.
pub const MAX_HYPOTHESES: usize = 20;

/// What each hypothesis of a quantity suggests at this moment.
pub type Guesses = [Option<Guess>; MAX_HYPOTHESES];

/// How often each hypothesis was right lately, in 1/65536.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rates {
    untried: [u16; MAX_HYPOTHESES],
    proven: [u16; MAX_HYPOTHESES],
}

impl Default for Rates {
    fn default() -> Rates {
        Rates { untried: [1 << 14; MAX_HYPOTHESES], proven: [1 << 15; MAX_HYPOTHESES] }
    }
}

/// What another hypothesis that agrees adds; little, because hypotheses that
/// agree mostly do so for the same reason.
const AGREEMENT: f32 = 0.0001;

/// Confidence from which a guess counts as proven.
const PROVEN: u8 = 2;

impl Rates {
    /// The value with the most weight behind it.
    pub fn choose(&self, guesses: &Guesses) -> Option<i64> {
        let mut best: Option<(f32, i64)> = None;
        for (i, guess) in guesses.iter().enumerate() {
            let Some(guess) = guess else { continue };
            if guesses[..i].iter().flatten().any(|earlier| earlier.value == guess.value) {
                continue;
            }
            let weights = guesses[i..].iter().zip(i..).filter_map(|(other, kind)| {
                other
                    .filter(|other| other.value == guess.value)
                    .map(|other| self.weight(kind, other))
            });
            let (most, sum) =
                weights.fold((0f32, 0f32), |(most, sum), weight| (most.max(weight), sum + weight));
            let weight = most + sum * AGREEMENT;
            if best.is_none_or(|(most, _)| weight > most) {
                best = Some((weight, guess.value));
            }
        }
        best.map(|(_, value)| value)
    }

    /// Learns which hypotheses were right; `shift` sets how fast the past
    /// fades (by half every `2^shift * 0.7` times).
    pub fn learn(&mut self, guesses: &Guesses, actual: i64, shift: u32) {
        for (kind, guess) in guesses.iter().enumerate() {
            let Some(guess) = guess else { continue };
            let rates =
                if guess.confidence < PROVEN { &mut self.untried } else { &mut self.proven };
            let rate = &mut rates[kind];
            if guess.value == actual {
                *rate += (u16::MAX - *rate) >> shift;
            } else {
                *rate -= *rate >> shift;
            }
        }
    }

    fn weight(&self, kind: usize, guess: Guess) -> f32 {
        let rates = if guess.confidence < PROVEN { &self.untried } else { &self.proven };
        f32::from(rates[kind]) / 65536.0
    }
}
