// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sequitur with predictor marks, as the SC14 system had them.
//!
//! Kept apart from our own grammar on purpose: this is the rival, written from
//! sections 3.1.1 to 3.1.3 of the report without exponents, weights, discovery
//! by the longest past or any ceiling, so that nothing tuned in ours changes
//! it. A symbol (terminal or rule instance) is a predictor or not. An update
//! drops the terminals that were wrong and increments the others, through rule
//! ends into the marked instances; when none is left, every place that matches
//! the last symbol of the start rule becomes one. Finding them reads the whole
//! grammar.

use std::collections::{BTreeSet, HashMap};

type SymbolId = usize;
type RuleId = usize;

const START: RuleId = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Value {
    Terminal(u32),
    Rule(RuleId),
    /// Stands before the first and after the last symbol of a rule.
    Guard(RuleId),
}

#[derive(Clone, Copy, Debug)]
struct Symbol {
    value: Value,
    previous: SymbolId,
    next: SymbolId,
    /// The rule whose body it stands in.
    owner: RuleId,
}

#[derive(Clone, Debug)]
struct Rule {
    guard: SymbolId,
    uses: BTreeSet<SymbolId>,
}

/// The grammar and its marks.
#[derive(Clone, Debug)]
pub(super) struct Sequitur {
    symbols: Vec<Symbol>,
    free: Vec<SymbolId>,
    rules: Vec<Rule>,
    digrams: HashMap<(Value, Value), SymbolId>,
    marks: BTreeSet<SymbolId>,
}

impl Sequitur {
    /// Nothing seen yet.
    pub(super) fn new() -> Sequitur {
        let mut sequitur = Sequitur {
            symbols: Vec::new(),
            free: Vec::new(),
            rules: Vec::new(),
            digrams: HashMap::new(),
            marks: BTreeSet::new(),
        };
        sequitur.new_rule();
        sequitur
    }

    /// Moves the predictors past a symbol, appends it, and finds predictors
    /// again if none is left.
    pub(super) fn push(&mut self, terminal: u32) {
        let right: Vec<SymbolId> = self.leaves(terminal).collect();
        let parents = std::mem::take(&mut self.marks);
        self.marks = self.incremented(&right, &parents);
        let last = self.previous(self.rules[START].guard);
        let added = self.insert_after(last, Value::Terminal(terminal));
        self.check(self.previous(added));
        if self.expectations().next().is_none() {
            self.discover();
        }
    }

    /// The terminal of each predictor; each place counts once.
    pub(super) fn expectations(&self) -> impl Iterator<Item = u32> + '_ {
        self.marks.iter().filter_map(|&mark| match self.symbols[mark].value {
            Value::Terminal(terminal) => Some(terminal),
            _ => None,
        })
    }

    /// The predictors that expected this terminal.
    fn leaves(&self, terminal: u32) -> impl Iterator<Item = SymbolId> + '_ {
        let expected = Value::Terminal(terminal);
        self.marks.iter().copied().filter(move |&mark| self.symbols[mark].value == expected)
    }

    /// Marks every place that matches the last symbol of the start rule, with
    /// all that leads to it, and increments.
    fn discover(&mut self) {
        let mut last = self.previous(self.rules[START].guard);
        let mut parents = BTreeSet::new();
        let right: Vec<SymbolId> = match self.symbols[last].value {
            Value::Rule(rule) => {
                // Only within its rule, at the end.
                self.add_uses(rule, &mut parents);
                while let Value::Rule(rule) = self.symbols[last].value {
                    last = self.previous(self.rules[rule].guard);
                    parents.insert(last);
                }
                vec![last]
            }
            value => {
                let bodies = self.rules.iter().filter(|rule| self.is_used(rule));
                let all = bodies.flat_map(|rule| self.body(rule.guard));
                let right: Vec<SymbolId> =
                    all.filter(|&place| self.symbols[place].value == value).collect();
                for &place in &right {
                    self.add_uses(self.symbols[place].owner, &mut parents);
                }
                right
            }
        };
        self.marks = self.incremented(&right, &parents);
    }

    fn is_used(&self, rule: &Rule) -> bool {
        rule.guard == self.rules[START].guard || !rule.uses.is_empty()
    }

    /// All instances of a rule, and of the rules that these stand in.
    fn add_uses(&self, rule: RuleId, found: &mut BTreeSet<SymbolId>) {
        for &used in &self.rules[rule].uses {
            if found.insert(used) {
                self.add_uses(self.symbols[used].owner, found);
            }
        }
    }

    /// The marks after each of `right` was passed, where `parents` are the rule
    /// instances that were predictors.
    fn incremented(&self, right: &[SymbolId], parents: &BTreeSet<SymbolId>) -> BTreeSet<SymbolId> {
        let mut marks = BTreeSet::new();
        let mut passed: Vec<SymbolId> = right.to_vec();
        let mut seen: BTreeSet<SymbolId> = passed.iter().copied().collect();
        while let Some(place) = passed.pop() {
            let next = self.symbols[place].next;
            let owner = self.symbols[place].owner;
            if let Value::Guard(_) = self.symbols[next].value {
                let marked = self.rules[owner].uses.iter().filter(|used| parents.contains(used));
                passed.extend(marked.filter(|used| seen.insert(**used)));
            } else {
                self.enter(next, &mut marks);
                self.keep_parents(owner, parents, &mut marks);
            }
        }
        marks
    }

    /// Marks a symbol and, below an instance, the beginning of its rule.
    fn enter(&self, mut place: SymbolId, marks: &mut BTreeSet<SymbolId>) {
        marks.insert(place);
        while let Value::Rule(rule) = self.symbols[place].value {
            place = self.symbols[self.rules[rule].guard].next;
            marks.insert(place);
        }
    }

    fn keep_parents(
        &self,
        rule: RuleId,
        parents: &BTreeSet<SymbolId>,
        marks: &mut BTreeSet<SymbolId>,
    ) {
        for &used in self.rules[rule].uses.iter().filter(|used| parents.contains(used)) {
            if marks.insert(used) {
                self.keep_parents(self.symbols[used].owner, parents, marks);
            }
        }
    }

    fn body(&self, guard: SymbolId) -> impl Iterator<Item = SymbolId> + '_ {
        let first = self.symbols[guard].next;
        std::iter::successors(Some(first), |&place| Some(self.symbols[place].next))
            .take_while(move |&place| place != guard)
    }

    fn previous(&self, place: SymbolId) -> SymbolId {
        self.symbols[place].previous
    }

    fn is_guard(&self, place: SymbolId) -> bool {
        matches!(self.symbols[place].value, Value::Guard(_))
    }

    fn digram(&self, left: SymbolId) -> Option<(Value, Value)> {
        let right = self.symbols[left].next;
        let is_pair = !self.is_guard(left) && !self.is_guard(right);
        is_pair.then(|| (self.symbols[left].value, self.symbols[right].value))
    }

    fn new_rule(&mut self) -> RuleId {
        let rule = self.rules.len();
        let guard = self.new_symbol(Value::Guard(rule), rule);
        (self.symbols[guard].previous, self.symbols[guard].next) = (guard, guard);
        self.rules.push(Rule { guard, uses: BTreeSet::new() });
        rule
    }

    fn new_symbol(&mut self, value: Value, owner: RuleId) -> SymbolId {
        let symbol = Symbol { value, previous: 0, next: 0, owner };
        match self.free.pop() {
            Some(place) => {
                self.symbols[place] = symbol;
                place
            }
            None => {
                self.symbols.push(symbol);
                self.symbols.len() - 1
            }
        }
    }

    fn insert_after(&mut self, left: SymbolId, value: Value) -> SymbolId {
        let place = self.new_symbol(value, self.symbols[left].owner);
        if let Value::Rule(rule) = value {
            self.rules[rule].uses.insert(place);
        }
        let right = self.symbols[left].next;
        self.join(place, right);
        self.join(left, place);
        place
    }

    fn remove(&mut self, place: SymbolId) {
        let Symbol { value, previous, next, .. } = self.symbols[place];
        self.forget_digram(place);
        self.join(previous, next);
        if let Value::Rule(rule) = value {
            self.rules[rule].uses.remove(&place);
        }
        self.marks.remove(&place);
        self.free.push(place);
    }

    /// Links two symbols. The pair that `left` began is no more; where it was
    /// one of two that overlap (aaa), the other takes its entry.
    fn join(&mut self, left: SymbolId, right: SymbolId) {
        self.forget_digram(left);
        self.index_run(right, right);
        self.index_run(left, self.previous(left));
        self.symbols[left].next = right;
        self.symbols[right].previous = left;
    }

    /// Indexes the pair at `first` if `middle` is the middle of three equals.
    fn index_run(&mut self, middle: SymbolId, first: SymbolId) {
        let Symbol { value, previous, next, .. } = self.symbols[middle];
        let is_run = self.symbols[previous].value == value && self.symbols[next].value == value;
        if is_run && !self.is_guard(middle) {
            self.digrams.insert((value, value), first);
        }
    }

    fn forget_digram(&mut self, left: SymbolId) {
        if let Some(digram) = self.digram(left)
            && self.digrams.get(&digram) == Some(&left)
        {
            self.digrams.remove(&digram);
        }
    }

    /// Makes the pair that begins at `left` unique; answers whether it was not.
    fn check(&mut self, left: SymbolId) -> bool {
        let Some(digram) = self.digram(left) else { return false };
        let Some(&known) = self.digrams.get(&digram) else {
            self.digrams.insert(digram, left);
            return false;
        };
        // Pairs that overlap (aaa) are left alone.
        if known != left && self.symbols[known].next != left && self.symbols[left].next != known {
            self.unite(left, known);
        }
        true
    }

    /// Replaces two equal pairs by instances of one rule.
    fn unite(&mut self, left: SymbolId, known: SymbolId) {
        let before = self.previous(known);
        let after = self.symbols[self.symbols[known].next].next;
        let rule = match self.symbols[before].value {
            Value::Guard(rule) if after == before && rule != START => {
                self.substitute(left, rule);
                rule
            }
            _ => {
                let rule = self.new_rule();
                let guard = self.rules[rule].guard;
                let first = self.insert_after(guard, self.symbols[left].value);
                let second = self.symbols[self.symbols[left].next].value;
                self.insert_after(first, second);
                self.substitute(known, rule);
                self.substitute(left, rule);
                if let Some(digram) = self.digram(self.symbols[guard].next) {
                    self.digrams.insert(digram, self.symbols[guard].next);
                }
                rule
            }
        };
        let guard = self.rules[rule].guard;
        let first = self.symbols[guard].next;
        if let Value::Rule(inner) = self.symbols[first].value
            && self.rules[inner].uses.len() == 1
        {
            self.inline(first, inner);
        }
    }

    /// Puts an instance of `rule` in place of the pair at `left`; marks on the
    /// pair go to the instance and into the rule.
    fn substitute(&mut self, left: SymbolId, rule: RuleId) {
        let right = self.symbols[left].next;
        let guard = self.rules[rule].guard;
        let marked = (self.marks.contains(&left), self.marks.contains(&right));
        let before = self.previous(left);
        self.remove(right);
        self.remove(left);
        let instance = self.insert_after(before, Value::Rule(rule));
        let ends = [(marked.0, self.symbols[guard].next), (marked.1, self.previous(guard))];
        for (_, end) in ends.into_iter().filter(|(is_marked, _)| *is_marked) {
            self.marks.insert(end);
            self.marks.insert(instance);
        }
        if !self.check(before) {
            // The instance may be gone if what stands before it was united.
            let instance = self.symbols[before].next;
            self.check(instance);
        }
    }

    /// Puts the body of a rule in place of its only instance.
    fn inline(&mut self, instance: SymbolId, rule: RuleId) {
        let guard = self.rules[rule].guard;
        let owner = self.symbols[instance].owner;
        let body: Vec<SymbolId> = self.body(guard).collect();
        body.iter().for_each(|&place| self.symbols[place].owner = owner);
        let (before, after) = (self.previous(instance), self.symbols[instance].next);
        self.remove(instance);
        if let (Some(&first), Some(&last)) = (body.first(), body.last()) {
            self.join(before, first);
            self.symbols[last].next = after;
            self.symbols[after].previous = last;
            if let Some(digram) = self.digram(last) {
                self.digrams.insert(digram, last);
            }
        }
        (self.symbols[guard].previous, self.symbols[guard].next) = (guard, guard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learn(text: &str) -> Sequitur {
        let mut sequitur = Sequitur::new();
        text.bytes().for_each(|byte| sequitur.push(u32::from(byte)));
        sequitur
    }

    fn expand(sequitur: &Sequitur, rule: RuleId, text: &mut String) {
        for place in sequitur.body(sequitur.rules[rule].guard) {
            match sequitur.symbols[place].value {
                Value::Terminal(terminal) => text.push(char::from_u32(terminal).unwrap()),
                Value::Rule(inner) => expand(sequitur, inner, text),
                Value::Guard(_) => unreachable!(),
            }
        }
    }

    fn expected(sequitur: &Sequitur) -> String {
        let mut expected: Vec<char> =
            sequitur.expectations().map(|terminal| char::from_u32(terminal).unwrap()).collect();
        expected.sort_unstable();
        expected.into_iter().collect()
    }

    #[test]
    fn the_grammar_derives_what_was_learned() {
        let mut word = String::from("a");
        for text in ["abcabcabcabc", "aaaaaaaabaaaab", "abcdbcabcdbc", "xabxabyabxab", ""] {
            word.push_str(text);
            let mut text = String::new();
            expand(&learn(&word), START, &mut text);
            assert_eq!(text, word);
        }
    }

    #[test]
    fn sixteen_letters_of_a_loop_become_four_rules_of_two() {
        // Table 2 of the report.
        let sequitur = learn("abababababababab");
        let bodies: Vec<usize> = sequitur
            .rules
            .iter()
            .filter(|rule| sequitur.is_used(rule))
            .map(|rule| sequitur.body(rule.guard).count())
            .collect();
        assert_eq!(bodies, [2, 2, 2, 2]);
    }

    #[test]
    fn a_loop_is_expected_to_go_on() {
        assert_eq!(expected(&learn("abcabcab")), "c");
        assert_eq!(expected(&learn("abcabcabcabcabca")), "b");
    }

    #[test]
    fn every_place_that_matches_the_last_symbol_is_a_predictor() {
        // After the surprise z nothing is expected; after b both c and d are.
        assert_eq!(expected(&learn("abcxbdz")), "");
        assert_eq!(expected(&learn("abcxbdzb")), "cd");
    }

    #[test]
    fn marks_survive_long_streams_of_loops_and_noise() {
        let mut state = 1u32;
        let mut sequitur = Sequitur::new();
        let mut word = String::new();
        for step in 0..3000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let noisy = state >> 28 == 0;
            let letter = if noisy { b'x' } else { b'a' + (step % 7) as u8 };
            word.push(char::from(letter));
            sequitur.push(u32::from(letter));
            assert!(sequitur.marks.iter().all(|&mark| !sequitur.free.contains(&mark)));
        }
        let mut text = String::new();
        expand(&sequitur, START, &mut text);
        assert_eq!(text, word);
    }
}
