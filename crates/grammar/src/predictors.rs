// SPDX-License-Identifier: MIT OR Apache-2.0

//! The places where the execution may be, moved along with it.
//!
//! Each symbol drops the predictors that expected another and advances the rest. When
//! none is left the places with the longest agreeing past are looked for; and because
//! one surprise need not mean that all is new, those that failed get two more chances:
//! the symbol may have replaced the expected one, or have been inserted before it. Each
//! kind is weighted by how often it turned out right.

use serde::{Deserialize, Serialize};

use crate::ahead::{self, Cursor};
use crate::arena::GrammarArena;
use crate::calibration::{Calibration, ContestId, ContestOutcome, Situation};
use crate::discover::Search;
use crate::grammar::Grammar;
use crate::predictor::{Nursery, PathFrame, Predictor, PredictorOrigin, Support, is_path};
use crate::recent::Recent;
use crate::successors::Successors;
use crate::symbol::{Exponent, OccurrenceId, RuleId, Symbol, Terminal};
use crate::watch::RewriteObserver;

/// Predictors that failed and may be resumed, at most.
const MAX_SUSPENDED: usize = 4;

/// Predictors that are kept once everything has gone as expected for long: others that
/// agree with such a long past predict the same.
const MAX_SETTLED: usize = 2;

/// Failed predictors that are given another chance at once, at most.
const MAX_SECOND_CHANCES: usize = 2;

/// Second chances that came true less often than this are not given any more,
/// except every [`TRIAL`] surprises, to see whether that has changed.
const HOPELESS: f64 = 0.02;
const TRIAL: u64 = 64;

/// Probability below which it is not worth distributing.
const WORTH_SHARING: f64 = 0.002;

/// Maximum number of symbols that share what the candidates leave.
const MAX_SHARERS: usize = 4;

/// Bounds of the effort of one discovery, in comparisons.
const EFFORT: std::ops::RangeInclusive<usize> = 8..=512;

/// A symbol that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The symbol.
    pub terminal: Terminal,
    /// How probable it is; the candidates of one moment add up to at most 1.
    pub probability: f64,
}

/// The set of predictors, and what it says of the next symbol.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Predictors {
    pub active: Vec<Predictor>,
    suspended: Vec<Predictor>,
    pub candidates: Vec<Candidate>,
    pub recent: Recent,
    calibration: Calibration,
    successors: Successors,
    /// The circumstances in which successors were asked, and what they said.
    contest: Option<(ContestId, Terminal)>,
    /// The most probable symbol according to the predictors alone.
    expected: Option<Terminal>,
    situation: Situation,
    /// The best candidate's share of the weight.
    best_share: f64,
    /// Symbols in a row that were the best candidate.
    streak: u64,
    /// How long the past of the places discovered last agreed.
    matched: usize,
    effort: usize,
    /// Times that no predictor expected what came.
    surprises: u64,
    /// Candidates that no predictor expects; they only share what is left.
    sharers: Vec<Terminal>,
    /// Whether the last symbol had never been seen before.
    after_new: bool,
    /// A reading that goes on while the stream grows.
    #[serde(skip)]
    reading: Option<Cursor>,
    #[serde(skip)]
    nursery: Nursery,
    #[serde(skip)]
    marks: Marks,
}

impl Predictors {
    pub fn new(max_pasts: usize) -> Predictors {
        Predictors {
            active: Vec::new(),
            suspended: Vec::new(),
            candidates: Vec::new(),
            recent: Recent::new(),
            calibration: Calibration::new(),
            successors: Successors::new(max_pasts),
            contest: None,
            expected: None,
            situation: Situation::default(),
            best_share: 0.0,
            streak: 0,
            matched: 0,
            effort: *EFFORT.end(),
            surprises: 0,
            sharers: Vec::new(),
            after_new: false,
            reading: None,
            nursery: Nursery::default(),
            marks: Marks::default(),
        }
    }

    /// Learns whether the candidates were right and moves the predictors past
    /// the symbol, in the grammar as it was when they were made.
    pub fn advance(&mut self, grammar: &Grammar, terminal: Terminal) {
        self.learn_outcome(grammar, terminal);
        self.nursery.begin();
        self.successors.push(terminal, &self.recent);
        self.recent.push(terminal);
        if let [alone] = &mut self.active[..]
            && alone.expects(grammar) == Some(terminal)
            && alone.advance_alone(grammar)
        {
            alone.origin = PredictorOrigin::Followed;
            self.marks.note_all(&self.active);
            return;
        }
        let was_right = |predictor: &Predictor| predictor.expects(grammar) == Some(terminal);
        if self.active.iter().any(was_right) {
            self.follow(grammar, terminal);
        } else {
            self.give_second_chances(grammar, terminal);
        }
        self.active.append(&mut self.nursery.born);
        let max_predictors = grammar.config.max_predictors;
        let is_settled = self.streak >= Recent::LENGTH as u64;
        self.cap(if is_settled { max_predictors.min(MAX_SETTLED) } else { max_predictors });
        self.marks.note_all(&self.active);
    }

    /// Advances the predictors that were right and drops the others.
    fn follow(&mut self, grammar: &Grammar, terminal: Terminal) {
        let mut kept = 0;
        for at in 0..self.active.len() {
            let predictor = &mut self.active[at];
            if predictor.expects(grammar) != Some(terminal) {
                continue;
            }
            predictor.origin = PredictorOrigin::Followed;
            if predictor.advance_alone(grammar) {
                self.active.swap(kept, at);
                kept += 1;
            } else {
                let parting = std::mem::take(predictor);
                self.nursery.advance(grammar, parting);
            }
        }
        self.drop_from(kept);
    }

    fn drop_from(&mut self, kept: usize) {
        self.active.drain(kept..).for_each(|predictor| self.nursery.recycle(predictor));
    }

    /// Looks for new places where needed and ranks what comes next, in the
    /// grammar that holds the last symbol.
    pub fn look_ahead(&mut self, grammar: &Grammar) {
        if let [alone] = &self.active[..]
            && alone.origin == PredictorOrigin::Followed
            && let Some(terminal) = alone.expects(grammar)
        {
            self.situation = Situation::followed(self.streak, alone.support);
            self.candidates.clear();
            self.candidates.push(Candidate { terminal, probability: 1.0 });
            return self.calibrate(grammar);
        }
        let surprised =
            self.active.iter().all(|predictor| predictor.origin != PredictorOrigin::Followed);
        if surprised {
            let mut search = Search::new(grammar, &self.recent, &mut self.nursery, self.effort);
            search.run();
            self.matched = search.matched;
            self.active.append(&mut self.nursery.born);
            self.cap(grammar.config.max_predictors + 2 * MAX_SECOND_CHANCES);
            self.marks.note_all(&self.active);
            self.weigh_origins();
        }
        self.rank(grammar);
        let support = self.support_of_best(grammar);
        self.situation = if surprised {
            Situation::surprised(self.matched)
        } else {
            Situation::followed(self.streak, support)
        };
        self.calibrate(grammar);
    }

    fn learn_outcome(&mut self, grammar: &Grammar, terminal: Terminal) {
        let is_stated = || self.candidates.iter().any(|candidate| candidate.terminal == terminal);
        let outcome = if self.expected == Some(terminal) {
            ContestOutcome::Best
        } else if is_stated() && !self.sharers.contains(&terminal) {
            ContestOutcome::Other
        } else {
            ContestOutcome::Unforeseen
        };
        let is_new = grammar.arena.first_use(Symbol::Terminal(terminal)).is_none();
        if outcome == ContestOutcome::Unforeseen {
            self.calibration.learn_novelty(self.after_new, is_new);
        }
        self.after_new = is_new;
        if let Some((contest, successor)) = self.contest {
            let predictors_were_right = outcome == ContestOutcome::Best;
            self.calibration.learn_contest(contest, predictors_were_right, successor == terminal);
        }
        self.streak =
            if outcome == ContestOutcome::Best { self.streak.saturating_add(1) } else { 0 };
        if self.expected.is_some() {
            self.calibration.learn(self.situation, self.best_share, outcome);
        }
        if self.active.first().is_none_or(|first| first.origin == PredictorOrigin::Followed) {
            return;
        }
        let mut judged = [false; PredictorOrigin::COUNT];
        for predictor in &self.active {
            let origin = predictor.origin;
            if origin != PredictorOrigin::Followed
                && !std::mem::replace(&mut judged[origin as usize], true)
            {
                let right = predictor.expects(grammar) == Some(terminal);
                self.calibration.learn_trust(origin, self.matched, right);
                if origin == PredictorOrigin::Discovered {
                    // If the stream is rarely found again, searching is not worth it.
                    let effort = if right { self.effort * 2 } else { self.effort / 2 };
                    self.effort = effort.clamp(*EFFORT.start(), *EFFORT.end());
                }
            }
        }
    }

    /// None of the predictors expected the symbol: it may have replaced what
    /// they expected or come in between, and it may be what some expected that
    /// were interrupted before.
    fn give_second_chances(&mut self, grammar: &Grammar, terminal: Terminal) {
        self.surprises = self.surprises.wrapping_add(1);
        for suspended in &self.suspended {
            if suspended.expects(grammar) == Some(terminal) {
                let mut resumed = self.nursery.copy(suspended);
                resumed.origin = PredictorOrigin::Resumed;
                self.nursery.advance(grammar, resumed);
            }
        }
        self.suspended.retain(|suspended| suspended.expects(grammar) != Some(terminal));
        let is_worth_it = self.surprises.is_multiple_of(TRIAL)
            || self.calibration.trust(PredictorOrigin::Replaced, 0) > HOPELESS
            || self.calibration.trust(PredictorOrigin::Interrupted, 0) > HOPELESS;
        if !is_worth_it {
            return self.drop_from(0);
        }
        self.active.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        self.drop_from(self.active.len().min(MAX_SECOND_CHANCES));
        for predictor in &mut self.active {
            let mut replaced = self.nursery.copy(predictor);
            replaced.origin = PredictorOrigin::Replaced;
            self.nursery.advance(grammar, replaced);
            predictor.origin = PredictorOrigin::Interrupted;
            if !self.suspended.iter().any(|suspended| suspended.path == predictor.path) {
                if self.suspended.len() >= MAX_SUSPENDED {
                    let oldest = self.suspended.remove(0);
                    self.nursery.recycle(oldest);
                }
                let copy = self.nursery.copy(predictor);
                self.suspended.push(copy);
            }
        }
    }

    /// Keeps the heaviest; the evaluation shows what that costs.
    fn cap(&mut self, max_predictors: usize) {
        if self.active.len() > max_predictors {
            self.active.sort_by(|a, b| b.weight.total_cmp(&a.weight));
            self.drop_from(max_predictors);
        }
    }

    /// Adds up the weights of the predictors that expect the same symbol, into
    /// shares of the whole.
    fn rank(&mut self, grammar: &Grammar) {
        self.candidates.clear();
        let mut total = 0.0;
        for predictor in &self.active {
            let Some(terminal) = predictor.expects(grammar) else { continue };
            total += predictor.weight;
            match self.candidates.iter_mut().find(|candidate| candidate.terminal == terminal) {
                Some(candidate) => candidate.probability += predictor.weight,
                None => {
                    let probability = predictor.weight;
                    self.candidates.push(Candidate { terminal, probability });
                }
            }
        }
        if total <= 0.0 {
            self.candidates.clear();
        }
        self.candidates.iter_mut().for_each(|candidate| candidate.probability /= total);
        if self.candidates.len() > 1 {
            self.candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        }
    }

    fn support_of_best(&self, grammar: &Grammar) -> Support {
        let Some(best) = self.candidates.first() else { return Support::default() };
        let expecting = |p: &&Predictor| p.expects(grammar) == Some(best.terminal);
        let heaviest =
            self.active.iter().filter(expecting).max_by(|a, b| a.weight.total_cmp(&b.weight));
        heaviest.map_or(Support::default(), |predictor| predictor.support)
    }

    /// Turns shares into probabilities.
    fn calibrate(&mut self, grammar: &Grammar) {
        self.expected = self.candidates.first().map(|best| best.terminal);
        if let Some((first, rest)) = self.candidates.split_first_mut() {
            self.best_share = first.probability;
            let (best, others) = self.calibration.probabilities(self.situation, self.best_share);
            let remaining = (1.0 - self.best_share).max(f64::MIN_POSITIVE);
            first.probability = best;
            for other in rest {
                // No candidate is more probable than the one before it.
                other.probability = (other.probability / remaining * others).min(best);
            }
        }
        self.consult_successors(grammar);
        self.sharers.clear();
        if grammar.config.shares_rest {
            self.share_rest(grammar);
        }
    }

    /// Gives the probability that candidates leave to symbols that followed such a past
    /// before, except for what is kept for symbols never seen.
    fn share_rest(&mut self, grammar: &Grammar) {
        let stated: f64 = self.candidates.iter().map(|candidate| candidate.probability).sum();
        let Some(best) = self.candidates.first().map(|best| best.probability) else { return };
        let mut rest = (1.0 - stated) * (1.0 - self.calibration.novelty(self.after_new));
        if rest < WORTH_SHARING {
            return;
        }
        let n_expected = self.candidates.len();
        for (terminal, share) in self.successors.all() {
            let is_known = self.candidates.iter().any(|known| known.terminal == terminal);
            if is_known || grammar.arena.first_use(Symbol::Terminal(terminal)).is_none() {
                continue;
            }
            // The longest past comes first, and leaves something to the others.
            let probability = (rest * f64::from(share).max(0.5)).min(best);
            rest -= probability;
            self.candidates.push(Candidate { terminal, probability });
            self.sharers.push(terminal);
            if self.candidates.len() >= n_expected + MAX_SHARERS {
                break;
            }
        }
        // What is still left goes to the expected symbols, except the best one, whose
        // probability is measured.
        let others: f64 = self.candidates[1..].iter().map(|it| it.probability).sum();
        if others > 0.0 {
            let more = (others + rest) / others;
            for other in &mut self.candidates[1..] {
                other.probability = (other.probability * more).min(best);
            }
        }
        self.candidates[1..].sort_by(|a, b| b.probability.total_cmp(&a.probability));
    }

    /// Lets the counts of what followed the recent past confirm the best candidate, or
    /// propose another one, with the probability that past outcomes suggest.
    fn consult_successors(&mut self, grammar: &Grammar) {
        self.contest = None;
        let Some(successor) = self.successors.best() else { return };
        let probability = self.candidates.first().map_or(0.0, |best| best.probability);
        let agree = self.expected == Some(successor.terminal);
        let contest = ContestId::new(probability, &successor, agree);
        self.contest = Some((contest, successor.terminal));
        let (best, other) = self.calibration.contest(contest, probability);
        if let Some(first) = self.candidates.first_mut() {
            // Agreement confirms; something else known about the situation may raise
            // the probability further.
            first.probability = if agree { best.max(probability) } else { best };
        }
        // What the grammar has forgotten cannot be followed.
        let has_place = || !grammar.arena.first_use(Symbol::Terminal(successor.terminal)).is_none();
        if !agree && has_place() {
            let terminal = successor.terminal;
            self.put_up(Candidate { terminal, probability: other });
        }
        if self.candidates.len() > 1 {
            self.bring_into_order();
        }
    }

    /// Adds a candidate, or gives a known one its probability.
    fn put_up(&mut self, candidate: Candidate) {
        match self.candidates.iter_mut().find(|known| known.terminal == candidate.terminal) {
            Some(known) => known.probability = candidate.probability,
            None => self.candidates.push(candidate),
        }
    }

    /// Sorts the candidates and makes them add up to at most 1: the first two keep
    /// their probabilities, the others are scaled down.
    fn bring_into_order(&mut self) {
        self.candidates.sort_by(|a, b| b.probability.total_cmp(&a.probability));
        let mut left = 1.0;
        for candidate in &mut self.candidates {
            candidate.probability = candidate.probability.min(left);
            left -= candidate.probability;
        }
    }

    /// Makes weights of different origins comparable: predictors of one origin share
    /// the weight that the origin has earned.
    fn weigh_origins(&mut self) {
        let mut totals = [0.0; PredictorOrigin::COUNT];
        for predictor in &self.active {
            totals[predictor.origin as usize] += predictor.weight;
        }
        for predictor in &mut self.active {
            let trust = self.calibration.trust(predictor.origin, self.matched);
            predictor.weight *=
                trust * trust / totals[predictor.origin as usize].max(f64::MIN_POSITIVE);
        }
        self.active.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    }

    /// Begins a reading at a symbol.
    pub fn begin_reading(&mut self, grammar: &Grammar, first: Candidate) {
        let cursor = Cursor::new(grammar, self, first);
        self.marks.note_path(&cursor.path);
        self.reading = Some(cursor);
    }

    /// The next symbol of the reading.
    pub fn read_on(&mut self, grammar: &Grammar) -> Option<Candidate> {
        let mut cursor = self.reading.take()?;
        let candidate = cursor.read(grammar, ahead::now(grammar, self));
        self.marks.note_path(&cursor.path);
        self.reading = Some(cursor);
        candidate
    }

    /// Ends the reading.
    pub fn end_reading(&mut self) {
        self.reading = None;
    }

    /// What stood at `old` stands at `new`, inside `used`.
    fn replace(&mut self, old: OccurrenceId, new: OccurrenceId, used: OccurrenceId) {
        for path in self.paths() {
            if let Some(at) = path.iter().position(|frame| frame.id == old) {
                path[at].id = new;
                path.insert(at, PathFrame::first_repetition(used));
            }
        }
        self.marks.note(new);
        self.marks.note(used);
    }

    /// All paths through the grammar that are kept.
    fn paths(&mut self) -> impl Iterator<Item = &mut Vec<PathFrame>> {
        let predictors = self.active.iter_mut().chain(&mut self.suspended);
        let reading = self.reading.as_mut().map(|cursor| &mut cursor.path);
        predictors.map(|predictor| &mut predictor.path).chain(reading)
    }

    fn touches(&mut self, ids: &[OccurrenceId]) -> bool {
        if !ids.iter().any(|&id| self.marks.may_hold(id)) {
            return false;
        }
        if self.marks.are_stale() {
            self.marks = Marks::NONE;
            self.marks.note_all(&self.active);
            self.marks.note_all(&self.suspended);
            if let Some(reading) = &self.reading {
                self.marks.note_path(&reading.path);
            }
        }
        ids.iter().any(|&id| self.marks.may_hold(id))
    }

    /// Whether all paths lead through occurrences that exist.
    pub fn is_sound(&self, grammar: &Grammar) -> bool {
        let exists = |frame: &PathFrame| {
            frame.id.at() < grammar.arena.slots.len() && grammar.arena.symbol(frame.id).is_some()
        };
        let all = || self.active.iter().chain(&self.suspended);
        self.calibration.is_sound()
            && EFFORT.contains(&self.effort)
            && self.active.len() + self.suspended.len() <= 1 << 16
            && self.sharers.len() <= MAX_SHARERS
            && self.recent.is_sound()
            && self.successors.is_sound()
            && all().all(|predictor| {
                predictor.path.iter().all(exists)
                    && is_path(&predictor.path, &grammar.arena)
                    && predictor.expects(grammar).is_some()
            })
    }

    /// See [`Calibration::fade`].
    pub fn fade(&mut self) {
        self.calibration.fade();
    }

    pub fn memory_bytes(&self) -> usize {
        let all = self.active.iter().chain(&self.suspended);
        size_of::<Predictors>()
            + all
                .map(|predictor| {
                    size_of::<Predictor>() + predictor.path.capacity() * size_of::<PathFrame>()
                })
                .sum::<usize>()
            + self.calibration.memory_bytes()
            + self.successors.memory_bytes()
    }
}

/// Predictors survive every rewrite of the grammar.
impl RewriteObserver for Predictors {
    fn wrapped(&mut self, old: [OccurrenceId; 2], new: [OccurrenceId; 2], used: OccurrenceId) {
        if self.touches(&old) {
            self.replace(old[0], new[0], used);
            self.replace(old[1], new[1], used);
        }
    }

    fn replaced(&mut self, old: OccurrenceId, new: OccurrenceId, used: OccurrenceId) {
        if self.touches(&[old]) {
            self.replace(old, new, used);
        }
    }

    fn extracted(&mut self, rule: RuleId, used: OccurrenceId, arena: &GrammarArena) {
        for path in self.paths() {
            let place = |frame: &PathFrame| arena.owner(frame.id) == rule;
            if let Some(at) = path.iter().position(place) {
                path.insert(at, PathFrame::first_repetition(used));
            }
        }
        self.marks.note(used);
    }

    fn merged(&mut self, kept: OccurrenceId, gone: OccurrenceId, shift: u64) {
        if !self.touches(&[gone]) {
            return;
        }
        for frame in self.paths().flatten() {
            if frame.id == gone {
                frame.id = kept;
                frame.low = frame.low.saturating_add(shift);
                frame.high = frame.high.saturating_add(shift);
            }
        }
        self.marks.note(kept);
    }

    fn inlined(&mut self, used: OccurrenceId) {
        if self.touches(&[used]) {
            self.paths().for_each(|path| path.retain(|frame| frame.id != used));
        }
    }

    fn folded(&mut self, used: OccurrenceId, inner: OccurrenceId, repeats: Exponent) {
        if !self.touches(&[inner]) {
            return;
        }
        let repeats = repeats.uses();
        for path in self.paths() {
            let Some(at) = path.iter().position(|frame| frame.id == inner) else {
                continue;
            };
            let within = path[at];
            if at == 0 {
                // Any use may be meant; the first one takes it.
                path[0].id = used;
            } else if path[at - 1].id == used {
                let outer = &mut path[at - 1];
                let flat = |outer: u64, inner: u64| {
                    outer.saturating_sub(1).saturating_mul(repeats).saturating_add(inner)
                };
                outer.low = flat(outer.low, within.low);
                outer.high = flat(outer.high, within.high);
                path.remove(at);
            }
        }
        self.marks.note(used);
    }

    fn forgotten(&mut self, id: OccurrenceId, _arena: &GrammarArena) {
        if !self.touches(&[id]) {
            return;
        }
        for path in self.paths() {
            if let Some(at) = path.iter().position(|frame| frame.id == id) {
                path.drain(..=at);
            }
        }
        self.active.retain(|predictor| !predictor.path.is_empty());
        self.suspended.retain(|predictor| !predictor.path.is_empty());
    }
}

/// Which occurrences paths may lead through: a set that may contain too many, never too
/// few, so that most rewrites need not look at the paths.
#[derive(Clone, Debug)]
struct Marks(u64);

/// All of them, until the set is first computed, as after loading.
impl Default for Marks {
    fn default() -> Marks {
        Marks(u64::MAX)
    }
}

impl Marks {
    const NONE: Marks = Marks(0);

    fn note(&mut self, id: OccurrenceId) {
        self.0 |= 1 << (id.0 % 64);
    }

    fn note_all(&mut self, predictors: &[Predictor]) {
        predictors.iter().for_each(|predictor| self.note_path(&predictor.path));
    }

    fn note_path(&mut self, path: &[PathFrame]) {
        path.iter().for_each(|frame| self.note(frame.id));
    }

    fn may_hold(&self, id: OccurrenceId) -> bool {
        self.0 & (1 << (id.0 % 64)) != 0
    }

    fn are_stale(&self) -> bool {
        self.0.count_ones() > 24
    }
}
