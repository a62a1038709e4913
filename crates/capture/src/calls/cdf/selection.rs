// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which part of a variable a call accesses, from the arrays that the program passed.
//! They are read only after the library has accepted them.

use ioracle_spool::selection::{MAX_DIMENSIONS, Selection, SelectionPart};

/// A number per dimension: size_t, ptrdiff_t and MPI_Offset are alike.
pub(in crate::calls) type Numbers = *const i64;

/// Such numbers for each of several parts or variables.
pub(in crate::calls) type Arrays = *const Numbers;

/// How far a selection reaches.
#[derive(Clone, Copy)]
enum Extent {
    /// All of the variable.
    Whole,
    /// One item.
    One,
    /// As its counts say; where there are none, from the start to the end.
    Counted,
    /// Several parts, by as many starts and counts.
    Parts { n_parts: usize, starts: Arrays, counts: Arrays },
    /// Known only to the library.
    Untold,
}

/// What a program chose; null where it said nothing.
#[derive(Clone, Copy)]
pub(in crate::calls) struct Chosen {
    extent: Extent,
    start: Numbers,
    count: Numbers,
    stride: Numbers,
    imap: Numbers,
}

const NOTHING: Numbers = core::ptr::null();

impl Chosen {
    /// All of the variable.
    pub(in crate::calls) fn whole() -> Chosen {
        Chosen::from(Extent::Whole, NOTHING)
    }

    /// One item.
    pub(in crate::calls) fn one(start: Numbers) -> Chosen {
        Chosen::from(Extent::One, start)
    }

    /// A count of items from a start.
    pub(in crate::calls) fn counted(start: Numbers, count: Numbers) -> Chosen {
        Chosen { count, ..Chosen::from(Extent::Counted, start) }
    }

    /// With a stride.
    pub(in crate::calls) fn strided(start: Numbers, count: Numbers, stride: Numbers) -> Chosen {
        Chosen { stride, ..Chosen::counted(start, count) }
    }

    /// In another order in memory.
    pub(in crate::calls) fn mapped(
        start: Numbers,
        count: Numbers,
        stride: Numbers,
        imap: Numbers,
    ) -> Chosen {
        Chosen { imap, ..Chosen::strided(start, count, stride) }
    }

    /// Several parts at once. Their arrays are not looked at yet: the library has
    /// not accepted them.
    pub(in crate::calls) fn parts(n_parts: i32, starts: Arrays, counts: Arrays) -> Chosen {
        let n_parts = usize::try_from(n_parts).unwrap_or(0);
        Chosen::from(Extent::Parts { n_parts, starts, counts }, NOTHING)
    }

    /// One of several parts; one item of it where there are no counts.
    fn of_part(starts: Arrays, counts: Arrays, place: usize) -> Chosen {
        let (start, count) = (array(starts, place), array(counts, place));
        if count.is_null() { Chosen::one(start) } else { Chosen::counted(start, count) }
    }

    /// In a way that cannot be described.
    pub(in crate::calls) fn undescribed() -> Chosen {
        Chosen::from(Extent::Untold, NOTHING)
    }

    fn from(extent: Extent, start: Numbers) -> Chosen {
        Chosen { extent, start, count: NOTHING, stride: NOTHING, imap: NOTHING }
    }

    /// Whether the variable's shape is part of the answer.
    pub(super) fn needs_shape(&self) -> bool {
        match self.extent {
            Extent::Whole => true,
            Extent::Counted => self.count.is_null(),
            Extent::One | Extent::Parts { .. } | Extent::Untold => false,
        }
    }

    /// Items that are selected.
    pub(super) fn n_items(&self, n_dims: usize, shape: Option<&[i64; MAX_DIMENSIONS]>) -> u64 {
        match self.extent {
            Extent::Untold => 0,
            Extent::Parts { n_parts, starts, counts } => (0..n_parts)
                .map(|part| Chosen::of_part(starts, counts, part).n_counted(n_dims, None))
                .fold(0, u64::saturating_add),
            Extent::Whole | Extent::One | Extent::Counted => self.n_counted(n_dims, shape),
        }
    }

    fn n_counted(&self, n_dims: usize, shape: Option<&[i64; MAX_DIMENSIONS]>) -> u64 {
        (0..n_dims)
            .map(|dimension| self.count_at(dimension, shape).max(0) as u64)
            .fold(1, u64::saturating_mul)
    }

    /// The selection as it is recorded: it has start and count, of several parts
    /// where the first one starts.
    pub(super) fn selection(
        &self,
        n_dims: usize,
        shape: Option<&[i64; MAX_DIMENSIONS]>,
    ) -> Option<Selection> {
        if let Extent::Parts { n_parts: 1, starts, counts } = self.extent {
            return Chosen::of_part(starts, counts, 0).selection(n_dims, shape);
        }
        let mut selection = Selection::new(n_dims);
        match self.extent {
            Extent::Parts { n_parts: 1.., starts, .. } => {
                let start = array(starts, 0);
                selection
                    .set(SelectionPart::Start, |dimension| number(start, dimension).unwrap_or(0));
                return Some(selection);
            }
            Extent::Parts { .. } | Extent::Untold => return None,
            _ if self.needs_shape() && shape.is_none() => return None,
            Extent::Whole | Extent::One | Extent::Counted => {}
        }
        selection.set(SelectionPart::Start, |dimension| number(self.start, dimension).unwrap_or(0));
        selection.set(SelectionPart::Count, |dimension| self.count_at(dimension, shape));
        for (part, numbers) in
            [(SelectionPart::Stride, self.stride), (SelectionPart::Imap, self.imap)]
        {
            if !numbers.is_null() {
                selection.set(part, |dimension| number(numbers, dimension).unwrap_or(0));
            }
        }
        Some(selection)
    }

    fn count_at(&self, dimension: usize, shape: Option<&[i64; MAX_DIMENSIONS]>) -> i64 {
        if matches!(self.extent, Extent::One) {
            return 1;
        }
        if let Some(count) = number(self.count, dimension) {
            return count;
        }
        let Some(&length) = shape.and_then(|shape| shape.get(dimension)) else { return 0 };
        let left = length.saturating_sub(number(self.start, dimension).unwrap_or(0));
        let stride = number(self.stride, dimension).unwrap_or(1).max(1);
        left.saturating_add(stride - 1) / stride
    }
}

/// One of several arrays; null where there are none.
pub(in crate::calls) fn array(arrays: Arrays, place: usize) -> Numbers {
    // SAFETY: null, or an array of the program's that the library has just read.
    if arrays.is_null() { NOTHING } else { unsafe { *arrays.add(place) } }
}

fn number(numbers: Numbers, dimension: usize) -> Option<i64> {
    // SAFETY: null, or an array of the program's with a number per dimension,
    // which the library has just read.
    (!numbers.is_null()).then(|| unsafe { *numbers.add(dimension) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(chosen: Chosen, shape: Option<[i64; 2]>, items: u64, parts: [Option<[i64; 2]>; 4]) {
        let shape = shape.map(|shape| {
            let mut all = [0; MAX_DIMENSIONS];
            all[..2].copy_from_slice(&shape);
            all
        });
        assert_eq!(chosen.n_items(2, shape.as_ref()), items);
        let selection = chosen.selection(2, shape.as_ref());
        let found = [
            SelectionPart::Start,
            SelectionPart::Count,
            SelectionPart::Stride,
            SelectionPart::Imap,
        ]
        .map(|part| {
            let numbers = selection.as_ref().and_then(|selection| selection.get(part));
            numbers.map(|numbers| [numbers[0], numbers[1]])
        });
        assert_eq!(found, parts);
    }

    #[test]
    fn every_form_has_its_start_and_count() {
        let (start, count, stride, imap) = ([1, 2], [3, 4], [1, 2], [1, 3]);
        let [s, c, t, i] = [&start, &count, &stride, &imap].map(|numbers| numbers.as_ptr());
        let [start, count, stride, imap] = [start, count, stride, imap].map(Some);
        check(Chosen::whole(), Some([5, 6]), 30, [Some([0, 0]), Some([5, 6]), None, None]);
        check(Chosen::one(s), None, 1, [start, Some([1, 1]), None, None]);
        check(Chosen::counted(s, c), None, 12, [start, count, None, None]);
        check(Chosen::strided(s, c, t), None, 12, [start, count, stride, None]);
        check(Chosen::mapped(s, c, t, i), None, 12, [start, count, stride, imap]);
        check(Chosen::strided(s, c, NOTHING), None, 12, [start, count, None, None]);
        check(Chosen::undescribed(), Some([5, 6]), 0, [None; 4]);
    }

    #[test]
    fn several_parts_are_described_by_their_start_and_all_their_items() {
        let (start, count) = ([1, 2], [3, 4]);
        let starts = [start.as_ptr(); 3];
        let counts = [count.as_ptr(), NOTHING, count.as_ptr()];
        let expected = [Some(start), None, None, None];
        check(Chosen::parts(3, starts.as_ptr(), counts.as_ptr()), None, 25, expected);
        check(Chosen::parts(2, starts.as_ptr(), core::ptr::null()), None, 2, expected);
        let expected = [Some(start), Some(count), None, None];
        check(Chosen::parts(1, starts.as_ptr(), counts.as_ptr()), None, 12, expected);
        check(Chosen::parts(0, starts.as_ptr(), counts.as_ptr()), None, 0, [None; 4]);
    }

    /// netCDF takes a null count to mean everything after the start.
    #[test]
    fn without_counts_it_reaches_to_the_end() {
        let (start, stride) = ([1, 2], [1, 3]);
        let chosen = Chosen::strided(start.as_ptr(), NOTHING, stride.as_ptr());
        let expected = [Some(start), Some([4, 2]), Some(stride), None];
        check(chosen, Some([5, 8]), 8, expected);
        // Where the library does not know the shape, nothing is recorded.
        check(Chosen::whole(), None, 0, [None; 4]);
    }
}
