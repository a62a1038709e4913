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
use crate::followers::{Contest, ContestCell, Followers};
use crate::motion::{Move, reserve_some};

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
    cells: Vec<ContestCell>,
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
type Branches = [Followers; N_POSITIONS];

impl Endings {
    pub fn new() -> Endings {
        let cells = vec![ContestCell::default(); N_CELLS];
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
    /// position tells more.
    pub fn weigh(&mut self, candidates: &mut Vec<Candidate>) {
        self.asked = None;
        let (Some(position), Some(first)) = (self.position, candidates.first()) else { return };
        let Some((symbol, times, all)) = self.decided_by(position) else { return };
        // It only decides between ways that the grammar knows.
        let Some(at) = candidates.iter().position(|it| it.terminal == symbol) else { return };
        let cell = cell_of(at == 0, times, all, first.probability);
        self.asked = Some((cell, first.terminal, symbol));
        self.cells[cell].apply(Contest::of(Some(at)), symbol, candidates);
    }

    /// What followed most often at this position, how often, and how often anything
    /// did, if something else followed most often at another.
    fn decided_by(&self, (last, position): (u32, FilePosition)) -> Option<(u32, u16, u16)> {
        let (_, branches) = &self.symbols[self.place_of(last).ok()?];
        let best = branches[position as usize].best()?;
        let differs = |other: &Followers| other.best().is_some_and(|it| it.0 != best.0);
        branches.iter().any(differs).then_some(best)
    }

    /// Where a symbol stands, or where it is to be put.
    fn place_of(&self, symbol: u32) -> Result<usize, usize> {
        self.symbols.binary_search_by_key(&symbol, |&(known, _)| known)
    }

    pub fn memory_bytes(&self) -> usize {
        self.symbols.capacity() * size_of::<(u32, Branches)>()
            + self.cells.capacity() * size_of::<ContestCell>()
    }

    /// Whether it could have been made by this code.
    pub fn is_valid(&self, n_symbols: usize) -> bool {
        let mut followers = self.symbols.iter().flat_map(|(_, branches)| branches);
        self.symbols.is_sorted_by(|a, b| a.0 < b.0)
            && self.symbols.last().is_none_or(|&(last, _)| (last as usize) < n_symbols)
            && self.cells.len() == N_CELLS
            && self.cells.iter().all(ContestCell::is_valid)
            && followers.all(|followers| followers.is_valid(n_symbols))
            && self.position.is_none_or(|(symbol, _)| (symbol as usize) < n_symbols)
    }
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

    fn candidates() -> Vec<Candidate> {
        let candidate = |terminal, probability| Candidate { terminal, probability };
        vec![candidate(READ, 0.6), candidate(CLOSE, 0.3)]
    }

    /// Files of changing length are read piece by piece and closed.
    fn after(n_files: u64) -> Endings {
        let mut endings = Endings::new();
        for n in 0..n_files {
            let pieces = 1 + n * 7 % 5;
            for piece in 1..=pieces {
                endings.advance(&read(), &file(piece, pieces));
                endings.weigh(&mut candidates());
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
            let mut weighed = candidates();
            endings.weigh(&mut weighed);
            assert_eq!(weighed[0].terminal, expected);
            assert!(weighed[0].probability > 0.9, "{weighed:?}");
            let stated: f64 = weighed.iter().map(|it| it.probability).sum();
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
        let mut weighed = candidates();
        endings.weigh(&mut weighed);
        assert_eq!(weighed, candidates());
    }
}
