// SPDX-License-Identifier: MIT OR Apache-2.0

//! A place in the grammar where the execution may be.
//!
//! A predictor is a path of occurrences, from as far up as it is known down to the
//! terminal that is expected next. For each occurrence it knows which repetition is
//! being run, as an interval: a loop of a million is one predictor, not a million.
//! Above its path it stands for any use of the rule it is in.
//!
//! The weight is the number of ways in which the history passes that place. It
//! is shared out where a path parts, in proportion to how often each way was
//! taken, so that nothing ever recounts paths.

use serde::{Deserialize, Serialize};

use crate::arena::GrammarArena;
use crate::grammar::Grammar;
use crate::symbol::{Exponent, OccurrenceId, RuleId, Symbol, Terminal};

/// Uses of a rule that are followed, the most recent first, when a path ends.
const MAX_USES: usize = 16;

/// Uses of rules that are followed for one symbol in all. Rules may end in rules that
/// end in rules, each with many uses, so there has to be a limit.
const MAX_CLIMBS: usize = 64;

/// Levels of a path that are kept; above that the path is unknown again.
const MAX_PATH: usize = 64;

/// An occurrence on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PathFrame {
    pub id: OccurrenceId,
    /// The repetition being run is not before this one; the first is 1.
    pub low: u64,
    /// It is not after this one.
    pub high: u64,
}

impl PathFrame {
    pub fn first_repetition(id: OccurrenceId) -> PathFrame {
        PathFrame { id, low: 1, high: 1 }
    }

    /// The repetition after this one.
    pub fn after(&self) -> PathFrame {
        PathFrame {
            id: self.id,
            low: self.low.saturating_add(1),
            high: self.high.saturating_add(1),
        }
    }

    /// How many repetitions it may be.
    pub fn width(&self) -> f64 {
        (self.high.saturating_sub(self.low) + 1) as f64
    }
}

/// A place where the execution may be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Predictor {
    /// The outermost first; the last one holds the terminal expected next.
    pub path: Vec<PathFrame>,
    pub weight: f64,
    pub support: Support,
    pub origin: PredictorOrigin,
}

/// How the history supports the step that a predictor expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Support {
    /// It made that step this often.
    Made(u64),
    /// Only the run that is still going on, which would reach this many repetitions.
    OpenRun(u64),
}

impl Default for Support {
    fn default() -> Support {
        Support::Made(0)
    }
}

/// How a predictor came to be. Those of one origin compare by their weights;
/// those of different ones by how often each origin has been right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PredictorOrigin {
    /// It expected the last symbol.
    #[default]
    Followed,
    /// The past before it agrees with the recent past.
    Discovered,
    /// It expected another symbol, and the one that came took its place.
    Replaced,
    /// It expected another symbol, and still does: one was put in between.
    Interrupted,
    /// It was interrupted a while ago, and what it expected came at last.
    Resumed,
}

impl PredictorOrigin {
    pub const COUNT: usize = 5;
}

impl From<PredictorOrigin> for Predictor {
    fn from(origin: PredictorOrigin) -> Predictor {
        Predictor { origin, ..Predictor::default() }
    }
}

impl Predictor {
    /// The symbol expected next.
    pub fn expects(&self, grammar: &Grammar) -> Option<Terminal> {
        match grammar.arena.symbol(self.path.last()?.id)? {
            Symbol::Terminal(terminal) => Some(terminal),
            Symbol::Rule(_) => None,
        }
    }

    /// Moves past the expected terminal if there is only one way from there and the
    /// path shows it; otherwise returns `false` and stays.
    pub fn advance_alone(&mut self, grammar: &Grammar) -> bool {
        let arena = &grammar.arena;
        for level in (0..self.path.len()).rev() {
            let frame = self.path[level];
            let ends = grammar.end_probability(&frame);
            let next = if ends <= 0.0 {
                frame.after()
            } else if ends >= 1.0 {
                let next = arena.next(frame.id);
                if arena.guard_of(next).is_some() {
                    continue;
                }
                PathFrame::first_repetition(next)
            } else {
                return false;
            };
            self.path.truncate(level);
            self.path.push(next);
            self.arrive(grammar);
            return true;
        }
        false
    }

    /// The innermost frame has just been entered.
    fn arrive(&mut self, grammar: &Grammar) {
        if let Some(&PathFrame { id, low, .. }) = self.path.last() {
            let is_open_run = low > 1 && id == grammar.arena.last(RuleId::START);
            let owner = grammar.arena.owner(id);
            self.support = if is_open_run {
                Support::OpenRun(low)
            } else {
                Support::Made(grammar.arena.rules[owner.at()].derived)
            };
        }
        self.descend(grammar);
    }

    /// Goes down first occurrences until the path ends in a terminal.
    pub fn descend(&mut self, grammar: &Grammar) {
        while let Some(frame) = self.path.last()
            && let Some(Symbol::Rule(rule)) = grammar.arena.symbol(frame.id)
        {
            self.path.push(PathFrame::first_repetition(grammar.arena.first(rule)));
        }
        if self.path.len() > MAX_PATH {
            let excess = self.path.len() - MAX_PATH;
            self.path.drain(..excess);
        }
    }
}

/// Where predictors go when they split, and paths that can be reused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Nursery {
    pub born: Vec<Predictor>,
    spare: Vec<Vec<PathFrame>>,
    /// Uses of rules that may still be entered from below for this symbol.
    climbs: usize,
}

impl Nursery {
    /// Starts the work for a new symbol.
    pub fn begin(&mut self) {
        self.climbs = MAX_CLIMBS;
    }

    pub fn recycle(&mut self, predictor: Predictor) {
        self.spare.push(predictor.path);
    }

    /// Drops the oldest predictors.
    pub fn recycle_first(&mut self, count: usize) {
        self.spare.extend(self.born.drain(..count).map(|predictor| predictor.path));
    }

    pub fn copy(&mut self, predictor: &Predictor) -> Predictor {
        Predictor { path: self.path_of(&predictor.path), ..*predictor }
    }

    /// A path with these frames, if possible in a vector used before.
    pub fn path_of<'f>(
        &mut self,
        frames: impl IntoIterator<Item = &'f PathFrame>,
    ) -> Vec<PathFrame> {
        let mut path = self.spare.pop().unwrap_or_default();
        path.clear();
        path.extend(frames);
        path
    }

    /// Moves a predictor past the terminal it expects, to wherever the history
    /// went on from there. What reaches the end of the history is dropped.
    pub fn advance(&mut self, grammar: &Grammar, mut predictor: Predictor) {
        while let Some(&frame) = predictor.path.last() {
            let ends = grammar.end_probability(&frame);
            if ends < 1.0 {
                let stays = PathFrame {
                    id: frame.id,
                    low: frame.low.saturating_add(1),
                    high: last_repetition_after(grammar, &frame),
                };
                if ends <= 0.0 {
                    return self.settle(grammar, predictor, stays);
                }
                let mut staying = self.copy(&predictor);
                staying.weight *= 1.0 - ends;
                self.settle(grammar, staying, stays);
                predictor.weight *= ends;
            }
            let next = grammar.arena.next(frame.id);
            let Some(rule) = grammar.arena.guard_of(next) else {
                return self.settle(grammar, predictor, PathFrame::first_repetition(next));
            };
            predictor.path.pop();
            if rule == RuleId::START {
                if !grammar.held.is_empty() {
                    // The history goes on with what is held back, and that is
                    // the same as where it was found.
                    predictor.path.extend_from_slice(&grammar.held.start);
                    predictor.support = Support::Made(1);
                    return self.born.push(predictor);
                }
                break;
            }
            if predictor.path.is_empty() {
                self.climb(grammar, rule, &predictor);
                break;
            }
        }
        self.recycle(predictor);
    }

    /// The rule has ended and the path does not say in which use of it we are.
    fn climb(&mut self, grammar: &Grammar, rule: RuleId, climber: &Predictor) {
        let derived = grammar.arena.rules[rule.at()].derived.max(1) as f64;
        let mut used = grammar.arena.rules[rule.at()].first_use;
        for _ in 0..MAX_USES {
            if used.is_none() || self.climbs == 0 {
                return;
            }
            self.climbs -= 1;
            let owner = grammar.arena.owner(used);
            let repetitions = match grammar.arena.get(used).exponent {
                Exponent::Times(times) => times,
                Exponent::Varying(varying) => grammar.typical_count(varying),
            };
            let passes = grammar.arena.rules[owner.at()].derived as f64 * repetitions as f64;
            let path = self.path_of(&[PathFrame { id: used, low: 1, high: repetitions }]);
            let weight = climber.weight * passes / derived;
            self.advance(grammar, Predictor { path, weight, ..Predictor::from(climber.origin) });
            used = grammar.arena.get(used).next_use;
        }
    }

    fn settle(&mut self, grammar: &Grammar, mut predictor: Predictor, frame: PathFrame) {
        if let Some(last) = predictor.path.last_mut() {
            *last = frame;
        }
        predictor.arrive(grammar);
        self.born.push(predictor);
    }
}

impl Grammar {
    /// How probable it is that an occurrence is over when the repetition of
    /// the frame has ended.
    pub(crate) fn end_probability(&self, frame: &PathFrame) -> f64 {
        match self.arena.get(frame.id).exponent {
            Exponent::Times(times) if frame.high < times => 0.0,
            Exponent::Times(times) if frame.low >= times => 1.0,
            Exponent::Times(_) => 1.0 / frame.width(),
            Exponent::Varying(varying) => self
                .loops
                .get(varying)
                .map_or(1.0, |counts| counts.end_probability_within(frame.low, frame.high)),
        }
    }
}

/// The last repetition that may follow one of the frame's.
fn last_repetition_after(grammar: &Grammar, frame: &PathFrame) -> u64 {
    let after = frame.high.saturating_add(1);
    match grammar.arena.get(frame.id).exponent {
        Exponent::Times(times) => after.min(times),
        Exponent::Varying(_) => after,
    }
}

/// The number of ways in which the history passes a place: repetitions at each
/// level, times how often the history derives the rule at the top.
pub(crate) fn weight_of(path: &[PathFrame], arena: &GrammarArena) -> f64 {
    let derived = path.first().map_or(0, |top| arena.rules[arena.owner(top.id).at()].derived);
    path.iter().map(PathFrame::width).product::<f64>() * derived as f64
}

/// Whether each frame is a use of the rule that the next one stands in.
pub(crate) fn is_path(path: &[PathFrame], arena: &GrammarArena) -> bool {
    path.windows(2).all(|pair| {
        let owner = arena.owner(pair[1].id);
        arena.symbol(pair[0].id) == Some(Symbol::Rule(owner))
    })
}

/// The report's examples, with predictors put where it puts them.
#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn learn(text: &str) -> Grammar {
        let mut grammar = Grammar::new(Config::exact());
        text.bytes().for_each(|letter| grammar.push(u32::from(letter)));
        grammar.catch_up();
        grammar
    }

    /// The occurrence number `at` in the body of a rule, the start rule being 0.
    fn occurrence(grammar: &Grammar, rule: u32, at: usize) -> OccurrenceId {
        let first = grammar.arena.first(RuleId(rule));
        (0..at).fold(first, |id, _| grammar.arena.next(id))
    }

    fn predictor(frames: &[PathFrame]) -> Predictor {
        Predictor { path: frames.to_vec(), weight: 1.0, ..Predictor::default() }
    }

    fn expected(grammar: &Grammar, predictors: &[Predictor]) -> String {
        let letter = |p: &Predictor| p.expects(grammar).and_then(char::from_u32);
        predictors.iter().filter_map(letter).collect()
    }

    /// Drops those that are wrong and advances the others, as Table 3 does.
    fn update(grammar: &Grammar, predictors: Vec<Predictor>, input: char) -> Vec<Predictor> {
        let mut nursery = Nursery::default();
        nursery.begin();
        for predictor in predictors {
            if predictor.expects(grammar) == Some(u32::from(input)) {
                nursery.advance(grammar, predictor);
            }
        }
        nursery.born
    }

    #[test]
    fn table_3_wrong_predictors_go_and_the_others_advance_through_rule_ends() {
        let grammar = learn("aecdbcde");
        assert_eq!(grammar.to_string(), "S -> 97 101 A 98 A 101\nA -> 99 100\n");
        let at = |rule, place| PathFrame::first_repetition(occurrence(&grammar, rule, place));
        let second_use = at(0, 4);
        let predictors = vec![predictor(&[at(0, 0)]), predictor(&[second_use, at(1, 0)])];
        assert_eq!(expected(&grammar, &predictors), "ac");

        let predictors = update(&grammar, predictors, 'c');
        assert_eq!(expected(&grammar, &predictors), "d");
        assert_eq!(predictors[0].path, [second_use, at(1, 1)]);

        let predictors = update(&grammar, predictors, 'd');
        assert_eq!(expected(&grammar, &predictors), "e");
        assert_eq!(predictors[0].path, [at(0, 5)]);
    }

    #[test]
    fn the_weight_of_a_place_is_the_number_of_paths_to_it() {
        let grammar = learn("adddecdbcdec");
        assert_eq!(grammar.to_string(), "S -> 97 100^3 101 A 98 A 101 99\nA -> 99 100\n");
        let weight = |path: &[PathFrame]| weight_of(path, &grammar.arena);
        let d_in_rule = PathFrame::first_repetition(occurrence(&grammar, 1, 1));
        let d_in_start = PathFrame { id: occurrence(&grammar, 0, 1), low: 1, high: 3 };
        let e_in_start = PathFrame::first_repetition(occurrence(&grammar, 0, 2));
        assert_eq!(weight(&[d_in_rule]) + weight(&[d_in_start]), 5.0);
        assert_eq!(weight(&[e_in_start]), 1.0);
    }

    #[test]
    fn a_loop_entered_anywhere_is_one_predictor_not_one_for_each_repetition() {
        let grammar = learn(&"a".repeat(1000));
        let anywhere = PathFrame { id: occurrence(&grammar, 0, 0), low: 1, high: 1000 };
        let mut start = predictor(&[anywhere]);
        start.weight = 1000.0;
        let advanced = update(&grammar, vec![start], 'a');
        assert_eq!(advanced.len(), 1);
        assert_eq!((advanced[0].path[0].low, advanced[0].path[0].high), (2, 1000));
        assert_eq!(advanced[0].weight.round(), 999.0);
    }
}
