// SPDX-License-Identifier: MIT OR Apache-2.0

//! From shares of weight to probabilities that can be bet on.
//!
//! Weights say how often the history went which way; how far that can be
//! trusted depends on the situation: in the middle of a loop that has been
//! right a thousand times, or just after a surprise. Each situation, together
//! with the share of the best candidate, is a cell that counts how often that
//! candidate came, and the count is the probability given to the next one.

use serde::{Deserialize, Serialize};

use crate::predictor::{PredictorOrigin, Support};
use crate::successors::Successor;

const N_SITUATIONS: usize = 64;
const N_SHARES: usize = 12;

/// How many observations the share itself is worth in a fresh cell.
const PRIOR: f32 = 8.0;

/// Observations after which a cell forgets half of them, to follow changes.
const MAX_OBSERVED: f32 = 4096.0;

/// The same for surprises, of which something new may be the cause.
const MAX_NOVELTIES: f32 = 64.0;

/// How much past observations count at most when something starts over.
const FADED: f32 = 2.0;

/// What is known about how far the weights can be trusted.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Calibration {
    cells: Vec<Cell>,
    origins: [Rate; PredictorOrigin::COUNT],
    /// For places discovered, by how long their past agreed.
    discovered: [Rate; 8],
    /// How often predictors and successors win against each other.
    contests: Vec<Contest>,
    /// Of the times that no candidate came: how often it was a symbol never seen
    /// before; apart for moments after such a symbol.
    novelty: [Rate; 2],
}

/// Which side was right, by how sure predictors and successors were.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Contest {
    predictors: Rate,
    successors: Rate,
}

/// The circumstances of a contest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ContestId(u8);

impl ContestId {
    /// Predictors give their best candidate a probability; successors agree with it or
    /// not, by the length of the matching past and its share.
    pub fn new(probability: f64, successor: &Successor, agree: bool) -> ContestId {
        let sure = (probability * SURENESS as f64).min(SURENESS as f64 - 1.0) as usize;
        let share = usize::from(successor.share >= 0.6) + usize::from(successor.share >= 0.95);
        let length = usize::from(successor.length.min(2));
        ContestId((((sure * 3 + length) * 3 + share) * 2 + usize::from(agree)) as u8)
    }
}

/// Steps in which the probability of the predictors is distinguished.
const SURENESS: usize = 8;
const N_CONTESTS: usize = SURENESS * 3 * 3 * 2;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Cell {
    best: Rate,
    /// Of the times the best one failed: how often another candidate came.
    others: Rate,
}

/// Successes among trials, the older ones fading.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Rate {
    hits: f32,
    trials: f32,
}

impl Rate {
    fn learn(&mut self, hit: bool) {
        if self.trials >= MAX_OBSERVED {
            self.trials /= 2.0;
            self.hits /= 2.0;
        }
        self.trials += 1.0;
        self.hits += f32::from(u8::from(hit));
    }

    fn fade(&mut self) {
        let kept = (FADED / self.trials.max(FADED)).min(1.0);
        self.hits *= kept;
        self.trials *= kept;
    }

    fn estimate(&self, expected: f32) -> f32 {
        (self.hits + PRIOR * expected) / (self.trials + PRIOR)
    }
}

/// The circumstances of one prediction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Situation(u8);

impl Situation {
    /// Everything has gone as expected, for this many symbols.
    ///
    /// In a run that no place predicts, its length matters: programs have loops of like
    /// length, so new ones tend to end where others did.
    pub fn followed(streak: u64, support: Support) -> Situation {
        Situation(match support {
            Support::Made(times) => 8 + 4 * logarithm(times) + logarithm(streak) / 2,
            Support::OpenRun(length) => 40 + length.min(23) as u8,
        })
    }

    /// Something unexpected came; this much of the past agrees with the best places.
    pub fn surprised(matched: usize) -> Situation {
        Situation(logarithm(matched as u64))
    }
}

/// 0, 1, 2, 3-4, 5-8, … as 0, 1, 2, 3, 4, … up to 7.
fn logarithm(number: u64) -> u8 {
    let bits = 64 - number.saturating_sub(1).leading_zeros();
    (if number == 0 { 0 } else { bits + 1 }).min(7) as u8
}

impl Calibration {
    pub fn new() -> Calibration {
        Calibration {
            cells: vec![Cell::default(); N_SITUATIONS * N_SHARES],
            origins: Default::default(),
            discovered: Default::default(),
            contests: vec![Contest::default(); N_CONTESTS],
            novelty: Default::default(),
        }
    }

    /// How probable it is that something new comes where no candidate does.
    pub fn novelty(&self, after_new: bool) -> f64 {
        let rate = &self.novelty[usize::from(after_new)];
        f64::from((rate.hits + 2.0) / (rate.trials + 2.0))
    }

    /// Learns whether what came instead of the candidates was new.
    pub fn learn_novelty(&mut self, after_new: bool, is_new: bool) {
        let rate = &mut self.novelty[usize::from(after_new)];
        // Most of what is new to a program comes early.
        if rate.trials >= MAX_NOVELTIES {
            *rate = Rate { hits: rate.hits / 2.0, trials: rate.trials / 2.0 };
        }
        rate.learn(is_new);
    }

    /// What was seen so far counts little from now on.
    pub fn fade(&mut self) {
        let cells = self.cells.iter_mut().flat_map(|cell| [&mut cell.best, &mut cell.others]);
        let contests = self.contests.iter_mut();
        let contests =
            contests.flat_map(|contest| [&mut contest.predictors, &mut contest.successors]);
        cells.chain(contests).chain(&mut self.novelty).for_each(Rate::fade);
    }

    /// The probability of the best candidate, and of all others together.
    pub fn probabilities(&self, situation: Situation, share: f64) -> (f64, f64) {
        let cell = &self.cells[cell_of(situation, share)];
        let best = f64::from(cell.best.estimate(share as f32)).clamp(0.0, 1.0);
        let others = f64::from(cell.others.estimate(0.5)).clamp(0.0, 1.0);
        (best, if share < 1.0 { (1.0 - best) * others } else { 0.0 })
    }

    /// Learns the outcome of a prediction.
    pub fn learn(&mut self, situation: Situation, share: f64, outcome: ContestOutcome) {
        let cell = &mut self.cells[cell_of(situation, share)];
        cell.best.learn(outcome == ContestOutcome::Best);
        if outcome != ContestOutcome::Best {
            cell.others.learn(outcome == ContestOutcome::Other);
        }
    }

    /// How far to trust predictors of one origin compared with others.
    pub fn trust(&self, origin: PredictorOrigin, matched: usize) -> f64 {
        let rate = match origin {
            PredictorOrigin::Discovered => &self.discovered[usize::from(logarithm(matched as u64))],
            _ => &self.origins[origin as usize],
        };
        f64::from(rate.estimate(0.5)).max(1e-3)
    }

    /// Learns whether the heaviest predictor of an origin was right.
    pub fn learn_trust(&mut self, origin: PredictorOrigin, matched: usize, right: bool) {
        match origin {
            PredictorOrigin::Discovered => {
                self.discovered[usize::from(logarithm(matched as u64))].learn(right)
            }
            _ => self.origins[origin as usize].learn(right),
        }
    }

    /// How probable the candidate of the predictors is, and that of the successors,
    /// given how they have compared so far.
    pub fn contest(&self, id: ContestId, probability: f64) -> (f64, f64) {
        let contest = &self.contests[usize::from(id.0) % N_CONTESTS];
        let predictors = contest.predictors.estimate(probability as f32);
        let successors = contest.successors.estimate((1.0 - probability as f32) / 2.0);
        (f64::from(predictors).clamp(0.0, 1.0), f64::from(successors).clamp(0.0, 1.0))
    }

    /// Learns which was right.
    pub fn learn_contest(&mut self, id: ContestId, predictors: bool, successors: bool) {
        let contest = &mut self.contests[usize::from(id.0) % N_CONTESTS];
        contest.predictors.learn(predictors);
        contest.successors.learn(successors);
    }

    pub fn memory_bytes(&self) -> usize {
        self.cells.capacity() * size_of::<Cell>() + self.contests.capacity() * size_of::<Contest>()
    }

    pub fn is_sound(&self) -> bool {
        self.cells.len() == N_SITUATIONS * N_SHARES && self.contests.len() == N_CONTESTS
    }
}

/// The outcome of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ContestOutcome {
    Best,
    Other,
    Unforeseen,
}

fn cell_of(situation: Situation, share: f64) -> usize {
    const LIMITS: [f64; N_SHARES - 1] =
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 0.97, 0.995, 0.99999];
    let column = if share >= 1.0 {
        LIMITS.len()
    } else {
        LIMITS.iter().take_while(|&&limit| share > limit).count()
    };
    usize::from(situation.0) % N_SITUATIONS * N_SHARES + column
}
