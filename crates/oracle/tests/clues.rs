// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls between operations tell what the next one is.

mod common;

use common::{Noise, Program};
use ioracle_events::ContextSymbol;
use ioracle_oracle::{Config, Oracle};

/// Names of files that no rule could continue.
fn name(noise: &mut Noise) -> String {
    format!("src/{:x}.rs", noise.below(1 << 30))
}

/// How many of the last hundred operations that `step` makes last were predicted, each by
/// its name and call site.
fn predicted(mut step: impl FnMut(&mut Program, &mut Noise) -> (u32, String)) -> usize {
    let (mut program, mut noise) = (Program::new(), Noise(1));
    let mut right = 0;
    for n in 0..150 {
        let (context, file) = step(&mut program, &mut noise);
        right += usize::from(n >= 50 && program.top_name() == file);
        program.open(context, &file).read(7, &file, 0, 100).close(8, &file);
    }
    right
}

#[test]
fn a_file_is_named_before_it_is_opened() {
    let right = predicted(|program, noise| {
        let file = name(noise);
        program.stat(1, &file);
        (2, file)
    });
    assert_eq!(right, 100);
}

#[test]
fn the_file_named_before_the_last_one_may_be_the_one_that_is_opened() {
    let right = predicted(|program, noise| {
        let file = name(noise);
        program.stat(1, &file).stat(1, "out/.lock");
        (2, file)
    });
    assert!(right > 95, "{right}");
}

#[test]
fn files_are_opened_in_the_order_in_which_they_were_listed() {
    let (mut program, mut noise) = (Program::new(), Noise(1));
    let files: Vec<String> = (0..100).map(|_| name(&mut noise)).collect();
    program.open(2, "first").read(7, "first", 0, 100).close(8, "first");
    for file in &files {
        program.stat(1, file);
    }
    let mut right = 0;
    for file in &files {
        right += usize::from(program.top_name() == *file);
        program.open(2, file).read(7, file, 0, 100).close(8, file);
    }
    assert!(right > 90, "{right}");
}

#[test]
fn a_name_is_made_from_the_one_used_before() {
    let right = predicted(|program, noise| {
        let source = name(noise);
        program.stat(1, &source);
        (2, format!("out/{source}.gz"))
    });
    assert!(right > 95, "{right}");
}

#[test]
fn a_call_tells_which_way_the_program_went() {
    let (mut program, mut noise) = (Program::new(), Noise(1));
    let mut right = 0;
    program.open(1, "data");
    for n in 0..400 {
        let goes_left = noise.below(2) == 0;
        program.stat(if goes_left { 3 } else { 4 }, "flag");
        let expected = program.top().clone();
        let context = if goes_left { 5 } else { 6 };
        program.read(context, "data", n * 100, 100);
        let symbol = program.oracle.symbol_of(&program.operations[program.operations.len() - 1]);
        let is_sure = expected.operation_probability > 0.7;
        right += usize::from(n >= 100 && Some(expected.symbol) == symbol && is_sure);
    }
    assert!(right > 270, "{right}");
}

#[test]
fn calls_never_seen_announce_an_operation_never_seen() {
    let mut program = Program::new();
    program.open(1, "data");
    for n in 0..60 {
        program.read(2, "data", n * 100, 100).read(3, "data", n * 100, 100);
        program.stat(100 + n as u32, "other");
        if n > 20 {
            assert_eq!(program.top().symbol, ContextSymbol::UNSEEN, "{n}");
        }
        program.send(200 + n as u32, "data", 1);
    }
}

#[test]
fn a_seek_says_where_the_next_access_starts() {
    let (mut program, mut noise) = (Program::new(), Noise(1));
    program.open(1, "data");
    for n in 0..100 {
        let position = noise.below(1 << 40);
        program.seek(2, "data", position);
        if n > 20 {
            assert_eq!(program.top().offset, Some(position));
        }
        program.read(3, "data", position, 100);
    }
}

#[test]
fn what_is_taken_back_was_never_said() {
    let (mut program, mut noise) = (Program::new(), Noise(1));
    for _ in 0..50 {
        let file = name(&mut noise);
        program.stat(1, &file).open(2, &file).close(8, &file);
    }
    let before = program.oracle.predict().to_vec();
    program.stat(9, "src/last.rs");
    assert_ne!(program.oracle.predict(), before);
    program.oracle.forget_clues();
    let is_same = |(one, other): (&_, &ioracle_events::Prediction)| {
        let one: &ioracle_events::Prediction = one;
        (one.symbol, one.operation_probability) == (other.symbol, other.operation_probability)
    };
    assert!(program.oracle.predict().iter().zip(&before).all(is_same));
}

#[test]
fn switched_off_they_change_nothing() {
    let mut config = Config::default();
    config.improvements.clues = false;
    let (mut with, mut without) = (Program::with(config.clone()), Program::with(config));
    for n in 0..50 {
        let file = format!("{n}");
        with.stat(1, &file).open(2, &file).seek(3, &file, 70).read(4, &file, 70, 8);
        without.open(2, &file).read(4, &file, 70, 8);
        assert_eq!(with.oracle.predict(), without.oracle.predict());
    }
}

#[test]
fn a_model_saved_between_a_call_and_its_operation_goes_on() {
    let (mut program, mut noise) = (Program::new(), Noise(1));
    for _ in 0..50 {
        let file = name(&mut noise);
        program.stat(1, &file).stat(1, "lock").open(2, &file).close(8, &file);
    }
    program.stat(1, "src/next.rs").stat(1, "lock");
    let loaded = Oracle::load(&program.oracle.save()).expect("a model just saved");
    assert_eq!(loaded.predict(), program.oracle.predict());
    assert_eq!(program.top_name(), "src/next.rs");
    program.oracle.begin_run();
    assert_ne!(program.top_name(), "src/next.rs", "another run names its own files");
}
