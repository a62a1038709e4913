// SPDX-License-Identifier: MIT OR Apache-2.0

//! The path that a thread was told, kept as long as the thread follows it.
//!
//! Making 64 steps takes longer than most programs need for the next operation.
//! So as long as a thread does what it was told, only the first few steps are
//! made anew, and what was known of the rest is kept behind them, with times and
//! probabilities as they are seen from the new place.

use std::collections::VecDeque;

use ioracle_events::{ContextSymbol, Operation, PredictedFile, Prediction};

/// Steps that are expected, the next one first.
#[derive(Default)]
pub struct Path {
    steps: VecDeque<Prediction>,
}

impl Path {
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn steps(&self) -> impl Iterator<Item = &Prediction> {
        self.steps.iter()
    }

    /// The thread has made an operation; `path` is that of its file.
    pub fn advance(
        &mut self,
        operation: &Operation,
        symbol: Option<ContextSymbol>,
        path: Option<&str>,
    ) {
        let Some(taken) = self.steps.pop_front() else { return };
        if !was_made(&taken, operation, symbol, path) {
            return self.steps.clear();
        }
        let ended_ns = taken.from_now_ns.saturating_add(taken.io_time_ns);
        for step in &mut self.steps {
            step.from_now_ns = step.from_now_ns.saturating_sub(ended_ns);
            step.probability = share(step.probability, taken.probability);
        }
    }

    /// Puts new first steps in the place of the old ones. What lies behind them
    /// stays if they say the same.
    pub fn renew(&mut self, first: impl Iterator<Item = Prediction>) {
        let first: Vec<Prediction> = first.collect();
        let says_the_same = self.steps.len() > first.len()
            && first.iter().zip(&self.steps).all(|(new, old)| is_same(new, old));
        let (Some(new), true) = (first.last(), says_the_same) else {
            self.steps = first.into();
            return;
        };
        let old = &self.steps[first.len() - 1];
        let (old_ns, old_probability) = (old.from_now_ns, old.probability);
        for step in self.steps.range_mut(first.len()..) {
            let behind_ns = step.from_now_ns.saturating_sub(old_ns);
            step.from_now_ns = new.from_now_ns.saturating_add(behind_ns);
            step.probability = new.probability * share(step.probability, old_probability);
        }
        for (place, step) in self.steps.iter_mut().zip(first) {
            *place = step;
        }
    }
}

/// The probability of what follows a step, once the step has been taken.
fn share(probability: f64, of: f64) -> f64 {
    if of > 0.0 { (probability / of).min(1.0) } else { 0.0 }
}

fn is_same(a: &Prediction, b: &Prediction) -> bool {
    (a.symbol, &a.file, a.offset, a.size) == (b.symbol, &b.file, b.offset, b.size)
}

fn was_made(
    step: &Prediction,
    operation: &Operation,
    symbol: Option<ContextSymbol>,
    path: Option<&str>,
) -> bool {
    let is_file = match &step.file {
        PredictedFile::Known(file) => *file == operation.file,
        PredictedFile::New(name) => Some(name.as_str()) == path,
    };
    let is_place = !operation.access().is_data()
        || (step.offset == operation.offset && step.size == operation.size);
    Some(step.symbol) == symbol && is_file && is_place
}

#[cfg(test)]
mod tests {
    use ioracle_events::{ContextId, FileId, Function, Layer, Spread};

    use super::*;

    fn write() -> Function {
        Function::from_name(Layer::Posix, "write").unwrap()
    }

    fn step(number: u64, from_now_ns: u64, probability: f64) -> Prediction {
        Prediction {
            symbol: ContextSymbol(1),
            function: write(),
            file: PredictedFile::Known(FileId(1)),
            offset: Some(number * 10),
            size: 10,
            size_spread: Spread::default(),
            offset_spread: Spread::default(),
            from_now_ns,
            interarrival_ns: 90,
            interarrival_spread: Spread::default(),
            io_time_ns: 10,
            io_time_spread: Spread::default(),
            probability,
        }
    }

    fn operation(number: u64) -> Operation {
        Operation {
            function: write(),
            context: ContextId(1),
            file: FileId(1),
            handle: 3,
            offset: Some(number * 10),
            size: 10,
            append: false,
            truncated_to: None,
            start_ns: 0,
            end_ns: 0,
        }
    }

    /// Steps 0 to 4, a tenth less probable each.
    fn path() -> Path {
        let steps = (0..5).map(|n| step(n, 90 + n * 100, 1.0 - 0.1 * n as f64));
        Path { steps: steps.collect() }
    }

    fn offsets(path: &Path) -> Vec<u64> {
        path.steps().map(|step| step.offset.unwrap() / 10).collect()
    }

    #[test]
    fn a_step_that_is_taken_leaves_the_rest_as_it_is_seen_from_there() {
        let mut path = path();
        path.advance(&operation(0), Some(ContextSymbol(1)), None);
        path.advance(&operation(1), Some(ContextSymbol(1)), None);
        assert_eq!(offsets(&path), [2, 3, 4]);
        let next = path.steps().next().unwrap();
        assert_eq!(next.from_now_ns, 90);
        assert!((next.probability - 0.8 / 0.9).abs() < 1e-9);
    }

    #[test]
    fn whoever_leaves_the_path_has_none() {
        for (made, symbol) in [(1, 1), (0, 2)] {
            let mut path = path();
            path.advance(&operation(made), Some(ContextSymbol(symbol)), None);
            assert_eq!(path.len(), 0);
        }
    }

    #[test]
    fn new_first_steps_that_say_the_same_keep_what_lies_behind_them() {
        let mut path = path();
        path.renew([step(0, 1000, 0.5), step(1, 1100, 0.5)].into_iter());
        assert_eq!(offsets(&path), [0, 1, 2, 3, 4]);
        let times: Vec<u64> = path.steps().map(|step| step.from_now_ns).collect();
        assert_eq!(times, [1000, 1100, 1200, 1300, 1400]);
        let last = path.steps().last().unwrap().probability;
        assert!((last - 0.5 * 0.6 / 0.9).abs() < 1e-9);
    }

    #[test]
    fn new_first_steps_that_say_something_else_stand_alone() {
        let mut path = path();
        path.renew([step(0, 90, 1.0), step(7, 190, 1.0)].into_iter());
        assert_eq!(offsets(&path), [0, 7]);
        path.renew(std::iter::empty());
        assert_eq!(path.len(), 0);
    }
}
