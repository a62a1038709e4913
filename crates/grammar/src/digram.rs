// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where each digram stands.
//!
//! The index holds nothing but the left occurrence of every digram; keys are
//! read from the arena. A digram must therefore leave the index before either
//! of its occurrences changes.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::arena::{ArenaSlot, GrammarArena, Occurrence};
use crate::grammar::Grammar;
use crate::index::Index;
use crate::symbol::{Exponent, OccurrenceId, RuleId, Symbol};

/// Two neighbouring occurrences, exponents included.
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct Digram {
    left: (Symbol, Exponent),
    right: (Symbol, Exponent),
}

impl Digram {
    fn hash(&self) -> u64 {
        FixedState::default().hash_one(self)
    }
}

impl Grammar {
    pub(crate) fn digram_at(&self, left: OccurrenceId) -> Digram {
        digram_at(&self.arena, left)
    }

    pub(crate) fn find(&self, digram: &Digram) -> Option<OccurrenceId> {
        self.index.find(digram.hash(), |id| digram_at(&self.arena, id) == *digram)
    }

    pub(crate) fn index_digram(&mut self, left: OccurrenceId) {
        let arena = &self.arena;
        let hash = |id: OccurrenceId| digram_at(arena, id).hash();
        self.index.insert(hash(left), left, hash);
    }

    /// Takes the digram at `left` out of the index, if the index has that occurrence.
    pub(crate) fn unindex(&mut self, left: OccurrenceId) {
        let right = self.arena.next(left);
        if self.arena.symbol(left).is_none() || self.arena.symbol(right).is_none() {
            return;
        }
        let hash = self.digram_at(left).hash();
        self.index.remove(hash, left);
    }

    /// The places that stand in the index, in order.
    pub(crate) fn indexed(&self) -> Vec<OccurrenceId> {
        let mut ids: Vec<OccurrenceId> = self.index.iter().collect();
        ids.sort_unstable();
        ids
    }

    /// Fills the index after loading; an error if digrams are not unique.
    pub(crate) fn reindex(&mut self, indexed: &[OccurrenceId]) -> Result<(), String> {
        self.index = Index::new();
        for &left in indexed {
            let is_digram = left.at() < self.arena.slots.len()
                && self.arena.symbol(left).is_some()
                && self.arena.symbol(self.arena.next(left)).is_some();
            if !is_digram || self.find(&self.digram_at(left)).is_some() {
                return Err("the digram index makes no sense".to_owned());
            }
            self.index_digram(left);
        }
        Ok(())
    }
}

fn digram_at(arena: &GrammarArena, left: OccurrenceId) -> Digram {
    let right = arena.next(left);
    let part = |id: OccurrenceId| {
        let Occurrence { slot, exponent, .. } = *arena.get(id);
        match slot {
            ArenaSlot::Holds(symbol) => (symbol, exponent),
            // A guard is part of no digram; this value is never looked up.
            ArenaSlot::Guard(rule) => (Symbol::Rule(rule), Exponent::Times(0)),
            ArenaSlot::Free => (Symbol::Rule(RuleId::START), Exponent::Times(0)),
        }
    };
    Digram { left: part(left), right: part(right) }
}
