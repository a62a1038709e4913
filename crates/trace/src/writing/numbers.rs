// SPDX-License-Identifier: MIT OR Apache-2.0

//! Numbers of contexts or files in a log, by the numbers of the job's reader.
//!
//! The first writer of a log keeps the numbers it is given. One that takes up
//! the log is given other numbers for the same things and finds them again by
//! their text, of which a hash is kept: eight bytes instead of a path.

use std::collections::HashMap;
use std::hash::BuildHasher;

use foldhash::quality::FixedState;

use crate::spooled::MAX_DEFINITIONS;
use crate::table::MAX_TABLE_BYTES;
use crate::writing::earlier::Loaded;

/// One kind of numbers; the first is 1.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    /// By hash of the text, what earlier writers have numbered.
    earlier: HashMap<u64, u32>,
    /// Number in the log for each number given; 0 where there is none.
    numbers: Vec<u32>,
    /// The highest number in the log.
    last: u32,
    /// Of all texts.
    n_bytes: usize,
}

impl Numbers {
    /// Takes a number and its text from the recording, where numbers count up.
    pub(crate) fn load(&mut self, number: u32, text: &str) -> Loaded {
        if self.has(number) {
            return Loaded::Known;
        }
        if self.last.checked_add(1) != Some(number) {
            return Loaded::Damaged;
        }
        self.earlier.entry(hash(text)).or_insert(number);
        self.last = number;
        self.n_bytes += text.len();
        Loaded::New
    }

    /// The text, if there is room for it: all text together is no more than a reader
    /// accepts, and the rest is known only by number.
    pub(crate) fn fitting(&self, text: Box<str>) -> Box<str> {
        // Room is left for the placeholders of as many rows as there can be.
        const MAX_BYTES: usize = MAX_TABLE_BYTES - 2 * MAX_DEFINITIONS;
        if self.n_bytes + text.len() > MAX_BYTES { "?".into() } else { text }
    }

    /// The highest number.
    pub(crate) fn last(&self) -> u32 {
        self.last
    }

    /// Whether the log has this number.
    pub(crate) fn has(&self, number: u32) -> bool {
        (1..=self.last).contains(&number)
    }

    /// Takes a number with its text, once. Gives the log's number
    /// if it is a new one there.
    pub(crate) fn add(&mut self, given: u32, text: &str) -> Option<u32> {
        let known = self.earlier.get(&hash(text)).copied();
        let number = known.unwrap_or(self.last.saturating_add(1));
        let place = given as usize;
        if place >= self.numbers.len() {
            self.numbers.resize(place + 1, 0);
        }
        self.numbers[place] = number;
        self.last = self.last.max(number);
        if known.is_none() {
            self.n_bytes += text.len();
        }
        known.is_none().then_some(number)
    }

    /// The log's number for a given number.
    pub(crate) fn get(&self, given: u32) -> Option<u32> {
        self.numbers.get(given as usize).copied().filter(|&number| number > 0)
    }
}

fn hash(text: &str) -> u64 {
    FixedState::default().hash_one(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_writer_keeps_the_numbers() {
        let mut numbers = Numbers::default();
        assert_eq!(
            [numbers.add(1, "a"), numbers.add(2, "?"), numbers.add(3, "?")],
            [Some(1), Some(2), Some(3)]
        );
        let found = [1, 2, 3, 4, 0].map(|number| numbers.get(number));
        assert_eq!(found, [Some(1), Some(2), Some(3), None, None]);
    }

    #[test]
    fn a_later_writer_finds_them_by_their_text() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.load(1, "a"), Loaded::New);
        assert_eq!(numbers.load(2, "b"), Loaded::New);
        assert_eq!(numbers.load(2, "b"), Loaded::Known);
        assert_eq!(numbers.load(4, "c"), Loaded::Damaged);
        assert_eq!(numbers.add(1, "b"), None);
        assert_eq!(numbers.add(2, "c"), Some(3));
        assert_eq!([1, 2].map(|number| numbers.get(number)), [Some(2), Some(3)]);
    }
}
