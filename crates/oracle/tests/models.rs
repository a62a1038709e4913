// SPDX-License-Identifier: MIT OR Apache-2.0

//! Saved models: going on, beginning anew, merging, and bytes that are wrong.

mod common;

use common::{Noise, Program, checkpoints};
use ioracle_events::{ContextId, FileId, Operation};
use ioracle_oracle::{Error, Oracle};

/// Shows operations of another run, whose contexts and files have other
/// numbers but the same frames and names, and counts how many were expected.
fn replay(oracle: &mut Oracle, operations: &[Operation]) -> usize {
    let mut n_expected = 0;
    for operation in operations {
        let renamed = Operation {
            context: ContextId(operation.context.0 + 500),
            file: FileId(operation.file.0 + 70),
            ..operation.clone()
        };
        oracle.define_context(renamed.context, &format!("app+{:#x}", operation.context.0));
        let top = &oracle.predict()[0];
        let right = Some(top.symbol) == oracle.symbol_of(&renamed)
            && (top.offset, top.size) == (renamed.offset, renamed.size);
        n_expected += usize::from(right);
        oracle.observe(&renamed);
    }
    n_expected
}

#[test]
fn a_model_loaded_in_the_middle_goes_on_as_if_never_saved() {
    let mut saved = Program::new();
    checkpoints(&mut saved, 0..7);
    let mut program = Program::new();
    checkpoints(&mut program, 0..20);
    let rest = &program.operations[saved.operations.len()..];
    let mut loaded = Oracle::load(&saved.oracle.save()).expect("a model just saved");
    for operation in rest {
        assert_eq!(loaded.predict(), saved.oracle.predict());
        assert_eq!(loaded.next_burst(), saved.oracle.next_burst());
        assert!(loaded.ahead(0).take(40).eq(saved.oracle.ahead(0).take(40)));
        loaded.observe(operation);
        saved.oracle.observe(operation);
    }
    assert_eq!(loaded.save(), saved.oracle.save());
}

#[test]
fn a_new_run_with_a_model_is_predicted_from_its_first_operation() {
    let mut first = Program::new();
    checkpoints(&mut first, 0..10);
    let mut oracle = Oracle::load(&first.oracle.save()).expect("a model just saved");
    oracle.begin_run();
    let n_expected = replay(&mut oracle, &first.operations);
    assert!(n_expected * 100 >= first.operations.len() * 95, "{n_expected}");
    assert_eq!(oracle.symbols(), first.oracle.symbols());
}

/// Twenty call stacks that write to one file, each after reading another, and one
/// that opens a file of a session.
fn messages(program: &mut Program, log: &str, session: &str) {
    for step in 0..3 {
        program.open(1, &format!("{session}/lock")).close(2, &format!("{session}/lock"));
        for line in 0..20 {
            let at = (step * 20 + u64::from(line)) * 80;
            program.read(100 + line, "table", at, 16).write(200 + line, log, at, 80);
        }
    }
    program.open(3, &format!("{session}/end")).close(4, &format!("{session}/end"));
}

/// How many operations of a second run had another file than was expected.
fn n_wrong_files(first: &Program, second: impl Fn(&mut Program)) -> usize {
    let mut alone = Program::new();
    second(&mut alone);
    let mut oracle = Oracle::load(&first.oracle.save()).expect("a model just saved");
    oracle.begin_run();
    let mut program = Program::continued(oracle);
    let mut n_wrong = 0;
    for operation in &alone.operations {
        let name = alone.name(operation.file);
        n_wrong += usize::from(program.top_name() != name);
        program.again(operation, name);
    }
    n_wrong
}

#[test]
fn a_file_that_has_another_name_is_a_surprise_once_and_not_for_every_call_stack() {
    let mut first = Program::new();
    messages(&mut first, "out.1", "/tmp/session.4711");
    let same = n_wrong_files(&first, |run| messages(run, "out.1", "/tmp/session.4711"));
    assert_eq!(same, 0);
    let n_wrong = n_wrong_files(&first, |run| messages(run, "/dev/pts/3", "/tmp/session.815"));
    assert_eq!(n_wrong, 2, "the session and the output");
}

#[test]
fn a_file_that_comes_after_all_was_not_renamed() {
    let mut first = Program::new();
    let run = |program: &mut Program, names: [&str; 3]| {
        for (context, name) in (0..).step_by(10).zip(names) {
            program.open(1, name).read(10 + context, name, 0, 10).close(2, name);
        }
        for line in 0..8 {
            program.read(100 + line, "b", 0, 10).read(200 + line, "c", 0, 10);
        }
    };
    run(&mut first, ["a", "b", "c"]);
    let n_wrong = n_wrong_files(&first, |program| run(program, ["b", "new", "c"]));
    assert!(n_wrong <= 5, "{n_wrong} wrong files");
}

#[test]
fn an_empty_oracle_can_be_saved_and_loaded() {
    let oracle = Program::new().oracle;
    let loaded = Oracle::load(&oracle.save()).expect("a model just saved");
    assert_eq!(loaded.predict(), oracle.predict());
}

#[test]
fn a_merged_model_knows_both_programs() {
    let (mut writer, mut reader) = (Program::new(), Program::new());
    checkpoints(&mut writer, 0..10);
    for n in 0..20 {
        reader.read(20, "input", n * 100, 100).read(21, "index", n % 4 * 8, 8);
    }
    for (mut merged, other) in
        [(writer.oracle.clone(), &reader.oracle), (reader.oracle.clone(), &writer.oracle)]
    {
        merged.merge(other);
        assert_eq!(merged.symbols(), writer.oracle.symbols() + reader.oracle.symbols());
        for program in [&writer, &reader] {
            let mut run = merged.clone();
            run.begin_run();
            let n_expected = replay(&mut run, &program.operations);
            // Where a run begins is ambiguous between the two.
            let n_operations = program.operations.len();
            assert!(n_expected * 10 >= n_operations * 8, "{n_expected} of {n_operations}");
        }
    }
}

#[test]
fn merging_the_same_program_adds_no_symbols_and_counts_twice() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..10);
    let mut merged = program.oracle.clone();
    merged.merge(&program.oracle);
    assert_eq!(merged.symbols(), program.oracle.symbols());
    assert!(merged.grammar().size() < program.oracle.grammar().size() + 20);
    Oracle::load(&merged.save()).expect("a merged model can be saved");
}

#[test]
fn what_is_no_model_is_refused_with_a_sentence() {
    let refuse = |bytes: &[u8]| Oracle::load(bytes).expect_err("refused");
    let mut program = Program::new();
    checkpoints(&mut program, 0..3);
    let bytes = program.oracle.save();
    assert_eq!(refuse(b""), Error::NotAModel);
    assert_eq!(refuse(b"PK\x03\x04 something else entirely"), Error::NotAModel);
    let mut newer = bytes.clone();
    newer[8] = 11;
    assert_eq!(refuse(&newer), Error::Version { found: 11, supported: 10 });
    let cut = &bytes[..bytes.len() - 1];
    assert!(matches!(refuse(cut), Error::Length { .. }));
    let mut damaged = bytes;
    *damaged.last_mut().expect("a body") ^= 1;
    assert_eq!(refuse(&damaged), Error::Checksum);
    assert!(refuse(&damaged).to_string().contains("damaged"));
}

#[test]
fn every_flipped_byte_and_every_cut_is_refused() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..2);
    let bytes = program.oracle.save();
    for place in (0..64).chain((64..bytes.len()).step_by(97)) {
        let mut flipped = bytes.clone();
        flipped[place] ^= 0x5A;
        assert!(Oracle::load(&flipped).is_err(), "byte {place}");
        assert!(Oracle::load(&bytes[..place]).is_err(), "cut at {place}");
    }
}

/// A checksum protects against damage but not against intent: bytes with a
/// right checksum and any content must be refused, or give an oracle that
/// works.
#[test]
fn made_up_content_with_a_right_checksum_does_no_harm() {
    let mut program = Program::new();
    checkpoints(&mut program, 0..3);
    let bytes = program.oracle.save();
    let mut noise = Noise(17);
    let mut n_loaded = 0;
    for _ in 0..800 {
        let mut forged = bytes.clone();
        for _ in 0..1 + noise.below(3) {
            let place = 24 + noise.below(bytes.len() as u64 - 24) as usize;
            forged[place] = noise.below(256) as u8;
        }
        if noise.below(4) == 0 {
            forged.truncate(24 + noise.below(bytes.len() as u64 - 24) as usize);
        }
        let length = (forged.len() as u64 - 24).to_le_bytes();
        let checksum = crc32fast::hash(&forged[24..]).to_le_bytes();
        forged[12..20].copy_from_slice(&length);
        forged[20..24].copy_from_slice(&checksum);
        if let Ok(mut oracle) = Oracle::load(&forged) {
            n_loaded += 1;
            oracle.ahead(0).take(50).for_each(drop);
            oracle.next_burst();
            oracle.within(1_000_000_000);
            for operation in program.operations.iter().rev().take(20) {
                oracle.observe(operation);
            }
            oracle.merge(&program.oracle);
            oracle.begin_run();
            oracle.save();
        }
    }
    assert!(n_loaded > 20, "{n_loaded}");
}
