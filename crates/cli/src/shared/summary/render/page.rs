// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lines below each other, each behind the mark of the rank, as wide as the
//! terminal.

use std::io;
use std::os::fd::AsFd;

use crate::shared::table::{Alignment, Cell, Colours, TextTable, Tone};
use crate::shared::text::{shorten_start, wrap};

/// Columns of a line where there is no terminal, and bounds for one.
const USUAL_WIDTH: usize = 100;
const LEAST_WIDTH: usize = 40;
const MOST_WIDTH: usize = 120;
/// Columns of the words before the text.
const LABEL: usize = 14;
/// Columns below which these words become part of the text.
const NARROW: usize = 64;
/// Columns of a name in a table, at least and at most.
const LEAST_NAME: usize = 18;
const MOST_NAME: usize = 44;
/// Columns below which the last column of a table says nothing.
const LEAST_LAST: usize = 16;
/// Space behind each column.
const GAP: usize = 2;

/// Where a summary is shown.
#[derive(Clone, Copy, Debug)]
pub struct Screen {
    pub colours: Colours,
    /// Columns.
    pub width: usize,
}

impl Screen {
    /// Standard error.
    pub fn of_stderr() -> Screen {
        Screen { colours: Colours::for_stderr(), width: width_of(io::stderr()) }
    }

    /// Standard output.
    pub fn of_stdout() -> Screen {
        Screen { colours: Colours::for_stdout(), width: width_of(io::stdout()) }
    }

    /// No terminal.
    #[cfg(test)]
    pub fn plain() -> Screen {
        Screen { colours: Colours::Off, width: USUAL_WIDTH }
    }
}

/// Columns of a terminal. One that says 0, as some serial lines do, is as good as
/// none.
fn width_of(place: impl AsFd) -> usize {
    let columns = rustix::termios::tcgetwinsize(place).map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { USUAL_WIDTH } else { columns.clamp(LEAST_WIDTH, MOST_WIDTH) }
}

/// How many rows of each table are printed.
#[derive(Clone, Copy, Debug)]
pub struct RowLimits {
    pub kinds_of_ranks: usize,
    pub files: usize,
    pub variables: usize,
    pub loops: usize,
    pub findings: usize,
}

impl RowLimits {
    /// The first fits on a screen for most programs; the others are for those that do
    /// much at once.
    pub const ALL: [RowLimits; 4] = [
        RowLimits { kinds_of_ranks: 3, files: 5, variables: 4, loops: 3, findings: 5 },
        RowLimits { kinds_of_ranks: 2, files: 3, variables: 3, loops: 2, findings: 3 },
        RowLimits { kinds_of_ranks: 1, files: 2, variables: 2, loops: 1, findings: 2 },
        RowLimits { kinds_of_ranks: 1, files: 1, variables: 1, loops: 1, findings: 1 },
    ];
}

/// A text that grows.
pub struct TextPage {
    text: String,
    mark: String,
    screen: Screen,
    pub room: RowLimits,
}

/// A column of a table, behind that of names.
pub struct Column {
    pub title: &'static str,
    pub side: Alignment,
    pub cells: Vec<String>,
}

impl TextPage {
    pub fn new(mark: String, screen: Screen, room: RowLimits) -> TextPage {
        TextPage { text: String::new(), mark, screen, room }
    }

    /// Columns that the mark leaves.
    pub fn width(&self) -> usize {
        self.screen.width.saturating_sub(self.mark.chars().count()).max(LEAST_WIDTH / 2)
    }

    /// A highlighted line.
    pub fn headline(&mut self, text: &str) {
        for line in wrap(text, self.width()) {
            let line = self.screen.colours.paint(&Cell::new(line, Tone::Header));
            self.text.push_str(&format!("{}{line}\n", self.mark));
        }
    }

    /// A table of names and columns; in a narrow terminal columns are left out: the
    /// last, then those without anything in them, then the first. `last` makes the
    /// cells of the last column, for a given width.
    pub fn table(
        &mut self,
        title: &str,
        names: &[String],
        mut columns: Vec<Column>,
        (last_title, last): (&str, &dyn Fn(usize, usize) -> String),
    ) {
        let longest = names.iter().map(|name| length(name)).max().unwrap_or(0);
        let wanted = longest.min(MOST_NAME).max(length(title));
        let fixed =
            |columns: &[Column]| -> usize { columns.iter().map(|it| it.width() + GAP).sum() };
        let room = |columns: &[Column]| self.width().saturating_sub(2 * GAP + fixed(columns));
        while room(&columns) < LEAST_NAME.min(wanted) && columns.len() > 1 {
            let empty = columns.iter().position(Column::is_empty);
            columns.remove(empty.unwrap_or(0));
        }
        let left = room(&columns);
        let has_last = left >= LEAST_NAME.min(wanted) + LEAST_LAST;
        let for_last = if has_last { LEAST_LAST.max(left.saturating_sub(wanted)) } else { 0 };
        let for_name = wanted.min(left - for_last);
        let mut titles = vec![(format!("  {}", shorten_start(title, for_name)), Alignment::Left)];
        titles.extend(columns.iter().map(|column| (column.title.to_owned(), column.side)));
        titles.extend(has_last.then(|| (last_title.to_owned(), Alignment::Left)));
        let titles: Vec<(&str, Alignment)> =
            titles.iter().map(|(it, side)| (it.as_str(), *side)).collect();
        let mut table = TextTable::new(&titles);
        for (row, name) in names.iter().enumerate() {
            let mut cells: Vec<Cell> = vec![format!("  {}", shorten_start(name, for_name)).into()];
            cells.extend(columns.iter().map(|column| column.cells[row].as_str().into()));
            cells.extend(has_last.then(|| last(row, for_last.saturating_sub(GAP)).into()));
            table.push(cells);
        }
        for line in table.render(self.screen.colours).lines() {
            self.text.push_str(&format!("{}{line}\n", self.mark));
        }
    }

    /// A paragraph with a word before it.
    pub fn say(&mut self, label: &str, sentence: &str) {
        self.say_in(Tone::Dim, label, sentence);
    }

    /// The same, where the word is more than a label.
    pub fn say_in(&mut self, tone: Tone, label: &str, sentence: &str) {
        if self.width() < NARROW {
            return self.say_below(tone, label, sentence);
        }
        let label = format!("  {label:<LABEL$}");
        let indent = length(&label);
        let room = self.width().saturating_sub(indent);
        for (n, line) in wrap(sentence, room).into_iter().enumerate() {
            let before = if n == 0 {
                self.screen.colours.paint(&Cell::new(label.as_str(), tone))
            } else {
                " ".repeat(indent)
            };
            self.text.push_str(&format!("{}{before}{line}\n", self.mark));
        }
    }

    /// The same where there is no room for words before the text.
    fn say_below(&mut self, tone: Tone, label: &str, sentence: &str) {
        const INDENT: usize = 4;
        let label = if label.is_empty() { String::new() } else { format!("{label}: ") };
        // Blanks hold the place of the label, which is painted.
        let held = format!("{}{sentence}", "_".repeat(length(&label)));
        for (n, line) in wrap(&held, self.width() - INDENT).into_iter().enumerate() {
            let (indent, line) = match n {
                0 => {
                    let painted = self.screen.colours.paint(&Cell::new(label.as_str(), tone));
                    let rest: String = line.chars().skip(length(&label)).collect();
                    (2, format!("{painted}{rest}"))
                }
                _ => (INDENT, line),
            };
            self.text.push_str(&format!("{}{}{line}\n", self.mark, " ".repeat(indent)));
        }
    }

    pub fn into_text(self) -> String {
        self.text
    }
}

impl Column {
    pub fn numbers(title: &'static str, cells: Vec<String>) -> Column {
        Column { title, side: Alignment::Right, cells }
    }

    fn width(&self) -> usize {
        self.cells.iter().map(|cell| length(cell)).max().unwrap_or(0).max(length(self.title))
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| cell == "0 B")
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}
