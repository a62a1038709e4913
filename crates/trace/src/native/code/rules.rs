// SPDX-License-Identifier: MIT OR Apache-2.0

//! The sequence of symbols of a block as a grammar.
//!
//! Rules are written innermost first, so that a body names only rules before
//! it and no grammar can run in circles; the start rule is the last one.

use std::collections::HashMap;

use ioracle_grammar::{Config, Exponent, Grammar, RuleId, RuleView, Symbol};

use super::number::{Magnitude, Number};
use super::range::{Chance, Coder};

/// Rules as they are stored.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredRules {
    /// Of all bodies, one behind the other.
    occurrences: Vec<Occurrence>,
    /// Where each body ends.
    ends: Vec<usize>,
}

/// A place in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Occurrence {
    what: What,
    times: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Symbol(u32),
    /// The rule of this number.
    Rule(usize),
}

impl StoredRules {
    /// Learns a sequence.
    pub(crate) fn learn(sequence: &[u32]) -> StoredRules {
        // More than there can be, so nothing is forgotten; room is made for it.
        let max_occurrences = 2 * sequence.len() + 16;
        let mut grammar = Grammar::new(Config { max_pasts: 0, max_occurrences, ..Config::exact() });
        sequence.iter().for_each(|&symbol| grammar.push(symbol));
        grammar.catch_up();
        let views: HashMap<RuleId, RuleView> =
            grammar.rules().map(|view| (view.id, view)).collect();
        let mut numbers = HashMap::new();
        let mut rules = StoredRules::default();
        // A rule and how much of its body was looked at: rules in it come first.
        let mut path = vec![(RuleId::START, 0)];
        while let Some((id, at)) = path.pop() {
            let body = &views[&id].body;
            let is_new = |symbol: &Symbol| match symbol {
                Symbol::Rule(rule) => !numbers.contains_key(rule),
                Symbol::Terminal(_) => false,
            };
            let inner = body[at..].iter().position(|(symbol, _)| is_new(symbol));
            match inner.map(|distance| (at + distance, body[at + distance].0)) {
                Some((place, Symbol::Rule(rule))) => path.extend([(id, place), (rule, 0)]),
                _ => {
                    rules.add(body, &numbers);
                    numbers.insert(id, rules.ends.len() - 1);
                }
            }
        }
        rules
    }

    fn add(&mut self, body: &[(Symbol, Exponent)], numbers: &HashMap<RuleId, usize>) {
        self.occurrences.extend(body.iter().map(|&(symbol, exponent)| Occurrence {
            what: match symbol {
                Symbol::Terminal(terminal) => What::Symbol(terminal),
                Symbol::Rule(rule) => What::Rule(numbers[&rule]),
            },
            times: match exponent {
                Exponent::Times(times) => times,
                Exponent::Varying(_) => unreachable!("an exact grammar keeps every count"),
            },
        }));
        self.ends.push(self.occurrences.len());
    }

    /// Writes the rules, or reads rules that derive `n_events` symbols, each below
    /// `n_symbols`; `None` if they do not.
    pub(crate) fn code<C: Coder>(
        &self,
        coder: &mut C,
        n_symbols: usize,
        n_events: usize,
    ) -> Option<StoredRules> {
        let mut models = Models::new();
        // Each body but the start rule's has two places or more, and each rule is used
        // twice or more, so no valid grammar has more.
        let max_places = 2 * n_events + 1;
        let n_rules = models.counts.code(coder, self.ends.len() as u64, 64);
        let mut found = StoredRules::default();
        let mut lengths: Vec<u64> = Vec::new();
        for number in 0..usize::try_from(n_rules).ok().filter(|&n| n <= max_places)? {
            let body = self.body(number);
            let n_places = models.counts.code(coder, body.len() as u64, 64);
            let mut length = 0_u64;
            for place in 0..n_places {
                let said = body.get(place as usize).copied().unwrap_or(Occurrence::NONE);
                let occurrence = models.code(coder, said, number);
                length = length.saturating_add(occurrence.length(&lengths, n_symbols)?);
                found.occurrences.push(occurrence);
                if found.occurrences.len() > max_places || length > n_events as u64 {
                    return None;
                }
            }
            lengths.push(length);
            found.ends.push(found.occurrences.len());
        }
        (lengths.last().copied().unwrap_or(0) == n_events as u64).then_some(found)
    }

    fn body(&self, number: usize) -> &[Occurrence] {
        let begin = number.checked_sub(1).and_then(|before| self.ends.get(before)).unwrap_or(&0);
        self.ends.get(number).map_or(&[], |end| &self.occurrences[*begin..*end])
    }
}

impl Occurrence {
    const NONE: Occurrence = Occurrence { what: What::Symbol(0), times: 0 };

    /// How many symbols it stands for; `None` if it makes no sense.
    fn length(&self, lengths: &[u64], n_symbols: usize) -> Option<u64> {
        let once = match self.what {
            What::Symbol(symbol) => (symbol as usize) < n_symbols,
            What::Rule(_) => true,
        };
        let length = match self.what {
            What::Symbol(_) => 1,
            What::Rule(rule) => *lengths.get(rule)?,
        };
        let is_sound = once && self.times > 0 && length > 0;
        is_sound.then(|| length.saturating_mul(self.times))
    }
}

/// What adapts while rules are coded.
struct Models {
    counts: Magnitude,
    is_rule: [Chance; 2],
    after_rule: usize,
    symbol: Number,
    distances: Magnitude,
    times: Magnitude,
    other: Magnitude,
}

impl Models {
    fn new() -> Models {
        Models {
            counts: Magnitude::new(),
            is_rule: [Chance::EVEN; 2],
            after_rule: 0,
            symbol: Number::new(),
            distances: Magnitude::new(),
            times: Magnitude::new(),
            other: Magnitude::new(),
        }
    }

    /// A place in the body of the rule `number`.
    fn code<C: Coder>(&mut self, coder: &mut C, said: Occurrence, number: usize) -> Occurrence {
        let is_rule = matches!(said.what, What::Rule(_));
        let is_rule = coder.bit(&mut self.is_rule[self.after_rule], is_rule);
        self.after_rule = usize::from(is_rule);
        let what = if is_rule {
            let distance = match said.what {
                What::Rule(rule) => number - 1 - rule,
                What::Symbol(_) => 0,
            };
            let distance = self.distances.code(coder, distance as u64, 64);
            // One that lies before the first does not exist, which is detected.
            What::Rule((number as u64).wrapping_sub(distance.wrapping_add(1)) as usize)
        } else {
            let symbol = match said.what {
                What::Symbol(symbol) => i64::from(symbol),
                What::Rule(_) => 0,
            };
            let symbol = self.symbol.code(coder, &mut self.other, symbol);
            What::Symbol(u32::try_from(symbol).unwrap_or(u32::MAX))
        };
        Occurrence { what, times: self.times.code(coder, said.times, 64) }
    }
}

/// Reads the sequence back, symbol by symbol.
#[derive(Debug)]
pub(crate) struct StoredExpansion {
    rules: StoredRules,
    /// The way to the next symbol: a place, the end of its body, and how many
    /// repetitions of the place are left, including this one.
    path: Vec<(usize, usize, u64)>,
}

impl StoredExpansion {
    pub(crate) fn new(rules: StoredRules) -> StoredExpansion {
        let mut expansion = StoredExpansion { rules, path: Vec::new() };
        if let Some(start) = expansion.rules.ends.len().checked_sub(1) {
            expansion.enter(start);
        }
        expansion
    }

    fn enter(&mut self, rule: usize) {
        let body = self.rules.body(rule).len();
        let end = self.rules.ends[rule];
        self.stand_at(end - body, end);
    }

    /// Goes to a place and down to the first symbol there.
    fn stand_at(&mut self, mut place: usize, mut end: usize) {
        while place < end {
            let Occurrence { what, times } = self.rules.occurrences[place];
            self.path.push((place, end, times));
            match what {
                What::Symbol(_) => return,
                What::Rule(rule) => {
                    end = self.rules.ends[rule];
                    place = end - self.rules.body(rule).len();
                }
            }
        }
    }
}

impl Iterator for StoredExpansion {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let &(place, ..) = self.path.last()?;
        let What::Symbol(symbol) = self.rules.occurrences[place].what else { return None };
        while let Some((place, end, times)) = self.path.pop() {
            if times > 1 {
                self.path.push((place, end, times - 1));
                if let What::Rule(rule) = self.rules.occurrences[place].what {
                    self.enter(rule);
                }
                break;
            }
            if place + 1 < end {
                self.stand_at(place + 1, end);
                break;
            }
        }
        Some(symbol)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::range::{Decoder, Encoder};
    use super::*;

    fn bytes(sequence: &[u32], n_symbols: usize) -> Vec<u8> {
        let mut encoder = Encoder::new();
        let rules = StoredRules::learn(sequence);
        assert_eq!(rules.code(&mut encoder, n_symbols, sequence.len()), Some(rules));
        encoder.finish()
    }

    fn read(bytes: Vec<u8>, n_symbols: usize, n_events: usize) -> Option<Vec<u32>> {
        let rules = StoredRules::default().code(&mut Decoder::new(bytes), n_symbols, n_events)?;
        Some(StoredExpansion::new(rules).collect())
    }

    proptest! {
        #[test]
        fn any_sequence_comes_back(sequence in prop::collection::vec(0..5_u32, 0..400)) {
            let read = read(bytes(&sequence, 5), 5, sequence.len());
            prop_assert_eq!(read, Some(sequence));
        }

        #[test]
        fn loops_in_loops_come_back(
            loops in prop::collection::vec((0..4_u32, 1..9_usize, 1..9_usize), 1..40)
        ) {
            let turn = |&(symbol, inner, outer): &(u32, usize, usize)| {
                [vec![symbol; inner], vec![symbol + 1]].concat().repeat(outer)
            };
            let sequence: Vec<u32> = loops.iter().flat_map(turn).collect();
            let read = read(bytes(&sequence, 5), 5, sequence.len());
            prop_assert_eq!(read, Some(sequence));
        }

        #[test]
        fn any_bytes_are_a_grammar_of_that_length_or_none(
            bytes in prop::collection::vec(any::<u8>(), 0..60), n_events in 0..2000_usize
        ) {
            if let Some(sequence) = read(bytes, 3, n_events) {
                prop_assert_eq!(sequence.len(), n_events);
                prop_assert!(sequence.iter().all(|symbol| *symbol < 3));
            }
        }
    }

    #[test]
    fn a_checkpoint_loop_takes_some_bytes() {
        let turn = [vec![0], vec![1; 1000], vec![2, 3]].concat();
        assert!(bytes(&turn.repeat(60), 4).len() < 40);
    }
}
