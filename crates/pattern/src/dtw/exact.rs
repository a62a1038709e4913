// SPDX-License-Identifier: MIT OR Apache-2.0

//! The true distance (Berndt and Clifford, 1994), row by row in `f64`: slow,
//! simple, and what the fast routines are checked against.

use crate::dtw::at_least_one;

/// The cost of the cheapest alignment of two series: the sum of absolute
/// differences along it.
pub fn exact(a: &[f32], b: &[f32]) -> f64 {
    let (a, b) = (at_least_one(a), at_least_one(b));
    // One column more on the left, which nothing reaches; its first cell is the
    // only place from which the matrix is entered.
    let mut row = vec![f64::INFINITY; b.len() + 1];
    row[0] = 0.0;
    for &value in a {
        let mut diagonal = row[0];
        row[0] = f64::INFINITY;
        let mut left = f64::INFINITY;
        for (cell, &other) in row[1..].iter_mut().zip(b) {
            let up = *cell;
            left = diagonal.min(up).min(left) + f64::from((value - other).abs());
            diagonal = up;
            *cell = left;
        }
    }
    row[b.len()]
}
