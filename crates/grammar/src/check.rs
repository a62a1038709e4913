// SPDX-License-Identifier: MIT OR Apache-2.0

//! Checks that a grammar is valid: for tests, and after loading.
//!
//! [`Grammar::check_storage`] trusts nothing, not even that a number is an index; after
//! it, everything else may be walked. [`Grammar::check`] adds the five invariants.

use std::collections::{HashMap, HashSet};

use crate::arena::{ArenaSlot, GrammarArena};
use crate::grammar::Grammar;
use crate::symbol::{Exponent, OccurrenceId, RuleId, Symbol};

impl Grammar {
    /// Whether the five invariants hold; if not, which one is broken and where.
    ///
    /// The cost is proportional to the size of the grammar.
    pub fn check(&self) -> Result<(), String> {
        self.check_storage()?;
        let mut digrams = HashMap::new();
        for (at, occurrence) in self.arena.slots.iter().enumerate() {
            let ArenaSlot::Holds(symbol) = occurrence.slot else { continue };
            let left = OccurrenceId(at as u32);
            let Some(right) = self.arena.symbol(occurrence.next) else { continue };
            if self.config.exponents && symbol == right {
                return Err(format!("twins at {at}"));
            }
            if self.run_is_open && occurrence.next == self.arena.last(RuleId::START) {
                continue;
            }
            let digram =
                ((symbol, occurrence.exponent), (right, self.arena.get(occurrence.next).exponent));
            if let Some(other) = digrams.insert(digram, left)
                && self.arena.next(other) != left
                && occurrence.next != other
            {
                return Err(format!("the digram {digram:?} stands at {} and {at}", other.0));
            }
        }
        for at in 1..self.arena.rules.len() as u32 {
            let rule = RuleId(at);
            if !self.arena.rule_exists(rule) || self.doomed.contains(&rule) {
                continue;
            }
            if self.arena.rules[rule.at()].uses < 2 {
                return Err(format!("rule {at} is used less than twice"));
            }
            if self.arena.body_length(rule) < 2 {
                return Err(format!("rule {at} is a unit rule"));
            }
        }
        if self.indexed().len() > digrams.len() {
            return Err("the index holds digrams that do not exist".to_owned());
        }
        Ok(())
    }

    /// Whether all numbers point at what they should and all lists close.
    pub(crate) fn check_storage(&self) -> Result<(), String> {
        self.arena.check_ranges()?;
        self.arena.check_bodies()?;
        self.arena.check_uses()?;
        self.arena.check_acyclic()?;
        for occurrence in &self.arena.slots {
            if let (ArenaSlot::Holds(_), Exponent::Varying(varying)) =
                (occurrence.slot, occurrence.exponent)
                && self.loops.get(varying).is_none()
            {
                return Err("a loop without counts".to_owned());
            }
        }
        if !self.held.is_sound(self) {
            return Err("what is held back follows nothing".to_owned());
        }
        for &rule in &self.doomed {
            if rule == RuleId::START || rule.at() >= self.arena.rules.len() {
                return Err("a doomed rule that does not exist".to_owned());
            }
        }
        Ok(())
    }
}

impl GrammarArena {
    fn check_ranges(&self) -> Result<(), String> {
        let slot = |id: OccurrenceId| id.at() < self.slots.len();
        let slot_or_none = |id: OccurrenceId| id.is_none() || slot(id);
        for (at, rule) in self.rules.iter().enumerate() {
            if rule.guard.is_none() {
                continue;
            }
            let body = self.bodies.get(rule.body.0 as usize);
            if !slot(rule.guard)
                || self.slots[rule.guard.at()].slot != ArenaSlot::Guard(RuleId(at as u32))
                || body.is_none_or(|body| body.rule.at() != at)
                || !slot_or_none(rule.first_use)
            {
                return Err(format!("rule {at} points outside"));
            }
        }
        if !self.rule_exists(RuleId::START) {
            return Err("there is no start rule".to_owned());
        }
        for (at, occurrence) in self.slots.iter().enumerate() {
            let linked = match occurrence.slot {
                ArenaSlot::Free => slot_or_none(occurrence.next),
                ArenaSlot::Guard(rule) => {
                    slot(occurrence.next)
                        && slot(occurrence.previous)
                        && self.rules.get(rule.at()).is_some_and(|rule| rule.guard.at() == at)
                }
                ArenaSlot::Holds(symbol) => {
                    let holds = match symbol {
                        Symbol::Rule(rule) => rule != RuleId::START && self.rule_exists(rule),
                        Symbol::Terminal(_) => true,
                    };
                    holds
                        && slot(occurrence.next)
                        && slot(occurrence.previous)
                        && slot_or_none(occurrence.next_use)
                        && slot_or_none(occurrence.previous_use)
                        && (occurrence.body.0 as usize) < self.bodies.len()
                        && occurrence.exponent != Exponent::Times(0)
                }
            };
            if !linked {
                return Err(format!("occurrence {at} points outside"));
            }
        }
        self.check_free_lists()
    }

    fn check_free_lists(&self) -> Result<(), String> {
        let n_free = self.slots.iter().filter(|slot| slot.slot == ArenaSlot::Free).count();
        let mut id = self.free_slot;
        for _ in 0..n_free {
            if id.is_none() || id.at() >= self.slots.len() || self.get(id).slot != ArenaSlot::Free {
                return Err("the list of free occurrences is broken".to_owned());
            }
            id = self.next(id);
        }
        let vacant =
            |rule: &RuleId| self.rules.get(rule.at()).is_some() && !self.rule_exists(*rule);
        let n_vacant = self.rules.iter().filter(|rule| rule.guard.is_none()).count();
        let distinct: HashSet<_> = self.free_rules.iter().collect();
        let bodies_in_use: HashSet<_> =
            self.rules.iter().filter(|rule| !rule.guard.is_none()).map(|rule| rule.body).collect();
        let spare = |body| (body_at(body) < self.bodies.len()) && !bodies_in_use.contains(&body);
        let distinct_bodies: HashSet<_> = self.free_bodies.iter().collect();
        if !id.is_none()
            || !self.free_rules.iter().all(vacant)
            || distinct.len() != self.free_rules.len()
            || self.free_rules.len() != n_vacant
            || self.n_rules != bodies_in_use.len()
            || !self.free_bodies.iter().all(|&body| spare(body))
            || distinct_bodies.len() != self.free_bodies.len()
        {
            return Err("the lists of free rules are broken".to_owned());
        }
        Ok(())
    }

    fn check_bodies(&self) -> Result<(), String> {
        let mut n_occurrences = 0;
        for at in 0..self.rules.len() as u32 {
            let id = RuleId(at);
            if !self.rule_exists(id) {
                continue;
            }
            let (guard, body) = (self.rules[id.at()].guard, self.rules[id.at()].body);
            let mut length = 0;
            let mut here = guard;
            loop {
                let next = self.next(here);
                if self.previous(next) != here || self.get(next).body != body {
                    return Err(format!("the body of rule {at} is not a list"));
                }
                if next == guard {
                    break;
                }
                if self.symbol(next).is_none() || length > self.slots.len() {
                    return Err(format!("the body of rule {at} does not close"));
                }
                length += 1;
                here = next;
            }
            if length != self.body_length(id) {
                return Err(format!("the body of rule {at} has another length"));
            }
            n_occurrences += length;
        }
        let held =
            self.slots.iter().filter(|slot| matches!(slot.slot, ArenaSlot::Holds(_))).count();
        if n_occurrences != self.n_occurrences || held != n_occurrences {
            return Err("occurrences outside all bodies".to_owned());
        }
        Ok(())
    }

    fn check_uses(&self) -> Result<(), String> {
        let mut linked = 0;
        let rules = (0..self.rules.len() as u32).map(RuleId).filter(|&id| self.rule_exists(id));
        let terminals = self.terminals.keys().map(|&terminal| Symbol::Terminal(terminal));
        for symbol in rules.map(Symbol::Rule).chain(terminals) {
            let mut previous = OccurrenceId::NONE;
            let mut id = self.first_use(symbol);
            let mut uses = 0u64;
            while !id.is_none() {
                linked += 1;
                if id.at() >= self.slots.len()
                    || self.symbol(id) != Some(symbol)
                    || self.get(id).previous_use != previous
                    || linked > self.slots.len()
                {
                    return Err(format!("the uses of {symbol:?} are not a list"));
                }
                uses = uses.saturating_add(self.get(id).exponent.uses());
                previous = id;
                id = self.get(id).next_use;
            }
            if let Symbol::Rule(rule) = symbol
                && self.rules[rule.at()].uses != uses
            {
                return Err(format!("rule {} miscounts its uses", rule.0));
            }
        }
        if linked != self.n_occurrences {
            return Err("occurrences that their symbol does not know of".to_owned());
        }
        Ok(())
    }

    /// No rule may derive itself. Rules are taken away as soon as nothing left
    /// uses them; what cannot be taken away is a cycle.
    fn check_acyclic(&self) -> Result<(), String> {
        let mut waiting = vec![0usize; self.rules.len()];
        for occurrence in &self.slots {
            if let ArenaSlot::Holds(Symbol::Rule(rule)) = occurrence.slot {
                waiting[rule.at()] += 1;
            }
        }
        let exists = |&id: &RuleId| self.rule_exists(id);
        let ids = || (0..self.rules.len() as u32).map(RuleId).filter(exists);
        let mut ready: Vec<RuleId> = ids().filter(|id| waiting[id.at()] == 0).collect();
        let mut n_ready = 0;
        while let Some(rule) = ready.pop() {
            n_ready += 1;
            let mut id = self.first(rule);
            while let Some(symbol) = self.symbol(id) {
                if let Symbol::Rule(child) = symbol {
                    waiting[child.at()] -= 1;
                    if waiting[child.at()] == 0 {
                        ready.push(child);
                    }
                }
                id = self.next(id);
            }
        }
        if n_ready == ids().count() { Ok(()) } else { Err("a rule derives itself".to_owned()) }
    }
}

fn body_at(body: crate::arena::BodyId) -> usize {
    body.0 as usize
}
