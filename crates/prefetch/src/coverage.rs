// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is known of the bytes of a file: a map from disjoint ranges to values.

use std::collections::BTreeMap;
use std::ops::Range;

/// Ranges that do not overlap, each with a value. Neighbours of equal value are
/// one range, so a file read from its beginning to its end is one entry.
#[derive(Clone, Debug)]
pub struct RangeMap<V> {
    /// Start to end and value.
    ranges: BTreeMap<u64, (u64, V)>,
}

impl<V> Default for RangeMap<V> {
    fn default() -> RangeMap<V> {
        RangeMap { ranges: BTreeMap::new() }
    }
}

impl<V: Copy + PartialEq> RangeMap<V> {
    /// Number of ranges.
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Gives a range a value, whatever it had before.
    pub fn insert(&mut self, range: Range<u64>, value: V) {
        if range.is_empty() {
            return;
        }
        self.cut_out(range.clone());
        let Range { mut start, mut end } = range;
        if let Some((&before, &(its_end, its_value))) = self.ranges.range(..start).next_back()
            && its_end == start
            && its_value == value
        {
            start = before;
        }
        if let Some(&(its_end, its_value)) = self.ranges.get(&end)
            && its_value == value
        {
            self.ranges.remove(&end);
            end = its_end;
        }
        self.ranges.insert(start, (end, value));
    }

    /// The parts of a range that have a value, in order.
    pub fn within(&self, range: Range<u64>) -> impl Iterator<Item = (Range<u64>, V)> + '_ {
        let Range { start, end } = range;
        let first = self.ranges.range(..start).next_back();
        let first = first.filter(move |(_, (its_end, _))| *its_end > start);
        let from = first.map_or(start, |(&its_start, _)| its_start);
        self.ranges.range(from..end.max(from)).map(move |(&its_start, &(its_end, value))| {
            (its_start.max(start)..its_end.min(end), value)
        })
    }

    /// The parts of a range that have no value, in order.
    pub fn gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut at = range.start;
        for (covered, _) in self.within(range.clone()) {
            if at < covered.start {
                gaps.push(at..covered.start);
            }
            at = covered.end;
        }
        if at < range.end {
            gaps.push(at..range.end);
        }
        gaps
    }

    /// All ranges with their values.
    pub fn iter(&self) -> impl Iterator<Item = (Range<u64>, V)> + '_ {
        self.ranges.iter().map(|(&start, &(end, value))| (start..end, value))
    }

    /// Takes the values of a range away.
    pub fn cut_out(&mut self, range: Range<u64>) {
        let inside: Vec<(Range<u64>, V)> = self.within(range.clone()).collect();
        for (part, value) in inside {
            // The range that holds this part begins at it or before it.
            let holder = self.ranges.range(..=part.start).next_back();
            let Some((&start, &(end, _))) = holder else { continue };
            self.ranges.remove(&start);
            if start < part.start {
                self.ranges.insert(start, (part.start, value));
            }
            if part.end < end {
                self.ranges.insert(part.end, (end, value));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn neighbours_of_equal_value_are_one_range() {
        let mut map = RangeMap::default();
        map.insert(0..10, 'a');
        map.insert(20..30, 'a');
        map.insert(10..20, 'a');
        assert_eq!(map.iter().collect::<Vec<_>>(), [(0..30, 'a')]);
        map.insert(5..6, 'b');
        assert_eq!(map.gaps(0..40), vec![Range { start: 30, end: 40 }]);
        assert_eq!(map.len(), 3);
    }

    proptest! {
        /// Against an array of bytes.
        #[test]
        fn a_range_map_is_an_array(steps in prop::collection::vec(
            (0u64..60, 0u64..20, prop::option::of(0u8..3)), 0..60
        )) {
            let mut map = RangeMap::default();
            let mut array = [None; 80];
            for (start, length, value) in steps {
                let range = start..start + length;
                match value {
                    Some(value) => map.insert(range.clone(), value),
                    None => map.cut_out(range.clone()),
                }
                array[start as usize..(start + length) as usize].fill(value);
                let mut seen = [None; 80];
                for (range, value) in map.iter() {
                    prop_assert!(!range.is_empty());
                    seen[range.start as usize..range.end as usize].fill(Some(value));
                }
                prop_assert_eq!(seen, array);
                let gaps: u64 = map.gaps(0..80).iter().map(|gap| gap.end - gap.start).sum();
                prop_assert_eq!(gaps, array.iter().filter(|it| it.is_none()).count() as u64);
            }
        }
    }
}
