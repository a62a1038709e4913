// SPDX-License-Identifier: MIT OR Apache-2.0

//! How many bytes: one constant for most symbols, else hypotheses side by side.

use ioracle_events::Spread;
use serde::{Deserialize, Serialize};

use crate::choice::Rates;
use crate::hash::combine;
use crate::latest::last;
use crate::motion::Motions;
use crate::tracker::{Evidence, Looked, Tracker, YOUNG};

/// What is known about the sizes of one symbol.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeKnowledge {
    n: u64,
    /// The size as long as there is one only.
    constant: u64,
    min: u64,
    max: u64,
    mean: f64,
    /// Sum of squared distances from the mean (Welford).
    squares: f64,
    /// Only once the sizes differ.
    varying: Option<Box<VaryingSize>>,
}

/// What is known of sizes that differ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VaryingSize {
    /// Which hypotheses were right.
    rates: Rates,
    /// About as many sizes are smaller as are larger.
    middle: f32,
    /// Where no hypothesis was right often: the part of the larger of two sizes
    /// that is in both, the one that was chosen and the one that came. It follows
    /// the latest.
    chosen_overlap: f32,
    /// The same for the middle.
    middle_overlap: f32,
}

/// A hypothesis that was right less often lately is no better than a guess.
const SURE: f32 = 0.5;
/// By how much the middle must overlap more.
const MARGIN: f32 = 0.02;
/// How much the latest overlap counts.
const PACE: f32 = 1.0 / 16.0;
/// What part of itself the middle moves towards a size.
const MIDDLE_PACE: f32 = 1.0 / 8.0;

impl VaryingSize {
    fn new(rates: Rates, size: u64) -> VaryingSize {
        VaryingSize { rates, middle: size as f32, chosen_overlap: 0.5, middle_overlap: 0.5 }
    }

    /// The size to state. Where sizes depend on data, as those of compressed
    /// blocks, what came last or goes on in steps is wrong each time, and the
    /// middle of them is nearer.
    fn stated(&self, chosen: Option<i64>, certainty: f32) -> Option<u64> {
        let is_guess = certainty < SURE;
        if is_guess && self.middle_overlap > self.chosen_overlap + MARGIN {
            return Some(self.middle as u64);
        }
        chosen.map(|size| size as u64)
    }

    fn learn(&mut self, chosen: Option<i64>, certainty: f32, size: u64) {
        let size = size as f32;
        if certainty < SURE {
            let chosen_overlap = chosen.map_or(0.0, |chosen| overlap(chosen as f32, size));
            self.chosen_overlap += PACE * (chosen_overlap - self.chosen_overlap);
            self.middle_overlap += PACE * (overlap(self.middle, size) - self.middle_overlap);
        }
        let step = (self.middle * MIDDLE_PACE).max(1.0);
        self.middle = size.clamp(self.middle - step, self.middle + step);
    }

    fn is_valid(&self) -> bool {
        let are_shares = |share: f32| (0.0..=1.0).contains(&share);
        self.middle >= 0.0 && are_shares(self.chosen_overlap) && are_shares(self.middle_overlap)
    }
}

/// The part of the larger of two sizes that is in both.
fn overlap(one: f32, other: f32) -> f32 {
    if one == other { 1.0 } else { one.min(other) / one.max(other) }
}

impl SizeKnowledge {
    /// Whether all sizes so far were the same.
    pub fn is_constant(&self) -> bool {
        self.min == self.max
    }

    /// Whether sizes differ other than by the end of a file.
    pub fn is_varying(&self) -> bool {
        self.varying.is_some()
    }

    /// Whether a size is the one that all had, if they had one.
    pub fn is_usual(&self, size: u64) -> bool {
        self.n == 0 || self.varying.is_some() || size == self.constant
    }

    /// Whether a size was seen.
    pub fn is_known(&self) -> bool {
        self.n > 0
    }

    /// Counts the size of a read that the end of the file cut short.
    pub fn learn_cut_short(&mut self, size: u64) {
        self.count(size);
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        self.varying.as_ref().is_none_or(|varying| varying.is_valid())
    }

    /// Range and deviation of the sizes seen.
    pub fn spread(&self) -> Spread {
        Spread {
            min: self.min as f64,
            max: self.max as f64,
            deviation: (self.squares.max(0.0) / self.n.max(1) as f64).sqrt(),
        }
    }

    /// Learns the size of an access about to be taken into `motions`; `looked`
    /// holds what was to be expected if `is_fresh`, and will in any case.
    pub fn learn(
        &mut self,
        tracker: &mut Tracker,
        motions: &impl Motions,
        step: SizeContext,
        size: u64,
        looked: &mut Looked,
        is_fresh: bool,
    ) {
        let was_varying = self.varying.is_some();
        if self.n == 0 {
            self.constant = size;
        }
        if !was_varying && size != self.constant {
            self.varying = Some(Box::new(VaryingSize::new(tracker.overall(), self.constant)));
        }
        if let Some(varying) = &mut self.varying {
            let chosen = if is_fresh && was_varying {
                looked.expected()
            } else {
                look(tracker, motions, step, looked);
                looked.choose(&varying.rates)
            };
            varying.learn(chosen, looked.certainty(), size);
            tracker.learn(looked, &mut varying.rates, size as i64, self.n < YOUNG);
        }
        self.count(size);
    }

    /// The size expected; `None` before the first. What it was concluded from
    /// is left in `looked`, unless all have been the same.
    pub fn expect(
        &self,
        tracker: &Tracker,
        motions: &impl Motions,
        step: SizeContext,
        looked: &mut Looked,
    ) -> Option<u64> {
        let Some(varying) = &self.varying else { return (self.n > 0).then_some(self.constant) };
        look(tracker, motions, step, looked);
        let chosen = looked.choose(&varying.rates);
        let certainty = if step.middle { looked.certainty() } else { 1.0 };
        Some(varying.stated(chosen, certainty).unwrap_or(self.mean as u64))
    }

    /// Adds what another model has seen of the same symbol.
    pub fn merge(&mut self, other: &SizeKnowledge, tracker: &Tracker) {
        if other.n == 0 {
            return;
        }
        if self.n == 0 {
            *self = other.clone();
            return;
        }
        let (a, b) = (self.n as f64, other.n as f64);
        let distance = other.mean - self.mean;
        self.squares += other.squares + distance * distance * a * b / (a + b);
        self.mean += distance * b / (a + b);
        self.n = self.n.saturating_add(other.n);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        let differs = other.varying.is_some() || self.constant != other.constant;
        if self.varying.is_none() && differs {
            let begin = || Box::new(VaryingSize::new(tracker.overall(), self.constant));
            self.varying = Some(other.varying.clone().unwrap_or_else(begin));
        }
    }

    fn count(&mut self, size: u64) {
        if self.n == 0 {
            (self.min, self.max) = (size, size);
        }
        self.n += 1;
        self.min = self.min.min(size);
        self.max = self.max.max(size);
        let distance = size as f64 - self.mean;
        self.mean += distance / self.n as f64;
        self.squares += distance * (size as f64 - self.mean);
    }
}

/// Whose size is asked for.
#[derive(Clone, Copy, Debug)]
pub struct SizeContext {
    /// The symbol.
    pub symbol: u32,
    /// Its file, known or expected.
    pub file: u32,
    /// Whether other quantities may be followed.
    pub following: bool,
    /// Whether the middle of the sizes may be stated.
    pub middle: bool,
}

/// What the hypotheses on a size suggest.
fn look(tracker: &Tracker, motions: &impl Motions, step: SizeContext, looked: &mut Looked) {
    put_evidence(motions, step, looked.begin());
    tracker.look(looked, |size| size >= 0);
}

fn put_evidence(motions: &impl Motions, step: SizeContext, evidence: &mut Evidence) {
    let now = motions.now();
    let own = motions.symbol(step.symbol);
    let file = motions.file(step.file);
    let seed = combine(1, u64::from(own.tag));
    let with = |x: u64| combine(seed, x);
    evidence.remembered(seed, 0);
    evidence.remembered(with(now.last_tag()), 0);
    evidence.remembered(with(now.history_long), 0);
    let one = with(last(&own.sizes, 1));
    evidence.remembered(one, 0);
    evidence.remembered(with(last(&own.sizes, 2)), 0);
    evidence.remembered(with(last(&own.sizes, 4)), 0);
    evidence.remembered(with(last(&own.sizes, 8)), 0);
    evidence.remembered(with(own.size_run.context()), 0);
    evidence.computed(Some((own.size as i64).wrapping_add(own.size_step)));
    if step.following {
        evidence.remembered(with(now.size), 0);
        evidence.remembered(combine(one, now.size), 0);
        evidence.remembered(with(u64::from(file.tag)), 0);
        evidence.computed(Some(now.size as i64));
        evidence.computed(file.size.checked_sub(file.end).map(|left| left as i64));
    }
}
