// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where in the file: offset transformations side by side.
//!
//! A value is remembered as a distance from one of several bases (the end of
//! the last access in the file, the symbol's own last place, the beginning or
//! the end of the file, the last access in any file, the end of the last access
//! of the same size), each under one or more contexts. A symbol that has always
//! been contiguous needs none of this and costs nothing.

use ioracle_events::Spread;
use serde::{Deserialize, Serialize};

use crate::choice::Rates;
use crate::config::Improvements;
use crate::hash::combine;
use crate::latest::last;
use crate::motion::{Motions, role};
use crate::tracker::{Evidence, Looked, Tracker, YOUNG};

/// What is known about the offsets of one symbol that is not always contiguous.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OffsetKnowledge {
    n: u64,
    min: f64,
    max: f64,
    squares: f64,
}

/// What all symbols share.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Offsets {
    tracker: Tracker,
    /// Which hypotheses were right, by symbol and size: structures of different
    /// kinds move differently though one call writes them all. A role takes the
    /// place of another that hashes alike.
    rates: Vec<RoleRates>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct RoleRates {
    role: u64,
    rates: Rates,
}

const N_RATES: usize = 512;

/// Number of the hypothesis that an access starts where a seek has put the position.
const SOUGHT: usize = 17;

/// Whose offset is asked for.
#[derive(Clone, Copy, Debug)]
pub struct OffsetContext {
    /// The symbol.
    pub symbol: u32,
    /// Its file, known or expected.
    pub file: u32,
    /// Its size, known or expected.
    pub size: u64,
    /// Which of the hypotheses run.
    pub improvements: Improvements,
}

impl OffsetContext {
    /// Where a contiguous access would start: at the end of the last one in the
    /// file, or with one position for all files, of the last one in any.
    fn contiguous(&self, motions: &impl Motions) -> u64 {
        if self.improvements.interleaved_files {
            motions.file(self.file).end
        } else {
            let now = motions.now();
            motions.file(now.file).end
        }
    }
}

impl Offsets {
    /// Remembers at most so many contexts.
    pub fn new(max_contexts: usize) -> Offsets {
        let no_role = RoleRates { role: 0, rates: Rates::default() };
        Offsets { tracker: Tracker::new(max_contexts), rates: vec![no_role; N_RATES] }
    }

    /// Learns the offset of an access about to be taken into `motions`; `looked`
    /// holds what was to be expected if `is_fresh`, and will in any case.
    pub fn learn(
        &mut self,
        knowledge: &mut Option<Box<OffsetKnowledge>>,
        motions: &impl Motions,
        step: OffsetContext,
        offset: u64,
        looked: &mut Looked,
        is_fresh: bool,
    ) {
        let was_known = knowledge.is_some();
        if !was_known && offset != step.contiguous(motions) {
            *knowledge = Some(Box::default());
        }
        if let Some(knowledge) = knowledge {
            let is_fresh = is_fresh && was_known;
            if !is_fresh {
                self.look(motions, step, looked);
            }
            let role = role(motions.symbol(step.symbol).tag, step.size);
            let Some(known) = self.rates.get_mut(role as usize % N_RATES) else { return };
            if known.role != role {
                *known = RoleRates { role, rates: self.tracker.overall() };
            }
            let expected = if is_fresh {
                looked.expected()
            } else {
                looked.choose_before(SOUGHT, &known.rates)
            };
            self.tracker.learn(looked, &mut known.rates, offset as i64, knowledge.n < YOUNG);
            knowledge.count(expected.map_or(0.0, |expected| offset as f64 - expected as f64));
        }
    }

    /// The offset expected. What it was concluded from is left in `looked`,
    /// unless the symbol has always been contiguous.
    pub fn expect(
        &self,
        knowledge: Option<&OffsetKnowledge>,
        motions: &impl Motions,
        step: OffsetContext,
        looked: &mut Looked,
    ) -> u64 {
        let contiguous = step.contiguous(motions);
        if knowledge.is_none() {
            return contiguous;
        }
        self.look(motions, step, looked);
        let role = role(motions.symbol(step.symbol).tag, step.size);
        let found = self.rates.get(role as usize % N_RATES).filter(|found| found.role == role);
        let expected = match found {
            Some(found) => looked.choose_before(SOUGHT, &found.rates),
            None => looked.choose_before(SOUGHT, &self.tracker.overall()),
        };
        expected.map_or(contiguous, |offset| offset as u64)
    }

    fn look(&self, motions: &impl Motions, step: OffsetContext, looked: &mut Looked) {
        put_evidence(motions, step, looked.begin());
        self.tracker.look(looked, |offset| offset >= 0);
    }

    /// Joins what another model remembers.
    pub fn merge(&mut self, other: &Offsets) {
        self.tracker.merge(&other.tracker, Some);
        for (own, theirs) in self.rates.iter_mut().zip(&other.rates) {
            if own.role == 0 {
                *own = *theirs;
            }
        }
    }

    /// Bytes in memory.
    pub fn memory_bytes(&self) -> usize {
        self.tracker.memory_bytes() + self.rates.capacity() * size_of::<RoleRates>()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self) -> bool {
        self.tracker.is_valid() && self.rates.len() == N_RATES
    }
}

impl OffsetKnowledge {
    /// Spread of the distance between expected and seen offsets.
    pub fn spread(&self) -> Spread {
        let deviation = (self.squares / self.n.max(1) as f64).sqrt();
        Spread { min: self.min, max: self.max, deviation }
    }

    fn count(&mut self, distance: f64) {
        self.n += 1;
        self.min = self.min.min(distance);
        self.max = self.max.max(distance);
        self.squares += distance * distance;
    }
}

fn put_evidence(motions: &impl Motions, step: OffsetContext, evidence: &mut Evidence) {
    let now = motions.now();
    let own = motions.symbol(step.symbol);
    let file = motions.file(step.file);
    let end = step.contiguous(motions);
    let seed = combine(2, u64::from(own.tag));
    let with = |x: u64| combine(seed, x);
    // From the end of the last access in the file.
    evidence.computed(Some(end as i64));
    evidence.remembered(combine(with(now.last_tag()), now.size), end);
    evidence.remembered(with(last(&own.distances, 2)), end);
    evidence.remembered(with(last(&own.distances, 4)), end);
    evidence.remembered(with(last(&own.distances, 8)), end);
    evidence.remembered(with(own.distance_run.context()), end);
    evidence.remembered(with(file.distance_run.context()), end);
    if !step.improvements.absolute_or_relative {
        return;
    }
    evidence.remembered(with(now.history_long), end);
    // From the symbol's own last access.
    evidence.remembered(seed, own.offset);
    evidence.remembered(with(last(&own.strides, 3)), own.offset);
    // Absolute: where it was last time, where it went from here last time.
    evidence.computed(Some(own.offset as i64));
    evidence.remembered(with(end), 0);
    evidence.remembered(with(own.offset), 0);
    // From the end of the file; from the last access in any file.
    evidence.remembered(seed, file.size);
    evidence.remembered(seed, now.offset);
    let role_end = motions.role_end(step.symbol, step.size);
    evidence.computed(role_end.map(|end| end as i64));
    evidence.computed(file.gap_for(step.size).map(|gap| gap.start as i64));
    evidence.computed(file.sought.map(|position| position as i64));
}
