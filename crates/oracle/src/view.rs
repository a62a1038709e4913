// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a model holds, for those who want to look at it.

use ioracle_events::{ContextSymbol, FileId, Function, Spread};

use crate::oracle::Oracle;
use crate::stacks::StackId;

/// What is known about one context symbol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SymbolView {
    /// The symbol, as the grammar's terminal.
    pub symbol: ContextSymbol,
    /// The function that is called in its context.
    pub function: Function,
    /// Sizes seen; only of data accesses.
    pub size: Spread,
    /// Whether all sizes were the same.
    pub one_size: bool,
    /// I/O times seen, in nanoseconds.
    pub io_time_ns: Spread,
}

impl Oracle {
    /// The path of a file that a prediction names by its id.
    pub fn file_path(&self, file: FileId) -> Option<&str> {
        self.files.name(self.files.by_source(file)?)
    }

    /// The files that the source has numbered in this run, with their paths as
    /// far as they are known.
    pub fn files_in_use(&self) -> impl Iterator<Item = (FileId, Option<&str>)> {
        (0..self.files.len())
            .filter_map(|file| Some((self.files.source(file)?, self.files.name(file))))
    }

    /// The paths that are known, as far as they are known.
    pub fn file_paths(&self) -> impl Iterator<Item = &str> {
        (0..self.files.len()).filter_map(|file| self.files.name(file))
    }

    /// All context symbols, in order.
    pub fn symbol_views(&self) -> impl Iterator<Item = SymbolView> + '_ {
        (0..).zip(&self.knowledge.symbols).map(|(symbol, known)| SymbolView {
            symbol: ContextSymbol(symbol),
            function: known.function,
            size: known.size.spread(),
            one_size: known.size.is_constant(),
            io_time_ns: known.io_time.spread(),
        })
    }

    /// The call stacks of all symbols; one may stand several times.
    pub fn stacks(&self) -> impl Iterator<Item = StackId> + '_ {
        self.contexts.identities().iter().map(|identity| StackId(identity.frames))
    }

    /// Transitions between symbols whose interarrival times are known.
    pub fn transitions(&self) -> usize {
        self.knowledge.transitions.iter().count()
    }

    /// Operations that were learned, in all runs.
    pub fn operations(&self) -> u64 {
        self.clock.n_observed
    }
}
