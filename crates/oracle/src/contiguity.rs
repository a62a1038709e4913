// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where it will be may be more certain than which call it will be.
//!
//! A program that reads on in one file, now by this call and now by that one,
//! is hard to predict call by call and easy to predict by place: it goes on
//! where it stopped. So the plain assumption of contiguous access runs beside
//! the trackers. After each symbol it is known how often either was right; where
//! the assumption has clearly been right more often, the predicted data accesses
//! are put where it says.

use ioracle_events::{FileId, Operation, PredictedFile, Prediction};
use serde::{Deserialize, Serialize};

/// Data accesses before the assumption may be preferred.
const ENOUGH: u16 = 16;

/// By how much it must have been right more often.
const MARGIN: f32 = 0.02;

/// How much one outcome counts.
const RATE: f32 = 1.0 / 32.0;

/// The assumption and its record.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Contiguity {
    /// By the symbol that came last.
    records: Vec<Record>,
    /// The last operation, if it moved data.
    last: Option<Last>,
    /// Where the trackers expect data accesses, whatever was then stated.
    #[serde(skip)]
    tracked: Vec<Tracked>,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Record {
    contiguous: f32,
    tracked: f32,
    outcomes: u16,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Last {
    symbol: u32,
    file: FileId,
    end: u64,
}

#[derive(Clone, Copy, Debug)]
struct Tracked {
    file: FileId,
    offset: u64,
    probability: f64,
}

impl Contiguity {
    /// Takes in where a data access was.
    pub fn learn(&mut self, operation: &Operation) {
        let (Some(last), Some(offset)) = (self.last, operation.offset) else { return };
        let right = |place: &&Tracked| place.file == operation.file && place.offset == offset;
        let tracked: f64 = self.tracked.iter().filter(right).map(|place| place.probability).sum();
        let contiguous = last.file == operation.file && last.end == offset;
        let at = last.symbol as usize;
        if self.records.len() <= at {
            self.records.resize(at + 1, Record::default());
        }
        let record = &mut self.records[at];
        record.outcomes = record.outcomes.saturating_add(1);
        // The first outcomes count alike, later ones fade.
        let rate = RATE.max(1.0 / f32::from(record.outcomes));
        record.contiguous += (f32::from(u8::from(contiguous)) - record.contiguous) * rate;
        record.tracked += (tracked as f32 - record.tracked) * rate;
    }

    /// Notes where the last operation left its file.
    pub fn advance(&mut self, symbol: u32, operation: &Operation) {
        let end = operation.end_offset().filter(|_| operation.access().is_data());
        self.last = end.map(|end| Last { symbol, file: operation.file, end });
    }

    /// Puts the predicted data accesses where the assumption says, if it has
    /// earned it. What is claimed of their places stands in their probability.
    pub fn apply(&mut self, predictions: &mut [Prediction]) {
        self.tracked.clear();
        let Some(last) = self.last else { return };
        let record = self.records.get(last.symbol as usize);
        let preferred = record.filter(|record| record.is_earned());
        for prediction in predictions {
            let Some(offset) = prediction.offset else { continue };
            if let PredictedFile::Known(file) = prediction.file {
                let probability = prediction.operation_probability;
                self.tracked.push(Tracked { file, offset, probability });
            }
            if let Some(record) = preferred {
                prediction.file = PredictedFile::Known(last.file);
                prediction.offset = Some(last.end);
                prediction.probability = f64::from(record.contiguous);
            }
        }
    }

    /// A new run begins: nothing is open.
    pub fn begin_run(&mut self) {
        self.last = None;
    }

    pub fn memory_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>()
    }

    pub fn is_valid(&self, n_symbols: usize) -> bool {
        self.records.len() <= n_symbols
            && self.last.is_none_or(|last| (last.symbol as usize) < n_symbols)
    }
}

impl Record {
    fn is_earned(&self) -> bool {
        self.outcomes >= ENOUGH && self.contiguous > self.tracked + MARGIN
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::{ContextId, Function, Layer};

    use super::*;
    use crate::{Config, Oracle};

    fn read_at(offset: u64) -> Operation {
        Operation {
            function: Function::from_name(Layer::Posix, "read").unwrap(),
            context: ContextId(1),
            file: FileId(1),
            handle: 3,
            offset: Some(offset),
            size: 10,
            requested: None,
            append: false,
            truncated_to: None,
            start_ns: 0,
            end_ns: 0,
        }
    }

    /// A prediction of another file, as by a call that was expected wrongly.
    fn elsewhere() -> Prediction {
        let mut prediction = Oracle::new(Config::default()).predict()[0].clone();
        prediction.file = PredictedFile::Known(FileId(2));
        prediction.offset = Some(500);
        prediction
    }

    #[test]
    fn contiguous_access_is_believed_once_it_was_right_where_the_trackers_were_not() {
        let mut contiguity = Contiguity::default();
        for step in 0..=u64::from(ENOUGH) {
            let mut predictions = [elsewhere()];
            contiguity.apply(&mut predictions);
            assert_eq!(predictions[0].offset, Some(500), "too early, at step {step}");
            contiguity.learn(&read_at(step * 10));
            contiguity.advance(0, &read_at(step * 10));
        }
        let mut predictions = [elsewhere()];
        contiguity.apply(&mut predictions);
        assert_eq!(predictions[0].file, PredictedFile::Known(FileId(1)));
        assert_eq!(predictions[0].offset, Some((u64::from(ENOUGH) + 1) * 10));
    }
}
