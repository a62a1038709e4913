// SPDX-License-Identifier: MIT OR Apache-2.0

//! How good the predictions were, by the definitions of `ioracle eval`: each is
//! compared with the operation that followed it, and every operation counts.

use ioracle_events::{ContextSymbol, Operation, PredictedFile, Prediction};

/// Running sums over the operations and data accesses of all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Score {
    /// Operations scored.
    pub operations: u64,
    /// Data accesses among them.
    pub data_accesses: u64,
    /// Operations that followed another of their stream, so had a wait.
    pub waits: u64,
    /// Sum of the weights given to the symbol that came.
    pub context: f64,
    /// Sum of hit ratios (equation 3 of the report), each between 0 and 1.
    pub hit: f64,
    /// Sum of the weights given to the right file and offset.
    pub offset: f64,
    /// Data accesses whose size the first prediction had exactly.
    pub size_exact: u64,
    /// Operations whose file the first prediction had.
    pub file: u64,
    /// Sum of absolute errors of the interarrival time.
    pub time_error_ns: f64,
}

/// What came, as far as it is scored.
#[derive(Clone, Copy, Debug)]
pub struct Came<'a> {
    /// The operation.
    pub operation: &'a Operation,
    /// Its symbol, if it was seen before.
    pub symbol: Option<ContextSymbol>,
    /// The path of its file, if the source told it.
    pub path: Option<&'a str>,
    /// The wait before it, unless it is the first of its stream.
    pub interarrival_ns: Option<u64>,
}

impl Score {
    /// Compares predictions, the most probable first, with what came.
    pub fn add(&mut self, predictions: &[Prediction], came: &Came<'_>) {
        let weight = |right: &dyn Fn(&Prediction) -> f64| -> f64 {
            predictions.iter().map(|prediction| prediction.probability * right(prediction)).sum()
        };
        let top = predictions.first();
        self.operations += 1;
        self.context += weight(&|stated| as_number(Some(stated.symbol) == came.symbol));
        self.file += u64::from(top.is_some_and(|top| came.is_file(&top.file)));
        if let (Some(top), Some(came_ns)) = (top, came.interarrival_ns) {
            self.waits += 1;
            self.time_error_ns += top.interarrival_ns.abs_diff(came_ns) as f64;
        }
        if came.operation.access().is_data() {
            self.data_accesses += 1;
            self.hit += weight(&|stated| came.hit(stated));
            self.offset += weight(&|stated| as_number(came.is_place(stated)));
            let size_is_exact = |top: &Prediction| {
                top.function.access().is_data() && top.size == came.operation.size
            };
            self.size_exact += u64::from(top.is_some_and(size_is_exact));
        }
    }

    /// Mean weight given to the symbol that came, in percent.
    pub fn context_accuracy(&self) -> f64 {
        percent(self.context, self.operations)
    }

    /// Mean hit ratio of data accesses, in percent.
    pub fn hit_ratio(&self) -> f64 {
        percent(self.hit, self.data_accesses)
    }

    /// Data accesses whose file and offset were predicted, in percent.
    pub fn offset_accuracy(&self) -> f64 {
        percent(self.offset, self.data_accesses)
    }

    /// Data accesses whose size was predicted exactly, in percent.
    pub fn size_exact_share(&self) -> f64 {
        percent(self.size_exact as f64, self.data_accesses)
    }

    /// Operations whose file was predicted, in percent.
    pub fn file_accuracy(&self) -> f64 {
        percent(self.file as f64, self.operations)
    }

    /// Mean absolute error of the interarrival time, in seconds.
    pub fn time_error_s(&self) -> f64 {
        self.time_error_ns / self.waits.max(1) as f64 * 1e-9
    }
}

impl Came<'_> {
    fn is_file(&self, file: &PredictedFile) -> bool {
        match file {
            PredictedFile::Known(id) => *id == self.operation.file,
            PredictedFile::New(name) => Some(name.as_str()) == self.path,
        }
    }

    fn is_place(&self, stated: &Prediction) -> bool {
        self.is_data_in_file(stated) && stated.offset == self.operation.offset
    }

    fn is_data_in_file(&self, stated: &Prediction) -> bool {
        stated.function.access().is_data() && self.is_file(&stated.file)
    }

    /// Equation 3 of the report, between 0 and 1.
    fn hit(&self, stated: &Prediction) -> f64 {
        if !self.is_data_in_file(stated) {
            return 0.0;
        }
        let came = self.operation;
        if stated.size == 0 || came.size == 0 {
            return as_number(stated.size == came.size);
        }
        let (Some(x), Some(y)) = (stated.offset, came.offset) else { return 0.0 };
        let (x_end, y_end) = (x.saturating_add(stated.size), y.saturating_add(came.size));
        let overlap = x_end.min(y_end).saturating_sub(x.max(y));
        overlap as f64 / (x_end.max(y_end) - x.min(y)).max(1) as f64
    }
}

fn as_number(right: bool) -> f64 {
    if right { 1.0 } else { 0.0 }
}

fn percent(sum: f64, n: u64) -> f64 {
    100.0 * sum / n.max(1) as f64
}
