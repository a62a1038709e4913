// SPDX-License-Identifier: MIT OR Apache-2.0

//! The path that a thread was told, kept as long as the thread follows it.
//!
//! Making 64 steps takes longer than most programs need for the next operation.
//! So as long as a thread does what it was told, only the first few steps are
//! made anew, and what was known of the rest is kept behind them, with times and
//! probabilities as they are seen from the new place.

use std::collections::VecDeque;
use std::sync::Arc;

use ioracle_events::{ContextSymbol, Operation, PredictedFile, Prediction};
use ioracle_spool::slot::Step;

/// Steps that are expected, the next one first.
#[derive(Default)]
pub struct ExpectedPath {
    steps: VecDeque<SlotStep>,
}

/// A step, and how it is told.
pub struct SlotStep {
    prediction: Prediction,
    /// But for what depends on where the thread stands.
    step: Step,
    name: Arc<[u8]>,
}

impl SlotStep {
    pub fn new(prediction: Prediction, (step, name): (Step, Arc<[u8]>)) -> SlotStep {
        SlotStep { prediction, step, name }
    }

    /// As it is seen from where the thread stands.
    pub fn step(&self) -> (Step, &[u8]) {
        let Prediction { from_now_ns, probability, operation_probability, .. } = self.prediction;
        (Step { from_now_ns, probability, operation_probability, ..self.step }, &self.name)
    }
}

impl ExpectedPath {
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    pub fn steps(&self) -> impl Iterator<Item = &SlotStep> {
        self.steps.iter()
    }

    /// How long it is until the next step, as far as is known.
    pub fn next_ns(&self) -> Option<u64> {
        self.steps.front().map(|next| next.prediction.from_now_ns)
    }

    /// The thread has made an operation; `path` is that of its file.
    pub fn advance(
        &mut self,
        operation: &Operation,
        symbol: Option<ContextSymbol>,
        path: Option<&str>,
    ) {
        let Some(SlotStep { prediction: taken, .. }) = self.steps.pop_front() else { return };
        if !was_made(&taken, operation, symbol, path) {
            return self.steps.clear();
        }
        let ended_ns = taken.from_now_ns.saturating_add(taken.io_time_ns);
        for SlotStep { prediction: step, .. } in &mut self.steps {
            step.from_now_ns = step.from_now_ns.saturating_sub(ended_ns);
            follow(step, taken.operation_probability, 1.0);
        }
    }

    /// Puts new first steps in the place of the old ones. What lies behind them
    /// stays if they say the same.
    pub fn renew(&mut self, first: impl Iterator<Item = SlotStep>) {
        let first: Vec<SlotStep> = first.collect();
        let mut pairs = first.iter().zip(&self.steps);
        let says_the_same = self.steps.len() > first.len()
            && pairs.all(|(new, old)| is_same(&new.prediction, &old.prediction));
        let (Some(new), true) = (first.last(), says_the_same) else {
            self.steps = first.into();
            return;
        };
        let (new, old) = (&new.prediction, &self.steps[first.len() - 1].prediction);
        let (old_ns, old_probability) = (old.from_now_ns, old.operation_probability);
        let new_probability = new.operation_probability;
        for SlotStep { prediction: step, .. } in self.steps.range_mut(first.len()..) {
            let behind_ns = step.from_now_ns.saturating_sub(old_ns);
            step.from_now_ns = new.from_now_ns.saturating_add(behind_ns);
            follow(step, old_probability, new_probability);
        }
        for (place, step) in self.steps.iter_mut().zip(first) {
            *place = step;
        }
    }
}

/// Puts the probabilities of a step that follows another of this old probability
/// behind one of a new probability. How certain its place is stays as it was.
fn follow(step: &mut Prediction, old: f64, new: f64) {
    let Prediction { probability, operation_probability, .. } = *step;
    let there = if operation_probability > 0.0 { probability / operation_probability } else { 0.0 };
    let share = if old > 0.0 { (operation_probability / old).min(1.0) } else { 0.0 };
    step.operation_probability = new * share;
    step.probability = step.operation_probability * there;
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
            operation_probability: probability,
        }
    }

    fn told(number: u64, from_now_ns: u64, probability: f64) -> SlotStep {
        let name = Arc::new([]);
        SlotStep::new(step(number, from_now_ns, probability), (Step::default(), name))
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
    fn path() -> ExpectedPath {
        let steps = (0..5).map(|n| told(n, 90 + n * 100, 1.0 - 0.1 * n as f64));
        ExpectedPath { steps: steps.collect() }
    }

    fn offsets(path: &ExpectedPath) -> Vec<u64> {
        path.steps().map(|told| told.prediction.offset.unwrap() / 10).collect()
    }

    #[test]
    fn a_step_that_is_taken_leaves_the_rest_as_it_is_seen_from_there() {
        let mut path = path();
        path.advance(&operation(0), Some(ContextSymbol(1)), None);
        path.advance(&operation(1), Some(ContextSymbol(1)), None);
        assert_eq!(offsets(&path), [2, 3, 4]);
        assert_eq!(path.next_ns(), Some(90));
        let (next, _) = path.steps().next().unwrap().step();
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
        path.renew([told(0, 1000, 0.5), told(1, 1100, 0.5)].into_iter());
        assert_eq!(offsets(&path), [0, 1, 2, 3, 4]);
        let times: Vec<u64> = path.steps().map(|told| told.step().0.from_now_ns).collect();
        assert_eq!(times, [1000, 1100, 1200, 1300, 1400]);
        let last = path.steps().last().unwrap().step().0.probability;
        assert!((last - 0.5 * 0.6 / 0.9).abs() < 1e-9);
    }

    #[test]
    fn new_first_steps_that_say_something_else_stand_alone() {
        let mut path = path();
        path.renew([told(0, 90, 1.0), told(7, 190, 1.0)].into_iter());
        assert_eq!(offsets(&path), [0, 7]);
        path.renew(std::iter::empty());
        assert_eq!(path.len(), 0);
    }
}
