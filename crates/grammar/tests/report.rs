// SPDX-License-Identifier: MIT OR Apache-2.0

//! The examples of the Omnisc'IO report.

use expect_test::{Expect, expect};
use ioracle_grammar::{Config, Grammar};

fn learn(config: Config, text: &str) -> Grammar {
    let mut grammar = Grammar::new(config);
    for symbol in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        grammar.push(u32::from(symbol));
    }
    grammar
}

/// Shows terminals as the letters they are.
fn show(grammar: &Grammar) -> String {
    let mut shown = String::new();
    for word in grammar.to_string().split_inclusive([' ', '\n']) {
        let number: String = word.chars().take_while(char::is_ascii_digit).collect();
        match number.parse::<u8>() {
            Ok(letter) => {
                shown.push(char::from(letter));
                shown.push_str(&word[number.len()..]);
            }
            Err(_) => shown.push_str(word),
        }
    }
    shown
}

fn check(config: Config, text: &str, expected: Expect) {
    expected.assert_eq(&show(&learn(config, text)));
}

#[test]
fn table_1_example_3_becomes_example_1() {
    check(
        Config::sequitur(),
        "ab cd cd e",
        expect![[r#"
        S -> a b A A e
        A -> c d
    "#]],
    );
}

#[test]
fn table_2_sequitur_needs_a_rule_for_each_doubling() {
    check(
        Config::sequitur(),
        "abababababababab",
        expect![[r#"
        S -> A A
        A -> B B
        B -> C C
        C -> a b
    "#]],
    );
}

#[test]
fn table_2_star_sequitur_needs_one_rule() {
    for config in [Config::exact(), Config::new()] {
        check(
            config,
            "abababababababab",
            expect![[r#"
            S -> A^8
            A -> a b
        "#]],
        );
    }
}

#[test]
fn a_loop_becomes_a_rule_with_an_exponent() {
    check(
        Config::exact(),
        "abcabcabc x abcabcabc",
        expect![[r#"
        S -> A^3 x A^3
        A -> a b c
    "#]],
    );
}
