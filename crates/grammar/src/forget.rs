// SPDX-License-Identifier: MIT OR Apache-2.0

//! Keeps a grammar within its limit by forgetting the oldest history first.
//!
//! The head of the start rule goes, occurrence by occurrence. A rule that
//! nothing uses any more is taken apart from its front in the same way, a few
//! occurrences at each push, so that no single push pays for a large rule.
//! What remains obeys the invariants and derives a suffix of the history.

use crate::grammar::{Grammar, Todo};
use crate::symbol::{Exponent, RuleId, Symbol};
use crate::watch::RewriteObserver;

/// Maximum of occurrences forgotten by one push, which adds fewer.
const AT_ONCE: usize = 8;

impl Grammar {
    /// Forgets what is too much.
    pub(crate) fn forget_excess<W: RewriteObserver>(&mut self, watch: &mut W) {
        for _ in 0..AT_ONCE {
            if let Some(&rule) = self.doomed.last() {
                if !self.arena.rule_exists(rule) || self.arena.rules[rule.at()].uses > 0 {
                    // It was matched in the meantime.
                    self.doomed.pop();
                } else if self.arena.body_length(rule) > 0 {
                    self.forget_first(rule, watch);
                } else {
                    self.doomed.pop();
                    self.arena.free_rule(rule);
                }
            } else if self.arena.n_occurrences > self.config.max_occurrences {
                self.forget_oldest(watch);
            } else {
                return;
            }
            self.settle(watch);
        }
    }

    fn forget_oldest<W: RewriteObserver>(&mut self, watch: &mut W) {
        let first = self.arena.first(RuleId::START);
        let Some(symbol) = self.arena.symbol(first) else { return };
        let length = self.arena.length_of(symbol);
        if self.arena.body_length(RuleId::START) > 1 {
            self.forgotten = self.forgotten.saturating_add(self.run_length(first));
            self.forget_first(RuleId::START, watch);
        } else if matches!(symbol, Symbol::Rule(_)) {
            // One loop is all there is: keep its last repetition, whose body
            // then takes the place of the loop and can be shortened.
            let repetitions = self.run_length(first) / length.max(1);
            let gone = repetitions.saturating_sub(1).saturating_mul(length);
            self.forgotten = self.forgotten.saturating_add(gone);
            self.set_exponent(first, symbol, Exponent::ONE);
            self.look_at_rule(Some(symbol));
        }
    }

    fn forget_first<W: RewriteObserver>(&mut self, rule: RuleId, watch: &mut W) {
        let first = self.arena.first(rule);
        self.unindex(first);
        watch.forgotten(first, &self.arena);
        let symbol = self.arena.symbol(first);
        self.arena.remove(first);
        self.look_at_rule(symbol);
        if !self.config.exponents {
            let first = self.arena.first(rule);
            self.todo.push(Todo::Digram(first));
        }
    }
}
