// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where variables lie in files whose headers are not understood (HDF5, netCDF-4), from
//! what this run has read of them.
//!
//! Files of one kind and length are laid out alike, so what was read of one tells where
//! things lie in the next, whatever earlier runs have seen. And parts of a variable that
//! were one distance apart for some time go on so. Neither is tried where it does not fit:
//! lengths must agree, and distances must have been the same twice.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use crate::graph::{Content, DataObject, RunVisit, VisitKind, united};
use crate::part::Part;

/// Files whose size differs by no more than this share have the same layout.
const SAME_LAYOUT: f64 = 0.02;
/// Objects that are followed, lengths of files of each, parts of those, and ranges of each.
const MAX_OBJECTS: usize = 4096;
const MAX_LENGTHS: usize = 16;
const MAX_PARTS: usize = 1024;
const MAX_RANGES: usize = 64;
/// Objects of one file whose parts are followed.
const MAX_SERIES: usize = 1 << 14;

/// What this run has learned about layouts.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunLayouts {
    objects: HashMap<DataObject, Vec<LearnedLayout>>,
    /// By object and file.
    series: HashMap<(DataObject, u64), PartSeries>,
}

/// An object in files of one length.
#[derive(Clone, Debug)]
struct LearnedLayout {
    file_bytes: u64,
    /// The file that it was learned from last.
    path_hash: u64,
    parts: BTreeMap<Vec<u64>, Vec<Range<u64>>>,
    /// How far the object reaches.
    shape: Vec<u64>,
}

/// The last parts of an object that were read from a file, the latest last.
#[derive(Clone, Debug, Default)]
struct PartSeries {
    last: Vec<(Vec<u64>, Range<u64>)>,
}

impl RunLayouts {
    /// Learns from a visit that is over; whether it told anything new about files of its
    /// length.
    pub(crate) fn learn(&mut self, visit: &RunVisit) -> bool {
        let is_told = visit.shape.is_some() || visit.object.content == Content::Bytes;
        let is_read = visit.kind == VisitKind::Read && !visit.extents.is_empty();
        if is_told || !is_read || visit.file_bytes == 0 {
            return false;
        }
        self.follow(visit);
        if self.objects.len() >= MAX_OBJECTS && !self.objects.contains_key(&visit.object) {
            return false;
        }
        let layouts = self.objects.entry(visit.object.clone()).or_default();
        let place = layouts.iter().position(|layout| layout.file_bytes == visit.file_bytes);
        let place = match place {
            Some(place) => place,
            None if layouts.len() >= MAX_LENGTHS => return false,
            None => {
                layouts.push(LearnedLayout {
                    file_bytes: visit.file_bytes,
                    path_hash: visit.path_hash,
                    parts: BTreeMap::new(),
                    shape: Vec::new(),
                });
                layouts.len() - 1
            }
        };
        let layout = &mut layouts[place];
        layout.path_hash = visit.path_hash;
        visit.part.widen(&mut layout.shape);
        let is_new = !layout.parts.contains_key(&visit.part.starts);
        if is_new && layout.parts.len() >= MAX_PARTS {
            return false;
        }
        let known = layout.parts.entry(visit.part.starts.clone()).or_default();
        // Caches of libraries hide repeats, so that one visit may show less than another.
        known.extend(visit.extents.iter().cloned());
        *known = united(std::mem::take(known), MAX_RANGES);
        is_new
    }

    fn follow(&mut self, visit: &RunVisit) {
        let key = (visit.object.clone(), visit.path_hash);
        if self.series.len() >= MAX_SERIES && !self.series.contains_key(&key) {
            return;
        }
        let series = self.series.entry(key).or_default();
        match visit.extents.as_slice() {
            [one] if !visit.part.is_unbounded() => {
                if series.last.len() == 3 {
                    series.last.remove(0);
                }
                series.last.push((visit.part.starts.clone(), one.clone()));
            }
            // What came in several places follows no simple rule.
            _ => series.last.clear(),
        }
    }

    /// The bytes of a part of an object in a file of this length, as far as this run tells.
    pub(crate) fn extents(
        &self,
        object: &DataObject,
        (path_hash, file_bytes): (u64, u64),
        part: &Part,
    ) -> Option<Vec<Range<u64>>> {
        let known = self.layout(object, file_bytes).and_then(|layout| match part.is_unbounded() {
            true => {
                let all = layout.parts.values().flatten().cloned();
                Some(united(all.collect(), usize::MAX))
            }
            false => layout.parts.get(&part.starts).cloned(),
        });
        known.or_else(|| self.series.get(&(object.clone(), path_hash))?.at(part, file_bytes))
    }

    /// How far an object reaches in a file of this length, if another one of that length
    /// was read.
    pub(crate) fn shape(
        &self,
        object: &DataObject,
        (path_hash, file_bytes): (u64, u64),
    ) -> Option<&[u64]> {
        let layout = self.layout(object, file_bytes)?;
        // Of the file that is being read it is not known how much is left.
        (layout.path_hash != path_hash && !layout.shape.is_empty()).then_some(&*layout.shape)
    }

    fn layout(&self, object: &DataObject, file_bytes: u64) -> Option<&LearnedLayout> {
        let layouts = self.objects.get(object)?.iter();
        layouts
            .filter(|layout| is_same_layout(file_bytes, layout.file_bytes))
            .min_by_key(|layout| layout.file_bytes.abs_diff(file_bytes))
    }
}

impl PartSeries {
    /// The bytes of a part further along the same way.
    fn at(&self, part: &Part, file_bytes: u64) -> Option<Vec<Range<u64>>> {
        let [(a, first), (b, second), (c, third)] = self.last.as_slice() else { return None };
        let (step, moved) = (step(a, b)?, step(b, c)?);
        let length = third.end - third.start;
        let distance = third.start.checked_sub(second.start)?;
        let is_even = step == moved
            && second.start.checked_sub(first.start)? == distance
            && [first, second].iter().all(|range| range.end - range.start == length);
        // How many such steps it is away: parts behind are known, or lie elsewhere.
        let (dimension, by) = step;
        let ahead = part.starts.get(dimension)?.checked_sub(c[dimension])?;
        let mut expected = c.clone();
        expected[dimension] += ahead;
        if !is_even || ahead % by != 0 || expected != part.starts {
            return None;
        }
        let start = third.start.checked_add(distance.checked_mul(ahead / by)?)?;
        let range = start..start.checked_add(length)?;
        (range.end <= file_bytes).then(|| std::iter::once(range).collect())
    }
}

/// The one dimension along which `to` is further than `from`, and how far.
fn step(from: &[u64], to: &[u64]) -> Option<(usize, u64)> {
    let mut moved = (0..from.len().max(to.len())).filter(|d| from.get(*d) != to.get(*d));
    let (dimension, None) = (moved.next()?, moved.next()) else { return None };
    let by = to.get(dimension)?.checked_sub(*from.get(dimension)?)?;
    (by > 0).then_some((dimension, by))
}

/// Whether a file is as long as one that was learned from, or nearly.
pub(crate) fn is_same_layout(bytes: u64, learned: u64) -> bool {
    let difference = bytes.abs_diff(learned) as f64;
    learned > 0 && difference <= SAME_LAYOUT * learned as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::FileRole;

    const FILE_BYTES: u64 = 100_000;

    fn object() -> DataObject {
        DataObject { role: FileRole::Input, content: Content::Variable("t".into()) }
    }

    fn part(record: u64) -> Part {
        Part { starts: vec![record, 0], counts: vec![1, 10], strides: vec![] }
    }

    fn visit(path_hash: u64, record: u64, extent: Range<u64>) -> RunVisit {
        RunVisit {
            object: object(),
            kind: VisitKind::Read,
            index: 0,
            is_last_file: false,
            path_hash,
            part: part(record),
            shape: None,
            file_bytes: FILE_BYTES,
            bytes: 100,
            extents: [extent].into(),
            start_ns: 0,
            end_ns: 1,
        }
    }

    fn one(range: Range<u64>) -> Option<Vec<Range<u64>>> {
        Some(vec![range])
    }

    /// Three records, each a thousand bytes behind the one before.
    fn three(distances: [u64; 2]) -> RunLayouts {
        let mut layouts = RunLayouts::default();
        let mut start = 500;
        for (record, distance) in (0..).zip([0, distances[0], distances[1]]) {
            start += distance;
            assert!(layouts.learn(&visit(1, record, start..start + 100)));
        }
        layouts
    }

    #[test]
    fn a_second_file_of_the_same_length_lies_like_the_first() {
        let layouts = three([1000, 3000]);
        let at = |bytes, record| layouts.extents(&object(), (2, bytes), &part(record));
        assert_eq!(at(FILE_BYTES, 1), one(1500..1600));
        assert_eq!(at(FILE_BYTES, 3), None);
        assert_eq!(at(2 * FILE_BYTES, 1), None);
        let whole = layouts.extents(&object(), (2, FILE_BYTES), &Part::default());
        assert_eq!(whole, Some(vec![500..600, 1500..1600, 4500..4600]));
        assert_eq!(layouts.shape(&object(), (2, FILE_BYTES)), Some(&[3, 10][..]));
        assert_eq!(layouts.shape(&object(), (1, FILE_BYTES)), None);
    }

    #[test]
    fn even_distances_go_on_to_the_end_of_the_file_and_others_do_not() {
        let at = |layouts: &RunLayouts, path, record| {
            layouts.extents(&object(), (path, FILE_BYTES), &part(record))
        };
        let even = three([1000, 1000]);
        assert_eq!(at(&even, 1, 3), one(3500..3600));
        assert_eq!(at(&even, 1, 99), one(99_500..99_600));
        assert_eq!(at(&even, 1, 100), None, "beyond the end");
        assert_eq!(at(&even, 2, 3), None, "another file");
        assert_eq!(at(&three([1000, 1500]), 1, 3), None);
        let mut elsewhere = part(3);
        elsewhere.starts[1] = 5;
        assert_eq!(even.extents(&object(), (1, FILE_BYTES), &elsewhere), None);
    }

    #[test]
    fn what_headers_tell_and_what_is_written_is_not_learned() {
        let mut layouts = RunLayouts::default();
        let told = RunVisit { shape: Some(vec![3, 10]), ..visit(1, 0, 0..10) };
        let written = RunVisit { kind: VisitKind::Write, ..visit(1, 0, 0..10) };
        let unknown = RunVisit { file_bytes: 0, ..visit(1, 0, 0..10) };
        assert!(![told, written, unknown].iter().any(|visit| layouts.learn(visit)));
        assert_eq!(layouts.extents(&object(), (1, FILE_BYTES), &part(0)), None);
    }
}
