// SPDX-License-Identifier: MIT OR Apache-2.0

//! The path ahead: kept while operations come as predicted, and the same as one
//! that is derived again.

use ioracle_engine::{Config, Engine, MAX_PATH_STEPS, PathAhead};
use ioracle_events::{
    ContextId, Event, FileId, Function, Layer, PredictedFile, PredictionSource, StreamId,
};

const STREAM: StreamId = StreamId { rank: 0, thread: 0 };

/// A program that reads files, with the engine that learns it.
struct Program {
    engine: Engine,
    now_ns: u64,
    sequence: u64,
}

impl Program {
    fn new() -> Program {
        Program::with(Engine::new(Config::default()))
    }

    fn with(mut engine: Engine) -> Program {
        for (context, frames) in (1..).zip(["app+0x10", "app+0x20", "app+0x30", "app+0x40"]) {
            engine.define_context(ContextId(context), frames);
        }
        Program { engine, now_ns: 0, sequence: 0 }
    }

    fn call(&mut self, name: &str, context: u32, file: u32, place: Option<(u64, u64)>) {
        self.engine.define_file(FileId(file + 1), &format!("data/{file:04}.dat"));
        let size = place.map_or(0, |(_, size)| size);
        self.engine.observe(&Event {
            stream: STREAM,
            sequence: self.sequence,
            function: Function::from_name(Layer::Posix, name).expect("a function of the table"),
            context: ContextId(context),
            file: FileId(file + 1),
            handle: 3,
            offset: place.map(|(offset, _)| offset),
            requested: size,
            result: size as i64,
            start_ns: self.now_ns,
            end_ns: self.now_ns + 500,
            depth: 0,
            detail: "".into(),
        });
        self.now_ns += 1000;
        self.sequence += 1;
    }

    fn read_file(&mut self, file: u32, n_blocks: u64) {
        self.call("open", 1, file, None);
        (0..n_blocks).for_each(|block| self.call("read", 2, file, Some((block * 100, 100))));
        self.call("close", 3, file, None);
    }

    fn path(&self) -> &PathAhead {
        self.engine.path_ahead(STREAM).expect("it is kept")
    }

    fn extend_all(&mut self) {
        self.engine.extend_path_ahead(STREAM, MAX_PATH_STEPS);
    }

    /// The path says what one says that is derived now. Its probabilities are those
    /// of the time when each step was read.
    fn check_against_a_new_one(&self, at_least: usize) {
        let path = self.path();
        assert!(path.len() >= at_least, "{} steps", path.len());
        let fresh = self.engine.predict(STREAM, path.len());
        for (place, (kept, fresh)) in path.steps().zip(&fresh).enumerate() {
            let file_of = |file: &PredictedFile| match file {
                PredictedFile::Known(file) => self.engine.path(*file).unwrap_or("?").to_owned(),
                PredictedFile::New(name) => name.clone(),
            };
            assert_eq!(
                (kept.function, file_of(kept.file), kept.offset, kept.size),
                (fresh.function, file_of(&fresh.file), fresh.offset, fresh.size),
                "step {place}"
            );
            assert!(kept.from_now_ns.abs_diff(fresh.from_now_ns) < 2000, "step {place}");
        }
    }
}

#[test]
fn a_path_moves_along_and_says_what_a_new_one_would() {
    let mut program = Program::new();
    (0..40).for_each(|file| program.read_file(file, 10));
    program.engine.keep_path_ahead(STREAM, 100);
    program.extend_all();
    let n_derived = program.path().n_derived();
    for file in 40..80 {
        program.call("open", 1, file, None);
        program.check_against_a_new_one(90);
        for block in 0..10 {
            program.call("read", 2, file, Some((block * 100, 100)));
            program.check_against_a_new_one(90);
        }
        program.call("close", 3, file, None);
        program.check_against_a_new_one(90);
    }
    assert_eq!(program.path().n_derived(), n_derived, "it was never derived again");
    assert_eq!(program.path().len(), 100);
}

#[test]
fn a_path_over_the_same_file_again_and_again_is_kept_too() {
    let mut program = Program::new();
    (0..40).for_each(|_| program.read_file(0, 7));
    program.engine.keep_path_ahead(STREAM, 1000);
    program.extend_all();
    let n_derived = program.path().n_derived();
    (0..500).for_each(|_| program.read_file(0, 7));
    program.check_against_a_new_one(1000);
    assert_eq!(program.path().n_derived(), n_derived);
}

#[test]
fn steps_are_numbered_once() {
    let mut program = Program::new();
    (0..20).for_each(|file| program.read_file(file, 5));
    program.engine.keep_path_ahead(STREAM, 50);
    program.extend_all();
    let (first, len) = (program.path().first_number(), program.path().len() as u64);
    program.call("open", 1, 20, None);
    assert_eq!(program.path().first_number(), first + 1, "one step was taken");
    // Not what was expected.
    program.call("read", 2, 3, Some((77, 13)));
    assert!(program.path().first_number() > first + len, "all steps are others");
    assert!(program.path().len() <= 5, "and there are few of them yet");
    program.extend_all();
    assert!(program.path().len() >= 50 || program.path().is_complete());
}

#[test]
fn a_path_is_as_long_as_asked_for_and_no_longer() {
    let mut program = Program::new();
    (0..20).for_each(|_| program.read_file(0, 5));
    assert!(program.engine.path_ahead(STREAM).is_none(), "nobody has asked");
    program.engine.keep_path_ahead(STREAM, usize::MAX);
    program.extend_all();
    assert_eq!(program.path().len(), MAX_PATH_STEPS);
    program.engine.keep_path_ahead(STREAM, 10);
    assert_eq!(program.path().horizon(), MAX_PATH_STEPS, "someone else wants more");
    program.engine.drop_path_ahead(STREAM);
    assert!(program.engine.path_ahead(STREAM).is_none());
}

#[test]
fn a_stream_that_begins_has_a_path_of_what_its_model_knows() {
    let mut first = Program::new();
    (0..20).for_each(|file| first.read_file(file, 5));
    let oracle = first.engine.oracle(STREAM).expect("it is learned").clone();
    let mut second = Program::with(Engine::with_model(Config::default(), oracle.into()));
    second.engine.keep_path_ahead(STREAM, 50);
    second.extend_all();
    let path = second.path();
    assert!(path.len() >= 50, "{}", path.len());
    assert!(path.steps().all(|step| step.source == PredictionSource::Model));
    second.read_file(0, 5);
    second.read_file(1, 5);
    assert_eq!(second.path().step(0).map(|step| step.source), Some(PredictionSource::ThisRun));
    let scores = second.engine.score_by_source();
    // Seven of each file: the first file, and the open that follows its close.
    let counts = PredictionSource::ALL.map(|source| scores.of(source).operations);
    assert_eq!(counts.iter().sum::<u64>(), 14);
    assert!((1..7).contains(&counts[1]), "a step that was made once is this run's: {counts:?}");
    assert_eq!(second.engine.score().operations, 14);
}

/// Numbers that look random and are the same in every run.
struct Random(u64);

impl Random {
    fn one_in(&mut self, n: u64) -> bool {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33).is_multiple_of(n)
    }
}

/// A file that is read from beginning to end, while now and then something else
/// comes in between: no path of a thousand steps holds, and all its bytes are read.
#[test]
fn bytes_are_known_to_be_accessed_where_no_path_holds() {
    let mut program = Program::new();
    program.engine.keep_path_ahead(STREAM, 2000);
    let mut random = Random(7);
    for block in 0..60_000 {
        program.call("read", 2, 1, Some((block * 100, 100)));
        if random.one_in(40) {
            program.call("write", 4, 2, Some((block, 1)));
        }
    }
    program.extend_all();
    let far = program.path().step(1000).expect("a long path");
    assert!(far.probability < 0.01, "{far:?}");
    assert!(far.access_probability > 0.9, "{far:?}");
}

/// A program that reads wherever it likes.
#[test]
fn bytes_that_are_hardly_ever_accessed_as_predicted_are_known_as_such() {
    let mut program = Program::new();
    program.engine.keep_path_ahead(STREAM, 2000);
    let mut random = Random(9);
    for _ in 0..20_000 {
        let block = (0..20).fold(0, |block, _| block * 2 + u64::from(random.one_in(2)));
        program.call("read", 2, 1, Some((block * 4096, 4096)));
    }
    program.extend_all();
    for place in [0, 3, 15, 63] {
        let step = program.path().step(place).expect("a step");
        assert!(step.access_probability < 0.2, "{step:?}");
    }
}
