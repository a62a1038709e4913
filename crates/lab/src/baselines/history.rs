// SPDX-License-Identifier: MIT OR Apache-2.0

//! Markov models and the longest matching context, over the whole history.
//!
//! One table per order maps the last k symbols to the counts of what followed
//! them. A Markov model of order k states these counts, and nothing where the
//! context was never seen. The longest matching context states those of the
//! highest order up to 16 whose context was seen. Unlike ours, these tables
//! grow with the run.

use std::collections::HashMap;

use ioracle_events::ContextSymbol;

use crate::halves::{Half, Halves};
use ioracle_engine::score::{ContextScore, Distribution};

/// The orders of the Markov models.
pub const ORDERS: [usize; 4] = [1, 2, 4, 8];
const LONGEST: usize = 16;

/// The counts of what followed every context, and the scores of five models.
#[derive(Clone, Debug)]
pub struct History {
    /// `tables[k - 1]` holds the contexts of order k by a hash of theirs.
    tables: Vec<HashMap<u64, Followers>>,
    /// The last symbols, the newest first.
    recent: Vec<u32>,
    stated: Distribution,
    markov: [Halves<ContextScore>; ORDERS.len()],
    longest: Halves<ContextScore>,
}

#[derive(Clone, Debug, Default)]
struct Followers {
    counts: Vec<(u32, u32)>,
    total: u64,
}

impl Followers {
    fn state(&self, stated: &mut Distribution) {
        for &(symbol, count) in &self.counts {
            stated.add(ContextSymbol(symbol), f64::from(count) / self.total as f64);
        }
    }

    fn count(&mut self, symbol: u32) {
        self.total += 1;
        match self.counts.iter_mut().find(|(known, _)| *known == symbol) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.counts.push((symbol, 1)),
        }
    }
}

impl History {
    /// Nothing seen yet.
    pub fn new() -> History {
        History {
            tables: vec![HashMap::new(); LONGEST],
            recent: Vec::with_capacity(LONGEST + 1),
            stated: Distribution::default(),
            markov: Default::default(),
            longest: Halves::default(),
        }
    }

    /// Compares what each model states with the symbol that came, then learns it.
    pub fn observe(&mut self, symbol: ContextSymbol, half: Half) {
        let contexts = self.contexts();
        let seen: Vec<Option<&Followers>> =
            contexts.iter().zip(&self.tables).map(|(context, table)| table.get(context)).collect();
        for (score, order) in self.markov.iter_mut().zip(ORDERS) {
            self.stated.clear();
            if let Some(Some(followers)) = seen.get(order - 1) {
                followers.state(&mut self.stated);
            }
            score.add(half, |score| {
                score.add(self.stated.iter(), Some(symbol));
            });
        }
        self.stated.clear();
        if let Some(followers) = seen.iter().rev().flatten().next() {
            followers.state(&mut self.stated);
        }
        self.longest.add(half, |score| {
            score.add(self.stated.iter(), Some(symbol));
        });

        for (context, table) in contexts.into_iter().zip(&mut self.tables) {
            table.entry(context).or_default().count(symbol.0);
        }
        self.recent.insert(0, symbol.0);
        self.recent.truncate(LONGEST);
    }

    /// The scores of the Markov models, by [`ORDERS`].
    pub fn markov(&self) -> &[Halves<ContextScore>; ORDERS.len()] {
        &self.markov
    }

    /// The score of the longest matching context.
    pub fn longest(&self) -> &Halves<ContextScore> {
        &self.longest
    }

    /// A hash of the last 1, 2, … symbols, as far as there are so many.
    fn contexts(&self) -> Vec<u64> {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        self.recent
            .iter()
            .map(|&symbol| {
                // A multiply and a fold mix enough: 64 bits make two of a few
                // million contexts meet with a chance of one in a million.
                let product = u128::from(hash ^ u64::from(symbol)) * 0x9e37_79b9_7f4a_7c15;
                hash = (product as u64) ^ ((product >> 64) as u64);
                hash
            })
            .collect()
    }
}

impl Default for History {
    fn default() -> History {
        History::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(stream: &str) -> History {
        let mut history = History::new();
        for byte in stream.bytes() {
            history.observe(ContextSymbol(u32::from(byte)), Half::First);
        }
        history
    }

    fn check(score: &Halves<ContextScore>, expected: f64) {
        let accuracy = score.whole.accuracy().unwrap();
        assert!((accuracy - 100.0 * expected).abs() < 1e-9, "{accuracy}");
    }

    #[test]
    fn order_1_states_the_counts_of_what_followed() {
        // Stated of each: a 0, b 0, a 0, b 1, a 1, c 0 (only b had followed a).
        check(&run("ababac").markov()[0], 2.0 / 6.0);
        // Nothing had followed c; of three that followed a, b was two.
        check(&run("ababacab").markov()[0], (2.0 + 2.0 / 3.0) / 8.0);
    }

    #[test]
    fn an_order_whose_context_was_never_seen_states_nothing() {
        let history = run("abcabc");
        check(&history.markov()[0], 2.0 / 6.0);
        check(&history.markov()[1], 1.0 / 6.0);
        check(&history.markov()[2], 0.0);
    }

    #[test]
    fn the_longest_context_decides() {
        // After 'xa' comes b, after 'ya' comes c: order 1 is torn where the
        // longest context is sure.
        let history = run("xabyacxabyac");
        check(history.longest(), 5.0 / 12.0);
        check(&history.markov()[0], (1.0 + 1.0 / 2.0 + 1.0 + 1.0 + 1.0 / 3.0) / 12.0);
    }
}
