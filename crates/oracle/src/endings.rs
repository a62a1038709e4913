// SPDX-License-Identifier: MIT OR Apache-2.0

//! What follows a read, by whether it has reached the end of its file.
//!
//! How often a program reads a file before it closes it depends on how long the
//! file is. The grammar sees a branch that cannot be foreseen, but where the
//! length of a file is known, so is which way it goes. So what followed the reads
//! of a symbol is counted apart for those that reached the end. Where that makes
//! a difference, the count stands against what the grammar holds most probable,
//! and how often each of them was right in such cases is the probability given
//! to it.

use ioracle_events::Access;
use ioracle_grammar::Candidate;
use serde::{Deserialize, Serialize};

use crate::file_motion::FileMotion;
use crate::motion::{Move, reserve_some};

/// Different symbols that are counted after one symbol at one position.
const MAX_FOLLOWERS: usize = 3;
/// Counts are halved where one reaches this, so that the recent past weighs more.
const MAX_TIMES: u16 = 1 << 8;
/// How many outcomes the grammar's own probability is worth in a fresh cell.
const PRIOR: f32 = 4.0;
/// Outcomes after which a cell forgets half of them, to follow changes.
const MAX_OUTCOMES: f32 = 1024.0;
/// Steps of how much was counted, of the share of the most frequent follower,
/// and of what the grammar holds probable.
const N_COUNTS: usize = 3;
const N_SHARES: usize = 3;
const N_STEPS: usize = 5;
const N_CELLS: usize = N_COUNTS * N_SHARES * N_STEPS * 2;

/// What followed, and who was right.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Endings {
    /// Of symbols whose files had known lengths, in the order of symbols.
    symbols: Vec<(u32, Branches)>,
    cells: Vec<EndingCell>,
    /// Where the last operation has left its file, if that is known.
    position: Option<(u32, FilePosition)>,
    /// The cell that the last statement counts for, with what the grammar and what
    /// the counts held most probable.
    #[serde(skip)]
    asked: Option<(usize, u32, u32)>,
}

/// Where an access has left a file whose length is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum FilePosition {
    Within,
    AtEnd,
    /// Nothing was left to read.
    Beyond,
}

const N_POSITIONS: usize = 3;

/// What followed a symbol, by position.
type Branches = [EndingFollowers; N_POSITIONS];

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct EndingFollowers([(u32, u16); MAX_FOLLOWERS]);

impl EndingFollowers {
    fn count(&mut self, symbol: u32) {
        let known = self.0.iter().position(|&(known, times)| times > 0 && known == symbol);
        let at = known.unwrap_or_else(|| {
            let least = (0..MAX_FOLLOWERS).min_by_key(|&at| self.0[at].1).unwrap_or(0);
            self.0[least] = (symbol, 0);
            least
        });
        self.0[at].1 += 1;
        if self.0[at].1 >= MAX_TIMES {
            self.0.iter_mut().for_each(|(_, times)| *times /= 2);
        }
    }

    /// The most frequent one, and how often it and all came.
    fn best(&self) -> Option<(u32, u16, u16)> {
        let &(symbol, times) = self.0.iter().max_by_key(|(_, times)| *times)?;
        (times > 0).then(|| (symbol, times, self.0.iter().map(|(_, times)| times).sum()))
    }
}

/// How often each of the two was right.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct EndingCell {
    outcomes: f32,
    grammar: f32,
    counts: f32,
}

impl EndingCell {
    fn learn(&mut self, grammar: bool, counts: bool) {
        if self.outcomes >= MAX_OUTCOMES {
            self.outcomes /= 2.0;
            self.grammar /= 2.0;
            self.counts /= 2.0;
        }
        self.outcomes += 1.0;
        self.grammar += f32::from(u8::from(grammar));
        self.counts += f32::from(u8::from(counts));
    }

    fn estimate(&self, right: f32, expected: f32) -> f64 {
        f64::from((right + PRIOR * expected) / (self.outcomes + PRIOR)).clamp(0.0, 1.0)
    }

    fn is_valid(&self) -> bool {
        let of_all = 0.0..=self.outcomes;
        self.outcomes.is_finite() && of_all.contains(&self.grammar) && of_all.contains(&self.counts)
    }
}

impl Endings {
    pub fn new() -> Endings {
        let cells = vec![EndingCell::default(); N_CELLS];
        Endings { symbols: Vec::new(), cells, position: None, asked: None }
    }

    /// A new run begins.
    pub fn begin_run(&mut self) {
        self.position = None;
    }

    /// Takes in what came.
    pub fn learn(&mut self, symbol: u32) {
        if let Some((cell, grammar, counts)) = self.asked.take() {
            self.cells[cell].learn(grammar == symbol, counts == symbol);
        }
        if let Some((last, position)) = self.position.take() {
            let at = self.place_of(last).unwrap_or_else(|at| {
                reserve_some(&mut self.symbols);
                self.symbols.insert(at, (last, Branches::default()));
                at
            });
            self.symbols[at].1[position as usize].count(symbol);
        }
    }

    /// Notes where a read or an open has left its file.
    pub fn advance(&mut self, step: &Move, file: &FileMotion) {
        self.position = file.size_known.then(|| {
            let position = match file.end < file.size {
                true => FilePosition::Within,
                false if step.access == Access::Read && step.size == 0 => FilePosition::Beyond,
                false => FilePosition::AtEnd,
            };
            (step.symbol, position)
        });
    }

    /// Weighs the candidates of the grammar, the most probable first, anew where the
    /// position tells more; each comes with its number. False where it does not.
    pub fn weigh(&mut self, stated: &[Candidate], weighed: &mut Vec<(usize, Candidate)>) -> bool {
        self.asked = None;
        let (Some(position), Some(first)) = (self.position, stated.first()) else { return false };
        let Some((symbol, times, all)) = self.decided_by(position) else { return false };
        // What the grammar does not name cannot be read on from.
        let Some(at) = stated.iter().position(|it| it.terminal == symbol) else { return false };
        let probability = first.probability;
        let cell = cell_of(at == 0, times, all, probability);
        self.asked = Some((cell, first.terminal, symbol));
        let cell = &self.cells[cell];
        weighed.clear();
        weighed.extend(stated.iter().copied().enumerate());
        if at == 0 {
            let counted = cell.estimate(cell.counts, probability as f32);
            scale(weighed, (1.0 - counted) / (1.0 - probability).max(1e-9));
            weighed[0].1.probability = counted;
        } else {
            let counted = cell.estimate(cell.counts, (1.0 - probability as f32) / 2.0);
            let kept = cell.estimate(cell.grammar, probability as f32).min(1.0 - counted);
            let others = 1.0 - probability - stated[at].probability;
            scale(weighed, (1.0 - counted - kept).max(0.0) / others.max(1e-9));
            weighed[0].1.probability = kept;
            weighed[at].1.probability = counted;
        }
        weighed.sort_by(|a, b| b.1.probability.total_cmp(&a.1.probability));
        true
    }

    /// What followed most often at this position, how often, and how often anything
    /// did, if something else followed most often at another.
    fn decided_by(&self, (last, position): (u32, FilePosition)) -> Option<(u32, u16, u16)> {
        let (_, branches) = &self.symbols[self.place_of(last).ok()?];
        let best = branches[position as usize].best()?;
        let differs = |other: &EndingFollowers| other.best().is_some_and(|it| it.0 != best.0);
        branches.iter().any(differs).then_some(best)
    }

    /// Where a symbol stands, or where it is to be put.
    fn place_of(&self, symbol: u32) -> Result<usize, usize> {
        self.symbols.binary_search_by_key(&symbol, |&(known, _)| known)
    }

    pub fn memory_bytes(&self) -> usize {
        self.symbols.capacity() * size_of::<(u32, Branches)>()
            + self.cells.capacity() * size_of::<EndingCell>()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self, n_symbols: usize) -> bool {
        let is_known = |&(symbol, times): &(u32, u16)| {
            times == 0 || ((symbol as usize) < n_symbols && times < MAX_TIMES)
        };
        let followers = self.symbols.iter().flat_map(|(_, branches)| branches);
        let mut followers = followers.flat_map(|followers| &followers.0);
        self.symbols.is_sorted_by(|a, b| a.0 < b.0)
            && self.symbols.last().is_none_or(|&(last, _)| (last as usize) < n_symbols)
            && self.cells.len() == N_CELLS
            && self.cells.iter().all(EndingCell::is_valid)
            && followers.all(is_known)
            && self.position.is_none_or(|(symbol, _)| (symbol as usize) < n_symbols)
    }
}

fn scale(candidates: &mut [(usize, Candidate)], factor: f64) {
    candidates.iter_mut().for_each(|(_, it)| it.probability *= factor);
}

fn cell_of(agree: bool, times: u16, all: u16, probability: f64) -> usize {
    let share = f32::from(times) / f32::from(all.max(1));
    let count = usize::from(all > 2) + usize::from(all > 8);
    let share = usize::from(share > 0.6) + usize::from(share > 0.95);
    let step = ((probability * N_STEPS as f64) as usize).min(N_STEPS - 1);
    ((count * N_SHARES + share) * N_STEPS + step) * 2 + usize::from(agree)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: u32 = 0;
    const CLOSE: u32 = 1;

    fn file(end: u64, size: u64) -> FileMotion {
        FileMotion { end, size, size_known: true, ..FileMotion::NEW }
    }

    fn read() -> Move {
        Move {
            symbol: READ,
            access: Access::Read,
            file: 0,
            offset: None,
            size: 1,
            requested: None,
            is_cut_short: false,
            append: false,
            truncated_to: None,
            after_quiet: false,
        }
    }

    fn candidates() -> [Candidate; 2] {
        let candidate = |terminal, probability| Candidate { terminal, probability };
        [candidate(READ, 0.6), candidate(CLOSE, 0.3)]
    }

    /// Files of changing length are read piece by piece and closed.
    fn after(n_files: u64) -> Endings {
        let mut endings = Endings::new();
        for n in 0..n_files {
            let pieces = 1 + n * 7 % 5;
            for piece in 1..=pieces {
                endings.advance(&read(), &file(piece, pieces));
                endings.weigh(&candidates(), &mut Vec::new());
                endings.learn(if piece < pieces { READ } else { CLOSE });
            }
        }
        endings
    }

    #[test]
    fn the_end_of_a_file_decides_which_way_a_program_goes() {
        let mut endings = after(100);
        for (end, expected) in [(2, READ), (3, CLOSE)] {
            endings.advance(&read(), &file(end, 3));
            let mut weighed = Vec::new();
            assert!(endings.weigh(&candidates(), &mut weighed));
            assert_eq!(weighed[0].1.terminal, expected);
            assert!(weighed[0].1.probability > 0.9, "{weighed:?}");
            let stated: f64 = weighed.iter().map(|(_, it)| it.probability).sum();
            assert!(stated <= 1.0 + 1e-9, "{weighed:?}");
        }
        assert!(endings.is_valid(2));
        assert!(!endings.is_valid(1));
    }

    #[test]
    fn where_the_position_says_nothing_the_grammar_is_believed() {
        let mut endings = after(100);
        let unknown = FileMotion { size_known: false, ..file(3, 3) };
        endings.advance(&read(), &unknown);
        assert!(!endings.weigh(&candidates(), &mut Vec::new()));
    }
}
