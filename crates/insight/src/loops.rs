// SPDX-License-Identifier: MIT OR Apache-2.0

//! The loops of a grammar in words: what is repeated, how often, how much of
//! the run that is.

use std::collections::HashMap;

use ioracle_events::ContextSymbol;
use ioracle_grammar::{Exponent, Grammar, RuleId, RuleView, Symbol};
use ioracle_oracle::{Oracle, SymbolView};

/// Operations of one turn of a loop that are put into words.
const WORDED: usize = 400;
/// Words of one turn that are shown.
const SHOWN_WORDS: usize = 12;

/// A place in the grammar that is repeated.
pub struct Loop {
    /// What one turn does: `open, write ×3, close`.
    pub turn: String,
    /// Operations of one turn.
    pub operations: u64,
    /// Least and largest number of turns seen.
    pub turns: (u64, u64),
    /// How often the whole loop was run.
    pub runs: u64,
    /// The symbols of a turn, each once, in their order.
    pub symbols: Vec<u32>,
}

impl Loop {
    /// Operations of the run that lie in this loop, at least.
    pub fn covered(&self) -> u64 {
        self.operations.saturating_mul(self.turns.0).saturating_mul(self.runs)
    }
}

/// All loops that an oracle has found, those that cover most of the run first.
pub fn loops_of(oracle: &Oracle) -> Vec<Loop> {
    let views: Vec<SymbolView> = oracle.symbol_views().collect();
    let name = |terminal: u32| {
        let view = usize::try_from(terminal).ok().and_then(|symbol| views.get(symbol));
        match view {
            Some(view) => view.function.name().to_owned(),
            None if ContextSymbol(terminal) == ContextSymbol::UNSEEN => "start of a run".to_owned(),
            None => terminal.to_string(),
        }
    };
    loops(oracle.grammar().grammar(), &name)
}

fn loops(grammar: &Grammar, name: &dyn Fn(u32) -> String) -> Vec<Loop> {
    let rules: HashMap<RuleId, RuleView> = grammar.rules().map(|rule| (rule.id, rule)).collect();
    let mut loops = Vec::new();
    for rule in rules.values() {
        for &(symbol, exponent) in &rule.body {
            let Some(turns) = grammar.counts_of(exponent) else { continue };
            if turns.1 < 2 {
                continue;
            }
            let operations = match symbol {
                Symbol::Terminal(_) => 1,
                Symbol::Rule(id) => rules.get(&id).map_or(0, |rule| rule.length),
            };
            let (turn, symbols) = turn_in_words(symbol, &rules, name);
            loops.push(Loop { turn, operations, turns, runs: rule.derived.max(1), symbols });
        }
    }
    loops.sort_by(|a, b| b.covered().cmp(&a.covered()).then_with(|| a.turn.cmp(&b.turn)));
    loops
}

/// One turn in words, and its symbols.
fn turn_in_words(
    symbol: Symbol,
    rules: &HashMap<RuleId, RuleView>,
    name: &dyn Fn(u32) -> String,
) -> (String, Vec<u32>) {
    let mut turn = Turn { rules, name, left: WORDED, words: Vec::new(), symbols: Vec::new() };
    turn.put(symbol, Exponent::Times(1));
    let Turn { words, symbols, left, .. } = turn;
    let total = words.len();
    let shown = words.into_iter().take(SHOWN_WORDS).map(|(word, times)| match times {
        1 => word,
        times => format!("{word} ×{times}"),
    });
    let mut text = shown.collect::<Vec<String>>().join(", ");
    if total > SHOWN_WORDS || left == 0 {
        text.push_str(", …");
    }
    (text, symbols)
}

/// What a symbol derives, as far as it is put into words.
struct Turn<'a> {
    rules: &'a HashMap<RuleId, RuleView>,
    name: &'a dyn Fn(u32) -> String,
    left: usize,
    /// Equal neighbours counted together.
    words: Vec<(String, u64)>,
    symbols: Vec<u32>,
}

impl Turn<'_> {
    fn put(&mut self, symbol: Symbol, exponent: Exponent) {
        let times = match exponent {
            Exponent::Times(times) => times,
            Exponent::Varying(_) => 1,
        };
        match symbol {
            Symbol::Terminal(terminal) => {
                self.left = self.left.saturating_sub(1);
                if !self.symbols.contains(&terminal) {
                    self.symbols.push(terminal);
                }
                let word = (self.name)(terminal);
                match self.words.last_mut() {
                    Some((last, count)) if *last == word => *count = count.saturating_add(times),
                    _ => self.words.push((word, times)),
                }
            }
            Symbol::Rule(id) => {
                let Some(rule) = self.rules.get(&id) else { return };
                for _ in 0..times {
                    for &(symbol, exponent) in &rule.body {
                        if self.left == 0 {
                            return;
                        }
                        self.put(symbol, exponent);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ioracle_grammar::{Config, StarSequitur};

    use super::*;

    fn learn(turns: &str) -> StarSequitur {
        let mut grammar = StarSequitur::new(Config::new());
        turns.bytes().for_each(|byte| grammar.push(u32::from(byte)));
        grammar
    }

    fn name(terminal: u32) -> String {
        char::from_u32(terminal).map_or("?".to_owned(), String::from)
    }

    #[test]
    fn a_loop_is_reported_with_its_turn_and_count() {
        let grammar = learn(&"owwwc".repeat(7));
        let loops = loops(grammar.grammar(), &name);
        let first = loops.first().unwrap();
        assert_eq!(first.turns.0, 6.max(first.turns.0));
        assert_eq!(first.operations, 5);
        assert!(first.turn.contains("w ×3"), "{}", first.turn);
        assert_eq!(first.symbols.len(), 3);
    }

    #[test]
    fn a_stream_without_repetition_has_no_loops() {
        assert!(loops(learn("abcdef").grammar(), &name).is_empty());
    }
}
