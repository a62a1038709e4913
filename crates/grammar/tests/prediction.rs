// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is said of the future, against a model that keeps the whole history.

use ioracle_grammar::{Config, StarSequitur};
use proptest::prelude::*;

fn learn(config: Config, stream: impl IntoIterator<Item = u32>) -> StarSequitur {
    let mut sequence = StarSequitur::new(config);
    stream.into_iter().for_each(|symbol| sequence.push(symbol));
    sequence
}

fn letters(text: &str) -> Vec<u32> {
    text.bytes().map(u32::from).collect()
}

/// The symbols most probable one after the other.
fn ahead(sequence: &StarSequitur, steps: usize) -> String {
    sequence.ahead(0).take(steps).filter_map(|c| char::from_u32(c.terminal)).collect()
}

#[test]
fn nothing_is_expected_of_an_empty_history() {
    let sequence = StarSequitur::new(Config::new());
    assert!(sequence.next().is_empty());
    assert_eq!(sequence.ahead(0).next(), None);
    assert_eq!(sequence.ahead(7).next(), None);
}

#[test]
fn a_loop_is_read_any_distance_ahead() {
    let sequence = learn(Config::new(), letters(&"open_write_write_close_".repeat(3)));
    let expected = "open_write_write_close_".repeat(10);
    assert_eq!(ahead(&sequence, expected.len()), expected);
}

#[test]
fn weights_count_the_ways_to_the_candidates() {
    let sequence = learn(Config::exact(), letters("xaxbxaxbx"));
    let weights = sequence.weights();
    assert_eq!(weights.len(), 1, "{weights:?}");
    assert_eq!(weights[0].0, u32::from(b'a'));
    assert!(weights[0].1 > 0.0, "{weights:?}");
}

#[test]
fn the_end_of_a_counted_loop_is_foreseen() {
    let mut sequence = learn(Config::new(), letters(&"oaaaaaaaac".repeat(4)));
    letters("oaaaaaaaa").into_iter().for_each(|symbol| sequence.push(symbol));
    assert_eq!(sequence.next()[0].terminal, u32::from(b'c'));
    assert!(sequence.next()[0].probability > 0.9);
}

#[test]
fn a_loop_of_varying_count_ends_as_probably_as_it_did() {
    // Ten counts, each as often as the others: more than are kept apart.
    let phase = |count: usize| format!("o{}c", "w".repeat(count));
    let counts = (0..300).map(|at| 20 + at * 7 % 10);
    let stream: String = counts.map(phase).collect();
    let mut sequence = learn(Config::new(), letters(&stream));
    assert!(sequence.size() < 20, "{}", sequence.grammar());

    letters(&phase(20)[..16]).into_iter().for_each(|symbol| sequence.push(symbol));
    let best = sequence.next()[0];
    assert_eq!(best.terminal, u32::from(b'w'));
    assert!(best.probability > 0.95, "{best:?}");

    letters("wwwww").into_iter().for_each(|symbol| sequence.push(symbol));
    let end = sequence.next().iter().find(|c| c.terminal == u32::from(b'c')).unwrap();
    assert!((0.02..0.4).contains(&end.probability), "{end:?}");
}

#[test]
fn one_surprise_does_not_cost_the_context() {
    let period: Vec<u32> = (0..50).collect();
    let mut sequence = learn(Config::new(), period.repeat(20));
    for (at, &symbol) in period.repeat(30).iter().enumerate() {
        // Now and then a call is replaced by one never seen elsewhere.
        let noise = at % 97 == 13;
        sequence.push(if noise { 1000 + at as u32 } else { symbol });
    }
    let mut hits = 0;
    for (at, &symbol) in period.repeat(30).iter().enumerate() {
        let was_replaced = at % 97 == 14;
        if was_replaced {
            hits += usize::from(sequence.next().first().is_some_and(|c| c.terminal == symbol));
        }
        sequence.push(if at % 97 == 13 { 5000 + at as u32 } else { symbol });
    }
    assert!(hits >= 14, "right after {hits} of 16 surprises");
}

#[test]
fn probabilities_are_what_happens() {
    // After `a` comes `b` three times in four, by a rule that cannot be seen.
    let mut random = 88_172_645_463_325_252u64;
    let mut sequence = StarSequitur::new(Config::new());
    let mut bins = [(0.0, 0.0, 0.0); 10];
    for at in 0..60_000u32 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let symbol = match at % 3 {
            0 => 0,
            1 if !random.is_multiple_of(4) => 1,
            1 => 2,
            _ => 3,
        };
        if at > 5000
            && let Some(best) = sequence.next().first()
        {
            let bin = &mut bins[((best.probability * 10.0) as usize).min(9)];
            bin.0 += best.probability;
            bin.1 += f64::from(u8::from(best.terminal == symbol));
            bin.2 += 1.0;
        }
        sequence.push(symbol);
    }
    let error: f64 = bins.iter().map(|bin| (bin.0 - bin.1).abs()).sum::<f64>()
        / bins.iter().map(|bin| bin.2).sum::<f64>();
    assert!(error < 0.02, "{error}");
}

/// Whether the history holds the sequence, or ends in a beginning of it.
fn happened(history: &[u32], sequence: &[u32]) -> bool {
    (0..history.len()).any(|at| {
        let length = sequence.len().min(history.len() - at);
        history[at..at + length] == sequence[..length]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Until it reaches now, what is read ahead in exact mode is a piece of the
    /// history, for every candidate.
    #[test]
    fn reading_ahead_reads_history(
        stream in prop::collection::vec(0u32..4, 2..120),
        repeats in 1usize..4,
    ) {
        let stream = stream.repeat(repeats);
        let mut sequence = StarSequitur::new(Config::exact());
        for (at, &symbol) in stream.iter().enumerate() {
            sequence.push(symbol);
            for candidate in 0..sequence.next().len() {
                let read: Vec<u32> =
                    sequence.ahead(candidate).take(12).map(|c| c.terminal).collect();
                assert!(
                    happened(&stream[..=at], &read),
                    "{read:?} was read in {:?}\n{}", &stream[..=at], sequence.grammar()
                );
            }
        }
    }

    /// What was saved and loaded goes on as if nothing had happened.
    #[test]
    fn a_loaded_sequence_goes_on_exactly(
        stream in prop::collection::vec(0u32..5, 0..200),
        cut in 0usize..200,
        ceiling in 10usize..200,
    ) {
        for config in [Config::new(), Config::exact(), Config { max_occurrences: ceiling, ..Config::new() }] {
            let (before, after) = stream.split_at(cut.min(stream.len()));
            let mut kept = learn(config, before.iter().copied());
            let bytes = postcard::to_stdvec(&kept).unwrap();
            let mut loaded: StarSequitur = postcard::from_bytes(&bytes).unwrap();
            for &symbol in after {
                kept.push(symbol);
                loaded.push(symbol);
                assert_eq!(kept.next(), loaded.next());
            }
            assert_eq!(postcard::to_stdvec(&kept).unwrap(), postcard::to_stdvec(&loaded).unwrap());
        }
    }

    /// Bytes changed at random are refused, or make something that works.
    #[test]
    fn damaged_bytes_never_lead_astray(
        stream in prop::collection::vec(0u32..5, 0..100),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let sequence = learn(Config::new(), stream.iter().copied());
        let mut bytes = postcard::to_stdvec(&sequence).unwrap();
        for (place, value) in changes {
            let at = place.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(mut loaded) = postcard::from_bytes::<StarSequitur>(&bytes) {
            for &symbol in &stream {
                loaded.push(symbol);
                loaded.ahead(0).take(50).for_each(drop);
            }
            loaded.grammar().expand().take(1000).for_each(drop);
        }
    }
}
