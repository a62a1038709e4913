// SPDX-License-Identifier: MIT OR Apache-2.0

//! StarSequitur: a stream of symbols becomes rules with exponents.
//!
//! After each [`push`](Grammar::push) five invariants hold for everything that is not
//! [held back](Grammar::held): the start rule derives the input (lossless), a pair of
//! neighbours stands at one place only (digram uniqueness), neighbours differ (no
//! twins), a rule is used at least twice (rule utility), and its body has at least two
//! occurrences (no unit rules).
//!
//! A push breaks them at one place, and each repair may break them at its neighbours.
//! Repairs are not nested calls but a list of places to look at: looking at a place is
//! idempotent, so a place that a repair has removed in the meantime, or that was given
//! to something else, is harmless.
//!
//! The amortised cost of a push is constant; the memory is proportional to the
//! grammar, and bounded by [`Config::max_occurrences`].

use crate::arena::{ArenaSlot, GrammarArena, Occurrence};
use crate::config::{Config, GrammarMode};
use crate::expand::Expansion;
use crate::follow::Held;
use crate::index::Index;
use crate::loops::{LastingName, Loops};
use crate::symbol::{Exponent, LoopId, OccurrenceId, RuleId, Symbol, Terminal};
use crate::watch::RewriteObserver;

/// How far down its left edge a rule is searched for what may continue it.
const MAX_LEFT_EDGE: usize = 16;

/// Occurrences for which room is reserved.
const MAX_RESERVED: usize = 1 << 14;

/// Places of a loop that are looked at when its count turns out to vary.
const MAX_SUMMARISED: usize = 64;

/// A grammar that is learned symbol by symbol.
#[derive(Clone, Debug)]
pub struct Grammar {
    pub(crate) config: Config,
    pub(crate) arena: GrammarArena,
    pub(crate) loops: Loops,
    /// The left occurrence of every digram.
    pub(crate) index: Index,
    pub(crate) todo: Vec<Todo>,
    /// Rules that nothing uses any more, taken apart a little at each push.
    pub(crate) doomed: Vec<RuleId>,
    pub(crate) held: Held,
    /// Whether the digram before the last occurrence is still to be checked.
    pub(crate) run_is_open: bool,
    pub(crate) pushed: u64,
    pub(crate) forgotten: u64,
}

/// A place where an invariant may be broken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Todo {
    Digram(OccurrenceId),
    Rule(RuleId),
}

impl Grammar {
    /// An empty grammar.
    pub fn new(config: Config) -> Grammar {
        let expected = config.max_occurrences.min(MAX_RESERVED);
        Grammar {
            config,
            arena: GrammarArena::new(expected + expected / 2),
            loops: Loops::default(),
            index: Index::new(),
            todo: Vec::new(),
            doomed: Vec::new(),
            held: Held::default(),
            run_is_open: false,
            pushed: 0,
            forgotten: 0,
        }
    }

    /// Appends a symbol to the history.
    pub fn push(&mut self, terminal: Terminal) {
        self.push_watched(terminal, &mut ());
    }

    /// How it is built.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Symbols pushed so far.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Symbols at the beginning of the history that the grammar no longer derives;
    /// where loop counts vary, an estimate from typical counts.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Occurrences in all rule bodies.
    pub fn size(&self) -> usize {
        self.arena.n_occurrences
    }

    /// Rules, the start rule included.
    pub fn n_rules(&self) -> usize {
        self.arena.n_rules
    }

    /// The history, symbol by symbol: exactly what was pushed, less what was
    /// forgotten; where loop counts vary, with typical ones.
    pub fn expand(&self) -> impl Iterator<Item = Terminal> + '_ {
        Expansion::new(self)
    }

    /// Bytes that the grammar occupies.
    pub fn memory_bytes(&self) -> usize {
        self.arena.memory_bytes() + self.loops.memory_bytes() + self.index.memory_bytes()
    }

    /// Appends a symbol, notifying `watch` of what moves.
    pub(crate) fn push_watched<W: RewriteObserver>(&mut self, terminal: Terminal, watch: &mut W) {
        self.pushed = self.pushed.saturating_add(1);
        if self.hold(terminal, watch) {
            return;
        }
        // Nothing is held here or at the end: held symbols must not be forgotten.
        self.forget_excess(watch);
        let last = self.arena.last(RuleId::START);
        if self.config.exponents && self.arena.symbol(last) == Some(Symbol::Terminal(terminal)) {
            self.repeat_last(last, terminal);
            self.settle(watch);
            return;
        }
        if self.begin_repetition(terminal, watch) {
            return;
        }
        self.close_run();
        self.settle(watch);
        if self.config.exponents && self.begin_hold(terminal, watch) {
            return;
        }
        let symbol = Symbol::Terminal(terminal);
        self.append(symbol, Exponent::ONE);
        self.run_is_open = self.defers_runs() && self.arena.repeats(symbol);
        self.settle(watch);
        self.forget_excess(watch);
    }

    /// Puts an occurrence at the end of the start rule.
    pub(crate) fn append(&mut self, symbol: Symbol, exponent: Exponent) {
        self.close_run();
        let last = self.arena.last(RuleId::START);
        self.arena.insert_after(last, symbol, exponent);
        self.todo.push(Todo::Digram(last));
    }

    /// The run at the end is over: the digram that ends in it can be checked.
    fn close_run(&mut self) {
        if std::mem::take(&mut self.run_is_open) {
            let last = self.arena.last(RuleId::START);
            self.todo.push(Todo::Digram(self.arena.previous(last)));
        }
    }

    pub(crate) fn look_at_rule(&mut self, symbol: Option<Symbol>) {
        if let Some(Symbol::Rule(rule)) = symbol {
            self.todo.push(Todo::Rule(rule));
        }
    }

    fn repeat_last(&mut self, last: OccurrenceId, terminal: Terminal) {
        let before = self.arena.previous(last);
        let exponent = self.arena.get(last).exponent;
        if !self.run_is_open {
            self.unindex(before);
            self.run_is_open = self.defers_runs();
            self.todo.push(Todo::Digram(before));
        }
        if exponent == Exponent::ONE
            && let Some(uses) = self.arena.terminals.get_mut(&terminal)
        {
            uses.repeats = true;
        }
        self.arena.set(last, Symbol::Terminal(terminal), exponent.plus(Exponent::ONE));
    }

    /// Whether the digram that ends in the last occurrence waits until the run
    /// of a symbol known to repeat is over.
    ///
    /// Exact mode checks every digram at once. For a loop whose count varies this is
    /// bad: when the run passes a count seen before, it is cut there and the rest
    /// stands alone, so no place ever shows the whole count. Summarised mode therefore
    /// waits.
    pub(crate) fn defers_runs(&self) -> bool {
        self.config.mode == GrammarMode::Summarised && self.config.exponents
    }

    /// Repairs all places on the list.
    pub(crate) fn settle<W: RewriteObserver>(&mut self, watch: &mut W) {
        while let Some(todo) = self.todo.pop() {
            match todo {
                Todo::Digram(left) => self.check_digram(left, watch),
                Todo::Rule(rule) => self.check_rule(rule, watch),
            }
        }
    }

    fn check_digram<W: RewriteObserver>(&mut self, left: OccurrenceId, watch: &mut W) {
        let Some(left_symbol) = self.arena.symbol(left) else { return };
        let right = self.arena.next(left);
        let Some(right_symbol) = self.arena.symbol(right) else { return };

        if self.config.exponents && left_symbol == right_symbol {
            return self.merge_twins(left, right, watch);
        }
        if self.run_is_open && right == self.arena.last(RuleId::START) {
            return;
        }
        let found = self.find(&self.digram_at(left));
        if found == Some(left) {
            return;
        }
        if let Some(varying) = self.varying_loop(left, left_symbol, right_symbol) {
            return self.summarise(left, left_symbol, right_symbol, varying);
        }
        match found {
            None => self.index_digram(left),
            // Without exponents `aaa` holds the digram `aa` twice, overlapping.
            Some(other) if self.arena.next(other) == left || right == other => {}
            Some(other) => self.replace_both(left, other, watch),
        }
    }

    fn check_rule<W: RewriteObserver>(&mut self, rule: RuleId, watch: &mut W) {
        if rule == RuleId::START || !self.arena.rule_exists(rule) {
            return;
        }
        match (self.arena.rules[rule.at()].uses, self.arena.body_length(rule)) {
            (0, _) => self.doomed.push(rule),
            (_, 1) => self.fold(rule, watch),
            (1, _) => self.inline(rule, watch),
            _ => {}
        }
    }

    /// The digram at `left` stands at `other`, too: both become a rule.
    fn replace_both<W: RewriteObserver>(
        &mut self,
        left: OccurrenceId,
        other: OccurrenceId,
        watch: &mut W,
    ) {
        let other_right = self.arena.next(other);
        let before = self.arena.guard_of(self.arena.previous(other));
        let after = self.arena.guard_of(self.arena.next(other_right));
        let rule = match before {
            Some(rule) if before == after && rule != RuleId::START => rule,
            _ => self.extract(other, other_right, watch),
        };
        self.substitute(left, rule, watch);
    }

    /// Moves a stretch of a body into a new rule and leaves a use of it.
    pub(crate) fn extract<W: RewriteObserver>(
        &mut self,
        begin: OccurrenceId,
        end: OccurrenceId,
        watch: &mut W,
    ) -> RuleId {
        let before = self.arena.previous(begin);
        self.unindex(before);
        self.unindex(end);
        let owner = self.arena.owner(begin);
        let derived = self.arena.rules[owner.at()].derived;
        let rule = self.arena.new_rule();
        let used = self.arena.insert_after(before, Symbol::Rule(rule), Exponent::ONE);
        self.arena.move_range(begin, end, rule);
        self.arena.rules[rule.at()].derived = derived;
        self.arena.rules[rule.at()].length = self.body_run_length(rule);
        watch.extracted(rule, used, &self.arena);
        self.look_around(used);
        // The body may have lost all but the new use.
        self.todo.push(Todo::Rule(owner));
        rule
    }

    fn body_run_length(&self, rule: RuleId) -> u64 {
        let mut length = 0u64;
        let mut id = self.arena.first(rule);
        while self.arena.symbol(id).is_some() {
            length = length.saturating_add(self.run_length(id));
            id = self.arena.next(id);
        }
        length
    }

    /// Replaces the digram at `left` by a use of the rule that is equal to it.
    fn substitute<W: RewriteObserver>(&mut self, left: OccurrenceId, rule: RuleId, watch: &mut W) {
        let right = self.arena.next(left);
        let before = self.arena.previous(left);
        self.unindex(before);
        self.unindex(left);
        self.unindex(right);
        let owner = self.arena.owner(left);
        let derived = self.arena.rules[owner.at()].derived;
        let times = &mut self.arena.rules[rule.at()].derived;
        *times = times.saturating_add(derived);

        let symbols = [left, right].map(|id| self.arena.symbol(id));
        let used = self.arena.insert_after(before, Symbol::Rule(rule), Exponent::ONE);
        self.arena.remove(left);
        self.arena.remove(right);
        let first = self.arena.first(rule);
        watch.wrapped([left, right], [first, self.arena.next(first)], used);
        self.look_around(used);
        self.todo.push(Todo::Rule(owner));
        // This is now its only use, if it was being removed.
        self.todo.push(Todo::Rule(rule));
        symbols.into_iter().for_each(|symbol| self.look_at_rule(symbol));
    }

    fn merge_twins<W: RewriteObserver>(
        &mut self,
        left: OccurrenceId,
        right: OccurrenceId,
        watch: &mut W,
    ) {
        let before = self.arena.previous(left);
        self.unindex(before);
        self.unindex(right);
        let Occurrence { slot: ArenaSlot::Holds(symbol), exponent, .. } = *self.arena.get(left)
        else {
            return;
        };
        let merged = exponent.plus(self.arena.get(right).exponent);
        self.arena.set(left, symbol, merged);
        self.arena.remove(right);
        watch.merged(left, right, exponent.uses());
        if left == self.arena.last(RuleId::START) {
            self.run_is_open = self.defers_runs();
        }
        let owner = self.arena.owner(left);
        self.todo.push(Todo::Rule(owner));
        self.look_around(left);
    }

    /// Replaces the only use of a rule by its body.
    fn inline<W: RewriteObserver>(&mut self, rule: RuleId, watch: &mut W) {
        let used = self.arena.rules[rule.at()].first_use;
        let before = self.arena.previous(used);
        self.unindex(before);
        self.unindex(used);
        let (_, last) = self.arena.splice(used, rule);
        watch.inlined(used);
        self.todo.push(Todo::Digram(last));
        self.todo.push(Todo::Digram(before));
        if !self.config.exponents {
            self.recheck_overlaps(before);
            self.recheck_overlaps(last);
        }
    }

    /// Replaces each use of a rule `R -> x^j` by `x^j` itself.
    fn fold<W: RewriteObserver>(&mut self, rule: RuleId, watch: &mut W) {
        let inner = self.arena.first(rule);
        let Occurrence { slot: ArenaSlot::Holds(symbol), exponent, .. } = *self.arena.get(inner)
        else {
            return;
        };
        loop {
            let used = self.arena.rules[rule.at()].first_use;
            if used.is_none() {
                break;
            }
            let before = self.arena.previous(used);
            self.unindex(before);
            self.unindex(used);
            let product = exponent.times(self.arena.get(used).exponent);
            self.arena.set(used, symbol, product);
            watch.folded(used, inner, exponent);
            self.look_around(used);
        }
        self.arena.remove(inner);
        self.arena.free_rule(rule);
    }

    /// The loop that ends between `left` and its neighbour, if its counts vary.
    fn varying_loop(
        &mut self,
        left: OccurrenceId,
        repeated: Symbol,
        ender: Symbol,
    ) -> Option<LoopId> {
        if self.config.mode == GrammarMode::Exact || !self.config.exponents {
            return None;
        }
        let Exponent::Times(count) = self.arena.get(left).exponent else { return None };
        if count < 2 && !self.arena.repeats(repeated) {
            return None;
        }
        if self.begins_with(repeated, ender) {
            // It may be the beginning of one more repetition.
            return None;
        }
        let key = [repeated, ender].map(|symbol| self.lasting_name(symbol));
        self.loops.record(key, count, self.config.max_loop_counts)
    }

    /// A name that is never reused, unlike the number of a rule.
    fn lasting_name(&self, symbol: Symbol) -> LastingName {
        match symbol {
            Symbol::Terminal(terminal) => LastingName::Terminal(terminal),
            Symbol::Rule(rule) => LastingName::Rule(self.arena.rules[rule.at()].serial),
        }
    }

    /// Whether `edge` stands at the left edge of what a symbol derives.
    fn begins_with(&self, symbol: Symbol, edge: Symbol) -> bool {
        let mut symbol = symbol;
        for _ in 0..MAX_LEFT_EDGE {
            let Symbol::Rule(rule) = symbol else { return false };
            let Some(first) = self.arena.symbol(self.arena.first(rule)) else { return false };
            if first == edge {
                return true;
            }
            symbol = first;
        }
        false
    }

    /// Turns `x^k` into `x^*`, here and at the places that made the count vary.
    fn summarise(&mut self, left: OccurrenceId, repeated: Symbol, ender: Symbol, varying: LoopId) {
        self.set_exponent(left, repeated, Exponent::Varying(varying));
        let mut id = self.arena.first_use(repeated);
        for _ in 0..MAX_SUMMARISED {
            if id.is_none() {
                break;
            }
            let next_use = self.arena.get(id).next_use;
            let counts = matches!(self.arena.get(id).exponent, Exponent::Times(_));
            if counts
                && let Some(next) = self.arena.symbol(self.arena.next(id))
                && (next == ender || self.begins_with(next, ender))
            {
                self.set_exponent(id, repeated, Exponent::Varying(varying));
            }
            id = next_use;
        }
    }

    pub(crate) fn set_exponent(&mut self, id: OccurrenceId, symbol: Symbol, exponent: Exponent) {
        let before = self.arena.previous(id);
        self.unindex(before);
        self.unindex(id);
        self.arena.set(id, symbol, exponent);
        self.look_around(id);
    }

    /// Puts the digrams on both sides of a changed place on the list.
    pub(crate) fn look_around(&mut self, id: OccurrenceId) {
        let before = self.arena.previous(id);
        self.todo.push(Todo::Digram(id));
        self.todo.push(Todo::Digram(before));
        if !self.config.exponents {
            self.recheck_overlaps(id);
            self.recheck_overlaps(before);
        }
    }

    /// Without exponents a digram that overlapped an equal one was not indexed;
    /// when the other is gone, it must be.
    fn recheck_overlaps(&mut self, id: OccurrenceId) {
        self.todo.push(Todo::Digram(self.arena.next(id)));
        self.todo.push(Todo::Digram(self.arena.previous(id)));
    }

    /// Terminals that an occurrence stands for.
    pub(crate) fn run_length(&self, id: OccurrenceId) -> u64 {
        let Some(symbol) = self.arena.symbol(id) else { return 0 };
        let repetitions = match self.arena.get(id).exponent {
            Exponent::Times(times) => times,
            Exponent::Varying(varying) => self.typical_count(varying),
        };
        repetitions.saturating_mul(self.arena.length_of(symbol))
    }

    /// How often a loop whose count varies typically runs.
    pub(crate) fn typical_count(&self, varying: LoopId) -> u64 {
        self.loops.get(varying).map_or(1, |counts| counts.typical(1))
    }
}
