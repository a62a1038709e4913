// SPDX-License-Identifier: MIT OR Apache-2.0

//! Holds back symbols as long as they repeat a known place.
//!
//! A stream that goes round a loop once more would make Sequitur match the
//! loop's beginning, extend the match by a symbol, make a rule of it, and throw
//! the shorter rule away, for every single symbol. Instead the place that is
//! being repeated is remembered and a cursor moves along it. When the
//! repetition is over, the stretch becomes a rule in one go: by moving it, not
//! by copying, in time proportional to the symbols held.
//!
//! Meanwhile the start rule ends before the held symbols.
//! [`Grammar::catch_up`] puts them in.

use serde::{Deserialize, Serialize};

use crate::grammar::Grammar;
use crate::predictor::{PathFrame, is_path};
use crate::symbol::{Exponent, OccurrenceId, RuleId, Symbol, Terminal};
use crate::watch::RewriteObserver;

/// Places tried, the most recent first, when a symbol may begin a repetition.
const MAX_ANCHORS: usize = 4;

/// What is held back. Nothing, if `path` is empty.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Held {
    /// An occurrence equal to the last one of the start rule: what is held
    /// follows it there. The last one itself, if what is held begins another
    /// repetition of it.
    anchor: Option<OccurrenceId>,
    /// The path to the first symbol held, outermost first, from the body of
    /// the anchor (or of the rule that is repeated).
    pub start: Vec<PathFrame>,
    /// The path to the last symbol held; `low` counts the repetitions begun,
    /// and of the innermost one those that are over.
    pub path: Vec<PathFrame>,
    /// Symbols held.
    pub length: u64,
}

impl Held {
    pub fn is_empty(&self) -> bool {
        self.anchor.is_none()
    }
}

impl Held {
    /// Whether all of it leads through places that exist, for what was loaded.
    pub fn is_sound(&self, grammar: &Grammar) -> bool {
        let Some(anchor) = self.anchor else { return self.path.is_empty() };
        let arena = &grammar.arena;
        let last = arena.last(RuleId::START);
        let exists = |id: OccurrenceId| id.at() < arena.slots.len() && arena.symbol(id).is_some();
        exists(anchor)
            && exists(last)
            && arena.symbol(anchor) == arena.symbol(last)
            && arena.get(anchor).exponent == arena.get(last).exponent
            && [&self.start, &self.path].into_iter().all(|path| {
                !path.is_empty()
                    && path.iter().all(|frame| exists(frame.id) && frame.low > 0)
                    && is_path(path, arena)
                    && self.begins_beside(anchor, last, path[0].id, grammar)
            })
    }

    /// Whether the path of held symbols may begin at this place.
    fn begins_beside(
        &self,
        anchor: OccurrenceId,
        last: OccurrenceId,
        id: OccurrenceId,
        grammar: &Grammar,
    ) -> bool {
        let owner = grammar.arena.owner(id);
        if anchor == last {
            return grammar.arena.symbol(last) == Some(Symbol::Rule(owner));
        }
        // Somewhere behind the anchor in the same body, before the last.
        let mut next = grammar.arena.next(anchor);
        while grammar.arena.symbol(next).is_some() && next != last {
            if next == id {
                return true;
            }
            next = grammar.arena.next(next);
        }
        false
    }
}

/// What a symbol does to the held symbols.
#[derive(PartialEq, Eq)]
enum Step {
    Holds,
    Differs,
}

impl Grammar {
    /// Puts symbols that are held back into the start rule.
    pub fn catch_up(&mut self) {
        self.release(None, &mut ());
    }

    /// Symbols that are held back.
    pub fn held(&self) -> u64 {
        self.held.length
    }

    /// Tries to hold the symbol back; `false` if it has to be appended.
    pub(crate) fn hold<W: RewriteObserver>(&mut self, terminal: Terminal, watch: &mut W) -> bool {
        if !self.held.is_empty() {
            if self.step(terminal) == Step::Holds {
                self.held.length = self.held.length.saturating_add(1);
                if self.held.path.is_empty() {
                    self.release(None, watch);
                }
                return true;
            }
            self.release(Some(terminal), watch);
        }
        false
    }

    /// Begins to hold symbols back, if the symbol may begin another repetition
    /// of the loop at the end of the start rule.
    pub(crate) fn begin_repetition<W: RewriteObserver>(
        &mut self,
        terminal: Terminal,
        watch: &mut W,
    ) -> bool {
        let last = self.arena.last(RuleId::START);
        if let Some(Symbol::Rule(rule)) = self.arena.symbol(last)
            && let Exponent::Times(2..) = self.arena.get(last).exponent
            && let first = self.arena.first(rule)
            && self.first_terminal(first) == Some(terminal)
        {
            self.begin_hold_at(last, first, watch);
            return true;
        }
        false
    }

    /// Begins to hold symbols back, if the symbol follows somewhere what stands
    /// at the end of the start rule.
    pub(crate) fn begin_hold<W: RewriteObserver>(
        &mut self,
        terminal: Terminal,
        watch: &mut W,
    ) -> bool {
        let last = self.arena.last(RuleId::START);
        let Some(symbol) = self.arena.symbol(last) else { return false };
        let exponent = self.arena.get(last).exponent;
        let mut anchor = self.arena.first_use(symbol);
        for _ in 0..MAX_ANCHORS {
            if anchor.is_none() {
                break;
            }
            let next = self.arena.next(anchor);
            if anchor != last
                && next != last
                && self.arena.get(anchor).exponent == exponent
                && self.first_terminal(next) == Some(terminal)
            {
                self.begin_hold_at(anchor, next, watch);
                return true;
            }
            anchor = self.arena.get(anchor).next_use;
        }
        false
    }

    fn begin_hold_at<W: RewriteObserver>(
        &mut self,
        anchor: OccurrenceId,
        next: OccurrenceId,
        watch: &mut W,
    ) {
        self.held.anchor = Some(anchor);
        self.held.length = 1;
        self.held.path.clear();
        self.held.path.push(PathFrame::first_repetition(next));
        self.descend_held();
        self.held.start.clear();
        self.held.start.extend_from_slice(&self.held.path);
        self.climb_held();
        if self.held.path.is_empty() {
            self.release(None, watch);
        }
    }

    /// Moves the cursor past the symbol, if it is what comes next there.
    fn step(&mut self, terminal: Terminal) -> Step {
        while let Some(&frame) = self.held.path.last() {
            let exponent = self.arena.get(frame.id).exponent;
            let repeats = match exponent {
                Exponent::Times(times) => frame.low < times,
                Exponent::Varying(_) => self.first_terminal(frame.id) == Some(terminal),
            };
            if repeats {
                if self.first_terminal(frame.id) != Some(terminal) {
                    return Step::Differs;
                }
                self.set_cursor(frame.after());
                return Step::Holds;
            }
            let next = self.arena.next(frame.id);
            if let Some(rule) = self.arena.guard_of(next) {
                if self.held.path.len() == 1 {
                    return Step::Differs;
                }
                self.end_loop(exponent, frame.low);
                self.leave_body(rule);
                continue;
            }
            // What is held would have to follow the last occurrence.
            if next == self.arena.last(RuleId::START) || self.first_terminal(next) != Some(terminal)
            {
                return Step::Differs;
            }
            self.end_loop(exponent, frame.low);
            self.set_cursor(PathFrame::first_repetition(next));
            return Step::Holds;
        }
        Step::Differs
    }

    fn set_cursor(&mut self, frame: PathFrame) {
        if let Some(last) = self.held.path.last_mut() {
            *last = frame;
        }
        self.descend_held();
        self.climb_held();
    }

    fn descend_held(&mut self) {
        while let Some(frame) = self.held.path.last()
            && let Some(Symbol::Rule(rule)) = self.arena.symbol(frame.id)
        {
            self.held.path.push(PathFrame::first_repetition(self.arena.first(rule)));
        }
    }

    /// Leaves the bodies whose end is certain to be reached.
    fn climb_held(&mut self) {
        while let Some(frame) = self.held.path.last()
            && self.arena.get(frame.id).exponent == Exponent::Times(frame.low)
            && let Some(rule) = self.arena.guard_of(self.arena.next(frame.id))
        {
            self.leave_body(rule);
        }
    }

    /// A repetition of the rule is over: the history derives it once more.
    fn leave_body(&mut self, rule: RuleId) {
        self.held.path.pop();
        if !self.held.path.is_empty() {
            let derived = &mut self.arena.rules[rule.at()].derived;
            *derived = derived.saturating_add(1);
        }
    }

    fn end_loop(&mut self, exponent: Exponent, count: u64) {
        if let Exponent::Varying(varying) = exponent {
            self.loops.record_again(varying, count);
        }
    }

    /// The terminal that an occurrence begins with.
    fn first_terminal(&self, mut id: OccurrenceId) -> Option<Terminal> {
        loop {
            match self.arena.symbol(id)? {
                Symbol::Terminal(terminal) => return Some(terminal),
                Symbol::Rule(rule) => id = self.arena.first(rule),
            }
        }
    }

    /// Puts what is held into the start rule: whole stretches of a body become
    /// rules, shared with the place they repeat. `upcoming` is the symbol that
    /// ended the repetition.
    fn release<W: RewriteObserver>(&mut self, upcoming: Option<Terminal>, watch: &mut W) {
        let Some(anchor) = self.held.anchor.take() else { return };
        self.held.length = 0;
        let path = std::mem::take(&mut self.held.path);
        let last = self.arena.last(RuleId::START);
        let repeats_last = anchor == last;

        if path.is_empty() && repeats_last {
            self.repeat_rule(last);
        } else if path.is_empty() {
            let end = self.arena.last(self.arena.owner(anchor));
            self.replace_last(anchor, end, watch);
        }
        for (level, frame) in path.iter().enumerate() {
            let is_innermost = level + 1 == path.len();
            let exponent = self.arena.get(frame.id).exponent;
            let mut end = self.arena.previous(frame.id);
            let mut repetitions = if is_innermost { frame.low } else { frame.low - 1 };
            // A run that continues stays separate, so that it can grow as a whole.
            if is_innermost
                && exponent == Exponent::Times(frame.low)
                && !self.goes_on(frame, upcoming)
            {
                end = frame.id;
                repetitions = 0;
            }
            if level == 0 && !repeats_last {
                if end != anchor {
                    self.replace_last(anchor, end, watch);
                }
            } else if self.arena.symbol(end).is_some() {
                let begin = self.arena.first(self.arena.owner(end));
                self.append_range(begin, end, watch);
            }
            if repetitions > 0
                && let Some(symbol) = self.arena.symbol(frame.id)
            {
                self.append(symbol, Exponent::Times(repetitions));
            }
        }
        if let Some(frame) = path.last() {
            self.run_is_open |= self.goes_on(frame, upcoming) && self.defers_runs();
        }
        self.held.path = path;
        self.held.path.clear();
        self.settle(watch);
    }

    /// Whether the symbol that ended the repetition of a place may be another
    /// repetition of what stands there.
    fn goes_on(&self, frame: &PathFrame, upcoming: Option<Terminal>) -> bool {
        upcoming.is_some() && self.first_terminal(frame.id) == upcoming
    }

    /// The rule at the end of the start rule was run through once more.
    fn repeat_rule(&mut self, last: OccurrenceId) {
        let Some(symbol @ Symbol::Rule(rule)) = self.arena.symbol(last) else { return };
        let derived = &mut self.arena.rules[rule.at()].derived;
        *derived = derived.saturating_add(1);
        if !self.run_is_open {
            self.unindex(self.arena.previous(last));
            self.run_is_open = self.defers_runs();
            self.look_around(last);
        }
        let exponent = self.arena.get(last).exponent;
        self.arena.set(last, symbol, exponent.plus(Exponent::ONE));
    }

    /// Replaces the last occurrence of the start rule, which is equal to
    /// `begin`, by a rule for the stretch from `begin` to `end`.
    fn replace_last<W: RewriteObserver>(
        &mut self,
        begin: OccurrenceId,
        end: OccurrenceId,
        watch: &mut W,
    ) {
        let rule = self.rule_of_range(begin, end, watch);
        let last = self.arena.last(RuleId::START);
        let before = self.arena.previous(last);
        self.unindex(before);
        self.run_is_open = false;
        let replaced = self.arena.symbol(last);
        let used = self.arena.insert_after(last, Symbol::Rule(rule), Exponent::ONE);
        self.arena.remove(last);
        watch.replaced(last, self.arena.first(rule), used);
        self.look_around(used);
        self.look_at_rule(replaced);
        self.look_at_rule(Some(Symbol::Rule(rule)));
    }

    fn append_range<W: RewriteObserver>(
        &mut self,
        begin: OccurrenceId,
        end: OccurrenceId,
        watch: &mut W,
    ) {
        if begin != end {
            let rule = self.rule_of_range(begin, end, watch);
            self.append(Symbol::Rule(rule), Exponent::ONE);
        } else if let Some(symbol) = self.arena.symbol(begin) {
            self.append(symbol, self.arena.get(begin).exponent);
        }
    }

    /// The rule for a stretch of a body, which the history derives once more.
    fn rule_of_range<W: RewriteObserver>(
        &mut self,
        begin: OccurrenceId,
        end: OccurrenceId,
        watch: &mut W,
    ) -> RuleId {
        let owner = self.arena.owner(begin);
        let is_whole = begin == self.arena.first(owner) && end == self.arena.last(owner);
        let rule = if is_whole && owner != RuleId::START {
            owner
        } else {
            self.extract(begin, end, watch)
        };
        let derived = &mut self.arena.rules[rule.at()].derived;
        *derived = derived.saturating_add(1);
        rule
    }
}
