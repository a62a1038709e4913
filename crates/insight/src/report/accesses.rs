// SPDX-License-Identifier: MIT OR Apache-2.0

//! How files are accessed: sizes, offsets over time, and whether an access continues
//! where the last one ended.

use std::collections::HashMap;

use ioracle_events::{FastMap, FileId, Operation, StreamId};
use serde::Serialize;

use super::bins::FlowDirection;
use crate::file_groups::FileGroups;
use crate::summarise::in_seconds;

/// Sizes are counted by powers of two, up to 2^47 bytes.
const SIZES: usize = 48;
/// Files that are looked at, and threads in files.
const MAX_FILES: usize = 1 << 12;
const MAX_PLACES: usize = 1 << 16;
/// Accesses that are kept one by one, of the first files and of those that follow;
/// and those of a group that are shown.
const MAX_POINTS: [usize; 2] = [4096, 256];
const FIRST_FILES: usize = 64;
const MAX_SHOWN_POINTS: usize = 2048;
/// Groups that have accesses shown one by one.
const MAX_SHOWN_GROUPS: usize = 32;

/// Takes operations in.
#[derive(Debug, Default)]
pub struct AccessTally {
    files: FastMap<FileId, FileAccesses>,
    places: FastMap<(StreamId, FileId, FlowDirection), LastAccess>,
}

#[derive(Debug, Default)]
struct FileAccesses {
    read: DirectionAccesses,
    written: DirectionAccesses,
    points: Points,
}

/// One direction of data.
#[derive(Debug, Default, Clone)]
struct DirectionAccesses {
    sizes: Vec<u64>,
    sequential: u64,
    strided: u64,
    random: u64,
}

#[derive(Clone, Copy, Debug)]
struct LastAccess {
    offset: u64,
    end: u64,
    distance: Option<i64>,
}

/// Every n-th access, so that a few represent all.
#[derive(Debug, Default)]
struct Points {
    limit: usize,
    kept: Vec<Point>,
    n_seen: u64,
    /// Each represents 2 to the power of this many accesses.
    thinned: u32,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    at_ns: u64,
    offset: u64,
    size: u64,
    way: FlowDirection,
}

/// How a group of files is accessed.
#[derive(Debug, Default, Serialize)]
pub struct GroupAccesses {
    /// Its reads.
    pub read: AccessShape,
    /// Its writes.
    pub written: AccessShape,
    /// Some of the accesses: seconds, offset, bytes, and 1 for a write.
    pub points: Vec<(f64, u64, u64, u8)>,
}

/// Sizes and order of the accesses of a group.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AccessShape {
    /// How many have a size from 2^n on, and less than 2^(n+1); 0 bytes are with 1.
    pub sizes: Vec<u64>,
    /// Accesses that begin where the last one of the thread ended.
    pub sequential: u64,
    /// Accesses as far from the last one as that was from the one before.
    pub strided: u64,
    /// All others.
    pub random: u64,
}

impl AccessTally {
    /// Takes an operation in.
    pub fn add(&mut self, stream: StreamId, operation: &Operation, start_ns: u64) {
        let Some(way) = FlowDirection::of(operation.access()) else { return };
        if self.files.len() >= MAX_FILES && !self.files.contains_key(&operation.file) {
            return;
        }
        let limit = MAX_POINTS[usize::from(self.files.len() >= FIRST_FILES)];
        let file = self.files.entry(operation.file).or_insert_with(|| FileAccesses::new(limit));
        let accesses = match way {
            FlowDirection::Read => &mut file.read,
            FlowDirection::Written => &mut file.written,
        };
        accesses.add_size(operation.size);
        let Some(offset) = operation.offset else { return };
        if self.places.len() >= MAX_PLACES {
            self.places.clear();
        }
        let last = self.places.get(&(stream, operation.file, way)).copied();
        let distance = last.map(|last| offset.wrapping_sub(last.offset) as i64);
        match last {
            None => accesses.sequential += 1,
            Some(last) if last.end == offset => accesses.sequential += 1,
            Some(last) if distance == last.distance => accesses.strided += 1,
            Some(_) => accesses.random += 1,
        }
        let end = offset.saturating_add(operation.size);
        self.places.insert((stream, operation.file, way), LastAccess { offset, end, distance });
        file.points.add(Point { at_ns: start_ns, offset, size: operation.size, way });
    }

    /// Puts files together by group; only the first groups get points.
    pub fn finish(&self, groups: &FileGroups) -> Vec<GroupAccesses> {
        let mut found: Vec<GroupAccesses> = Vec::new();
        found.resize_with(groups.groups.len(), GroupAccesses::default);
        let mut files: Vec<(&FileId, &FileAccesses)> = self.files.iter().collect();
        files.sort_by_key(|(id, _)| **id);
        let mut points: HashMap<usize, Vec<Point>> = HashMap::new();
        for (id, file) in files {
            let Some(place) = groups.place_of(*id) else { continue };
            let Some(group) = found.get_mut(place) else { continue };
            file.read.join_into(&mut group.read);
            file.written.join_into(&mut group.written);
            if place < MAX_SHOWN_GROUPS {
                points.entry(place).or_default().extend(&file.points.kept);
            }
        }
        for (place, mut points) in points {
            points.sort_by_key(|point| (point.at_ns, point.offset));
            let step = points.len().div_ceil(MAX_SHOWN_POINTS).max(1);
            let shown = points.into_iter().step_by(step).map(Point::shown);
            found[place].points = shown.collect();
        }
        found
    }
}

impl FileAccesses {
    fn new(limit: usize) -> FileAccesses {
        let points = Points { limit, ..Points::default() };
        FileAccesses { points, ..FileAccesses::default() }
    }
}

impl DirectionAccesses {
    fn add_size(&mut self, size: u64) {
        let bin = (size.max(1).ilog2() as usize).min(SIZES - 1);
        if self.sizes.len() <= bin {
            self.sizes.resize(bin + 1, 0);
        }
        self.sizes[bin] += 1;
    }

    fn join_into(&self, sum: &mut AccessShape) {
        if sum.sizes.len() < self.sizes.len() {
            sum.sizes.resize(self.sizes.len(), 0);
        }
        sum.sizes.iter_mut().zip(&self.sizes).for_each(|(sum, n)| *sum += n);
        sum.sequential += self.sequential;
        sum.strided += self.strided;
        sum.random += self.random;
    }
}

impl Points {
    fn add(&mut self, point: Point) {
        let is_kept = self.n_seen.trailing_zeros() >= self.thinned;
        self.n_seen += 1;
        if !is_kept {
            return;
        }
        if self.kept.len() >= self.limit {
            let mut n = 0;
            self.kept.retain(|_| {
                n += 1;
                n % 2 == 1
            });
            self.thinned += 1;
            if (self.n_seen - 1).trailing_zeros() < self.thinned {
                return;
            }
        }
        self.kept.push(point);
    }
}

impl Point {
    fn shown(self) -> (f64, u64, u64, u8) {
        (
            in_seconds(self.at_ns),
            self.offset,
            self.size,
            u8::from(self.way == FlowDirection::Written),
        )
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::Event;

    use super::*;
    use crate::tally::tests::event;

    fn shape(offsets: &[u64]) -> (u64, u64, u64) {
        let mut tally = AccessTally::default();
        for &offset in offsets {
            let event: Event = event("pread", 1, Some((offset, 100)));
            tally.add(event.stream, &Operation::from(&event), event.start_ns);
        }
        let read = &tally.files[&FileId(1)].read;
        (read.sequential, read.strided, read.random)
    }

    #[test]
    fn steady_strides_are_told_from_jumps() {
        assert_eq!(shape(&[0, 100, 200]), (3, 0, 0));
        assert_eq!(shape(&[0, 1000, 2000, 3000]), (1, 2, 1));
        assert_eq!(shape(&[0, 700, 200, 9000]), (1, 0, 3));
    }

    #[test]
    fn points_are_thinned_evenly() {
        let mut points = Points { limit: 512, ..Points::default() };
        for n in 0..100_000 {
            points.add(Point { at_ns: n, offset: n, size: 1, way: FlowDirection::Read });
        }
        let kept = &points.kept;
        assert!((256..=512).contains(&kept.len()), "{}", kept.len());
        let step = kept[1].at_ns - kept[0].at_ns;
        assert!(kept.windows(2).all(|pair| pair[1].at_ns - pair[0].at_ns == step));
    }

    #[test]
    fn sizes_are_counted_by_powers_of_two() {
        let mut accesses = DirectionAccesses::default();
        [0, 1, 2, 3, 4096, u64::MAX].into_iter().for_each(|size| accesses.add_size(size));
        assert_eq!((accesses.sizes[0], accesses.sizes[1], accesses.sizes[12]), (2, 2, 1));
        assert_eq!(accesses.sizes.len(), SIZES);
    }
}
