// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls between operations, as clues to the next one.
//!
//! A program says what it is about to do: it asks for the metadata of a file before
//! it opens it, and moves the position before it reads. Such calls are no operations
//! and stand in no grammar, but they have ended before the next operation begins.
//! Which of them came after the last operation, and from where, tells which way the
//! program went; the names that they used are those of files opened soon.
//!
//! What followed is counted for all calls since the last operation together, for the
//! last two of them, and for the last one; the longest that was seen before speaks, as
//! in prediction by partial matching. What it says stands against what the grammar
//! holds most probable, and both get the probability with which they were right in
//! such cases. Calls never seen before announce an operation never seen before.

use ioracle_grammar::Candidate;
use serde::{Deserialize, Serialize};

use crate::followers::{Contest, ContestCell, Followers};
use crate::hash::{self, SeedlessMap, combine};
use crate::motion::NONE;
use crate::names::learn_rate;

/// Ways in which the calls since the last operation are looked at, the longest first.
const N_ORDERS: usize = 3;
/// Steps of how much was counted, of the share of the most frequent follower, of what
/// the grammar holds probable, and of who agrees.
const N_COUNTS: usize = 3;
const N_SHARES: usize = 3;
const N_STEPS: usize = 6;
const N_RELATIONS: usize = 3;
/// Where nothing was seen before, there are steps of the grammar only; apart for no
/// call at all.
const N_CELLS: usize = (N_ORDERS + 1) * N_COUNTS * N_SHARES * N_STEPS * N_RELATIONS;

const FIRST_SLOTS: usize = 64;
/// Names that are remembered in the order in which they were used.
const MAX_NAMES: usize = 4096;
/// Longer names are not remembered.
const MAX_NAME_BYTES: usize = 1024;

/// What came between operations, and what followed it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Clues {
    since: CluesSince,
    /// How often operations of symbols never seen worked on the file of the one before,
    /// on the one named since then, and on one of a name made from that, in 1/65536.
    new_files: [u16; 3],
    /// The names used last, the latest first.
    names: [String; 2],
    order: NameOrder,
    /// A power of two of them, none before the first clue.
    slots: Vec<ClueSlot>,
    n_used: u32,
    max_slots: u32,
    cells: Vec<ContestCell>,
    /// For each symbol, whether a clue ever came after it: 64 to a number.
    heeded: Vec<u64>,
    /// What the last statement was concluded from.
    #[serde(skip)]
    asked: Option<Question>,
}

/// A cell, what the grammar and what the counts held most probable, and where the latter
/// stands among the candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    cell: usize,
    grammar: u32,
    counts: u32,
    contest: Contest,
}

/// The clues since the last operation.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct CluesSince {
    /// The last symbol; [`NONE`] before the first.
    symbol: u32,
    n_clues: u32,
    /// A hash of all of them.
    all: u64,
    last: u64,
    before: u64,
    /// Whether any of them named a file by its path.
    named: bool,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct ClueSlot {
    /// 0 if the slot is free.
    check: u32,
    followers: Followers,
}

impl Clues {
    pub fn new(max_slots: usize) -> Clues {
        Clues {
            since: CluesSince { symbol: NONE, ..CluesSince::default() },
            new_files: [1 << 15, 1 << 15, 0],
            names: Default::default(),
            order: NameOrder::default(),
            slots: Vec::new(),
            n_used: 0,
            max_slots: max_slots.clamp(FIRST_SLOTS, 1 << 20).next_power_of_two() as u32,
            cells: Vec::new(),
            heeded: Vec::new(),
            asked: None,
        }
    }

    /// A new run begins.
    pub fn begin_run(&mut self) {
        self.since = CluesSince { symbol: NONE, ..CluesSince::default() };
        self.names = Default::default();
        self.order = NameOrder::default();
        self.asked = None;
    }

    /// Takes a call in: a hash of what was called from where, and the path that it used.
    /// True if that is another one than before.
    pub fn notice(&mut self, tag: u64, name: Option<&str>) -> bool {
        if self.cells.is_empty() {
            self.cells = vec![ContestCell::default(); N_CELLS];
            self.slots = vec![ClueSlot::default(); FIRST_SLOTS];
        }
        let since = &mut self.since;
        // A directory is read entry by entry, however many there are.
        if since.n_clues == 0 || since.last != tag {
            since.n_clues = since.n_clues.saturating_add(1);
            since.all = combine(since.all, tag);
            since.before = since.last;
            since.last = tag;
        }
        let word = since.symbol as usize / 64;
        if since.symbol != NONE {
            if self.heeded.len() <= word {
                self.heeded.resize(word + 1, 0);
            }
            self.heeded[word] |= 1 << (since.symbol % 64);
        }
        let Some(name) = name.filter(|name| name.len() <= MAX_NAME_BYTES) else { return false };
        self.since.named = true;
        if self.names[0] == name {
            return false;
        }
        self.names.swap(0, 1);
        self.names[0].clear();
        self.names[0].push_str(name);
        self.order.add(name);
        true
    }

    /// Forgets the calls since the last operation; true if there were any.
    pub fn forget(&mut self) -> bool {
        let symbol = self.since.symbol;
        let were_any =
            std::mem::replace(&mut self.since, CluesSince { symbol, ..CluesSince::default() });
        were_any.n_clues > 0
    }

    /// The names used last, the latest first.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The name used last, if that was after the last operation.
    pub fn name_since(&self) -> Option<&str> {
        self.since.named.then_some(&*self.names[0])
    }

    /// Which of such files an operation of a symbol never seen works on, and how often
    /// that was right: `None` for that of the operation before.
    pub fn new_file(&self, named: [Option<String>; 2]) -> Option<(String, f64)> {
        let mut best = (None, self.new_files[0]);
        for (name, &rate) in named.into_iter().zip(&self.new_files[1..]) {
            if name.is_some() && rate > best.1 {
                best = (name, rate);
            }
        }
        best.0.map(|name| (name, f64::from(best.1) / 65536.0))
    }

    /// Learns which of these it worked on.
    pub fn learn_new_file(
        &mut self,
        is_same: bool,
        named: [Option<String>; 2],
        name: Option<&str>,
    ) {
        if named[0].is_none() {
            return;
        }
        learn_rate(&mut self.new_files[0], is_same);
        for (suggested, rate) in named.iter().zip(&mut self.new_files[1..]) {
            if let Some(suggested) = suggested {
                learn_rate(rate, name == Some(suggested));
            }
        }
    }

    /// The name that was first used after this one.
    pub fn name_after(&self, name: &str) -> Option<&str> {
        self.order.after(name)
    }

    /// Takes in the operation that came; one of a symbol never seen before is new.
    pub fn learn(&mut self, symbol: u32, is_new: bool) {
        if let Some(Question { cell, grammar, counts, .. }) = self.asked.take() {
            let is_it = |stated: u32| if stated == NONE { is_new } else { stated == symbol };
            self.cells[cell].learn(grammar != NONE && grammar == symbol, is_it(counts));
        }
        if self.heeds() {
            let keys = self.keys();
            let shortest = self.speaking(&keys).map_or(N_ORDERS, |(order, _)| order + 1);
            for &key in keys.iter().take(shortest).filter(|&&key| key != 0) {
                if let Some(slot) = self.slot_for(key) {
                    slot.followers.count(symbol);
                }
            }
        }
        self.since = CluesSince { symbol, ..CluesSince::default() };
    }

    /// Whether anything is to be made of what came since the last operation: a call
    /// did, or one had come after the same symbol before.
    pub fn heeds(&self) -> bool {
        let CluesSince { symbol, n_clues, .. } = self.since;
        let word = || self.heeded.get(symbol as usize / 64).copied().unwrap_or(0);
        n_clues > 0 || (symbol != NONE && word() & 1 << (symbol % 64) != 0)
    }

    /// Weighs candidates, the most probable first, anew; a symbol that is none of them may
    /// be added.
    pub fn weigh(&mut self, candidates: &mut Vec<Candidate>) {
        self.asked = self.question(candidates);
        if let Some(Question { cell, counts, contest, .. }) = self.asked {
            self.cells[cell].apply(contest, counts, candidates);
        }
    }

    /// Whether the same candidates would be weighed otherwise than they were.
    pub fn has_changed(&self, candidates: &[Candidate]) -> bool {
        self.question(candidates) != self.asked
    }

    fn question(&self, candidates: &[Candidate]) -> Option<Question> {
        if !self.heeds() {
            return None;
        }
        let first = candidates.first();
        let grammar = first.map_or(NONE, |first| first.terminal);
        let top = first.map_or(0.0, |first| first.probability);
        let spoken = self.speaking(&self.keys());
        let best = spoken.and_then(|(order, followers)| Some((order, followers.best()?)));
        let Some((order, (symbol, times, all))) = best else {
            let contest = Contest::Unseen;
            let cell = cell_of(N_ORDERS, 0, 0, top, contest);
            let question = Question { cell, grammar, counts: NONE, contest };
            return (self.since.n_clues > 0).then_some(question);
        };
        let contest = Contest::of(candidates.iter().position(|it| it.terminal == symbol));
        let share = f32::from(times) / f32::from(all.max(1));
        let count = usize::from(all > 1) + usize::from(all > 4);
        let share = usize::from(share > 0.6) + usize::from(share > 0.95);
        let cell = cell_of(order, count, share, top, contest);
        Some(Question { cell, grammar, counts: symbol, contest })
    }

    fn keys(&self) -> [u64; N_ORDERS] {
        let CluesSince { symbol, n_clues, all, last, before, .. } = self.since;
        let whole = combine(combine(31, u64::from(symbol)), all);
        match n_clues {
            0 => [whole, 0, 0],
            _ => [whole, combine(combine(32, last), before), combine(33, last)],
        }
    }

    fn speaking(&self, keys: &[u64; N_ORDERS]) -> Option<(usize, &Followers)> {
        let known = |&key: &u64| (key != 0).then(|| self.find(key)).flatten();
        keys.iter().enumerate().find_map(|(order, key)| Some((order, known(key)?)))
    }

    fn find(&self, key: u64) -> Option<&Followers> {
        let (at, check) = place_of(key, self.slots.len())?;
        let mut slots = [at, at ^ 1].into_iter().map(|at| &self.slots[at]);
        slots.find(|slot| slot.check == check).map(|slot| &slot.followers)
    }

    /// The slot of a key: its own, or the less used one of two, emptied.
    fn slot_for(&mut self, key: u64) -> Option<&mut ClueSlot> {
        if self.n_used as usize * 2 >= self.slots.len()
            && self.slots.len() < self.max_slots as usize
        {
            self.grow();
        }
        let (at, check) = place_of(key, self.slots.len())?;
        let [one, other] = [self.slots[at], self.slots[at ^ 1]];
        let at = match (one.check == check, other.check == check) {
            (true, _) => at,
            (_, true) => at ^ 1,
            _ => {
                let at = if one.followers.seen() <= other.followers.seen() { at } else { at ^ 1 };
                self.n_used += u32::from(self.slots[at].check == 0);
                self.slots[at] = ClueSlot { check, ..ClueSlot::default() };
                at
            }
        };
        Some(&mut self.slots[at])
    }

    #[cold]
    fn grow(&mut self) {
        let n_slots = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![ClueSlot::default(); n_slots]);
        self.n_used = 0;
        for slot in old.into_iter().filter(|slot| slot.check != 0) {
            let at = pair_of(slot.check, n_slots);
            let free = if self.slots[at].check == 0 { at } else { at ^ 1 };
            self.n_used += u32::from(self.slots[free].check == 0);
            self.slots[free] = slot;
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.slots.capacity() * size_of::<ClueSlot>()
            + self.cells.capacity() * size_of::<ContestCell>()
            + self.heeded.capacity() * size_of::<u64>()
            + self.names.iter().map(String::capacity).sum::<usize>()
            + self.order.memory_bytes()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self, n_symbols: usize) -> bool {
        let is_empty = self.slots.is_empty() && self.cells.is_empty();
        let is_made = self.slots.len().is_power_of_two()
            && (FIRST_SLOTS..=1 << 20).contains(&self.slots.len())
            && self.cells.len() == N_CELLS;
        (is_empty || is_made)
            && self.max_slots <= 1 << 20
            && self.n_used as usize <= self.slots.len()
            && self.heeded.len() <= n_symbols.div_ceil(64)
            && self.cells.iter().all(ContestCell::is_valid)
            && self.slots.iter().all(|slot| slot.followers.is_valid(n_symbols))
            && (self.since.symbol == NONE || (self.since.symbol as usize) < n_symbols)
            && self.names.iter().all(|name| name.len() <= MAX_NAME_BYTES)
            && self.order.is_valid()
    }

    /// Makes the maps that are not saved.
    pub fn index(&mut self) {
        self.order.index();
    }
}

fn cell_of(order: usize, count: usize, share: usize, top: f64, contest: Contest) -> usize {
    const LIMITS: [f64; N_STEPS - 1] = [0.2, 0.4, 0.6, 0.8, 0.95];
    let step = LIMITS.iter().filter(|&&limit| top > limit).count();
    let relation = match contest {
        Contest::Agree => 0,
        Contest::Other(_) | Contest::Unseen => 1,
        Contest::Added => 2,
    };
    (((order * N_COUNTS + count) * N_SHARES + share) * N_STEPS + step) * N_RELATIONS + relation
}

/// The first of the two places of a key, and what is stored to recognise it. It is
/// enough to find the place in a larger table.
fn place_of(key: u64, n_slots: usize) -> Option<(usize, u32)> {
    let check = ((key >> 32) as u32 ^ key as u32) | 1;
    (n_slots > 0).then(|| (pair_of(check, n_slots), check))
}

/// The first of two places.
fn pair_of(check: u32, n_slots: usize) -> usize {
    (check & !1) as usize & (n_slots - 1)
}

/// Names in the order in which they were first used, the oldest forgotten.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct NameOrder {
    /// A ring.
    names: Vec<Box<str>>,
    /// Where the next one goes.
    next: u32,
    #[serde(skip)]
    places: SeedlessMap<u64, u32>,
}

impl NameOrder {
    fn add(&mut self, name: &str) {
        let hash = hash::text(name);
        if self.places.contains_key(&hash) {
            return;
        }
        let at = self.next;
        if self.names.len() < MAX_NAMES {
            self.names.push(name.into());
        } else {
            self.places.remove(&hash::text(&self.names[at as usize]));
            self.names[at as usize] = name.into();
        }
        self.places.insert(hash, at);
        self.next = (at + 1) % MAX_NAMES as u32;
    }

    /// The next name but for directories of what comes behind them.
    fn after(&self, name: &str) -> Option<&str> {
        let mut at = *self.places.get(&hash::text(name))?;
        loop {
            let next = self.following(at)?;
            let found = &*self.names[next as usize];
            let behind = self.following(next).map(|at| &*self.names[at as usize]);
            let rest = behind.and_then(|behind| behind.strip_prefix(found));
            if !rest.is_some_and(|rest| rest.starts_with('/')) {
                return Some(found);
            }
            at = next;
        }
    }

    fn following(&self, at: u32) -> Option<u32> {
        let next = (at + 1) % MAX_NAMES as u32;
        (next != self.next && (next as usize) < self.names.len()).then_some(next)
    }

    fn index(&mut self) {
        self.places = (0..).zip(&self.names).map(|(at, name)| (hash::text(name), at)).collect();
    }

    fn memory_bytes(&self) -> usize {
        self.names.iter().map(|name| name.len() + 16).sum::<usize>() + self.places.capacity() * 16
    }

    fn is_valid(&self) -> bool {
        let is_full = self.names.len() == MAX_NAMES;
        self.names.len() <= MAX_NAMES
            && (if is_full {
                (self.next as usize) < MAX_NAMES
            } else {
                self.next as usize == self.names.len()
            })
            && self.names.iter().all(|name| name.len() <= MAX_NAME_BYTES)
    }
}
