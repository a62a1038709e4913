// SPDX-License-Identifier: MIT OR Apache-2.0

//! From how often hypotheses were right to how probable a place is.
//!
//! The trackers say which file and offset they believe, and how often what they
//! go by was right lately. That is no probability: a symbol that was seen twice
//! has hypotheses that were never wrong, and one whose hypotheses change has
//! rates that say little. So the outcome of every stated place is counted, by
//! the rate that was claimed and by what came of the last places of the same
//! symbol, and the count is the probability given to the next one.
//!
//! A cell that has seen little is estimated from coarser ones: from all symbols
//! with such a record, these from all with that claim, and these from the whole
//! stream. A young symbol so begins with what holds for young symbols of this
//! stream, not with a number that was right for another program; a young stream
//! begins half-way between the claim and not knowing. Estimates from few outcomes
//! are too sure of themselves; by how much, is counted too, and taken off.
//!
//! What is stated in the end, that the operation comes and there, is the product of
//! two such estimates. Those that are too sure of the operation and those that are
//! too sure of the place meet in it, so the most probable statement is compared
//! with what came once more, and corrected by how far such statements were off.

use serde::{Deserialize, Serialize};

use crate::motion::reserve_some;

/// Steps in which a claim is distinguished.
const N_CLAIMS: usize = 6;
/// Steps of how old a symbol is, and of how often it was right.
const N_AGES: usize = 6;
const N_SHARES: usize = 8;
const N_RECORDS: usize = N_AGES * N_SHARES;
const N_CELLS: usize = N_RECORDS * N_CLAIMS;
/// Steps of an estimate that are corrected apart.
const N_STEPS: usize = 12;

/// How many outcomes the coarser estimate is worth in a fresh cell.
const PRIOR: f32 = 8.0;
/// How many outcomes say that nothing is to be corrected: of places, and of
/// operation and place together, which were corrected before.
const UNCORRECTED: f32 = 16.0;
const STATED_UNCORRECTED: f32 = 32.0;
/// Outcomes after which a cell forgets half of them, to follow changes.
const MAX_OUTCOMES: u16 = 1024;
/// What outcomes of earlier runs are worth at most.
const FADED: u16 = 4;

/// What came of the places that were stated.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PlaceCalibration {
    /// By age and record of the symbol, and claim.
    cells: Vec<Outcomes>,
    /// By age and record of the symbol.
    by_record: Vec<Outcomes>,
    /// By claim.
    by_claim: [Outcomes; N_CLAIMS],
    all: Outcomes,
    /// By what was estimated from all of these.
    corrections: [Correction; N_STEPS],
    /// By what was stated of operation and place together.
    stated: [Correction; N_STEPS],
    /// By symbol.
    records: Vec<Record>,
    /// Of symbols never seen.
    unseen: Record,
}

/// Which cell a stated place counts for, and what that cell estimated.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlaceCell {
    age: u8,
    share: u8,
    claim: u8,
    estimate: f32,
}

impl PlaceCell {
    fn record(self) -> usize {
        usize::from(self.age) * N_SHARES + usize::from(self.share)
    }

    fn place(self) -> usize {
        self.record() * N_CLAIMS + usize::from(self.claim)
    }
}

/// Right ones among outcomes, the older ones fading.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Outcomes {
    right: u16,
    all: u16,
}

impl Outcomes {
    fn learn(&mut self, is_right: bool) {
        if self.all >= MAX_OUTCOMES {
            *self = self.scaled_to(MAX_OUTCOMES / 2);
        }
        self.all += 1;
        self.right += u16::from(is_right);
    }

    fn estimate(&self, coarser: f32) -> f32 {
        (f32::from(self.right) + PRIOR * coarser) / (f32::from(self.all) + PRIOR)
    }

    /// The same share of fewer outcomes.
    fn scaled_to(self, all: u16) -> Outcomes {
        let right = (u32::from(self.right) * u32::from(all) + u32::from(self.all) / 2)
            / u32::from(self.all).max(1);
        Outcomes { right: right as u16, all }
    }

    fn fade(&mut self) {
        if self.all > FADED {
            *self = self.scaled_to(FADED);
        }
    }

    fn is_valid(&self) -> bool {
        self.right <= self.all && self.all <= MAX_OUTCOMES
    }
}

/// How far estimates are off.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Correction {
    /// Sum of the estimates less the number of those that were right.
    excess: f32,
    outcomes: u16,
}

impl Correction {
    fn learn(&mut self, estimate: f32, is_right: bool) {
        if self.outcomes >= MAX_OUTCOMES {
            self.outcomes /= 2;
            self.excess /= 2.0;
        }
        self.outcomes += 1;
        self.excess += estimate - f32::from(u8::from(is_right));
    }

    /// At most half of the way to certainty, on either side.
    fn corrected(&self, estimate: f32, uncorrected: f32) -> f32 {
        let corrected = estimate - self.excess / (f32::from(self.outcomes) + uncorrected);
        corrected.clamp(estimate / 2.0, (1.0 + estimate) / 2.0)
    }

    fn is_valid(&self) -> bool {
        self.outcomes <= MAX_OUTCOMES && self.excess.abs() <= f32::from(self.outcomes)
    }
}

/// What came of the places of one symbol.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Record {
    /// How often it was right lately, in 1/65535.
    share: u16,
    outcomes: u8,
}

/// Of so many outcomes the last one counts as one.
const LATELY: u8 = 16;

impl Record {
    fn learn(&mut self, is_right: bool) {
        self.outcomes = self.outcomes.saturating_add(1);
        let weight = u16::from(self.outcomes.min(LATELY));
        let part = if is_right { u16::MAX - self.share } else { self.share }.div_ceil(weight);
        self.share = if is_right { self.share + part } else { self.share - part };
    }

    /// 0, 1, 2, 3-5, 6-15, more as 0, 1, 2, 3, 4, 5.
    fn age(&self) -> u8 {
        match self.outcomes {
            few @ 0..=2 => few,
            3..=5 => 3,
            6..=15 => 4,
            _ => 5,
        }
    }

    fn share(&self) -> u8 {
        const LIMITS: [u16; N_SHARES - 1] = [1_300, 13_000, 26_000, 39_000, 52_000, 62_000, 65_470];
        n_below(&LIMITS, self.share) as u8
    }
}

impl PlaceCalibration {
    pub fn new() -> PlaceCalibration {
        PlaceCalibration {
            cells: vec![Outcomes::default(); N_CELLS],
            by_record: vec![Outcomes::default(); N_RECORDS],
            by_claim: [Outcomes::default(); N_CLAIMS],
            all: Outcomes::default(),
            corrections: [Correction::default(); N_STEPS],
            stated: [Correction::default(); N_STEPS],
            records: Vec::new(),
            unseen: Record::default(),
        }
    }

    /// The cell of a place that is stated of a symbol with this claim; `None` is
    /// a symbol never seen.
    pub fn cell(&self, symbol: Option<u32>, claim: f64) -> PlaceCell {
        const LIMITS: [f64; N_CLAIMS - 1] = [0.2, 0.5, 0.7, 0.87, 0.965];
        let record = match symbol {
            Some(symbol) => self.records.get(symbol as usize).copied().unwrap_or_default(),
            None => self.unseen,
        };
        let step = n_below(&LIMITS, claim) as u8;
        let (age, share) = (record.age(), record.share());
        let cell = PlaceCell { age, share, claim: step, estimate: 0.0 };
        PlaceCell { estimate: self.estimate(cell, claim as f32), ..cell }
    }

    /// How probable it is that a place of this cell is right.
    pub fn probability(&self, cell: PlaceCell) -> f64 {
        let estimate = cell.estimate;
        let corrected = self.corrections[step_of(estimate)].corrected(estimate, UNCORRECTED);
        f64::from(corrected).clamp(0.0, 1.0)
    }

    fn estimate(&self, cell: PlaceCell, claim: f32) -> f32 {
        let all = self.all.estimate(0.25 + claim / 2.0);
        let by_claim = self.by_claim[usize::from(cell.claim)].estimate(all);
        let by_record = self.by_record[cell.record()].estimate(by_claim);
        self.cells[cell.place()].estimate(by_record)
    }

    /// Takes in what came of a place.
    pub fn learn(&mut self, symbol: Option<u32>, cell: PlaceCell, is_right: bool) {
        let estimate = cell.estimate;
        self.corrections[step_of(estimate)].learn(estimate, is_right);
        self.all.learn(is_right);
        self.by_claim[usize::from(cell.claim)].learn(is_right);
        self.by_record[cell.record()].learn(is_right);
        self.cells[cell.place()].learn(is_right);
        let record = match symbol {
            Some(symbol) => {
                let at = symbol as usize;
                if self.records.len() <= at {
                    reserve_some(&mut self.records);
                    self.records.resize(at + 1, Record::default());
                }
                &mut self.records[at]
            }
            None => &mut self.unseen,
        };
        record.learn(is_right);
    }

    /// How probable it is that operation and place are as stated with this
    /// probability.
    pub fn corrected(&self, stated: f32) -> f64 {
        let correction = &self.stated[step_of(stated)];
        f64::from(correction.corrected(stated, STATED_UNCORRECTED)).clamp(0.0, 1.0)
    }

    /// Takes in whether they were.
    pub fn learn_stated(&mut self, stated: f32, is_right: bool) {
        self.stated[step_of(stated)].learn(stated, is_right);
    }

    /// A new run begins: what was seen so far counts little from now on.
    pub fn begin_run(&mut self) {
        let cells = self.cells.iter_mut().chain(&mut self.by_record).chain(&mut self.by_claim);
        cells.chain([&mut self.all]).for_each(Outcomes::fade);
        self.corrections = [Correction::default(); N_STEPS];
        self.stated = [Correction::default(); N_STEPS];
    }

    pub fn memory_bytes(&self) -> usize {
        (self.cells.capacity() + self.by_record.capacity()) * size_of::<Outcomes>()
            + self.records.capacity() * size_of::<Record>()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self, n_symbols: usize) -> bool {
        let mut cells = self.cells.iter().chain(&self.by_record).chain(&self.by_claim);
        self.cells.len() == N_CELLS
            && self.by_record.len() == N_RECORDS
            && self.records.len() <= n_symbols
            && cells.all(Outcomes::is_valid)
            && self.all.is_valid()
            && self.corrections.iter().chain(&self.stated).all(Correction::is_valid)
    }
}

/// Which estimates are corrected together: narrower steps where it matters more.
fn step_of(estimate: f32) -> usize {
    const LIMITS: [f32; N_STEPS - 1] =
        [0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.92, 0.97];
    n_below(&LIMITS, estimate)
}

/// How many of the limits, which increase, lie below a value. Most values are near
/// certainty, so it starts with the last one.
fn n_below<T: PartialOrd>(limits: &[T], value: T) -> usize {
    limits.len() - limits.iter().rev().take_while(|limit| value <= **limit).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// States a place so many times for each of some symbols, and what comes of it.
    fn after(symbols: std::ops::Range<u32>, times: u32, is_right: bool) -> PlaceCalibration {
        let mut calibration = PlaceCalibration::new();
        for symbol in symbols {
            for _ in 0..times {
                let cell = calibration.cell(Some(symbol), 0.9);
                calibration.learn(Some(symbol), cell, is_right);
            }
        }
        calibration
    }

    #[test]
    fn what_is_never_right_is_improbable_whatever_is_claimed() {
        let calibration = after(0..1, 50, false);
        assert!(calibration.probability(calibration.cell(Some(0), 0.9)) < 0.05);
    }

    #[test]
    fn a_new_symbol_begins_with_what_held_for_new_symbols() {
        let (right, wrong) = (after(0..20, 3, true), after(0..20, 3, false));
        assert!(right.probability(right.cell(Some(99), 0.9)) > 0.9);
        assert!(wrong.probability(wrong.cell(Some(99), 0.9)) < 0.1);
    }

    #[test]
    fn statements_that_are_too_sure_are_corrected() {
        let mut calibration = PlaceCalibration::new();
        for n in 0..400 {
            calibration.learn_stated(0.8, n % 2 == 0);
        }
        let corrected = calibration.corrected(0.8);
        assert!((corrected - 0.5).abs() < 0.05, "{corrected}");
        assert_eq!(calibration.corrected(0.2), f64::from(0.2f32), "nothing is known of these");
    }

    #[test]
    fn a_symbol_that_is_never_right_does_not_spoil_those_that_are() {
        let mut calibration = PlaceCalibration::new();
        for n in 0..400 {
            let cell = calibration.cell(Some(n % 2), 0.9);
            calibration.learn(Some(n % 2), cell, n % 2 == 0);
        }
        assert!(calibration.probability(calibration.cell(Some(0), 0.9)) > 0.95);
        assert!(calibration.probability(calibration.cell(Some(1), 0.9)) < 0.05);
    }
}
