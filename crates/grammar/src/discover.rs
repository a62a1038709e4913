// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds the places whose past agrees longest with the recent past.
//!
//! The report makes every occurrence of the last symbol a predictor, and finds
//! them by reading the whole grammar. Here each symbol knows its occurrences;
//! from each, the grammar is read backwards beside the recent history, through
//! rule beginnings into the uses of the rule, for as long as the two agree.
//! Only the places that agree longest become predictors, and the path that was
//! read backwards is known from the start. An effort bounds the whole search.

use crate::grammar::Grammar;
use crate::predictor::{Nursery, PathFrame, Predictor, PredictorOrigin, weight_of};
use crate::recent::Recent;
use crate::symbol::{Exponent, OccurrenceId, RuleId, Symbol};

/// Uses of a rule that are tried when the reading passes its beginning.
const MAX_USES: usize = 6;

/// Rules that are entered at once, one below the other, at most.
const MAX_DEPTH: usize = 24;

/// A search for places; see the module.
pub(crate) struct Search<'a> {
    grammar: &'a Grammar,
    recent: &'a Recent,
    nursery: &'a mut Nursery,
    /// Comparisons left.
    effort: usize,
    /// The path of the place under examination, innermost first.
    path: Vec<PathFrame>,
    /// How long the best places agree.
    pub matched: usize,
    found: usize,
    max_found: usize,
}

impl<'a> Search<'a> {
    pub fn new(
        grammar: &'a Grammar,
        recent: &'a Recent,
        nursery: &'a mut Nursery,
        effort: usize,
    ) -> Search<'a> {
        let max_found = grammar.config.max_predictors;
        Search {
            grammar,
            recent,
            nursery,
            effort,
            path: Vec::new(),
            matched: 0,
            found: 0,
            max_found,
        }
    }

    /// Looks at the occurrences of the last symbol, the most recent first, and
    /// leaves the predictors that follow from the best ones in the nursery.
    pub fn run(&mut self) {
        let Some(last) = self.recent.get(0) else { return };
        let run = self.recent.run_length();
        let mut id = self.grammar.arena.first_use(Symbol::Terminal(last));
        while !id.is_none() && self.effort > 0 {
            self.effort -= 1;
            self.try_occurrence(id, run);
            id = self.grammar.arena.get(id).next_use;
        }
    }

    /// The last symbol may have been a repetition of this occurrence.
    fn try_occurrence(&mut self, id: OccurrenceId, run: usize) {
        let run_is_whole = run < self.recent.len().min(Recent::LENGTH);
        let times = match self.grammar.arena.get(id).exponent {
            Exponent::Times(times) => times,
            Exponent::Varying(_) => u64::MAX,
        };
        // The occurrence that the last symbol itself went into: only
        // repetitions before it are the past.
        let is_now = self.is_last(id);
        let times = if is_now { times.saturating_sub(1) } else { times };
        if times == 0 {
            return;
        }
        let repetition = times.min(run as u64);
        self.path.clear();
        if run_is_whole && repetition == run as u64 {
            self.path.push(PathFrame { id, low: repetition, high: repetition });
            let at_end = self.is_at_end(id, repetition);
            if self.extend(id, run, at_end, 0) {
                return;
            }
            self.path.clear();
        }
        // The past does not show which repetition it was.
        let high = if times == u64::MAX { repetition } else { times };
        self.path.push(PathFrame { id, low: repetition, high });
        self.accept(repetition as usize);
    }

    /// Reads on backwards before the occurrence, which agreed from its start. Returns
    /// whether anything more agreed.
    fn extend(&mut self, id: OccurrenceId, matched: usize, at_end: bool, depth: usize) -> bool {
        if self.effort == 0 || depth > MAX_DEPTH {
            return false;
        }
        self.effort -= 1;
        let previous = self.grammar.arena.previous(id);
        if let Some(rule) = self.grammar.arena.guard_of(previous) {
            return rule != RuleId::START && self.extend_to_uses(rule, matched, at_end, depth);
        }
        let (more, whole) = self.match_back(previous, matched, 0);
        if more == 0 {
            return false;
        }
        if !(whole && self.extend(previous, matched + more, at_end, depth)) {
            self.accept(matched + more);
        }
        true
    }

    /// Reads on backwards from the beginning of a rule into its uses.
    fn extend_to_uses(&mut self, rule: RuleId, matched: usize, at_end: bool, depth: usize) -> bool {
        let mut any = false;
        let mut used = self.grammar.arena.rules[rule.at()].first_use;
        for _ in 0..MAX_USES {
            if used.is_none() || self.effort == 0 {
                break;
            }
            any |= self.extend_to_use(used, rule, matched, at_end, depth);
            used = self.grammar.arena.get(used).next_use;
        }
        any
    }

    fn extend_to_use(
        &mut self,
        used: OccurrenceId,
        rule: RuleId,
        matched: usize,
        at_end: bool,
        depth: usize,
    ) -> bool {
        let mut times = match self.grammar.arena.get(used).exponent {
            Exponent::Times(times) => times,
            Exponent::Varying(_) => u64::MAX,
        };
        if at_end && self.is_last(used) {
            times = times.saturating_sub(1);
        }
        if times == 0 {
            return false;
        }
        // Whole repetitions of the rule before this one, then a part of one.
        let mut repetition = 1;
        let mut agreed = matched;
        let mut part = 0;
        while repetition < times {
            let (more, whole) = self.match_rule_back(rule, agreed, 0);
            if !whole {
                part = more;
                break;
            }
            agreed += more;
            repetition += 1;
        }
        let depth_before = self.path.len();
        self.path.push(PathFrame { id: used, low: repetition, high: repetition });
        let at_end = at_end && self.is_at_end(used, repetition);
        let mut any = self.extend(used, agreed, at_end, depth + 1);
        if !any && agreed + part > matched {
            let low = if part > 0 { repetition + 1 } else { repetition };
            let high = if times == u64::MAX { low } else { times };
            self.path[depth_before] = PathFrame { id: used, low: low.min(high), high };
            self.accept(agreed + part);
            any = true;
        }
        self.path.truncate(depth_before);
        any
    }

    /// Whether the occurrence ends where the history ends.
    fn is_last(&self, id: OccurrenceId) -> bool {
        self.grammar.held.is_empty() && id == self.grammar.arena.last(RuleId::START)
    }

    /// Whether nothing of its rule comes after this repetition.
    fn is_at_end(&self, id: OccurrenceId, repetition: u64) -> bool {
        let arena = &self.grammar.arena;
        let is_last = match arena.get(id).exponent {
            Exponent::Times(times) => repetition >= times,
            Exponent::Varying(_) => true,
        };
        is_last && arena.symbol(arena.next(id)).is_none()
    }

    /// How many symbols at the end of an occurrence agree with the history
    /// before the `skipped` most recent, and whether that is all of it.
    fn match_back(&mut self, id: OccurrenceId, skipped: usize, depth: usize) -> (usize, bool) {
        let Some(symbol) = self.grammar.arena.symbol(id) else { return (0, false) };
        let times = match self.grammar.arena.get(id).exponent {
            Exponent::Times(times) => times,
            // A loop of any length agrees with as many as there are.
            Exponent::Varying(_) => return self.match_loop_back(symbol, skipped, depth),
        };
        match symbol {
            Symbol::Terminal(terminal) => {
                let mut matched = 0;
                while (matched as u64) < times {
                    if self.recent.get(skipped + matched) != Some(terminal) {
                        return (matched, false);
                    }
                    matched += 1;
                }
                self.effort = self.effort.saturating_sub(matched);
                (matched, true)
            }
            Symbol::Rule(rule) => {
                let mut matched = 0;
                for _ in 0..times {
                    let (more, whole) = self.match_rule_back(rule, skipped + matched, depth);
                    matched += more;
                    if !whole {
                        return (matched, false);
                    }
                }
                (matched, true)
            }
        }
    }

    fn match_loop_back(&mut self, symbol: Symbol, skipped: usize, depth: usize) -> (usize, bool) {
        let mut matched = 0;
        loop {
            let (more, whole) = match symbol {
                Symbol::Terminal(terminal) => {
                    let same = self.recent.get(skipped + matched) == Some(terminal);
                    (usize::from(same), same)
                }
                Symbol::Rule(rule) => self.match_rule_back(rule, skipped + matched, depth),
            };
            if !whole {
                return (matched, matched > 0);
            }
            matched += more;
        }
    }

    fn match_rule_back(&mut self, rule: RuleId, skipped: usize, depth: usize) -> (usize, bool) {
        if self.effort == 0 || depth > MAX_DEPTH {
            return (0, false);
        }
        self.effort -= 1;
        let mut matched = 0;
        let mut id = self.grammar.arena.last(rule);
        while self.grammar.arena.symbol(id).is_some() {
            let (more, whole) = self.match_back(id, skipped + matched, depth + 1);
            matched += more;
            if !whole {
                return (matched, false);
            }
            id = self.grammar.arena.previous(id);
        }
        (matched, true)
    }

    /// Takes the place under examination if none agrees longer, and drops those that
    /// agree less.
    fn accept(&mut self, matched: usize) {
        if matched < self.matched || (matched == self.matched && self.found >= self.max_found) {
            return;
        }
        let path = self.nursery.path_of(self.path.iter().rev());
        let weight = weight_of(&path, &self.grammar.arena);
        let before = self.nursery.born.len();
        self.nursery.advance(
            self.grammar,
            Predictor { path, weight, ..Predictor::from(PredictorOrigin::Discovered) },
        );
        let came = self.nursery.born.len() > before;
        if came && matched > self.matched {
            self.matched = matched;
            self.found = 0;
            self.nursery.recycle_first(before);
        }
        self.found += usize::from(came);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    /// What newly discovered predictors expect after the text.
    fn discover(config: Config, text: &str) -> (usize, String) {
        let mut grammar = Grammar::new(config);
        let mut recent = Recent::new();
        for letter in text.bytes().map(u32::from) {
            grammar.push(letter);
            recent.push(letter);
        }
        let mut nursery = Nursery::default();
        nursery.begin();
        let mut search = Search::new(&grammar, &recent, &mut nursery, 100);
        search.run();
        let matched = search.matched;
        let letter = |p: &Predictor| p.expects(&grammar).and_then(char::from_u32);
        let mut expected: Vec<char> = nursery.born.iter().filter_map(letter).collect();
        expected.sort_unstable();
        expected.dedup();
        (matched, expected.into_iter().collect())
    }

    /// `S -> a e A b A e b`, `A -> c d b`. After the b of the first A comes b,
    /// after that of the second e, after the b of the start rule A, so c.
    #[test]
    fn table_4_every_place_of_the_last_symbol_and_every_use_of_its_rule_is_found() {
        assert_eq!(discover(Config::sequitur(), "aecdbbcdbeb"), (1, "bce".to_owned()));
    }

    #[test]
    fn a_longer_agreeing_past_narrows_the_search() {
        assert_eq!(discover(Config::exact(), "xaby zabw xab"), (3, "y".to_owned()));
        assert_eq!(discover(Config::exact(), "xaby zabw ab"), (2, "wy".to_owned()));
    }

    #[test]
    fn the_past_is_followed_out_of_a_rule_into_its_uses() {
        let text = "pabcq rabcs pabcq rabcs tu rabc";
        assert_eq!(discover(Config::exact(), text).1, "s");
    }

    #[test]
    fn a_run_that_goes_on_is_a_place_of_its_own() {
        assert_eq!(discover(Config::exact(), "baab aaaaaaa").1, "a");
    }

    #[test]
    fn a_symbol_never_seen_before_has_no_place() {
        assert_eq!(discover(Config::exact(), "ababx"), (0, String::new()));
    }
}
