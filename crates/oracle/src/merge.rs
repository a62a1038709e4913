// SPDX-License-Identifier: MIT OR Apache-2.0

//! Merging: what two runs, or two ranks, have learned becomes one model.
//!
//! The history of the smaller is replayed through the grammar of the larger, so
//! rules are shared; statistics add up; remembered contexts are joined, which
//! works because they are built from tags that are the same in every model.
//! The merged model stands at the end of the smaller's history; begin a run with
//! it, or let it find its place again.

use crate::oracle::{Oracle, START};

/// Symbols of the smaller's history that are replayed at most: a loop of a
/// billion repetitions is one occurrence, and teaches nothing after the first
/// thousands.
const MAX_REPLAYED: usize = 1 << 22;

impl Oracle {
    /// Adds what another oracle has learned. The merged one stands at the end
    /// of the shorter of the two histories.
    pub fn merge(&mut self, other: &Oracle) {
        if self.clock.n_observed < other.clock.n_observed {
            let smaller = std::mem::replace(self, other.clone());
            self.take_in(&smaller);
        } else {
            self.take_in(other);
        }
        self.prepare();
    }

    fn take_in(&mut self, smaller: &Oracle) {
        let symbols = self.adopt_symbols(smaller);
        let symbol_of = |symbol: u32| symbols.get(symbol as usize).copied();
        let files: Vec<Option<u32>> = (0..smaller.files.len())
            .map(|file| self.files.adopt(smaller.files.name(file), &mut self.motions))
            .collect();
        let file_of = |file: u32| files.get(file as usize).copied().flatten();
        self.knowledge.merge(&smaller.knowledge, symbol_of, file_of);
        self.quiet.merge(&smaller.quiet);
        let n_observed = self.clock.n_observed.saturating_add(smaller.clock.n_observed);
        self.clock.n_observed = n_observed;
        for terminal in smaller.grammar.grammar().expand().take(MAX_REPLAYED) {
            self.grammar.push(symbol_of(terminal).unwrap_or(START));
        }
    }

    /// The number here of each symbol there.
    fn adopt_symbols(&mut self, smaller: &Oracle) -> Vec<u32> {
        let theirs = smaller.contexts.identities().iter().zip(&smaller.knowledge.symbols);
        theirs
            .map(|(&identity, known)| {
                let own = self.contexts.add(identity);
                self.knowledge.adopt_symbol(own, known);
                if own as usize == self.motions.symbols.len() {
                    self.motions.add_symbol(self.contexts.tag(own));
                }
                own
            })
            .collect()
    }
}
