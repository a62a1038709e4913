// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads the grammar from a predictor, any distance ahead.

use crate::grammar::Grammar;
use crate::predictor::{PathFrame, Predictor};
use crate::predictors::{Candidate, Predictors};
use crate::symbol::{Exponent, OccurrenceId, RuleId, Symbol, Terminal};

/// Uses of a rule that are considered where the path is unknown.
const MAX_USES: usize = 16;

/// The symbols expected one after the other; see [`StarSequitur::ahead`].
///
/// It may go on for ever. Where the history went several ways it takes the most
/// frequent one, and where a loop count varies it leaves the loop at the count typical
/// of loops that ran this long.
///
/// [`StarSequitur::ahead`]: crate::StarSequitur::ahead
#[derive(Clone, Debug)]
pub struct Ahead<'a> {
    grammar: &'a Grammar,
    /// Where the reading goes on at the end of the history.
    now: Option<&'a Predictor>,
    cursor: Cursor,
}

/// How far a reading has come. It can be kept while the grammar grows, if its path is
/// updated at every rewrite.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursor {
    /// The outermost first; the last one holds the terminal to be read next.
    pub path: Vec<PathFrame>,
    /// Probability of the step to that terminal.
    probability: f64,
}

impl<'a> Ahead<'a> {
    pub(crate) fn new(
        grammar: &'a Grammar,
        predictors: &'a Predictors,
        first: Option<Candidate>,
    ) -> Ahead<'a> {
        let now = now(grammar, predictors);
        let cursor = first.map(|first| Cursor::new(grammar, predictors, first));
        Ahead { grammar, now, cursor: cursor.unwrap_or_default() }
    }
}

impl Iterator for Ahead<'_> {
    type Item = Candidate;

    fn next(&mut self) -> Option<Candidate> {
        self.cursor.read(self.grammar, self.now)
    }
}

/// Where a reading goes on at the end of the history: at the place of the best
/// candidate that has one.
pub(crate) fn now<'a>(grammar: &Grammar, predictors: &'a Predictors) -> Option<&'a Predictor> {
    predictors.candidates.iter().find_map(|best| heaviest(grammar, predictors, best))
}

fn heaviest<'a>(
    grammar: &Grammar,
    predictors: &'a Predictors,
    candidate: &Candidate,
) -> Option<&'a Predictor> {
    predictors
        .active
        .iter()
        .filter(|predictor| predictor.expects(grammar) == Some(candidate.terminal))
        .max_by(|a, b| a.weight.total_cmp(&b.weight))
}

impl Cursor {
    /// Before a symbol.
    pub(crate) fn new(grammar: &Grammar, predictors: &Predictors, first: Candidate) -> Cursor {
        let path = match heaviest(grammar, predictors, &first) {
            Some(predictor) => predictor.path.clone(),
            // It was proposed by counts, not by a place: use its latest place.
            None => latest_place(grammar, first.terminal).into_iter().collect(),
        };
        Cursor { path, probability: first.probability }
    }

    /// The next symbol; `now` is where the history ends.
    pub(crate) fn read(&mut self, grammar: &Grammar, now: Option<&Predictor>) -> Option<Candidate> {
        let frame = self.path.last()?;
        let Some(Symbol::Terminal(terminal)) = grammar.arena.symbol(frame.id) else {
            return None;
        };
        let probability = self.probability;
        self.probability = self.step(grammar, now);
        Some(Candidate { terminal, probability })
    }

    /// Moves to the occurrence after the present terminal and returns how probable this
    /// way was.
    fn step(&mut self, grammar: &Grammar, now: Option<&Predictor>) -> f64 {
        let mut probability = 1.0;
        while let Some(&frame) = self.path.last() {
            let ends = grammar.end_probability(&frame);
            if !leaves(grammar, &frame, ends) {
                probability *= 1.0 - ends;
                if let Some(last) = self.path.last_mut() {
                    last.low = frame.low.saturating_add(1);
                    last.high = last.high.max(last.low);
                }
                self.descend(grammar);
                return probability;
            }
            probability *= ends;
            let next = grammar.arena.next(frame.id);
            self.path.pop();
            match grammar.arena.guard_of(next) {
                None => {
                    self.path.push(PathFrame::first_repetition(next));
                    self.descend(grammar);
                    return probability;
                }
                Some(RuleId::START) => break,
                Some(rule) if self.path.is_empty() => {
                    let (frame, share) = likeliest_use(grammar, rule);
                    probability *= share;
                    self.path.extend(frame);
                }
                Some(_) => {}
            }
        }
        // At the end of the start rule: first what is held back, then now.
        self.path.clear();
        if !grammar.held.is_empty() {
            self.path.extend_from_slice(&grammar.held.start);
        } else if let Some(now) = now {
            self.path.extend_from_slice(&now.path);
        }
        probability
    }

    fn descend(&mut self, grammar: &Grammar) {
        while let Some(frame) = self.path.last()
            && let Some(Symbol::Rule(rule)) = grammar.arena.symbol(frame.id)
        {
            self.path.push(PathFrame::first_repetition(grammar.arena.first(rule)));
        }
    }
}

/// Whether the reading moves on from an occurrence after this repetition.
fn leaves(grammar: &Grammar, frame: &PathFrame, ends: f64) -> bool {
    match grammar.arena.get(frame.id).exponent {
        Exponent::Times(_) => ends >= 0.5,
        Exponent::Varying(varying) => {
            grammar.loops.get(varying).is_none_or(|counts| counts.typical(frame.low) <= frame.low)
        }
    }
}

/// The use of a rule that the history took most often, and its share.
fn likeliest_use(grammar: &Grammar, rule: RuleId) -> (Option<PathFrame>, f64) {
    let arena = &grammar.arena;
    let mut best = None;
    let (mut best_passes, mut all_passes) = (0.0, 0.0);
    let mut used = arena.rules[rule.at()].first_use;
    for _ in 0..MAX_USES {
        if used == OccurrenceId::NONE {
            break;
        }
        let repetitions = match arena.get(used).exponent {
            Exponent::Times(times) => times,
            Exponent::Varying(varying) => grammar.typical_count(varying),
        };
        let passes = arena.rules[arena.owner(used).at()].derived as f64 * repetitions as f64;
        all_passes += passes;
        if passes > best_passes {
            best_passes = passes;
            best = Some(PathFrame { id: used, low: 1, high: repetitions });
        }
        used = arena.get(used).next_use;
    }
    (best, if all_passes > 0.0 { best_passes / all_passes } else { 1.0 })
}

/// The most recent occurrence of a terminal, in its first repetition.
fn latest_place(grammar: &Grammar, terminal: Terminal) -> Option<PathFrame> {
    let id = grammar.arena.first_use(Symbol::Terminal(terminal));
    (!id.is_none()).then(|| PathFrame::first_repetition(id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_stack_of_the_report_reads_on_through_the_end_of_a_rule() {
        let mut grammar = Grammar::new(Config::exact());
        "aecdbcdec".bytes().for_each(|letter| grammar.push(u32::from(letter)));
        grammar.catch_up();
        assert_eq!(grammar.to_string(), "S -> 97 101 A 98 A 101 99\nA -> 99 100\n");

        let start = grammar.arena.first(RuleId::START);
        let second_use = (0..4).fold(start, |id, _| grammar.arena.next(id));
        let d = grammar.arena.last(RuleId(1));
        let path = [second_use, d].map(PathFrame::first_repetition).to_vec();
        let cursor = Cursor { path, probability: 1.0 };
        let ahead = Ahead { grammar: &grammar, now: None, cursor };
        let letters: String = ahead.filter_map(|c| char::from_u32(c.terminal)).collect();
        assert_eq!(letters, "dec");
    }
}
