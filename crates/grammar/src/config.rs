// SPDX-License-Identifier: MIT OR Apache-2.0

//! The knobs of a grammar.

use serde::{Deserialize, Serialize};

/// How faithfully loop counts are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrammarMode {
    /// Expanding the start rule gives the input back, exactly.
    Exact,
    /// Where a place has shown more than [`Config::max_loop_counts`] different
    /// loop counts, it keeps a histogram of them instead of a rule for each.
    Summarised,
}

/// How a grammar is built and what it may use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// How faithfully loop counts are kept.
    pub mode: GrammarMode,
    /// Whether repetitions become exponents; without them it is plain Sequitur.
    pub exponents: bool,
    /// Maximum of occurrences in all bodies. Beyond it, the oldest history is
    /// forgotten; what remains still obeys the invariants.
    pub max_occurrences: usize,
    /// How many different loop counts of one place are kept in summarised mode.
    pub max_loop_counts: usize,
    /// Maximum number of pasts (of up to 16 symbols) whose followers are counted; 0
    /// leaves prediction to the grammar alone.
    pub max_pasts: usize,
    /// Maximum number of places followed at once.
    pub max_predictors: usize,
    /// Whether the probability that candidates leave goes to other symbols that
    /// followed before, except for the share of new symbols.
    pub shares_rest: bool,
}

impl Config {
    /// Summarised, for prediction along the main stream of a program.
    pub fn new() -> Config {
        Config {
            mode: GrammarMode::Summarised,
            exponents: true,
            max_occurrences: 1 << 14,
            max_loop_counts: 8,
            max_pasts: 1 << 10,
            max_predictors: 5,
            shares_rest: true,
        }
    }

    /// Always exact: nothing is summarised or forgotten.
    pub fn exact() -> Config {
        Config { mode: GrammarMode::Exact, max_occurrences: usize::MAX, ..Config::new() }
    }

    /// Plain Sequitur, for comparison: exact and without exponents.
    pub fn sequitur() -> Config {
        Config { exponents: false, max_pasts: 0, ..Config::exact() }
    }

    /// For one of many short streams, such as the sizes of one context.
    pub fn small() -> Config {
        Config { max_occurrences: 256, max_pasts: 0, max_predictors: 4, ..Config::new() }
    }
}

impl Default for Config {
    fn default() -> Config {
        Config::new()
    }
}
