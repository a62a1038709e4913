// SPDX-License-Identifier: MIT OR Apache-2.0

//! Lines of a table as bytes, one at a time, in one buffer of bounded size.

use std::io::{self, BufRead, Read};

/// The longest line that is read, its end included.
pub const MAX_LINE_BYTES: usize = 64 * 1024;

/// A line without its end, or a note that it was too long to keep.
pub(crate) enum Line<'a> {
    Text(&'a [u8]),
    TooLong,
}

pub(crate) struct Lines<R> {
    reader: R,
    buffer: Vec<u8>,
    /// Whole lines read so far, so also the number of the last one.
    number: u64,
    /// Whether lines end in `\r\n`. The header decides: a path may end in `\r`.
    carriage_returns: bool,
    max_bytes: usize,
}

impl<R: BufRead> Lines<R> {
    /// Lines of at most this many bytes, including their ends.
    pub(crate) fn new(reader: R, max_bytes: usize) -> Lines<R> {
        Lines { reader, buffer: Vec::new(), number: 0, carriage_returns: false, max_bytes }
    }

    pub(crate) fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Number of the last whole line, counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// The next line; `None` at the end. The last one may lack its `\n`.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        if self.fill()? == 0 {
            return Ok(None);
        }
        if self.buffer.len() == self.max_bytes && !self.buffer.ends_with(b"\n") {
            while self.fill()? > 0 && !self.buffer.ends_with(b"\n") {}
            self.number += 1;
            return Ok(Some(Line::TooLong));
        }
        self.number += 1;
        let mut line = self.buffer.as_slice();
        if let Some(text) = line.strip_suffix(b"\n") {
            line = text;
        }
        if self.number == 1 {
            self.carriage_returns = line.ends_with(b"\r");
        }
        if self.carriage_returns {
            line = line.strip_suffix(b"\r").unwrap_or(line);
        }
        Ok(Some(Line::Text(line)))
    }

    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.clear();
        let mut limited = self.reader.by_ref().take(self.max_bytes as u64);
        limited.read_until(b'\n', &mut self.buffer)
    }
}
