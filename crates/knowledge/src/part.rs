// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which part of a data object is accessed, and how it moves from one access to
//! the next.
//!
//! A part is a box: where it begins along each dimension, and how many elements it
//! has there. The bytes of a plain file are a box of one dimension. Steps through
//! records or blocks are one motion, however many there are, so what was learned
//! from 30 records holds for 300; and a count that spans its dimension holds for
//! any length.

use serde::{Deserialize, Serialize};

/// Dimensions looked at; the first ones of an object with more.
pub const MAX_DIMENSIONS: usize = 32;

/// A part of a data object. Without dimensions it is all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part {
    /// The first element along each dimension.
    pub starts: Vec<u64>,
    /// Elements along each dimension, as many as there are starts.
    pub counts: Vec<u64>,
    /// From one element to the next, if that is more than 1 anywhere.
    pub strides: Vec<u64>,
}

/// How a part follows from the last one of the same object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PartMotion {
    /// All of the object.
    Whole,
    /// The first one in this file, at the beginning.
    First,
    /// The same part again.
    Again,
    /// The part that adjoins it along this dimension.
    Next(u8),
    /// So many elements further along this dimension.
    Jump(u8, i64),
    /// One further along this dimension, and back to the beginning along those
    /// that vary faster.
    Carry(u8),
    /// No rule.
    Elsewhere,
}

/// How many elements along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Span {
    /// As many as there are.
    All,
    /// So many.
    Exactly(u64),
}

impl Part {
    /// The selection of a call, `start=0:12 count=1:4 stride=1:2`, as traces have it.
    pub fn of_selection(selection: &str) -> Part {
        let (starts, mut counts) = (numbers(selection, "start="), numbers(selection, "count="));
        let blocks = numbers(selection, "block=");
        for (count, block) in counts.iter_mut().zip(&blocks) {
            *count = count.saturating_mul(*block);
        }
        let strides = numbers(selection, "stride=");
        if starts.is_empty() || starts.len() != counts.len() {
            return Part::default();
        }
        let strides = match strides.len() == starts.len() && blocks.is_empty() {
            true if strides.iter().any(|stride| *stride > 1) => strides,
            _ => Vec::new(),
        };
        Part { starts, counts, strides }
    }

    /// Bytes of a file.
    pub fn of_bytes(offset: u64, length: u64) -> Part {
        Part { starts: vec![offset], counts: vec![length], strides: Vec::new() }
    }

    /// Whether it is all of an object, whatever its shape.
    pub fn is_unbounded(&self) -> bool {
        self.starts.is_empty()
    }

    /// Where it ends along a dimension.
    pub fn end(&self, dimension: usize) -> u64 {
        let stride = self.strides.get(dimension).copied().unwrap_or(1).max(1);
        let count = self.counts.get(dimension).copied().unwrap_or(0);
        let reach = count.saturating_sub(1).saturating_mul(stride);
        let elements = if count == 0 { 0 } else { reach.saturating_add(1) };
        self.starts.get(dimension).copied().unwrap_or(0).saturating_add(elements)
    }

    /// Makes a shape reach as far as this part.
    pub fn widen(&self, shape: &mut Vec<u64>) {
        shape.resize(shape.len().max(self.starts.len()), 0);
        for (dimension, length) in shape.iter_mut().enumerate().take(self.starts.len()) {
            *length = (*length).max(self.end(dimension));
        }
    }

    /// Whether it is all of an object of this shape.
    pub fn is_whole(&self, shape: &[u64]) -> bool {
        let fits = shape.len() == self.starts.len() && self.strides.is_empty();
        self.is_unbounded()
            || fits && (0..shape.len()).all(|d| self.starts[d] == 0 && self.end(d) >= shape[d])
    }

    /// Whether nothing lies behind it in an object of this shape.
    pub fn is_last(&self, shape: &[u64]) -> bool {
        let fits = shape.len() == self.starts.len();
        self.is_unbounded() || fits && (0..shape.len()).all(|d| self.end(d) >= shape[d])
    }

    /// Its counts, by the shape of the object.
    pub fn spans(&self, shape: &[u64]) -> Vec<Span> {
        let span = |(dimension, count): (usize, &u64)| match shape.get(dimension) {
            Some(length) if self.starts[dimension] == 0 && count >= length => Span::All,
            _ => Span::Exactly(*count),
        };
        self.counts.iter().enumerate().map(span).collect()
    }
}

impl PartMotion {
    /// How `part` follows from `last` in an object of this shape. `same_file` tells
    /// whether both lie in one file.
    pub fn between(last: Option<&Part>, part: &Part, shape: &[u64], same_file: bool) -> PartMotion {
        if part.is_whole(shape) {
            return PartMotion::Whole;
        }
        let is_at_start = part.starts.iter().all(|start| *start == 0);
        let Some(last) = last.filter(|last| last.starts.len() == part.starts.len()) else {
            return if is_at_start { PartMotion::First } else { PartMotion::Elsewhere };
        };
        if !same_file && is_at_start {
            return PartMotion::First;
        }
        if last == part {
            return PartMotion::Again;
        }
        let moved: Vec<usize> =
            (0..part.starts.len()).filter(|d| part.starts[*d] != last.starts[*d]).collect();
        match moved.as_slice() {
            [] => PartMotion::Again,
            [d] if part.starts[*d] == last.end(*d) => PartMotion::Next(*d as u8),
            [d] if part.starts[*d] == 0 && is_at_start => PartMotion::First,
            [d] => {
                let by = i128::from(part.starts[*d]) - i128::from(last.starts[*d]);
                i64::try_from(by).map_or(PartMotion::Elsewhere, |by| PartMotion::Jump(*d as u8, by))
            }
            [d, rest @ ..]
                if part.starts[*d] == last.end(*d) && rest.iter().all(|r| part.starts[*r] == 0) =>
            {
                PartMotion::Carry(*d as u8)
            }
            _ if is_at_start => PartMotion::First,
            _ => PartMotion::Elsewhere,
        }
    }

    /// The part that this motion leads to; none if there is no rule, or no such
    /// part in an object of this shape.
    pub fn apply(self, last: Option<&Part>, spans: &[Span], shape: &[u64]) -> Option<Part> {
        let starts = match self {
            PartMotion::Whole => return Some(Part::default()),
            PartMotion::First => vec![0; spans.len()],
            PartMotion::Again => last?.starts.clone(),
            PartMotion::Next(d) => {
                let mut starts = last?.starts.clone();
                *starts.get_mut(usize::from(d))? = last?.end(usize::from(d));
                starts
            }
            PartMotion::Jump(d, by) => {
                let mut starts = last?.starts.clone();
                let start = starts.get_mut(usize::from(d))?;
                *start = start.checked_add_signed(by)?;
                starts
            }
            PartMotion::Carry(d) => {
                let d = usize::from(d);
                let mut starts = last?.starts.clone();
                *starts.get_mut(d)? = last?.end(d);
                starts.iter_mut().skip(d + 1).for_each(|start| *start = 0);
                starts
            }
            PartMotion::Elsewhere => return None,
        };
        let length = |d: usize| shape.get(d).copied();
        if (0..starts.len()).any(|d| length(d).is_some_and(|length| starts[d] >= length)) {
            return None;
        }
        let count = |(d, span): (usize, &Span)| match (*span, length(d)) {
            (Span::All, Some(length)) => length,
            (Span::All, None) => last.and_then(|last| last.counts.get(d).copied()).unwrap_or(1),
            (Span::Exactly(n), Some(length)) => n.min(length - starts.get(d).unwrap_or(&0)),
            (Span::Exactly(n), None) => n,
        };
        let counts: Vec<u64> = spans.iter().enumerate().map(count).collect();
        let strides = last.map_or_else(Vec::new, |last| last.strides.clone());
        (counts.len() == starts.len()).then_some(Part { starts, counts, strides })
    }
}

/// The numbers of a part of a selection, as `start=0:12:4`.
fn numbers(selection: &str, part: &str) -> Vec<u64> {
    let text = selection.split(' ').find_map(|word| word.strip_prefix(part)).unwrap_or_default();
    text.split(':').take(MAX_DIMENSIONS).map_while(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(text: &str) -> Part {
        Part::of_selection(text)
    }

    #[test]
    fn motions_are_found_and_lead_back_to_the_part() {
        let shape = [30, 8, 10];
        for (last, next, expected) in [
            ("start=3:0:0 count=1:8:10", "start=4:0:0 count=1:8:10", PartMotion::Next(0)),
            ("start=3:0:0 count=1:8:10", "start=3:0:0 count=1:8:10", PartMotion::Again),
            ("start=3:0:0 count=1:8:10", "start=7:0:0 count=1:8:10", PartMotion::Jump(0, 4)),
            ("start=3:4:0 count=1:4:10", "start=4:0:0 count=1:4:10", PartMotion::Carry(0)),
            ("start=3:0:0 count=1:4:10", "start=3:4:0 count=1:4:10", PartMotion::Next(1)),
            ("start=3:0:0 count=1:4:10", "start=0:0:0 count=1:4:10", PartMotion::First),
            ("start=3:0:0 count=1:4:10", "start=0:0:0 count=30:8:10", PartMotion::Whole),
            ("start=3:0:0 count=1:4:10", "start=9:1:0 count=1:4:10", PartMotion::Elsewhere),
        ] {
            let (last, next) = (part(last), part(next));
            let motion = PartMotion::between(Some(&last), &next, &shape, true);
            assert_eq!(motion, expected, "{last:?} {next:?}");
            let again = motion.apply(Some(&last), &next.spans(&shape), &shape);
            match motion {
                PartMotion::Elsewhere => assert_eq!(again, None),
                PartMotion::Whole => assert_eq!(again, Some(Part::default())),
                _ => assert_eq!(again, Some(next)),
            }
        }
    }

    #[test]
    fn a_rule_holds_for_other_shapes_and_ends_where_the_object_does() {
        let spans = part("start=3:0:0 count=1:8:10").spans(&[30, 8, 10]);
        assert_eq!(spans, [Span::Exactly(1), Span::All, Span::All]);
        let shape = [3, 16, 20];
        let first = PartMotion::First.apply(None, &spans, &shape).unwrap();
        assert_eq!(first, part("start=0:0:0 count=1:16:20"));
        let second = PartMotion::Next(0).apply(Some(&first), &spans, &shape).unwrap();
        let third = PartMotion::Next(0).apply(Some(&second), &spans, &shape).unwrap();
        assert!(third.is_last(&shape) && !second.is_last(&shape));
        assert_eq!(PartMotion::Next(0).apply(Some(&third), &spans, &shape), None);
    }

    #[test]
    fn nonsense_is_no_selection() {
        for text in ["", "start=1", "start=1:2 count=3", "start=x count=1", "count=4"] {
            assert!(part(text).is_unbounded(), "{text}");
        }
        let huge = part("start=18446744073709551615 count=18446744073709551615");
        assert_eq!(huge.end(0), u64::MAX);
        assert_eq!(part("start=0:0 count=4:5 stride=1:2").strides, [1, 2]);
        assert!(part("start=0:0 count=4:5 stride=1:1").strides.is_empty());
    }
}
