// SPDX-License-Identifier: MIT OR Apache-2.0

//! The last few symbols, as they came.

use serde::{Deserialize, Serialize};

use crate::symbol::Terminal;

/// A ring of the most recent symbols.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Recent {
    ring: Vec<Terminal>,
    pushed: usize,
    run: usize,
}

impl Recent {
    /// How many symbols are kept; also how long a past can agree.
    pub const LENGTH: usize = 32;

    pub fn new() -> Recent {
        Recent { ring: vec![0; Recent::LENGTH], pushed: 0, run: 0 }
    }

    pub fn push(&mut self, terminal: Terminal) {
        self.run = if self.get(0) == Some(terminal) { self.run.saturating_add(1) } else { 1 };
        self.pushed = self.pushed.wrapping_add(1);
        self.ring[self.pushed % Recent::LENGTH] = terminal;
    }

    /// The symbol `back` before the last one.
    pub fn get(&self, back: usize) -> Option<Terminal> {
        (back < self.len()).then(|| self.ring[self.pushed.wrapping_sub(back) % Recent::LENGTH])
    }

    pub fn len(&self) -> usize {
        self.pushed.min(Recent::LENGTH)
    }

    /// How often the last symbol came in a row, as far back as is known.
    pub fn run_length(&self) -> usize {
        self.run.min(self.len())
    }

    pub fn is_sound(&self) -> bool {
        self.ring.len() == Recent::LENGTH
    }
}
