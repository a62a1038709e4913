// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tables for people: columns as wide as their widest cell, colours only on a
//! terminal and not with `NO_COLOR`.

use std::io::IsTerminal;

/// How a cell is shown on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it is.
    Plain,
    /// As good as it should be.
    Good,
    /// Worse than its neighbour.
    Bad,
    /// What should be looked at first.
    Severe,
    /// Less important than its neighbours.
    Dim,
    /// The first row.
    Header,
}

impl Tone {
    fn code(self) -> Option<&'static str> {
        match self {
            Tone::Plain => None,
            Tone::Good => Some("32"),
            Tone::Bad => Some("33"),
            Tone::Severe => Some("1;31"),
            Tone::Dim => Some("2"),
            Tone::Header => Some("1"),
        }
    }
}

/// A piece of text with its tone.
#[derive(Clone, Debug)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// Text in a tone.
    pub fn new(text: impl Into<String>, tone: Tone) -> Cell {
        Cell { text: text.into(), tone }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell::new(text, Tone::Plain)
    }
}

/// On which side of its column a cell stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// Text.
    Left,
    /// Numbers.
    Right,
}

/// Rows below a header.
#[derive(Debug)]
pub struct TextTable {
    sides: Vec<Alignment>,
    rows: Vec<Vec<Cell>>,
}

impl TextTable {
    /// A table with these columns.
    pub fn new(columns: &[(&str, Alignment)]) -> TextTable {
        let header = columns.iter().map(|(name, _)| Cell::new(*name, Tone::Header)).collect();
        TextTable { sides: columns.iter().map(|(_, side)| *side).collect(), rows: vec![header] }
    }

    /// Adds a row; what goes beyond the columns is not shown.
    pub fn push(&mut self, row: Vec<Cell>) {
        self.rows.push(row);
    }

    /// The table as text.
    pub fn render(&self, colours: Colours) -> String {
        let width_of = |column: usize| {
            self.rows.iter().filter_map(|row| row.get(column)).map(Cell::width).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.sides.len()).map(width_of).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, side), width) in row.iter().zip(&self.sides).zip(&widths) {
                let padding = " ".repeat(width.saturating_sub(cell.width()));
                let shown = colours.paint(cell);
                match side {
                    Alignment::Left => line.push_str(&format!("{shown}{padding}  ")),
                    Alignment::Right => line.push_str(&format!("{padding}{shown}  ")),
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// Whether colours are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colours {
    /// They are.
    On,
    /// They are not.
    Off,
}

impl Colours {
    /// On if standard output is a terminal and `NO_COLOR` is not set.
    pub fn for_stdout() -> Colours {
        Colours::wanted_on(&std::io::stdout())
    }

    /// The same for standard error.
    pub fn for_stderr() -> Colours {
        Colours::wanted_on(&std::io::stderr())
    }

    fn wanted_on(place: &impl IsTerminal) -> Colours {
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if place.is_terminal() && !unwanted && !dumb { Colours::On } else { Colours::Off }
    }

    /// Text in its tone.
    pub fn paint(self, cell: &Cell) -> String {
        match (self, cell.tone.code()) {
            (Colours::On, Some(code)) => format!("\x1b[{code}m{}\x1b[0m", cell.text),
            _ => cell.text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> TextTable {
        let mut table = TextTable::new(&[("name", Alignment::Left), ("size", Alignment::Right)]);
        table.push(vec!["a".into(), "12".into()]);
        table.push(vec!["longer".into(), Cell::new("3", Tone::Good)]);
        table
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        assert_eq!(example().render(Colours::Off), "name    size\na         12\nlonger     3\n");
    }

    #[test]
    fn colours_do_not_move_columns() {
        let text = example().render(Colours::On);
        assert!(text.ends_with("longer     \x1b[32m3\x1b[0m\n"));
    }
}
