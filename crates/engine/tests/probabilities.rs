// SPDX-License-Identifier: MIT OR Apache-2.0

//! Stated probabilities come true as often as they say, whatever the program
//! does.

use ioracle_engine::{Score, StreamLearner};
use ioracle_events::{Access, ContextId, FileId, Function, Layer, Operation, Prediction};
use ioracle_oracle::Config;

/// Expected calibration error that a prefetcher can live with.
const MOST: f64 = 0.02;

struct Program {
    learner: StreamLearner,
    now_ns: u64,
    /// What was predicted before each open, the most probable first.
    opens: Vec<Prediction>,
}

impl Program {
    fn new() -> Program {
        let learner = StreamLearner::new(&Config::default());
        Program { learner, now_ns: 0, opens: Vec::new() }
    }

    fn call(&mut self, name: &str, file: u32, offset: Option<u64>, size: u64) {
        let function = Function::from_name(Layer::Posix, name).unwrap();
        let operation = Operation {
            function,
            context: ContextId(u32::from(u16::from(function)) + 1),
            file: FileId(file + 1),
            handle: 3,
            offset,
            size,
            requested: None,
            append: false,
            truncated_to: None,
            start_ns: self.now_ns,
            end_ns: self.now_ns + 500,
        };
        self.now_ns += 1000;
        let frames = format!("app+{:#x}", operation.context.0);
        self.learner.oracle.define_context(operation.context, &frames);
        if function.access() == Access::Open {
            self.opens.extend(self.learner.oracle.predict().first().cloned());
        }
        self.learner.observe(&operation, Some(&format!("data/img_{file:05}.bin")));
    }

    fn read_file(&mut self, file: u32, n_blocks: u64) {
        self.call("open", file, None, 0);
        (0..n_blocks).for_each(|n| self.call("read", file, Some(n * 4096), 4096));
        self.call("close", file, None, 0);
    }
}

/// Numbers that look random and are the same in every run.
fn shuffled(n: u32, mut seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..n).collect();
    for i in (1..n as usize).rev() {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        order.swap(i, (seed >> 33) as usize % (i + 1));
    }
    order
}

fn check(score: &Score) {
    let operation = score.context.calibration().error().unwrap();
    let place = score.place.calibration.error().unwrap();
    assert!(operation <= MOST, "operations are off by {operation}");
    assert!(place <= MOST, "places are off by {place}");
}

/// 1,500 files in a random order were each once expected with more than 0.9, and
/// none of these predictions named the right one.
#[test]
fn the_next_file_of_a_shuffled_reader_is_improbable() {
    let mut program = Program::new();
    shuffled(1500, 7).into_iter().for_each(|file| program.read_file(file, 4));
    check(&program.learner.score());
    for prediction in &program.opens[100..] {
        assert!(prediction.operation_probability > 0.9, "{prediction:?}");
        assert!(prediction.probability < 0.05, "{prediction:?}");
    }
}

#[test]
fn files_in_order_are_certain() {
    let mut program = Program::new();
    (0..300).for_each(|file| program.read_file(file, 4));
    check(&program.learner.score());
    assert!(program.opens[100..].iter().all(|prediction| prediction.probability > 0.9));
}

#[test]
fn the_same_files_in_another_order_each_time_are_calibrated() {
    let mut program = Program::new();
    for epoch in 0..5 {
        shuffled(300, epoch).into_iter().for_each(|file| program.read_file(file, 1));
    }
    check(&program.learner.score());
}

#[test]
fn random_offsets_are_calibrated() {
    let mut program = Program::new();
    program.call("open", 0, None, 0);
    for block in shuffled(5000, 3) {
        program.call("pread", 0, Some(u64::from(block) * 4096), 4096);
    }
    check(&program.learner.score());
    let next = program.learner.oracle.predict()[0].clone();
    assert!(next.operation_probability > 0.9 && next.probability < 0.1, "{next:?}");
}

/// A program that keeps to an order for a while and then does not.
#[test]
fn probabilities_follow_a_program_that_changes() {
    let mut program = Program::new();
    (0..400).for_each(|file| program.read_file(file, 4));
    for file in shuffled(1000, 9) {
        program.read_file(400 + file, 4);
    }
    check(&program.learner.score());
}

/// Ahead, the certainty of a file's name goes down with every new file before it,
/// however certain it is that an open comes.
#[test]
fn names_on_the_way_count() {
    let mut program = Program::new();
    shuffled(200, 7).into_iter().for_each(|file| program.read_file(file, 4));
    let ahead: Vec<Prediction> = program.learner.oracle.ahead(0).take(60).collect();
    let reads = ahead.iter().filter(|step| step.function.access() == Access::Read);
    for step in reads {
        assert!(step.operation_probability > 0.5, "{step:?}");
        assert!(step.probability < 0.1, "{step:?}");
    }
}
