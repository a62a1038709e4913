// SPDX-License-Identifier: MIT OR Apache-2.0

//! Loop counts that vary, kept as a bounded histogram.
//!
//! A *kind of place* is a symbol that repeats and the symbol that ends its
//! repetition. While it has shown few different counts they stay exponents;
//! beyond that the place becomes `x^*` and its counts go into a histogram that
//! answers one question: having run so often, how probable is it that the loop
//! ends now?

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use serde::{Deserialize, Serialize};

use crate::symbol::{LoopId, Terminal};

/// Cells of a histogram at most; beyond that the two narrowest neighbours merge.
const MAX_CELLS: usize = 32;

/// Maximum number of kinds of places. Beyond it, a new one replaces one whose count
/// does not vary; if none is found soon, it stays an exponent.
const MAX_KINDS: usize = 2048;
const MAX_TRIES: usize = 16;

/// How probable the end is once a loop has outrun every count ever seen.
const END_BEYOND_ALL: f64 = 0.5;

/// The loop counts seen at one kind of place.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LoopCounts {
    /// In ascending order, without overlap.
    cells: Vec<Cell>,
    pub varies: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Cell {
    low: u64,
    high: u64,
    seen: u32,
}

impl LoopCounts {
    /// Adds a count and returns how many different ones are kept.
    fn record(&mut self, count: u64) -> usize {
        match self.cells.iter_mut().find(|cell| cell.high >= count) {
            Some(cell) if cell.low <= count => cell.seen = cell.seen.saturating_add(1),
            _ => {
                let at = self.cells.partition_point(|cell| cell.high < count);
                self.cells.insert(at, Cell { low: count, high: count, seen: 1 });
            }
        }
        if self.cells.len() > MAX_CELLS {
            self.merge_narrowest();
        }
        self.cells.len()
    }

    fn merge_narrowest(&mut self) {
        let narrowest = (1..self.cells.len())
            .min_by_key(|&at| self.cells[at].high - self.cells[at - 1].low)
            .unwrap_or(1);
        let upper = self.cells.remove(narrowest);
        let lower = &mut self.cells[narrowest - 1];
        lower.high = upper.high;
        lower.seen = lower.seen.saturating_add(upper.seen);
    }

    /// How probable it is that the loop ends after `done` repetitions, given
    /// that it has come so far. Counts within a cell count as equally likely.
    pub fn end_probability(&self, done: u64) -> f64 {
        if self.cells.first().is_some_and(|cell| done < cell.low) {
            return 0.0;
        }
        let mut reached = 0.0;
        let mut ending = 0.0;
        for cell in self.cells.iter().rev().take_while(|cell| cell.high >= done) {
            let width = (cell.high - cell.low + 1) as f64;
            if cell.low > done {
                reached += f64::from(cell.seen);
            } else {
                let share = f64::from(cell.seen) / width;
                reached += share * (cell.high - done + 1) as f64;
                ending += share;
            }
        }
        if reached > 0.0 { ending / reached } else { END_BEYOND_ALL }
    }

    /// The same where the number of repetitions done is only known to lie
    /// within `low..=high`, each of them equally likely.
    pub fn end_probability_within(&self, low: u64, high: u64) -> f64 {
        if low >= high {
            return self.end_probability(low);
        }
        if self.cells.first().is_some_and(|cell| high < cell.low) {
            return 0.0;
        }
        let mut visited = 0.0;
        let mut ended = 0.0;
        for cell in &self.cells {
            let seen = f64::from(cell.seen);
            let typical = (cell.low + cell.high) / 2;
            if typical >= low {
                visited += seen * (typical.min(high) - low + 1) as f64;
                if typical <= high {
                    ended += seen;
                }
            }
        }
        if visited > 0.0 { ended / visited } else { END_BEYOND_ALL }
    }

    /// The smallest and the largest count seen.
    pub fn range(&self) -> Option<(u64, u64)> {
        Some((self.cells.first()?.low, self.cells.last()?.high))
    }

    fn is_sound(&self) -> bool {
        self.cells.len() <= MAX_CELLS
            && self.cells.iter().all(|cell| cell.low <= cell.high && cell.high < u64::MAX / 2)
            && self.cells.windows(2).all(|pair| pair[0].high < pair[1].low)
    }

    /// The middle one of the counts of at least `done`.
    pub fn typical(&self, done: u64) -> u64 {
        let reaching = self.cells.iter().filter(|cell| cell.high >= done);
        let total: u64 = reaching.clone().map(|cell| u64::from(cell.seen)).sum();
        let mut below = 0;
        for cell in reaching {
            below += u64::from(cell.seen);
            if below * 2 >= total {
                return ((cell.low + cell.high) / 2).max(done);
            }
        }
        done.max(1)
    }
}

/// A symbol by a name that is never given to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum LastingName {
    Terminal(Terminal),
    /// By the rule's serial number.
    Rule(u64),
}

/// What repeats, and what ends it.
type Key = [LastingName; 2];

/// All kinds of places with loops, found by what repeats and what ends it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Loops {
    kinds: Vec<(Key, LoopCounts)>,
    /// The entry replaced last.
    hand: usize,
    #[serde(skip)]
    ids: HashMap<Key, LoopId, FixedState>,
}

impl Loops {
    pub fn get(&self, id: LoopId) -> Option<&LoopCounts> {
        self.kinds.get(id.at()).map(|(_, counts)| counts)
    }

    /// Notes that a loop ran `count` times before its end came, and returns the loop if
    /// its count varies.
    ///
    /// Only what was seen to repeat is a loop: a single run opens no entry.
    pub fn record(&mut self, key: Key, count: u64, max_loop_counts: usize) -> Option<LoopId> {
        let id = match self.ids.get(&key) {
            Some(&id) => id,
            None if count < 2 => return None,
            None => self.open(key)?,
        };
        let (_, counts) = self.kinds.get_mut(id.at())?;
        counts.varies |= counts.record(count) > max_loop_counts;
        counts.varies.then_some(id)
    }

    /// Notes another count of a loop that is known to vary.
    pub fn record_again(&mut self, id: LoopId, count: u64) {
        if let Some((_, counts)) = self.kinds.get_mut(id.at()) {
            counts.record(count);
        }
    }

    /// Finds the entries again after loading; `false` if they make no sense.
    pub fn reindex(&mut self) -> bool {
        self.ids.clear();
        for (at, (key, counts)) in self.kinds.iter().enumerate() {
            if !counts.is_sound() || self.ids.insert(*key, LoopId(at as u32)).is_some() {
                return false;
            }
        }
        self.kinds.len() <= MAX_KINDS && self.hand <= MAX_KINDS
    }

    pub fn memory_bytes(&self) -> usize {
        let cells = |(_, counts): &(Key, LoopCounts)| counts.cells.capacity();
        self.kinds.capacity() * size_of::<(Key, LoopCounts)>()
            + self.kinds.iter().map(cells).sum::<usize>() * size_of::<Cell>()
            + self.ids.capacity() * (size_of::<(Key, LoopId)>() + 1)
    }

    fn open(&mut self, key: Key) -> Option<LoopId> {
        let kind = (key, LoopCounts::default());
        let id = if self.kinds.len() < MAX_KINDS {
            self.kinds.push(kind);
            LoopId(self.kinds.len() as u32 - 1)
        } else {
            let id = self.replaceable()?;
            let (replaced, _) = std::mem::replace(&mut self.kinds[id.at()], kind);
            self.ids.remove(&replaced);
            id
        };
        self.ids.insert(key, id);
        Some(id)
    }

    /// The next entry, going round, that no occurrence can refer to.
    fn replaceable(&mut self) -> Option<LoopId> {
        for _ in 0..MAX_TRIES {
            self.hand = (self.hand + 1) % self.kinds.len().max(1);
            if !self.kinds[self.hand].1.varies {
                return Some(LoopId(self.hand as u32));
            }
        }
        None
    }
}
