// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which parts of a variable are accessed.

use serde::Serialize;

/// Dimensions that are looked at.
const MAX_DIMENSIONS: usize = 32;

/// What the accesses to a variable have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SelectionPattern {
    /// Each access covers all of it.
    Whole,
    /// Each access covers the same part.
    Same,
    /// They differ along one dimension only, counted from 1.
    Slices(usize),
    /// Each access covers one element.
    Points,
    /// All have the same shape, and they differ along several dimensions.
    Blocks,
    /// None of these.
    Irregular,
}

/// What is known about the parts that were accessed.
#[derive(Clone, Debug, Default)]
pub struct SelectionTally {
    n_whole: u64,
    /// Accesses whose part is described in a way that is not understood.
    n_unclear: u64,
    first: Option<Selected>,
    /// A bit for each dimension along which accesses differ.
    differ: u32,
    /// Whether they all have the same counts, and the same number of dimensions.
    counts_vary: bool,
    dimensions_vary: bool,
}

impl SelectionTally {
    /// Takes in the part that an access covers, and returns it; without a start it
    /// covers the whole.
    pub fn add(&mut self, selection: &str) -> Option<Selected> {
        let selected = Selected::parse(selection);
        match &selected {
            Some(selected) => self.compare(selected),
            None if selection.contains("start=") => self.n_unclear += 1,
            None => self.n_whole += 1,
        }
        selected
    }

    fn compare(&mut self, selected: &Selected) {
        let first = self.first.get_or_insert_with(|| selected.clone());
        self.dimensions_vary |= first.counts.len() != selected.counts.len();
        self.counts_vary |= first.counts != selected.counts;
        for dimension in 0..selected.counts.len() {
            if first.along(dimension) != selected.along(dimension) {
                self.differ |= 1 << dimension;
            }
        }
    }

    /// What they have in common; `None` if there were none.
    pub fn common(&self) -> Option<SelectionPattern> {
        let first = match (&self.first, self.n_whole, self.n_unclear) {
            (None, 0, 0) => return None,
            (None, _, 0) => return Some(SelectionPattern::Whole),
            (Some(first), 0, 0) => first,
            _ => return Some(SelectionPattern::Irregular),
        };
        Some(match self.differ.count_ones() {
            _ if self.dimensions_vary => SelectionPattern::Irregular,
            0 => SelectionPattern::Same,
            _ if !self.counts_vary && first.n_elements() == 1.0 => SelectionPattern::Points,
            1 => SelectionPattern::Slices(self.differ.trailing_zeros() as usize + 1),
            _ if !self.counts_vary => SelectionPattern::Blocks,
            _ => SelectionPattern::Irregular,
        })
    }

    /// The counts of all accesses, if they are the same.
    pub fn counts(&self) -> Option<&[u64]> {
        let is_one =
            self.n_whole + self.n_unclear == 0 && !self.counts_vary && !self.dimensions_vary;
        self.first.as_ref().filter(|_| is_one).map(|first| &*first.counts)
    }
}

/// The part that a single access covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selected {
    starts: Box<[u64]>,
    /// Elements, or blocks of them, along each dimension.
    counts: Box<[u64]>,
    /// From one to the next, and elements of a block; empty for 1.
    strides: Box<[u64]>,
    blocks: Box<[u64]>,
}

impl Selected {
    /// Reads `start=0:0 count=2:3 stride=1:1`; `None` if it selects nothing.
    pub fn parse(selection: &str) -> Option<Selected> {
        let starts = numbers(selection, "start")?;
        // Most selections have no more than the two.
        let counts = numbers(selection, "count").unwrap_or_else(|| vec![1; starts.len()]);
        let has_more = selection.contains("stride=") || selection.contains("block=");
        let optional = |name| -> Box<[u64]> {
            let found = if has_more { numbers(selection, name) } else { None };
            found.unwrap_or_default().into()
        };
        (starts.len() == counts.len()).then(|| Selected {
            starts: starts.into(),
            counts: counts.into(),
            strides: optional("stride"),
            blocks: optional("block"),
        })
    }

    /// Elements that are asked for.
    pub fn n_elements(&self) -> f64 {
        let of = |dimension: usize| self.counts[dimension] as f64 * self.block(dimension) as f64;
        (0..self.counts.len()).map(of).product()
    }

    /// How many chunks it touches, and how many elements they have; `None` if these
    /// cannot be chunks of this variable.
    pub fn chunks(&self, chunk: &[u64]) -> Option<(u64, f64)> {
        if chunk.len() != self.counts.len() || chunk.contains(&0) {
            return None;
        }
        let touched = |(dimension, &length): (usize, &u64)| -> u64 {
            let start = self.starts[dimension];
            match self.reach(dimension) {
                0 => 0,
                reach => start.saturating_add(reach - 1) / length - start / length + 1,
            }
        };
        let n_chunks = chunk.iter().enumerate().map(touched).fold(1, u64::saturating_mul);
        let elements: f64 = chunk.iter().map(|&length| length as f64).product();
        Some((n_chunks, n_chunks as f64 * elements))
    }

    /// What it says of one dimension.
    fn along(&self, dimension: usize) -> Option<(u64, u64)> {
        Some((*self.starts.get(dimension)?, *self.counts.get(dimension)?))
    }

    /// From the first element along a dimension to behind the last one.
    fn reach(&self, dimension: usize) -> u64 {
        let block = self.block(dimension);
        let stride = self.strides.get(dimension).copied().unwrap_or(block);
        match self.counts[dimension] {
            0 => 0,
            count => (count - 1).saturating_mul(stride).saturating_add(block),
        }
    }

    fn block(&self, dimension: usize) -> u64 {
        self.blocks.get(dimension).copied().unwrap_or(1)
    }
}

/// The numbers behind `name=`; `None` if there are none or too many.
pub fn numbers(text: &str, name: &str) -> Option<Vec<u64>> {
    let listed = text.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?;
    let numbers: Result<Vec<u64>, _> = listed.split(':').map(str::parse).collect();
    numbers.ok().filter(|numbers| numbers.len() <= MAX_DIMENSIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(selections: &[&str], expected: Option<SelectionPattern>, counts: Option<&[u64]>) {
        let mut parts = SelectionTally::default();
        for selection in selections {
            parts.add(selection);
        }
        assert_eq!((parts.common(), parts.counts()), (expected, counts), "{selections:?}");
    }

    #[test]
    fn what_accesses_have_in_common_is_found() {
        let slice = "start=0:0 count=1:9";
        check(&[], None, None);
        check(&["", "request=3"], Some(SelectionPattern::Whole), None);
        check(&[slice, slice], Some(SelectionPattern::Same), Some(&[1, 9]));
        check(&[slice, "start=1:0 count=1:9"], Some(SelectionPattern::Slices(1)), Some(&[1, 9]));
        check(&[slice, "start=1:0 count=3:9"], Some(SelectionPattern::Slices(1)), None);
        check(&[slice, "start=0:4 count=1:9"], Some(SelectionPattern::Slices(2)), Some(&[1, 9]));
        check(&[slice, "start=1:9 count=1:9"], Some(SelectionPattern::Blocks), Some(&[1, 9]));
        check(&[slice, "start=1:9 count=2:9"], Some(SelectionPattern::Irregular), None);
        check(&["start=0:0", "start=4:9"], Some(SelectionPattern::Points), Some(&[1, 1]));
        check(&["start=0", "start=1"], Some(SelectionPattern::Points), Some(&[1]));
        check(&[slice, ""], Some(SelectionPattern::Irregular), None);
        check(&[slice, "start=0 count=9"], Some(SelectionPattern::Irregular), None);
        check(&[slice, "start=-1:0 count=1:9"], Some(SelectionPattern::Irregular), None);
    }

    #[test]
    fn chunks_that_an_access_touches_are_counted() {
        let chunks = |text: &str, chunk: &[u64]| Selected::parse(text).unwrap().chunks(chunk);
        assert_eq!(chunks("start=0:0 count=1:100", &[10, 10]), Some((10, 1000.0)));
        assert_eq!(chunks("start=9:5 count=2:6", &[10, 10]), Some((4, 400.0)));
        assert_eq!(chunks("start=0 count=3 stride=10", &[10]), Some((3, 30.0)));
        assert_eq!(chunks("start=0 count=3 stride=4 block=3", &[10]), Some((2, 20.0)));
        assert_eq!(chunks("start=0 count=0", &[10]), Some((0, 0.0)));
        assert_eq!(chunks("start=0 count=1", &[0]), None);
        assert_eq!(chunks("start=0 count=1", &[2, 2]), None);
        let most = u64::MAX;
        assert!(chunks(&format!("start={most} count={most} stride={most}"), &[1]).is_some());
    }

    #[test]
    fn what_is_no_selection_selects_nothing() {
        for text in ["", "chunk=1", "start=", "start=a:1", "start=-1", "start=1:2 count=1"] {
            assert_eq!(Selected::parse(text), None, "{text}");
        }
        let many = vec!["0"; 33].join(":");
        assert_eq!(Selected::parse(&format!("start={many}")), None);
    }
}
