// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads the history back from the grammar, and shows its rules.

use std::borrow::Cow;
use std::fmt;

use crate::grammar::Grammar;
use crate::symbol::{Exponent, OccurrenceId, RuleId, Symbol, Terminal};

/// The terminals that the start rule derives, in order.
pub(crate) struct Expansion<'a> {
    grammar: Cow<'a, Grammar>,
    /// The path to the next terminal: occurrences, the innermost last, and how
    /// many repetitions of each are still to come, this one included.
    path: Vec<(OccurrenceId, u64)>,
}

impl<'a> Expansion<'a> {
    pub fn new(grammar: &'a Grammar) -> Expansion<'a> {
        let mut grammar = Cow::Borrowed(grammar);
        if grammar.held() > 0 {
            grammar.to_mut().catch_up();
        }
        let first = grammar.arena.first(RuleId::START);
        let mut expansion = Expansion { grammar, path: Vec::new() };
        expansion.descend(first);
        expansion
    }

    /// Enters an occurrence and, through first occurrences, a terminal.
    fn descend(&mut self, mut id: OccurrenceId) {
        while let Some(symbol) = self.grammar.arena.symbol(id) {
            let repetitions = match self.grammar.arena.get(id).exponent {
                Exponent::Times(times) => times,
                Exponent::Varying(varying) => self.grammar.typical_count(varying),
            };
            self.path.push((id, repetitions));
            match symbol {
                Symbol::Terminal(_) => return,
                Symbol::Rule(rule) => id = self.grammar.arena.first(rule),
            }
        }
    }
}

impl Iterator for Expansion<'_> {
    type Item = Terminal;

    fn next(&mut self) -> Option<Terminal> {
        let &(id, _) = self.path.last()?;
        let Some(Symbol::Terminal(terminal)) = self.grammar.arena.symbol(id) else { return None };
        while let Some((id, repetitions)) = self.path.pop() {
            if repetitions > 1 {
                self.path.push((id, repetitions - 1));
                if let Some(Symbol::Rule(rule)) = self.grammar.arena.symbol(id) {
                    self.descend(self.grammar.arena.first(rule));
                }
                break;
            }
            let next = self.grammar.arena.next(id);
            if self.grammar.arena.symbol(next).is_some() {
                self.descend(next);
                break;
            }
        }
        Some(terminal)
    }
}

/// One rule as a reader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleView {
    /// Its name.
    pub id: RuleId,
    /// What it stands for, in order.
    pub body: Vec<(Symbol, Exponent)>,
    /// How often the history derives it.
    pub derived: u64,
    /// How many terminals it stands for.
    pub length: u64,
}

impl Grammar {
    /// All rules, the start rule first.
    pub fn rules(&self) -> impl Iterator<Item = RuleView> + '_ {
        let ids = (0..self.arena.rules.len() as u32).map(RuleId);
        ids.filter(|&id| self.arena.rule_exists(id)).map(|id| self.rule(id))
    }

    fn rule(&self, id: RuleId) -> RuleView {
        let mut body = Vec::with_capacity(self.arena.body_length(id));
        let mut at = self.arena.first(id);
        while let Some(symbol) = self.arena.symbol(at) {
            body.push((symbol, self.arena.get(at).exponent));
            at = self.arena.next(at);
        }
        let rule = &self.arena.rules[id.at()];
        RuleView { id, body, derived: rule.derived, length: rule.length }
    }

    /// The loop counts of a varying exponent, in words: `3 to 17`.
    pub fn counts_of(&self, exponent: Exponent) -> Option<(u64, u64)> {
        match exponent {
            Exponent::Times(times) => Some((times, times)),
            Exponent::Varying(varying) => self.loops.get(varying)?.range(),
        }
    }
}

/// The rules, one a line: `S -> A^3 7`, `A -> 1 2`. Terminals are numbers;
/// rules are letters in the order in which they are first used, beyond 25 with
/// a number behind.
impl fmt::Display for Grammar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut order = vec![RuleId::START];
        let mut named = vec![None; self.arena.rules.len()];
        named[RuleId::START.at()] = Some(0);
        let mut at = 0;
        while at < order.len() {
            for (symbol, _) in self.rule(order[at]).body {
                if let Symbol::Rule(rule) = symbol
                    && named[rule.at()].is_none()
                {
                    named[rule.at()] = Some(order.len());
                    order.push(rule);
                }
            }
            at += 1;
        }
        for &id in &order {
            write!(f, "{} ->", rule_name(named[id.at()].unwrap_or(0)))?;
            for (symbol, exponent) in self.rule(id).body {
                match symbol {
                    Symbol::Terminal(terminal) => write!(f, " {terminal}")?,
                    Symbol::Rule(rule) => {
                        write!(f, " {}", rule_name(named[rule.at()].unwrap_or(0)))?;
                    }
                }
                match exponent {
                    Exponent::Times(1) => {}
                    Exponent::Times(times) => write!(f, "^{times}")?,
                    Exponent::Varying(_) => write!(f, "^*")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn rule_name(number: usize) -> String {
    if number == 0 {
        return "S".to_owned();
    }
    // The start rule has taken the S.
    let letters = b"ABCDEFGHIJKLMNOPQRTUVWXYZ";
    let letter = char::from(letters[(number - 1) % letters.len()]);
    match (number - 1) / letters.len() {
        0 => letter.to_string(),
        round => format!("{letter}{round}"),
    }
}
