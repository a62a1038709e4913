// SPDX-License-Identifier: MIT OR Apache-2.0

//! The invariants on random and on adversarial streams.

use ioracle_grammar::{Config, Grammar, StarSequitur};
use proptest::prelude::*;

/// Pushes one by one, looking at the invariants after each.
fn learn_checked(config: Config, stream: &[u32]) -> Grammar {
    let mut grammar = Grammar::new(config);
    for (at, &symbol) in stream.iter().enumerate() {
        grammar.push(symbol);
        let mut whole = grammar.clone();
        whole.catch_up();
        for grammar in [&grammar, &whole] {
            if let Err(broken) = grammar.check() {
                panic!("after {:?}: {broken}\n{grammar}", &stream[..=at]);
            }
        }
    }
    grammar
}

fn assert_lossless(config: Config, stream: &[u32]) {
    let grammar = learn_checked(config, stream);
    assert_eq!(grammar.expand().collect::<Vec<_>>(), stream, "\n{grammar}");
}

/// Streams made of pieces that repeat: loops with changing counts, in loops.
fn looping() -> impl Strategy<Value = Vec<u32>> {
    let leaf = prop::collection::vec(0u32..6, 1..5);
    let nested = leaf.prop_recursive(4, 64, 4, |inner| {
        prop::collection::vec((inner, 1usize..6), 1..4).prop_map(|pieces| {
            pieces.into_iter().flat_map(|(piece, times)| piece.repeat(times)).collect()
        })
    });
    prop::collection::vec(nested, 1..4).prop_map(|parts| {
        let mut stream: Vec<u32> = parts.concat();
        stream.truncate(600);
        stream
    })
}

/// The same with predictors, which must stand on their feet all the time.
fn follow_checked(config: Config, stream: &[u32]) {
    let mut sequence = StarSequitur::new(config);
    for (at, &symbol) in stream.iter().enumerate() {
        sequence.push(symbol);
        if let Err(broken) = sequence.check() {
            panic!("after {:?}: {broken}\n{}", &stream[..=at], sequence.grammar());
        }
        let sum: f64 = sequence.next().iter().map(|candidate| candidate.probability).sum();
        assert!(sum <= 1.0 + 1e-9, "{sum}");
        for candidate in 0..sequence.next().len().min(3) {
            let first = sequence.ahead(candidate).take(20).next();
            assert_eq!(first, Some(sequence.next()[candidate]));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn exact_mode_is_lossless_on_loops(stream in looping()) {
        assert_lossless(Config::exact(), &stream);
    }

    #[test]
    fn exact_mode_is_lossless_on_noise(stream in prop::collection::vec(0u32..4, 0..300)) {
        assert_lossless(Config::exact(), &stream);
    }

    #[test]
    fn plain_sequitur_is_lossless(stream in looping()) {
        assert_lossless(Config::sequitur(), &stream);
    }

    #[test]
    fn plain_sequitur_is_lossless_on_noise(stream in prop::collection::vec(0u32..3, 0..300)) {
        assert_lossless(Config::sequitur(), &stream);
    }

    #[test]
    fn summarised_mode_keeps_its_invariants(stream in looping()) {
        let config = Config { max_loop_counts: 2, ..Config::new() };
        learn_checked(config, &stream);
    }

    #[test]
    fn summarised_mode_is_lossless_while_loops_are_regular(stream in looping()) {
        let config = Config { max_loop_counts: usize::MAX, ..Config::new() };
        assert_lossless(config, &stream);
    }

    #[test]
    fn predictors_survive_every_rewrite(stream in looping()) {
        follow_checked(Config::exact(), &stream);
        follow_checked(Config::sequitur(), &stream);
        follow_checked(Config { max_loop_counts: 2, ..Config::new() }, &stream);
    }

    #[test]
    fn predictors_survive_noise_and_forgetting(
        stream in prop::collection::vec(0u32..4, 0..300),
        ceiling in 4usize..40,
    ) {
        follow_checked(Config { max_occurrences: ceiling, max_loop_counts: 2, ..Config::new() }, &stream);
        follow_checked(Config { max_occurrences: ceiling, ..Config::exact() }, &stream);
    }

    #[test]
    fn a_ceiling_leaves_a_suffix(stream in looping(), ceiling in 4usize..40) {
        let config = Config { max_occurrences: ceiling, ..Config::exact() };
        let grammar = learn_checked(config, &stream);
        let kept: Vec<u32> = grammar.expand().collect();
        assert_eq!(kept, stream[grammar.forgotten() as usize..]);
        assert_eq!(grammar.pushed(), stream.len() as u64);
    }

    #[test]
    fn a_ceiling_and_summaries_go_together(
        stream in prop::collection::vec(0u32..4, 0..400),
        ceiling in 4usize..40,
    ) {
        let config = Config { max_occurrences: ceiling, max_loop_counts: 2, ..Config::new() };
        let grammar = learn_checked(config, &stream);
        assert!(grammar.size() <= ceiling + 8, "{} > {ceiling}", grammar.size());
    }
}

fn fibonacci(length: usize) -> Vec<u32> {
    let (mut word, mut next) = (vec![0], vec![0, 1]);
    while next.len() < length {
        let longer = [next.clone(), word].concat();
        word = std::mem::replace(&mut next, longer);
    }
    next.truncate(length);
    next
}

#[test]
fn fibonacci_words_grow_with_the_logarithm() {
    let stream = fibonacci(20_000);
    let mut grammar = Grammar::new(Config::exact());
    stream.iter().for_each(|&symbol| grammar.push(symbol));
    grammar.check().unwrap();
    assert!(grammar.expand().eq(stream));
    assert!(grammar.size() < 100, "{}", grammar.size());
}

#[test]
fn thue_morse_words_stay_lossless() {
    let stream: Vec<u32> = (0..4096u32).map(|at| at.count_ones() % 2).collect();
    let mut grammar = Grammar::new(Config::exact());
    stream.iter().for_each(|&symbol| grammar.push(symbol));
    grammar.check().unwrap();
    assert!(grammar.expand().eq(stream));
}

#[test]
fn a_single_symbol_is_one_occurrence_however_often() {
    let mut grammar = Grammar::new(Config::new());
    (0..100_000).for_each(|_| grammar.push(7));
    assert_eq!(grammar.to_string(), "S -> 7^100000\n");
}

#[test]
fn an_alphabet_of_millions_stays_within_the_ceiling() {
    let mut grammar = Grammar::new(Config::new());
    (0..2_000_000).for_each(|symbol| grammar.push(symbol));
    grammar.check().unwrap();
    assert!(grammar.size() <= grammar.config().max_occurrences);
    assert!(grammar.memory_bytes() < 4 << 20, "{}", grammar.memory_bytes());
}
