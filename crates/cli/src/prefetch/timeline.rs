// SPDX-License-Identifier: MIT OR Apache-2.0

//! Who read what and when: a table of the program's calls and of the requests
//! that were made ahead of them, for pictures and for finding out why something
//! was late.

use std::fmt::Write;

/// Rows that are kept; what comes beyond them is left out.
const MAX_ROWS: usize = 1 << 20;
const HEADER: &str = "who,start_ns,end_ns,seen_ns,file,offset,bytes,what\n";

/// The rows so far.
pub struct Timeline {
    text: String,
    n_rows: usize,
    start_ns: u64,
}

/// One row: a call of the program, or a request of ours.
pub struct TimelineRow<'a> {
    pub who: &'static str,
    pub start_ns: u64,
    pub end_ns: u64,
    /// When we heard of it.
    pub seen_ns: u64,
    pub file: &'a str,
    pub offset: u64,
    pub bytes: u64,
    pub what: &'static str,
}

impl Timeline {
    /// Times count from `start_ns`.
    pub fn new(start_ns: u64) -> Timeline {
        Timeline { text: HEADER.to_owned(), n_rows: 0, start_ns }
    }

    /// Adds a row.
    pub fn add(&mut self, row: &TimelineRow<'_>) {
        if self.n_rows >= MAX_ROWS {
            return;
        }
        self.n_rows += 1;
        let TimelineRow { who, offset, bytes, what, .. } = *row;
        let [start, end, seen] =
            [row.start_ns, row.end_ns, row.seen_ns].map(|ns| ns.saturating_sub(self.start_ns));
        let file = row.file.replace('"', "\"\"");
        // Writing to a string cannot fail.
        let _ =
            writeln!(self.text, "{who},{start},{end},{seen},\"{file}\",{offset},{bytes},{what}");
    }

    /// The table as CSV.
    pub fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_count_from_the_start_and_names_are_quoted() {
        let mut timeline = Timeline::new(100);
        timeline.add(&TimelineRow {
            who: "program",
            start_ns: 150,
            end_ns: 250,
            seen_ns: 90,
            file: "a,\"b\"",
            offset: 4096,
            bytes: 7,
            what: "expected",
        });
        let expected = format!("{HEADER}program,50,150,0,\"a,\"\"b\"\"\",4096,7,expected\n");
        assert_eq!(timeline.into_text(), expected);
    }
}
