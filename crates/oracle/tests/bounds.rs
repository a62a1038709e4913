// SPDX-License-Identifier: MIT OR Apache-2.0

//! Whatever a program does for however long, memory stays bounded.

mod common;

use common::{Noise, Program};
use ioracle_oracle::Config;

/// What the trackers take; the grammar has ceilings and tests of its own.
fn tracker_bytes(program: &Program) -> usize {
    program.oracle.memory_bytes() - program.oracle.grammar().memory_bytes()
}

/// Contexts, files, sizes, offsets and times without any order.
fn disorder(program: &mut Program, noise: &mut Noise, n_operations: usize) {
    for _ in 0..n_operations {
        let context = noise.below(1 << 9) as u32;
        let name = format!("f{}", noise.below(1 << 9));
        program.compute(noise.below(1 << 20));
        match noise.below(8) {
            0 => program.open(context, &name),
            1 => program.close(context, &name),
            2 => program.read(context, &name, noise.below(1 << 40), noise.below(1 << 20)),
            _ => program.write(context, &name, noise.below(1 << 40), noise.below(1 << 20)),
        };
        program.operations.clear();
    }
}

#[test]
fn an_endless_random_stream_stays_within_its_ceilings() {
    let mut noise = Noise(1);
    let mut program = Program::with(Config {
        grammar: ioracle_grammar::Config::small(),
        max_symbols: 200,
        max_files: 100,
        max_transitions: 500,
        max_contexts: 2048,
        ..Config::default()
    });
    disorder(&mut program, &mut noise, 12_000);
    let early = tracker_bytes(&program);
    disorder(&mut program, &mut noise, 20_000);
    let late = tracker_bytes(&program);
    assert!(late < early + early / 5, "{early} then {late}");
    assert!(program.oracle.symbols() < 200 + 100, "{}", program.oracle.symbols());
}

#[test]
fn contexts_beyond_the_ceiling_share_a_symbol_per_function() {
    let mut program = Program::with(Config { max_symbols: 3, ..Config::default() });
    for context in 0..50 {
        program.write(context, "data", 0, 10).read(context, "data", 0, 10);
    }
    assert_eq!(program.oracle.symbols(), 5);
}

#[test]
fn forgotten_files_make_room_for_new_ones() {
    let mut program = Program::with(Config { max_files: 16, ..Config::default() });
    for step in 0..200 {
        let name = format!("out.{step}");
        program.open(1, &name).write(2, &name, 0, 100).close(3, &name);
    }
    assert_eq!(program.top_name(), "out.200");
}

#[test]
fn numbers_at_the_end_of_their_range_do_no_harm() {
    let mut program = Program::new();
    for n in 0..20 {
        program.write(1, "data", u64::MAX - n, u64::MAX);
        program.write(1, "data", n, u64::MAX - n);
        program.read(2, "data", u64::MAX / 2 + n, 0);
    }
    program.oracle.ahead(0).take(100).for_each(drop);
}
