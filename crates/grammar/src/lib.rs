// SPDX-License-Identifier: MIT OR Apache-2.0

//! Learns a stream of symbols while it runs and says what comes next.
//!
//! The interface that the real algorithm will stand behind; this first version
//! keeps the whole history and looks for the longest matching past.

#![forbid(unsafe_code)]

use serde::{Deserialize, Serialize};

/// A symbol of the input stream.
pub type Terminal = u32;

/// What the algorithm may use and how it works.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Occurrences that the grammar may hold at most.
    pub max_occurrences: usize,
}

impl Config {
    /// For the main stream of a program.
    pub fn new() -> Config {
        Config { max_occurrences: 1 << 16 }
    }

    /// For one of many short streams, such as the sizes of one context.
    pub fn small() -> Config {
        Config { max_occurrences: 256 }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}

/// A symbol that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The symbol.
    pub terminal: Terminal,
    /// How probable it is; the candidates of one moment add up to at most 1.
    pub probability: f64,
}

/// A grammar that is learned symbol by symbol, with the predictors in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StarSequitur {
    history: Vec<Terminal>,
    candidates: Vec<Candidate>,
    places: Vec<usize>,
}

impl StarSequitur {
    /// An empty grammar.
    pub fn new(_config: Config) -> StarSequitur {
        StarSequitur { history: Vec::new(), candidates: Vec::new(), places: Vec::new() }
    }

    /// Appends a symbol, and finds out what may follow it.
    pub fn push(&mut self, terminal: Terminal) {
        self.history.push(terminal);
        let n = self.history.len();
        let mut best = 0;
        let mut found: Vec<(usize, Terminal)> = Vec::new();
        for end in (1..n).rev().take(2000) {
            let matched = (0..end.min(16))
                .take_while(|k| self.history[end - 1 - k] == self.history[n - 1 - k])
                .count();
            if matched > best {
                best = matched;
                found.clear();
            }
            if matched == best && matched > 0 {
                found.push((end, self.history[end]));
            }
        }
        self.candidates.clear();
        self.places.clear();
        let share = 1.0 / found.len().max(1) as f64;
        for (place, terminal) in found {
            match self.candidates.iter_mut().find(|candidate| candidate.terminal == terminal) {
                Some(candidate) => candidate.probability += share,
                None => {
                    self.candidates.push(Candidate { terminal, probability: share });
                    self.places.push(place);
                }
            }
        }
        // Keep the places beside their candidates while sorting by probability.
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        order.sort_by(|&a, &b| {
            self.candidates[b].probability.total_cmp(&self.candidates[a].probability)
        });
        self.places = order.iter().map(|&i| self.places[i]).collect();
        self.candidates = order.iter().map(|&i| self.candidates[i]).collect();
    }

    /// The symbols that may come next, the most probable first.
    pub fn next(&self) -> &[Candidate] {
        &self.candidates
    }

    /// Reads on from one of the [`next`](Self::next) candidates, which is the
    /// first item, any distance ahead. The probability of an item is that of
    /// this step, given that all before it came true.
    pub fn ahead(&self, candidate: usize) -> impl Iterator<Item = Candidate> + '_ {
        let mut place = self.places.get(candidate).copied().unwrap_or(self.history.len());
        std::iter::from_fn(move || {
            let terminal = *self.history.get(place)?;
            place += 1;
            if place == self.history.len() {
                place = self.places.first().copied()?;
            }
            Some(Candidate { terminal, probability: 0.99 })
        })
    }

    /// Symbols in all rule bodies.
    pub fn size(&self) -> usize {
        self.history.len()
    }

    /// Bytes that the grammar and its predictors occupy.
    pub fn memory_bytes(&self) -> usize {
        self.history.capacity() * 4
    }
}
