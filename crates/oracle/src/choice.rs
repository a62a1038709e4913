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
pub const MAX_HYPOTHESES: usize = 16;

/// What each hypothesis of a quantity suggests at this moment.
pub type Guesses = [Option<Guess>; MAX_HYPOTHESES];

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
/// was told, up to 7, because the first times should count most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Rate(u16);

/// What part of the way a rate moves towards the outcome, by times told.
const DIVISORS: [u16; 8] = [2, 3, 4, 6, 8, 12, 20, 32];

impl Rate {
    const UNKNOWN: Rate = Rate(0x5000);

    fn share(self) -> u16 {
        self.0 & !7
    }

    fn learn(&mut self, right: bool, max_told: u16) {
        let told = self.0 & 7;
        let divisor = DIVISORS[usize::from(told)];
        let share = self.share();
        let share = if right { share + (!7 - share) / divisor } else { share - share / divisor };
        self.0 = (share & !7) | (told + 1).min(max_told);
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

    /// Learns which hypotheses were right.
    pub fn learn(&mut self, guesses: &Guesses, actual: i64, pace: Pace) {
        let max_told = match pace {
            Pace::Symbol => 7,
            Pace::Overall => 7,
        };
        for (kind, guess) in guesses.iter().enumerate() {
            let Some(guess) = guess else { continue };
            let rates =
                if guess.confidence < PROVEN { &mut self.untried } else { &mut self.proven };
            rates[kind].learn(guess.value == actual, max_told);
        }
    }

    /// The same rates, to be told anew: a symbol starts from what holds overall
    /// but soon follows its own.
    pub fn as_prior(mut self) -> Rates {
        for rate in self.untried.iter_mut().chain(&mut self.proven) {
            rate.0 = (rate.0 & !7) | (rate.0 & 7).min(1);
        }
        self
    }

    fn weight(&self, kind: usize, guess: Guess) -> f32 {
        let rates = if guess.confidence < PROVEN { &self.untried } else { &self.proven };
        f32::from(rates[kind].share()) / 65536.0
    }
}

/// How fast the past fades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// For the rates of one symbol.
    Symbol,
    /// For those of all.
    Overall,
}
