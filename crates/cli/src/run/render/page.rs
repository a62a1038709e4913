// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lines below each other, each behind the mark of the rank.

use crate::shared::table::{Cell, Colours, Table, Tone};
use crate::shared::text::wrap;

/// Columns of a line.
pub const WIDTH: usize = 100;
/// Columns of the words before the text.
const LABEL: usize = 14;

/// How much of what there may be much of is told.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    pub kinds_of_ranks: usize,
    pub files: usize,
    pub variables: usize,
    pub loops: usize,
    pub advice: usize,
}

impl Room {
    /// Fits on a screen but for programs that do all at once.
    pub const ENOUGH: Room =
        Room { kinds_of_ranks: 3, files: 5, variables: 4, loops: 3, advice: usize::MAX };
    /// For those.
    pub const SCARCE: Room =
        Room { kinds_of_ranks: 1, files: 2, variables: 2, loops: 1, advice: 2 };
}

/// A text that grows.
pub struct Page {
    text: String,
    mark: String,
    colours: Colours,
    pub room: Room,
}

impl Page {
    pub fn new(mark: String, colours: Colours, room: Room) -> Page {
        Page { text: String::new(), mark, colours, room }
    }

    /// Columns that the mark leaves.
    pub fn width(&self) -> usize {
        WIDTH.saturating_sub(self.mark.chars().count())
    }

    pub fn line(&mut self, cell: &Cell) {
        self.text.push_str(&format!("{}{}\n", self.mark, self.colours.paint(cell)));
    }

    pub fn table(&mut self, table: &Table) {
        for line in table.render(self.colours).lines() {
            self.text.push_str(&format!("{}{line}\n", self.mark));
        }
    }

    /// A paragraph with a word before it.
    pub fn say(&mut self, label: &str, sentence: &str) {
        let label = format!("  {label:<LABEL$}");
        let indent = label.chars().count();
        let room = self.width().saturating_sub(indent);
        for (n, line) in wrap(sentence, room).into_iter().enumerate() {
            let before = if n == 0 {
                self.colours.paint(&Cell::new(label.as_str(), Tone::Dim))
            } else {
                " ".repeat(indent)
            };
            self.text.push_str(&format!("{}{before}{line}\n", self.mark));
        }
    }

    pub fn into_text(self) -> String {
        self.text
    }
}
