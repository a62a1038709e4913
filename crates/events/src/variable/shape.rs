// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long a variable is along its dimensions, as far as accesses show, and so
//! where in it a part lies.

/// Dimensions looked at; the first ones of a variable with more.
const MAX_DIMENSIONS: usize = 32;

/// A part of a variable: where it begins along each dimension, and how many
/// elements it has there, if that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariablePart {
    /// The first element along each dimension.
    pub starts: Vec<u64>,
    /// As many as `starts`.
    pub counts: Option<Vec<u64>>,
}

/// What is known about a variable from its accesses.
#[derive(Clone, Debug, Default)]
pub(super) struct Shape {
    /// How far they have reached, by dimension.
    extents: Vec<u64>,
    /// The counts of the last access, and the bytes of an element.
    counts: Vec<u64>,
    element: u64,
}

impl Shape {
    /// Where an access of this many bytes begins; `None` if it moves nothing.
    pub(super) fn offset(&mut self, selection: &str, bytes: u64) -> Option<u64> {
        let (starts, counts) = (numbers(selection, "start="), numbers(selection, "count="));
        let (strides, blocks) = (numbers(selection, "stride="), numbers(selection, "block="));
        let n_elements = product(&counts).saturating_mul(product(&blocks));
        let element = bytes.checked_div(n_elements)?;
        self.extents.resize(self.extents.len().max(starts.len()), 0);
        let mut offset = 0_u64;
        for (n, (extent, start)) in self.extents.iter_mut().zip(&starts).enumerate() {
            let one = |list: &[u64]| list.get(n).copied().unwrap_or(1);
            let reach = (one(&counts).saturating_sub(1))
                .saturating_mul(one(&strides).max(one(&blocks)))
                .saturating_add(one(&blocks));
            *extent = (*extent).max(start.saturating_add(reach));
            offset = offset.saturating_mul(*extent).saturating_add(*start);
        }
        if counts.len() == starts.len() && !counts.is_empty() {
            (self.counts, self.element) = (counts, element);
        }
        Some(offset.saturating_mul(element))
    }

    /// The part with this offset and this many bytes; `None` while the variable was
    /// only accessed as a whole.
    pub(super) fn part(&self, offset: u64, bytes: u64) -> Option<VariablePart> {
        let mut first = offset.checked_div(self.element)?;
        let mut starts = vec![0; self.counts.len()];
        for dimension in (1..starts.len()).rev() {
            let extent = *self.extents.get(dimension)?;
            starts[dimension] = first.checked_rem(extent)?;
            first /= extent;
        }
        *starts.first_mut()? = first;
        let is_usual = product(&self.counts).saturating_mul(self.element) == bytes;
        Some(VariablePart { starts, counts: is_usual.then(|| self.counts.clone()) })
    }
}

fn product(numbers: &[u64]) -> u64 {
    numbers.iter().fold(1, |product, number| product.saturating_mul(*number))
}

/// The numbers of a part of a selection, as `start=0:12:4`.
fn numbers(selection: &str, part: &str) -> Vec<u64> {
    let text = selection.split(' ').find_map(|word| word.strip_prefix(part)).unwrap_or_default();
    text.split(':').take(MAX_DIMENSIONS).map_while(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_at_an_offset_is_the_one_that_was_selected() {
        let mut shape = Shape::default();
        for (starts, selection) in [
            ([0, 0, 0], "start=0:0:0 count=1:4:10"),
            ([0, 4, 10], "start=0:4:10 count=1:4:10"),
            ([7, 0, 10], "start=7:0:10 count=1:4:10"),
            ([7, 4, 0], "start=7:4:0 count=1:4:10"),
        ] {
            let offset = shape.offset(selection, 320).unwrap();
            let part = VariablePart { starts: starts.to_vec(), counts: Some(vec![1, 4, 10]) };
            assert_eq!(shape.part(offset, 320), Some(part));
            assert_eq!(shape.part(offset, 80).unwrap().counts, None);
        }
        assert_eq!(Shape::default().part(0, 8), None);
    }

    #[test]
    fn blocks_and_strides_reach_further_than_their_counts() {
        let mut shape = Shape::default();
        shape.offset("start=0:0 count=1:5 stride=1:4 block=1:2", 80);
        // Rows of 4 × 4 + 2 elements of 8 bytes.
        assert_eq!(shape.offset("start=1:0 count=1:5 stride=1:4 block=1:2", 80), Some(144));
    }
}
