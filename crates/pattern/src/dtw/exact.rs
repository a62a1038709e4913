// SPDX-License-Identifier: MIT OR Apache-2.0

//! The true distance (Berndt and Clifford, 1994), by one row at a time.

use crate::dtw::at_least_one;
use crate::dtw::grid::Grid;

/// The cost of the cheapest alignment of two series: the sum of absolute
/// differences along it.
pub fn exact(a: &[f32], b: &[f32]) -> f64 {
    within(&mut Grid::default(), a, b, f64::INFINITY)
}

/// The same; infinite once it is certain to be above `limit`.
pub(crate) fn within(grid: &mut Grid, a: &[f32], b: &[f32], limit: f64) -> f64 {
    let (a, b) = (at_least_one(a), at_least_one(b));
    // The shorter one across: the row stays in the cache.
    let (down, across) = if a.len() < b.len() { (b, a) } else { (a, b) };
    grid.exact(down, across, limit)
}
