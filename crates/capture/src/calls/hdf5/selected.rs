// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which part of a dataset a read or write is about, and how much.
//!
//! Selections are told in their simplest form, because HDF5 tells the same one
//! in several: blocks that touch are one block, and a single block is a count of
//! items. What is not regular is told as the box around it; how much of the box
//! is selected follows from the size.

use ioracle_spool::selection::{Part, Selection};

use super::copies::{Hdf5, Id};
use super::handles::Known;
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
    /// What was asked of one dataset.
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

/// The part of a dataset, and its bytes: items times their size in memory.
#[inline(never)]
pub(super) fn part_of(hdf5: Hdf5, asked: Asked, known: &Known) -> (Selection, u64) {
    let space = asked.file_space;
    let (selection, mut points) = match space {
        ALL => whole(hdf5, asked, known),
        _ if space <= LAST_SPECIAL => (Selection::new(0), None),
        _ => {
            let points = hdf5.selected_points(space);
            let selection = points.and_then(|points| of_space(hdf5, space, points));
            (selection.unwrap_or(Selection::new(0)), points)
        }
    };
    if asked.memory_space > LAST_SPECIAL && points.is_none() {
        points = hdf5.selected_points(asked.memory_space);
    }
    // Chunks that are written as they are have no type in some versions.
    let item = if asked.memory_type > 0 { hdf5.type_size(asked.memory_type) } else { None };
    (selection, points.unwrap_or(0).saturating_mul(item.unwrap_or(0)))
}

fn whole(hdf5: Hdf5, asked: Asked, known: &Known) -> (Selection, Option<u64>) {
    let extent = match known.extent() {
        // More dimensions than are kept.
        None if asked.when == When::Now => hdf5.extent_of_dataset(asked.dataset),
        extent => extent,
    };
    let Some((rank, extents)) = extent else { return (Selection::new(0), None) };
    let points = extents.iter().take(rank).fold(1, |points: u64, it| points.saturating_mul(*it));
    (at_start(rank, &extents), Some(points))
}

/// Lengths of dimensions alone.
pub(super) fn lengths(rank: usize, extents: &Extents) -> Selection {
    let mut selection = Selection::new(rank);
    set(&mut selection, Part::Count, extents);
    selection
}

/// From the beginning, so many items in each dimension.
fn at_start(rank: usize, counts: &Extents) -> Selection {
    from(rank, &[0; MAX_RANK], counts)
}

fn from(rank: usize, start: &Extents, counts: &Extents) -> Selection {
    let mut selection = Selection::new(rank);
    set(&mut selection, Part::Start, start);
    set(&mut selection, Part::Count, counts);
    selection
}

fn of_space(hdf5: Hdf5, space: Id, points: u64) -> Option<Selection> {
    let (rank, extents) = hdf5.extent(space)?;
    let is_hyperslabs = match hdf5.selecting(space)? {
        Selecting::All => return Some(at_start(rank, &extents)),
        Selecting::Nothing => return Some(at_start(rank, &[0; MAX_RANK])),
        selecting => selecting == Selecting::Hyperslabs,
    };
    if rank == 0 || points == 0 {
        return Some(at_start(rank, &[0; MAX_RANK]));
    }
    // A selection may have been moved as a whole, which only its bounds tell.
    let (first, last) = hdf5.bounds(space)?;
    let slab = if is_hyperslabs { hdf5.hyperslab(space) } else { None };
    Some(match slab {
        Some(slab) => regular(rank, Hyperslab { start: first, ..slab }),
        None => from(rank, &first, &box_of(&first, &last)),
    })
}

fn box_of(first: &Extents, last: &Extents) -> Extents {
    let mut lengths = [0; MAX_RANK];
    for (length, (first, last)) in lengths.iter_mut().zip(first.iter().zip(last)) {
        *length = last.saturating_sub(*first).saturating_add(1);
    }
    lengths
}

fn regular(rank: usize, mut slab: Hyperslab) -> Selection {
    let blocks = slab.count.iter_mut().zip(slab.block.iter_mut()).zip(slab.stride.iter_mut());
    for ((count, block), stride) in blocks.take(rank) {
        if *count == 1 || *stride == *block {
            *count = count.saturating_mul(*block);
            (*block, *stride) = (1, 1);
        }
    }
    let mut selection = from(rank, &slab.start, &slab.count);
    for (part, numbers) in [(Part::Stride, &slab.stride), (Part::Block, &slab.block)] {
        if numbers.iter().take(rank).any(|&number| number != 1) {
            set(&mut selection, part, numbers);
        }
    }
    selection
}

fn set(selection: &mut Selection, part: Part, numbers: &Extents) {
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
        let selection = regular(2, Hyperslab { start, stride, count, block });
        for (part, expected) in
            [Part::Start, Part::Count, Part::Stride, Part::Block].into_iter().zip(expected)
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
