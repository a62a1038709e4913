// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which part of an object a call is about: a dataset's or variable's start,
//! count, stride and so on, a number per dimension each.
//!
//! A selection lies in records of its own before its call's, with the call's number
//! ([`Call::began`]). So it only takes room in the ring: a program whose every step
//! selects another part defines nothing that stays.

use crate::layout::Call;

/// Maximum number of dimensions; selections of objects with more are not recorded.
pub const MAX_DIMENSIONS: usize = 32;

/// Replaces the function in records that hold a selection.
pub const CONTINUATION: u16 = u16::MAX;

/// Numbers in a record.
const WORDS: usize = 8;

/// What the numbers of a selection say, in the order in which they are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SelectionPart {
    /// The first element.
    Start = 0,
    /// Elements, or blocks of them.
    Count = 1,
    /// From one element or block to the next.
    Stride = 2,
    /// Elements of a block.
    Block = 3,
    /// Distance in memory between neighbours of the object.
    Imap = 4,
}

impl SelectionPart {
    /// All parts.
    pub const ALL: [SelectionPart; 5] = [
        SelectionPart::Start,
        SelectionPart::Count,
        SelectionPart::Stride,
        SelectionPart::Block,
        SelectionPart::Imap,
    ];
}

/// A selection. It allocates nothing; 1.3 KB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    n_dims: usize,
    /// A bit for each part that was set.
    parts: u8,
    words: [[i64; MAX_DIMENSIONS]; SelectionPart::ALL.len()],
}

impl Selection {
    /// A selection that says nothing yet, of an object of that many dimensions.
    pub const fn new(n_dims: usize) -> Selection {
        let n_dims = if n_dims > MAX_DIMENSIONS { 0 } else { n_dims };
        Selection { n_dims, parts: 0, words: [[0; MAX_DIMENSIONS]; SelectionPart::ALL.len()] }
    }

    /// Makes it one that says nothing yet, without touching the numbers.
    pub fn clear(&mut self, n_dims: usize) {
        self.n_dims = if n_dims > MAX_DIMENSIONS { 0 } else { n_dims };
        self.parts = 0;
    }

    /// Sets a part, number by number.
    pub fn set(&mut self, part: SelectionPart, mut number: impl FnMut(usize) -> i64) {
        self.parts |= 1 << part as u8;
        let n_dims = self.n_dims;
        if let Some(words) = self.words.get_mut(part as usize) {
            for (dimension, word) in words.iter_mut().enumerate().take(n_dims) {
                *word = number(dimension);
            }
        }
    }

    /// The numbers of a part, if it was set.
    pub fn get(&self, part: SelectionPart) -> Option<&[i64]> {
        let is_set = self.n_dims > 0 && self.parts & (1 << part as u8) != 0;
        self.words.get(part as usize)?.get(..self.n_dims).filter(|_| is_set)
    }

    /// The records that describe it; the identity of the call is still missing.
    pub fn records(&self) -> impl Iterator<Item = Call> {
        let n_words = self.set_parts().count() * self.n_dims;
        (0..n_words.div_ceil(WORDS)).map(move |record| {
            let mut words = [0; WORDS];
            let numbers = self.set_parts().filter_map(|part| self.get(part)).flatten();
            for (word, number) in words.iter_mut().zip(numbers.skip(record * WORDS)) {
                *word = *number;
            }
            self.record(record, words)
        })
    }

    /// Takes one of the records in; false if it cannot be one of this selection.
    pub fn take(&mut self, call: &Call) -> bool {
        let (shape, record) = (call.detail & 0xffff, (call.detail >> 16) as usize);
        if call.function != CONTINUATION || shape != self.shape() || self.n_dims == 0 {
            return false;
        }
        let n_parts = self.set_parts().count();
        let words = words_of(call);
        for (place, word) in (record.saturating_mul(WORDS)..).zip(words) {
            let (nth, dimension) = (place / self.n_dims, place % self.n_dims);
            if nth >= n_parts {
                break;
            }
            let part = self.set_parts().nth(nth);
            if let Some(numbers) = part.and_then(|part| self.words.get_mut(part as usize))
                && let Some(number) = numbers.get_mut(dimension)
            {
                *number = word;
            }
        }
        true
    }

    /// A selection of the shape that a record gives, with its numbers.
    pub fn begin(call: &Call) -> Option<Selection> {
        let mut selection = Selection::new((call.detail & 0xff) as usize);
        selection.parts = (call.detail >> 8) as u8 & ((1 << SelectionPart::ALL.len()) - 1);
        selection.take(call).then_some(selection)
    }

    fn set_parts(&self) -> impl Iterator<Item = SelectionPart> + use<> {
        let parts = self.parts;
        SelectionPart::ALL.into_iter().filter(move |part| parts & (1 << *part as u8) != 0)
    }

    fn shape(&self) -> u32 {
        self.n_dims as u32 | u32::from(self.parts) << 8
    }

    fn record(&self, record: usize, words: [i64; WORDS]) -> Call {
        let [context, file, object, offset, requested, result, start_ns, end_ns] = words;
        Call {
            context: context as u64,
            file: file as u64,
            object: object as u64,
            offset,
            requested: requested as u64,
            result,
            start_ns: start_ns as u64,
            end_ns: end_ns as u64,
            detail: self.shape() | (record as u32) << 16,
            function: CONTINUATION,
            ..Call::default()
        }
    }
}

fn words_of(call: &Call) -> [i64; WORDS] {
    let Call { context, file, object, offset, requested, result, start_ns, end_ns, .. } = *call;
    let (context, file, object) = (context as i64, file as i64, object as i64);
    [context, file, object, offset, requested as i64, result, start_ns as i64, end_ns as i64]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_back(selection: &Selection) -> Option<Selection> {
        let mut records = selection.records();
        let mut read = Selection::begin(&records.next()?)?;
        for record in records {
            assert!(read.take(&record));
        }
        Some(read)
    }

    #[test]
    fn what_is_told_in_records_is_read_back() {
        for n_dims in 1..=MAX_DIMENSIONS {
            for parts in 1..1 << SelectionPart::ALL.len() {
                let mut selection = Selection::new(n_dims);
                for part in
                    SelectionPart::ALL.into_iter().filter(|part| parts & 1 << *part as u8 != 0)
                {
                    let base = (part as i64 + 1) * if n_dims % 2 == 0 { 1000 } else { -1000 };
                    selection.set(part, |dimension| base + dimension as i64);
                }
                assert_eq!(read_back(&selection).as_ref(), Some(&selection));
            }
        }
    }

    #[test]
    fn start_and_count_of_four_dimensions_fit_into_one_record() {
        let mut selection = Selection::new(4);
        selection.set(SelectionPart::Start, |dimension| dimension as i64);
        selection.set(SelectionPart::Count, |_| 10);
        assert_eq!(selection.records().count(), 1);
        assert_eq!(selection.get(SelectionPart::Start), Some([0, 1, 2, 3].as_slice()));
        assert_eq!(selection.get(SelectionPart::Stride), None);
    }

    #[test]
    fn what_was_cleared_says_nothing_of_before() {
        let mut selection = Selection::new(4);
        selection.set(SelectionPart::Stride, |_| 9);
        selection.clear(2);
        assert_eq!(selection.records().count(), 0);
        selection.set(SelectionPart::Count, |_| 3);
        assert_eq!(selection.get(SelectionPart::Count), Some([3, 3].as_slice()));
        assert_eq!(selection.get(SelectionPart::Stride), None);
        selection.clear(MAX_DIMENSIONS + 1);
        selection.set(SelectionPart::Count, |_| 3);
        assert_eq!(selection.get(SelectionPart::Count), None);
    }

    #[test]
    fn scalars_and_more_dimensions_than_are_told_take_no_record() {
        for n_dims in [0, MAX_DIMENSIONS + 1, usize::MAX] {
            let mut selection = Selection::new(n_dims);
            selection.set(SelectionPart::Start, |_| 7);
            assert_eq!(selection.records().count(), 0);
            assert_eq!(selection.get(SelectionPart::Start), None);
        }
    }

    #[test]
    fn records_of_another_shape_or_none_are_refused() {
        let mut selection = Selection::new(2);
        selection.set(SelectionPart::Start, |_| 7);
        let record = selection.records().next().unwrap();
        let mut other = Selection::new(3);
        other.set(SelectionPart::Start, |_| 7);
        assert!(!other.take(&record));
        assert!(!selection.take(&Call { function: 0, ..record }));
        assert_eq!(Selection::begin(&Call { detail: 0xffff_ffff, ..record }), None);
        // An index beyond the last number is harmless.
        assert!(selection.take(&Call { detail: record.detail | 0xffff_0000, ..record }));
    }
}
