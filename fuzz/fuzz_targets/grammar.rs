// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arbitrary bytes as a stream: the invariants hold after every symbol, and the
//! grammar derives what a model that keeps the whole history remembers.

#![no_main]

use ioracle_grammar::{Config, GrammarMode, StarSequitur};
use libfuzzer_sys::fuzz_target;

/// Longer streams only make a round slower.
const MAX_SYMBOLS: usize = 600;

fuzz_target!(|data: &[u8]| {
    let [choice, ceiling, stream @ ..] = data else { return };
    let config = match choice % 4 {
        0 => Config::exact(),
        1 => Config::sequitur(),
        2 => Config { max_loop_counts: usize::from(choice / 64), ..Config::new() },
        _ => Config { max_occurrences: 2 + usize::from(*ceiling), ..Config::exact() },
    };
    // Few symbols repeat more.
    let alphabet = 2 + u32::from(choice / 4 % 16);
    let mut history = Vec::new();
    let mut sequence = StarSequitur::new(config);
    for &byte in stream.iter().take(MAX_SYMBOLS) {
        let symbol = u32::from(byte) % alphabet;
        history.push(symbol);
        sequence.push(symbol);
        if let Err(broken) = sequence.check() {
            panic!("{broken} after {history:?}");
        }
        sequence.ahead(0).take(20).for_each(drop);
    }
    let mut grammar = sequence.grammar().clone();
    grammar.catch_up();
    if let Err(broken) = grammar.check() {
        panic!("{broken} after {history:?}");
    }
    if grammar.config().mode == GrammarMode::Exact {
        let forgotten = grammar.forgotten() as usize;
        assert!(grammar.expand().eq(history[forgotten..].iter().copied()), "{history:?}");
    }
});
