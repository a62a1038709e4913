// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which part of a dataset a read or write accesses, and how much.
//!
//! Selections are recorded in their simplest form, because HDF5 reports the same one
//! in several: blocks that touch are one block, and a single block is a count of
//! items. What is not regular is recorded as its bounding box; how much of the box
//! is selected follows from the size.

use ioracle_spool::selection::{Selection, SelectionPart};

use super::functions::{Hdf5, Id};
use super::handles::KnownHandle;
use super::questions::{Extents, Hyperslab, MAX_RANK, Selecting};
use super::record::When;

/// `H5S_ALL`, and the last of the numbers that stand for no dataspace
/// (`H5S_BLOCK`, `H5S_PLIST`).
const ALL: Id = 0;
const LAST_SPECIAL: Id = 2;

/// What a read or write was asked for, by identifiers that it has accepted.
#[derive(Clone, Copy)]
pub(super) struct Asked {
    pub(super) dataset: Id,
    pub(super) memory_type: Id,
    pub(super) memory_space: Id,
    pub(super) file_space: Id,
    pub(super) when: When,
}

/// The same for many datasets: lists of `count` identifiers each, which versions
/// that have such calls keep in 64 bits.
#[derive(Clone, Copy)]
pub(super) struct Lists {
    pub(super) count: usize,
    pub(super) datasets: *const Id,
    pub(super) memory_types: *const Id,
    pub(super) memory_spaces: *const Id,
    pub(super) file_spaces: *const Id,
    pub(super) when: When,
}

impl Lists {
    /// The datasets of a call that has failed, as far as their list can be read; HDF5
    /// may not have read it.
    pub(super) fn datasets_after_failure(&self, mut visit: impl FnMut(Id)) {
        const MOST: usize = 1024;
        for place in 0..self.count.min(MOST) {
            let mut id = [0; size_of::<Id>()];
            let address = self.datasets.wrapping_add(place) as usize;
            if crate::sys::copy_memory(address, &mut id) != Ok(id.len()) {
                return;
            }
            visit(Id::from_ne_bytes(id));
        }
    }

    /// What was requested of one dataset.
    ///
    /// # Safety
    ///
    /// All lists have more than `place` identifiers.
    pub(super) unsafe fn at(&self, place: usize) -> Asked {
        // SAFETY: as the caller says.
        unsafe {
            Asked {
                dataset: *self.datasets.add(place),
                memory_type: *self.memory_types.add(place),
                memory_space: *self.memory_spaces.add(place),
                file_space: *self.file_spaces.add(place),
                when: self.when,
            }
        }
    }
}

impl Asked {
    /// Whether it names all of the dataset, not a part.
    pub(super) fn is_for_all(self) -> bool {
        self.file_space == ALL
    }

    /// As a copy of the library reads its arguments.
    pub(super) fn in_version(self, hdf5: Hdf5) -> Asked {
        Asked {
            dataset: hdf5.id(self.dataset),
            memory_type: hdf5.id(self.memory_type),
            memory_space: hdf5.id(self.memory_space),
            file_space: hdf5.id(self.file_space),
            when: self.when,
        }
    }
}

/// Describes the part of a dataset, and returns its bytes: items times their size in
/// memory.
#[inline(never)]
pub(super) fn describe(hdf5: Hdf5, asked: Asked, known: &KnownHandle, part: &mut Selection) -> u64 {
    let space = asked.file_space;
    let mut points = match space {
        ALL => tell_all(hdf5, asked, known, part),
        _ if space <= LAST_SPECIAL => None,
        _ => {
            let points = hdf5.selected_points(space);
            tell_space(hdf5, space, points.unwrap_or(0), part);
            points
        }
    };
    if asked.memory_space > LAST_SPECIAL && points.is_none() {
        points = hdf5.selected_points(asked.memory_space);
    }
    // Chunks that are written as they are have no type in some versions.
    let item = if asked.memory_type > 0 { hdf5.type_size(asked.memory_type) } else { None };
    points.unwrap_or(0).saturating_mul(item.unwrap_or(0))
}

fn tell_all(hdf5: Hdf5, asked: Asked, known: &KnownHandle, part: &mut Selection) -> Option<u64> {
    let (rank, extents) = match known.extent() {
        // More dimensions than are kept.
        None if asked.when == When::Now => hdf5.extent_of_dataset(asked.dataset)?,
        extent => extent?,
    };
    tell_box(part, rank, &NOTHING, &extents);
    Some(extents.iter().take(rank).fold(1, |points: u64, it| points.saturating_mul(*it)))
}

/// Lengths of dimensions alone.
pub(super) fn lengths(rank: usize, extents: &Extents) -> Selection {
    let mut selection = Selection::new(rank);
    set(&mut selection, SelectionPart::Count, extents);
    selection
}

/// In each dimension where it starts and how many items it has.
fn tell_box(part: &mut Selection, rank: usize, start: &Extents, counts: &Extents) {
    part.clear(rank);
    set(part, SelectionPart::Start, start);
    set(part, SelectionPart::Count, counts);
}

static NOTHING: Extents = [0; MAX_RANK];

fn tell_space(hdf5: Hdf5, space: Id, points: u64, part: &mut Selection) -> Option<()> {
    let rank = hdf5.rank(space)?;
    let selecting = hdf5.selecting(space)?;
    if selecting == Selecting::All {
        let (rank, extents) = hdf5.extent(space)?;
        tell_box(part, rank, &NOTHING, &extents);
        return Some(());
    }
    if selecting == Selecting::Nothing || points == 0 {
        tell_box(part, rank, &NOTHING, &NOTHING);
        return Some(());
    }
    // A selection may have been moved as a whole, which only its bounds show.
    let (mut first, mut last) = (NOTHING, NOTHING);
    hdf5.bounds(space, &mut first, &mut last)?;
    let mut slab = Hyperslab { start: NOTHING, stride: NOTHING, count: NOTHING, block: NOTHING };
    if selecting == Selecting::Hyperslabs && hdf5.hyperslab(space, &mut slab).is_some() {
        slab.start = first;
        tell_regular(part, rank, &mut slab);
    } else {
        for (last, first) in last.iter_mut().zip(&first).take(rank) {
            *last = last.saturating_sub(*first).saturating_add(1);
        }
        tell_box(part, rank, &first, &last);
    }
    Some(())
}

fn tell_regular(part: &mut Selection, rank: usize, slab: &mut Hyperslab) {
    let blocks = slab.count.iter_mut().zip(slab.block.iter_mut()).zip(slab.stride.iter_mut());
    for ((count, block), stride) in blocks.take(rank) {
        if *count == 1 || *stride == *block {
            *count = count.saturating_mul(*block);
            (*block, *stride) = (1, 1);
        }
    }
    tell_box(part, rank, &slab.start, &slab.count);
    for (kind, numbers) in
        [(SelectionPart::Stride, &slab.stride), (SelectionPart::Block, &slab.block)]
    {
        if numbers.iter().take(rank).any(|&number| number != 1) {
            set(part, kind, numbers);
        }
    }
}

fn set(selection: &mut Selection, part: SelectionPart, numbers: &Extents) {
    selection.set(part, |dimension| numbers.get(dimension).map_or(0, |&number| number as i64));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(slab: [[u64; 4]; 2], expected: [Option<[i64; 2]>; 4]) {
        let extents = |place: usize| {
            let mut extents = [0; MAX_RANK];
            extents[0] = slab[0][place];
            extents[1] = slab[1][place];
            extents
        };
        let [start, stride, count, block] = [0, 1, 2, 3].map(extents);
        let mut selection = Selection::new(0);
        tell_regular(&mut selection, 2, &mut Hyperslab { start, stride, count, block });
        for (part, expected) in [
            SelectionPart::Start,
            SelectionPart::Count,
            SelectionPart::Stride,
            SelectionPart::Block,
        ]
        .into_iter()
        .zip(expected)
        {
            assert_eq!(selection.get(part), expected.as_ref().map(|it| it.as_slice()), "{part:?}");
        }
    }

    #[test]
    fn the_same_selection_is_told_in_one_way() {
        let [one, two] = [[5, 1, 10, 1], [7, 1, 3, 1]];
        let plain = [Some([5, 7]), Some([10, 3]), None, None];
        check([one, two], plain);
        // One block of many items, and blocks that touch.
        check([[5, 99, 1, 10], [7, 1, 1, 3]], plain);
        check([[5, 5, 2, 5], [7, 3, 1, 3]], plain);
        check([[0, 4, 10, 1], two], [Some([0, 7]), Some([10, 3]), Some([4, 1]), None]);
        check([[0, 4, 10, 2], two], [Some([0, 7]), Some([10, 3]), Some([4, 1]), Some([2, 1])]);
    }
}
