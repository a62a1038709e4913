// SPDX-License-Identifier: MIT OR Apache-2.0

//! The grammar and the predictors in it, as one thing to use.

use serde::{Deserialize, Serialize};

use crate::ahead::Ahead;
use crate::config::Config;
use crate::grammar::Grammar;
use crate::predictors::{Candidate, Predictors};
use crate::saved::Saved;
use crate::symbol::{Exponent, OccurrenceId, RuleId, Symbol, Terminal};

/// A loop that a stream is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopTurn {
    /// The turn it is in, from 1.
    pub turn: u64,
    /// The number of turns it had last time, or typically has; never less than `turn`.
    /// `None` if it has not ended yet since it was first seen.
    pub turns: Option<u64>,
    /// Symbols per turn.
    pub length: u64,
}

/// A stream that is learned symbol by symbol, and what may follow it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Saved", into = "Saved")]
pub struct StarSequitur {
    pub(crate) grammar: Grammar,
    pub(crate) predictors: Predictors,
}

impl StarSequitur {
    /// Nothing learned yet.
    pub fn new(config: Config) -> StarSequitur {
        let predictors = Predictors::new(config.max_pasts);
        StarSequitur { grammar: Grammar::new(config), predictors }
    }

    /// Appends a symbol, and finds out what may follow it.
    pub fn push(&mut self, terminal: Terminal) {
        self.predictors.advance(&self.grammar, terminal);
        self.grammar.push_watched(terminal, &mut self.predictors);
        self.predictors.look_ahead(&self.grammar);
    }

    /// The next symbol is the first of a stream like the one so far: how reliable
    /// predictions were when everything was new says little about it.
    pub fn begin_anew(&mut self) {
        self.predictors.fade();
    }

    /// The loops that the stream is in, outermost first, on the most probable path.
    pub fn turns(&self) -> impl Iterator<Item = LoopTurn> + '_ {
        let best = self.predictors.active.iter().max_by(|a, b| a.weight.total_cmp(&b.weight));
        let path = best.map(|predictor| predictor.path.as_slice()).unwrap_or_default();
        path.iter().filter_map(|frame| {
            let turns = self.count(frame.id);
            let length = self.grammar.arena.length_of(self.grammar.arena.symbol(frame.id)?);
            (turns > 1).then(|| match self.symbols_behind(frame.id, length) {
                Some(behind) => {
                    let has_begun_another = behind > 0 || !self.grammar.held.is_empty();
                    let turn = turns + u64::from(has_begun_another);
                    LoopTurn { turn, turns: None, length }
                }
                None => LoopTurn { turn: frame.low, turns: Some(turns.max(frame.low)), length },
            })
        })
    }

    /// How often an occurrence repeats, or typically does.
    fn count(&self, id: OccurrenceId) -> u64 {
        match self.grammar.arena.get(id).exponent {
            Exponent::Times(times) => times,
            Exponent::Varying(varying) => self.grammar.typical_count(varying),
        }
    }

    /// How many symbols of the history come after an occurrence, if that is less than
    /// `limit`: then the occurrence is the end of the history.
    fn symbols_behind(&self, id: OccurrenceId, limit: u64) -> Option<u64> {
        let arena = &self.grammar.arena;
        if arena.owner(id) != RuleId::START {
            return None;
        }
        let (mut behind, mut at) = (0u64, arena.next(id));
        while let Some(symbol) = arena.symbol(at) {
            behind = behind.saturating_add(arena.length_of(symbol).saturating_mul(self.count(at)));
            if behind >= limit {
                return None;
            }
            at = arena.next(at);
        }
        Some(behind)
    }

    /// The symbols that may come next, the most probable first.
    pub fn next(&self) -> &[Candidate] {
        &self.predictors.candidates
    }

    /// Whether the stream has come back to a symbol after others had come.
    pub fn recurs(&self, terminal: Terminal) -> bool {
        let arena = &self.grammar.arena;
        let latest = arena.first_use(Symbol::Terminal(terminal));
        !latest.is_none()
            && (arena.owner(latest) != RuleId::START || !arena.get(latest).next_use.is_none())
    }

    /// The weight of each symbol that may come next: the number of paths that
    /// lead to it, as far as no surprise made the paths incomparable.
    pub fn weights(&self) -> Vec<(Terminal, f64)> {
        let mut weights: Vec<(Terminal, f64)> = Vec::new();
        for predictor in &self.predictors.active {
            let Some(terminal) = predictor.expects(&self.grammar) else { continue };
            match weights.iter_mut().find(|(known, _)| *known == terminal) {
                Some((_, weight)) => *weight += predictor.weight,
                None => weights.push((terminal, predictor.weight)),
            }
        }
        weights
    }

    /// Reads any distance ahead from one of the [`next`](Self::next) candidates, which
    /// is the first item. The probability of an item is that of this step, given that
    /// all before it came true.
    ///
    /// The end of the history is now: there it goes on with what comes next.
    /// Nothing comes for a candidate that does not exist.
    pub fn ahead(&self, candidate: usize) -> Ahead<'_> {
        Ahead::new(&self.grammar, &self.predictors, self.next().get(candidate).copied())
    }

    /// The same from any symbol, also one that is no candidate: someone who knows more
    /// expects it. Then it is read on from its latest place.
    pub fn ahead_from(&self, first: Candidate) -> Ahead<'_> {
        Ahead::new(&self.grammar, &self.predictors, Some(first))
    }

    /// Begins a reading that goes on while the stream grows: like
    /// [`ahead_from`](Self::ahead_from), but it is kept here and updated with every
    /// rewrite, so that what was read need not be read again. There is one at a time.
    pub fn begin_reading(&mut self, first: Candidate) {
        self.predictors.begin_reading(&self.grammar, first);
    }

    /// The next symbol of that reading; `None` if there is none.
    pub fn read_on(&mut self) -> Option<Candidate> {
        self.predictors.read_on(&self.grammar)
    }

    /// Ends that reading.
    pub fn end_reading(&mut self) {
        self.predictors.end_reading();
    }

    /// The grammar of the stream.
    pub fn grammar(&self) -> &Grammar {
        &self.grammar
    }

    /// Occurrences in all rule bodies.
    pub fn size(&self) -> usize {
        self.grammar.size()
    }

    /// Bytes that the grammar and its predictors occupy.
    pub fn memory_bytes(&self) -> usize {
        self.grammar.memory_bytes() + self.predictors.memory_bytes()
    }

    /// Whether the invariants of the grammar hold and all predictors stand on
    /// places that exist; if not, what is wrong. For tests.
    pub fn check(&self) -> Result<(), String> {
        self.grammar.check()?;
        if self.predictors.is_sound(&self.grammar) {
            Ok(())
        } else {
            Err("a predictor stands nowhere".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_recurs_once_others_have_come_between() {
        let mut stream = StarSequitur::new(Config::new());
        [1, 2, 2, 2, 2].into_iter().for_each(|terminal| stream.push(terminal));
        assert!(!stream.recurs(1) && !stream.recurs(2) && !stream.recurs(9));
        [3, 1, 2, 3].into_iter().for_each(|terminal| stream.push(terminal));
        assert!(stream.recurs(1) && stream.recurs(2) && stream.recurs(3));
    }

    #[test]
    fn the_turns_are_those_of_the_loops_that_the_stream_is_in() {
        let mut stream = StarSequitur::new(Config::new());
        let mut push = |text: &str| text.bytes().for_each(|it| stream.push(it.into()));
        // Three blocks of five turns, then two turns and the beginning of the third.
        for _ in 0..3 {
            push("xabababababy");
        }
        push("xababa");
        let turns: Vec<LoopTurn> = stream.turns().collect();
        assert!(turns.contains(&LoopTurn { turn: 3, turns: Some(5), length: 2 }), "{turns:?}");
        let lengths: Vec<u64> = turns.iter().map(|turn| turn.length).collect();
        assert!(lengths.is_sorted_by(|outer, inner| outer >= inner), "outermost first: {turns:?}");
    }

    /// The bar of a loop that had never ended was once always full.
    #[test]
    fn how_many_turns_a_loop_has_is_not_known_before_it_has_ended() {
        let turns_of = |text: &str| -> Vec<LoopTurn> {
            let mut stream = StarSequitur::new(Config::new());
            text.bytes().for_each(|it| stream.push(it.into()));
            stream.turns().collect()
        };
        let endless = |turn, length| [LoopTurn { turn, turns: None, length }];
        assert_eq!(turns_of(&"ab".repeat(50)), endless(50, 2));
        assert_eq!(turns_of(&format!("xy{}a", "abc".repeat(50))), endless(51, 3));
    }
}
