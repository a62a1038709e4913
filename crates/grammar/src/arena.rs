// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where occurrences, rules and their bodies live.
//!
//! A rule's body is a circular list of occurrences closed by a guard, so a
//! neighbour always exists. Every symbol also keeps the list of its
//! occurrences, the most recent first: for a rule these are its uses.
//!
//! Each occurrence knows its *body*, and the body its rule. The detour lets a
//! rule be spliced into another in time proportional to the shorter of the two
//! bodies: the shorter list is relabelled, and the longer keeps its label.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use crate::symbol::{Exponent, OccurrenceId, RuleId, Symbol, Terminal};

/// What a slot of the arena is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ArenaSlot {
    /// A place in a body.
    Holds(Symbol),
    /// The closing mark of a rule's body.
    Guard(RuleId),
    /// Nothing; `next` leads to the next free slot.
    Free,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct BodyId(pub(crate) u32);

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Occurrence {
    pub slot: ArenaSlot,
    pub exponent: Exponent,
    pub previous: OccurrenceId,
    pub next: OccurrenceId,
    pub previous_use: OccurrenceId,
    pub next_use: OccurrenceId,
    pub body: BodyId,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Body {
    pub rule: RuleId,
    /// Occurrences in it, the guard not counted.
    pub length: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rule {
    /// `NONE` for a rule that does not exist.
    pub guard: OccurrenceId,
    pub body: BodyId,
    /// The most recent use, head of the list of uses.
    pub first_use: OccurrenceId,
    /// Exponents of all uses, added up.
    pub uses: u64,
    /// How often the history derives this rule; saturates.
    pub derived: u64,
    /// How many terminals it stands for; saturates.
    pub length: u64,
    /// Never reused, unlike the id.
    pub serial: u64,
    /// Whether a use of it ever had an exponent of 2 or more.
    pub repeats: bool,
}

impl Rule {
    const VACANT: Rule = Rule {
        guard: OccurrenceId::NONE,
        body: BodyId(0),
        first_use: OccurrenceId::NONE,
        uses: 0,
        derived: 0,
        length: 0,
        serial: 0,
        repeats: false,
    };
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct TerminalUses {
    pub first_use: OccurrenceId,
    /// Whether it was ever seen twice in a row.
    pub repeats: bool,
}

/// The storage of a grammar. Keeps the lists consistent, decides nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct GrammarArena {
    pub slots: Vec<Occurrence>,
    pub free_slot: OccurrenceId,
    pub rules: Vec<Rule>,
    pub free_rules: Vec<RuleId>,
    pub bodies: Vec<Body>,
    pub free_bodies: Vec<BodyId>,
    #[serde(with = "terminal_table")]
    pub terminals: HashMap<Terminal, TerminalUses, FixedState>,
    /// Occurrences in all bodies, guards not counted.
    pub n_occurrences: usize,
    /// Rules that exist, the start rule included.
    pub n_rules: usize,
    pub next_serial: u64,
}

impl GrammarArena {
    /// Room for `expected` occurrences is reserved: moving a large table when it grows
    /// would be the longest push of all, and unused room costs nothing.
    pub fn new(expected: usize) -> GrammarArena {
        let mut arena = GrammarArena {
            slots: Vec::with_capacity(expected),
            free_slot: OccurrenceId::NONE,
            rules: Vec::new(),
            free_rules: Vec::new(),
            bodies: Vec::new(),
            free_bodies: Vec::new(),
            terminals: HashMap::default(),
            n_occurrences: 0,
            n_rules: 0,
            next_serial: 0,
        };
        let start = arena.new_rule();
        debug_assert_eq!(start, RuleId::START);
        arena.rules[start.at()].derived = 1;
        arena
    }

    #[inline]
    pub fn get(&self, id: OccurrenceId) -> &Occurrence {
        &self.slots[id.at()]
    }

    #[inline]
    pub fn symbol(&self, id: OccurrenceId) -> Option<Symbol> {
        match self.slots[id.at()].slot {
            ArenaSlot::Holds(symbol) => Some(symbol),
            _ => None,
        }
    }

    #[inline]
    pub fn next(&self, id: OccurrenceId) -> OccurrenceId {
        self.slots[id.at()].next
    }

    #[inline]
    pub fn previous(&self, id: OccurrenceId) -> OccurrenceId {
        self.slots[id.at()].previous
    }

    /// The rule in whose body the occurrence stands.
    #[inline]
    pub fn owner(&self, id: OccurrenceId) -> RuleId {
        self.bodies[self.slots[id.at()].body.0 as usize].rule
    }

    /// The first occurrence of a body; the guard if it is empty.
    #[inline]
    pub fn first(&self, rule: RuleId) -> OccurrenceId {
        self.next(self.rules[rule.at()].guard)
    }

    /// The last occurrence of a body; the guard if it is empty.
    #[inline]
    pub fn last(&self, rule: RuleId) -> OccurrenceId {
        self.previous(self.rules[rule.at()].guard)
    }

    /// The guard's rule, if the id is a guard.
    #[inline]
    pub fn guard_of(&self, id: OccurrenceId) -> Option<RuleId> {
        match self.slots[id.at()].slot {
            ArenaSlot::Guard(rule) => Some(rule),
            _ => None,
        }
    }

    pub fn body_length(&self, rule: RuleId) -> usize {
        self.bodies[self.rules[rule.at()].body.0 as usize].length as usize
    }

    pub fn rule_exists(&self, rule: RuleId) -> bool {
        self.rules.get(rule.at()).is_some_and(|rule| !rule.guard.is_none())
    }

    /// Terminals that a symbol stands for.
    pub fn length_of(&self, symbol: Symbol) -> u64 {
        match symbol {
            Symbol::Terminal(_) => 1,
            Symbol::Rule(rule) => self.rules[rule.at()].length,
        }
    }

    /// Whether a symbol was ever seen twice in a row.
    pub fn repeats(&self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Rule(rule) => self.rules[rule.at()].repeats,
            Symbol::Terminal(terminal) => {
                self.terminals.get(&terminal).is_some_and(|uses| uses.repeats)
            }
        }
    }

    /// The most recent occurrence of a symbol, or `NONE`.
    pub fn first_use(&self, symbol: Symbol) -> OccurrenceId {
        match symbol {
            Symbol::Rule(rule) => self.rules[rule.at()].first_use,
            Symbol::Terminal(terminal) => {
                self.terminals.get(&terminal).map_or(OccurrenceId::NONE, |uses| uses.first_use)
            }
        }
    }

    /// A new rule with an empty body that nothing uses.
    pub fn new_rule(&mut self) -> RuleId {
        let body = match self.free_bodies.pop() {
            Some(body) => body,
            None => {
                self.bodies.push(Body { rule: RuleId::START, length: 0 });
                BodyId(self.bodies.len() as u32 - 1)
            }
        };
        let id = match self.free_rules.pop() {
            Some(id) => id,
            None => {
                self.rules.push(Rule::VACANT);
                RuleId(self.rules.len() as u32 - 1)
            }
        };
        self.bodies[body.0 as usize] = Body { rule: id, length: 0 };
        let guard = self.take_slot(Occurrence {
            slot: ArenaSlot::Guard(id),
            exponent: Exponent::ONE,
            previous: OccurrenceId::NONE,
            next: OccurrenceId::NONE,
            previous_use: OccurrenceId::NONE,
            next_use: OccurrenceId::NONE,
            body,
        });
        self.slots[guard.at()].previous = guard;
        self.slots[guard.at()].next = guard;
        self.rules[id.at()] = Rule { guard, body, serial: self.next_serial, ..Rule::VACANT };
        self.next_serial = self.next_serial.wrapping_add(1);
        self.n_rules += 1;
        id
    }

    /// Frees a rule whose body is empty and that nothing uses.
    pub fn free_rule(&mut self, id: RuleId) {
        let Rule { guard, body, .. } = self.rules[id.at()];
        debug_assert_eq!(self.bodies[body.0 as usize].length, 0);
        self.give_slot(guard);
        self.free_bodies.push(body);
        self.rules[id.at()].guard = OccurrenceId::NONE;
        self.free_rules.push(id);
        self.n_rules -= 1;
    }

    /// Puts a new occurrence into the body of `previous`, right after it.
    pub fn insert_after(
        &mut self,
        previous: OccurrenceId,
        symbol: Symbol,
        exponent: Exponent,
    ) -> OccurrenceId {
        let Occurrence { next, body, .. } = *self.get(previous);
        let id = self.take_slot(Occurrence {
            slot: ArenaSlot::Holds(symbol),
            exponent,
            previous,
            next,
            previous_use: OccurrenceId::NONE,
            next_use: OccurrenceId::NONE,
            body,
        });
        self.slots[previous.at()].next = id;
        self.slots[next.at()].previous = id;
        self.bodies[body.0 as usize].length += 1;
        self.n_occurrences += 1;
        self.link_use(id, symbol);
        if let Symbol::Rule(rule) = symbol {
            let rule = &mut self.rules[rule.at()];
            rule.uses = rule.uses.saturating_add(exponent.uses());
        }
        id
    }

    /// Removes an occurrence from its body and frees its slot.
    pub fn remove(&mut self, id: OccurrenceId) {
        let Occurrence { slot, exponent, .. } = *self.get(id);
        self.detach(id);
        if let ArenaSlot::Holds(symbol) = slot {
            self.unlink_use(id, symbol);
            if let Symbol::Rule(rule) = symbol {
                let rule = &mut self.rules[rule.at()];
                rule.uses = rule.uses.saturating_sub(exponent.uses());
            }
        }
        self.n_occurrences -= 1;
        self.give_slot(id);
    }

    /// Moves a stretch of a body into the empty body of a rule, in time
    /// proportional to its length.
    pub fn move_range(&mut self, begin: OccurrenceId, end: OccurrenceId, rule: RuleId) {
        let Rule { guard, body, .. } = self.rules[rule.at()];
        let from = self.get(begin).body;
        let (before, after) = (self.previous(begin), self.next(end));
        self.slots[before.at()].next = after;
        self.slots[after.at()].previous = before;
        self.slots[begin.at()].previous = guard;
        self.slots[end.at()].next = guard;
        self.slots[guard.at()].next = begin;
        self.slots[guard.at()].previous = end;
        self.relabel(rule, body);
        let mut length = 0;
        let mut id = begin;
        while id != guard {
            length += 1;
            id = self.next(id);
        }
        self.bodies[from.0 as usize].length -= length;
        self.bodies[body.0 as usize].length = length;
    }

    /// Sets what an occurrence holds and how often.
    pub fn set(&mut self, id: OccurrenceId, symbol: Symbol, exponent: Exponent) {
        let Occurrence { slot, exponent: old, .. } = *self.get(id);
        if let ArenaSlot::Holds(held) = slot {
            if held != symbol {
                self.unlink_use(id, held);
                self.link_use(id, symbol);
                self.slots[id.at()].slot = ArenaSlot::Holds(symbol);
            }
            if let Symbol::Rule(rule) = held {
                let rule = &mut self.rules[rule.at()];
                rule.uses = rule.uses.saturating_sub(old.uses());
            }
        }
        if let Symbol::Rule(rule) = symbol {
            let rule = &mut self.rules[rule.at()];
            rule.uses = rule.uses.saturating_add(exponent.uses());
            rule.repeats |= exponent.uses() > 1;
        }
        self.slots[id.at()].exponent = exponent;
    }

    /// Replaces the occurrence `used`, the only use of `rule`, by the rule's body, and
    /// frees the rule. Returns the body's first and last.
    pub fn splice(&mut self, used: OccurrenceId, rule: RuleId) -> (OccurrenceId, OccurrenceId) {
        let outer = self.owner(used);
        let (first, last) = (self.first(rule), self.last(rule));
        let outer_body = self.rules[outer.at()].body;
        let inner_body = self.rules[rule.at()].body;
        let outer_length = self.bodies[outer_body.0 as usize].length;
        let inner_length = self.bodies[inner_body.0 as usize].length;

        if inner_length < outer_length {
            self.relabel(rule, outer_body);
            self.bodies[outer_body.0 as usize].length += inner_length;
            self.bodies[inner_body.0 as usize].length = 0;
        } else {
            self.relabel(outer, inner_body);
            self.bodies[inner_body.0 as usize] =
                Body { rule: outer, length: outer_length + inner_length };
            self.bodies[outer_body.0 as usize] = Body { rule, length: 0 };
            self.rules[outer.at()].body = inner_body;
            self.rules[rule.at()].body = outer_body;
        }
        let Occurrence { previous, .. } = *self.get(used);
        self.remove(used);
        let next = self.next(previous);
        self.slots[previous.at()].next = first;
        self.slots[first.at()].previous = previous;
        self.slots[last.at()].next = next;
        self.slots[next.at()].previous = last;
        let guard = self.rules[rule.at()].guard;
        self.slots[guard.at()].next = guard;
        self.slots[guard.at()].previous = guard;
        self.free_rule(rule);
        (first, last)
    }

    /// Bytes held by the storage.
    pub fn memory_bytes(&self) -> usize {
        self.slots.len() * size_of::<Occurrence>()
            + self.rules.capacity() * size_of::<Rule>()
            + self.bodies.capacity() * size_of::<Body>()
            + self.terminals.capacity() * (size_of::<Terminal>() + size_of::<TerminalUses>() + 1)
            + (self.free_rules.capacity() + self.free_bodies.capacity()) * size_of::<u32>()
    }

    fn relabel(&mut self, rule: RuleId, body: BodyId) {
        let guard = self.rules[rule.at()].guard;
        let mut id = guard;
        loop {
            self.slots[id.at()].body = body;
            id = self.next(id);
            if id == guard {
                break;
            }
        }
    }

    fn detach(&mut self, id: OccurrenceId) {
        let Occurrence { previous, next, body, .. } = *self.get(id);
        self.slots[previous.at()].next = next;
        self.slots[next.at()].previous = previous;
        self.bodies[body.0 as usize].length -= 1;
    }

    fn link_use(&mut self, id: OccurrenceId, symbol: Symbol) {
        let first_use = match symbol {
            Symbol::Rule(rule) => &mut self.rules[rule.at()].first_use,
            Symbol::Terminal(terminal) => {
                let unused = TerminalUses { first_use: OccurrenceId::NONE, repeats: false };
                &mut self.terminals.entry(terminal).or_insert(unused).first_use
            }
        };
        let head = std::mem::replace(first_use, id);
        self.slots[id.at()].next_use = head;
        self.slots[id.at()].previous_use = OccurrenceId::NONE;
        if !head.is_none() {
            self.slots[head.at()].previous_use = id;
        }
    }

    fn unlink_use(&mut self, id: OccurrenceId, symbol: Symbol) {
        let Occurrence { previous_use, next_use, .. } = *self.get(id);
        if !next_use.is_none() {
            self.slots[next_use.at()].previous_use = previous_use;
        }
        if !previous_use.is_none() {
            self.slots[previous_use.at()].next_use = next_use;
            return;
        }
        match symbol {
            Symbol::Rule(rule) => self.rules[rule.at()].first_use = next_use,
            // A terminal without occurrences is forgotten, so that the table
            // never holds more than the grammar does.
            Symbol::Terminal(terminal) if next_use.is_none() => {
                self.terminals.remove(&terminal);
            }
            Symbol::Terminal(terminal) => {
                if let Some(uses) = self.terminals.get_mut(&terminal) {
                    uses.first_use = next_use;
                }
            }
        }
    }

    fn take_slot(&mut self, occurrence: Occurrence) -> OccurrenceId {
        if self.free_slot.is_none() {
            self.slots.push(occurrence);
            return OccurrenceId(self.slots.len() as u32 - 1);
        }
        let id = self.free_slot;
        self.free_slot = self.next(id);
        self.slots[id.at()] = occurrence;
        id
    }

    fn give_slot(&mut self, id: OccurrenceId) {
        let slot = &mut self.slots[id.at()];
        slot.slot = ArenaSlot::Free;
        slot.next = self.free_slot;
        self.free_slot = id;
    }
}

/// The table of terminals as a sorted list: equal grammars give equal bytes.
mod terminal_table {
    use foldhash::fast::FixedState;
    use hashbrown::HashMap;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Terminal, TerminalUses};

    type Table = HashMap<Terminal, TerminalUses, FixedState>;

    pub fn serialize<S: Serializer>(table: &Table, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows: Vec<(Terminal, TerminalUses)> = table.iter().map(|(&k, &v)| (k, v)).collect();
        rows.sort_unstable_by_key(|&(terminal, _)| terminal);
        rows.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Table, D::Error> {
        let rows = Vec::<(Terminal, TerminalUses)>::deserialize(deserializer)?;
        Ok(rows.into_iter().collect())
    }
}
