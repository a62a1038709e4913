// SPDX-License-Identifier: MIT OR Apache-2.0

//! The system as published at SC14: plain Sequitur, predictors of equal weight,
//! and the trackers of its section 3.
//!
//! A size is tracked per symbol, an offset transformation and a change of file
//! per transition: constant, else a local grammar over the values, else (more
//! than 24 of them) the mean or 'consecutive'. There is one previous offset for
//! all files, every move that is not consecutive counts as relative, and a new
//! file has no name.

use std::collections::HashMap;

use ioracle_events::{Access, ContextSymbol, FileId, Function, Operation};

use super::sequitur::Sequitur;
use crate::halves::{Half, Halves};
use ioracle_engine::score::{AccessedRange, PlaceScore, Stated};
use ioracle_engine::score::{ContextScore, Distribution};

const MAX_LOCAL_VALUES: usize = 24;
/// Opens that a change of file may go back.
const MAX_OPEN_FILES: usize = 64;

/// The published system and its score.
#[derive(Clone, Debug)]
pub struct OmniscioBaseline {
    grammar: Sequitur,
    functions: HashMap<ContextSymbol, Function>,
    sizes: HashMap<ContextSymbol, Sizes>,
    transitions: HashMap<(ContextSymbol, ContextSymbol), Transition>,
    last: Option<Last>,
    /// Files by their latest open, the newest first.
    opened: Vec<FileId>,
    stated: Distribution,
    context: Halves<ContextScore>,
    place: Halves<PlaceScore>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    symbol: ContextSymbol,
    file: FileId,
    /// Where the last operation left the offset.
    position: u64,
}

#[derive(Clone, Debug, Default)]
struct Transition {
    offset: Local<OffsetMove>,
    file: Option<FileMove>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OffsetMove {
    Consecutive,
    Relative(i128),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileMove {
    Same,
    OpenedAgo(usize),
    New,
}

#[derive(Clone, Debug, Default)]
struct Sizes {
    local: Local<u64>,
    sum: f64,
    count: u64,
}

impl OmniscioBaseline {
    /// Nothing seen yet.
    pub fn new() -> OmniscioBaseline {
        OmniscioBaseline {
            grammar: Sequitur::new(),
            functions: HashMap::new(),
            sizes: HashMap::new(),
            transitions: HashMap::new(),
            last: None,
            opened: Vec::new(),
            stated: Distribution::default(),
            context: Halves::default(),
            place: Halves::default(),
        }
    }

    /// Compares what it states with the operation that came, then learns it.
    pub fn observe(&mut self, operation: &Operation, symbol: ContextSymbol, half: Half) {
        let stated = equal_weights(&self.grammar);
        self.stated.clear();
        for &(weight, candidate) in &stated {
            self.stated.add(candidate, weight);
        }
        self.context.add(half, |score| {
            score.add(self.stated.iter(), Some(symbol));
        });
        let top = stated.first().map(|&(_, candidate)| candidate);
        let top_file = top.and_then(|candidate| self.file_of(candidate));
        self.place.add(half, |score| score.add_file(top_file == Some(operation.file)));
        if operation.access().is_data() {
            let came = AccessedRange { start: operation.offset, size: operation.size };
            let segments: Vec<(f64, Stated)> = stated
                .iter()
                .map(|&(weight, candidate)| (weight, self.segment(candidate, operation.file)))
                .collect();
            let top_size =
                top.filter(|candidate| self.is_data(*candidate)).map(|top| self.size_of(top));
            self.place.add(half, |score| {
                score.add_data_access(segments.iter().copied(), top_size, came);
            });
        }
        self.learn(operation, symbol);
    }

    /// The score of its symbols.
    pub fn context(&self) -> &Halves<ContextScore> {
        &self.context
    }

    /// The score of its places.
    pub fn place(&self) -> &Halves<PlaceScore> {
        &self.place
    }

    fn is_data(&self, symbol: ContextSymbol) -> bool {
        self.functions.get(&symbol).is_some_and(|function| function.access().is_data())
    }

    fn size_of(&self, symbol: ContextSymbol) -> u64 {
        let Some(sizes) = self.sizes.get(&symbol) else { return 0 };
        sizes.local.predict().unwrap_or((sizes.sum / sizes.count.max(1) as f64) as u64)
    }

    fn file_of(&self, symbol: ContextSymbol) -> Option<FileId> {
        let last = self.last?;
        let transition = self.transitions.get(&(last.symbol, symbol));
        match transition.and_then(|transition| transition.file).unwrap_or(FileMove::Same) {
            FileMove::Same => Some(last.file),
            FileMove::OpenedAgo(opens) => self.opened.get(opens).copied(),
            FileMove::New => None,
        }
    }

    fn segment(&self, symbol: ContextSymbol, file: FileId) -> Stated {
        let last = self.last?;
        if !self.is_data(symbol) || self.file_of(symbol) != Some(file) {
            return None;
        }
        let transition = self.transitions.get(&(last.symbol, symbol));
        let moved = transition.and_then(|transition| transition.offset.predict());
        let start = match moved.unwrap_or(OffsetMove::Consecutive) {
            OffsetMove::Consecutive => last.position,
            OffsetMove::Relative(distance) => {
                u64::try_from(i128::from(last.position) + distance).unwrap_or(0)
            }
        };
        Some(AccessedRange { start: Some(start), size: self.size_of(symbol) })
    }

    fn learn(&mut self, operation: &Operation, symbol: ContextSymbol) {
        self.grammar.push(symbol.0);
        self.functions.insert(symbol, operation.function);
        let position = match operation.access() {
            Access::Open | Access::Close => 0,
            _ => operation.end_offset().or(self.last.map(|last| last.position)).unwrap_or(0),
        };
        if operation.access().is_data() {
            self.sizes.entry(symbol).or_default().learn(operation.size);
        }
        if let Some(last) = self.last {
            let moved = operation.offset.map(|offset| {
                match i128::from(offset) - i128::from(last.position) {
                    0 => OffsetMove::Consecutive,
                    distance => OffsetMove::Relative(distance),
                }
            });
            let opens = self.opened.iter().position(|file| *file == operation.file);
            let file = match opens {
                _ if operation.file == last.file => FileMove::Same,
                Some(opens) => FileMove::OpenedAgo(opens),
                None => FileMove::New,
            };
            let transition = self.transitions.entry((last.symbol, symbol)).or_default();
            transition.file = Some(file);
            if let Some(moved) = moved {
                transition.offset.learn(moved);
            }
        }
        if operation.access() == Access::Open {
            self.opened.retain(|file| *file != operation.file);
            self.opened.insert(0, operation.file);
            self.opened.truncate(MAX_OPEN_FILES);
        }
        self.last = Some(Last { symbol, file: operation.file, position });
    }
}

impl Default for OmniscioBaseline {
    fn default() -> OmniscioBaseline {
        OmniscioBaseline::new()
    }
}

impl Sizes {
    fn learn(&mut self, size: u64) {
        self.local.learn(size);
        self.sum += size as f64;
        self.count += 1;
    }
}

/// What the grammar says, its terminal predictors weighing the same; the symbol
/// that most of them expect first.
fn equal_weights(grammar: &Sequitur) -> Vec<(f64, ContextSymbol)> {
    let mut counts: Vec<(u32, ContextSymbol)> = Vec::new();
    for terminal in grammar.expectations() {
        let symbol = ContextSymbol(terminal);
        match counts.iter_mut().find(|(_, known)| *known == symbol) {
            Some((count, _)) => *count += 1,
            None => counts.push((1, symbol)),
        }
    }
    counts.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let total: u32 = counts.iter().map(|(count, _)| count).sum();
    counts
        .into_iter()
        .map(|(count, symbol)| (f64::from(count) / f64::from(total), symbol))
        .collect()
}

/// A value that is constant, else follows a local grammar, else nothing.
#[derive(Clone, Debug)]
struct Local<V> {
    values: Vec<V>,
    grammar: Option<Box<Sequitur>>,
}

impl<V> Default for Local<V> {
    fn default() -> Local<V> {
        Local { values: Vec::new(), grammar: None }
    }
}

impl<V: Copy + PartialEq> Local<V> {
    fn predict(&self) -> Option<V> {
        if self.values.len() > MAX_LOCAL_VALUES {
            return None;
        }
        let index = match &self.grammar {
            Some(grammar) => equal_weights(grammar)
                .first()
                .map_or(self.values.len() - 1, |(_, best)| best.0 as usize),
            None => 0,
        };
        self.values.get(index).copied()
    }

    fn learn(&mut self, value: V) {
        if self.values.len() > MAX_LOCAL_VALUES {
            return;
        }
        let known = self.values.iter().position(|seen| *seen == value);
        let index = known.unwrap_or(self.values.len());
        if known.is_none() {
            self.values.push(value);
        }
        if self.values.len() > MAX_LOCAL_VALUES {
            self.grammar = None;
        } else if self.values.len() > 1 {
            let grammar = self.grammar.get_or_insert_with(|| Box::new(Sequitur::new()));
            grammar.push(index as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::{ContextId, Layer};

    use super::*;

    fn write(symbol: u32, offset: u64, size: u64) -> (Operation, ContextSymbol) {
        let operation = Operation {
            function: Function::from_name(Layer::Posix, "pwrite").unwrap(),
            context: ContextId(symbol),
            file: FileId(1),
            handle: 3,
            offset: Some(offset),
            size,
            requested: None,
            append: false,
            truncated_to: None,
            start_ns: 0,
            end_ns: 0,
        };
        (operation, ContextSymbol(symbol))
    }

    #[test]
    fn a_strided_loop_is_learned_from_its_transitions() {
        let mut published = OmniscioBaseline::new();
        for step in 0..40 {
            for (operation, symbol) in [write(0, 100 * step, 10), write(1, 100 * step + 50, 20)] {
                let half = Half::of(step, 40);
                published.observe(&operation, symbol, half);
            }
        }
        assert_eq!(published.context().second.accuracy(), Some(100.0));
        assert_eq!(published.place().second.hit.percent(), Some(100.0));
    }

    #[test]
    fn more_values_than_a_local_grammar_may_have_are_given_up() {
        let mut local = Local::default();
        for value in 0..100u64 {
            local.learn(value);
        }
        assert_eq!(local.predict(), None);
        assert_eq!(local.values.len(), MAX_LOCAL_VALUES + 1);
    }

    #[test]
    fn alternating_sizes_follow_a_local_grammar() {
        let mut local = Local::default();
        for value in [1u64, 2, 1, 2, 1, 2, 1] {
            local.learn(value);
        }
        assert_eq!(local.predict(), Some(2));
    }
}
