// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds a cheap alignment of two series in linear time and space.
//!
//! This is FastDTW (Salvador and Chan, 2007): align coarse copies, project the
//! path onto the finer ones, refine within `radius` cells. Two differences: the
//! radius is applied after the projection, in cells of the finer series, so that
//! twice the radius costs what theirs does; and coarsening stops at
//! [`COARSEST`] values rather than at `radius + 2`, because an exact alignment of
//! that size costs little and a wrong turn taken there is never mended.

use crate::dtw::at_least_one;
use crate::dtw::grid::{Grid, SearchWindow};

/// Series of so many values are aligned exactly.
const COARSEST: usize = 48;

/// The cost of a cheap alignment, never below the true distance.
pub fn fast(a: &[f32], b: &[f32], radius: usize) -> f64 {
    within(&mut Grid::default(), a, b, radius, f64::INFINITY)
}

/// The same; infinite once it is certain to be above `limit`.
pub(crate) fn within(grid: &mut Grid, a: &[f32], b: &[f32], radius: usize, limit: f64) -> f64 {
    let (a, b) = (at_least_one(a), at_least_one(b));
    let levels = coarser(a, b, COARSEST.max(radius + 2));
    let (n_rows, n_columns) = levels.last().map_or((a.len(), b.len()), |(a, b)| (a.len(), b.len()));
    let mut window = whole(n_rows, n_columns);
    let mut path = Vec::new();
    // From the coarsest to the one before the finest.
    for level in (0..levels.len()).rev() {
        let (coarse_a, coarse_b) = &levels[level];
        grid.path(coarse_a, coarse_b, &window, &mut path);
        let (fine_a, fine_b) = match level {
            0 => (a.len(), b.len()),
            _ => (levels[level - 1].0.len(), levels[level - 1].1.len()),
        };
        project(&path, fine_a, fine_b, radius, &mut window);
    }
    grid.windowed(a, b, &window, limit)
}

/// Copies of both series, each half as long as the one before, until one is no
/// longer than `shortest`.
fn coarser(a: &[f32], b: &[f32], shortest: usize) -> Vec<(Vec<f32>, Vec<f32>)> {
    let mut levels: Vec<(Vec<f32>, Vec<f32>)> = Vec::new();
    loop {
        let (a, b) = levels.last().map_or((a, b), |(a, b)| (a, b));
        if a.len().min(b.len()) <= shortest {
            return levels;
        }
        let level = (halved(a), halved(b));
        levels.push(level);
    }
}

/// Neighbours become their mean; the last one may be alone.
fn halved(series: &[f32]) -> Vec<f32> {
    series.chunks(2).map(|pair| pair.iter().sum::<f32>() / pair.len() as f32).collect()
}

fn whole(n_rows: usize, n_columns: usize) -> SearchWindow {
    vec![(0, n_columns as u32 - 1); n_rows]
}

/// The cells of the finer matrix that a path of the coarser one covers, and
/// `radius` more on all sides.
fn project(
    path: &[(u32, u32)],
    n_rows: usize,
    n_columns: usize,
    radius: usize,
    window: &mut SearchWindow,
) {
    window.clear();
    window.resize(n_rows, (u32::MAX, 0));
    for &(row, column) in path {
        let (first, last) = (2 * column, 2 * column + 1);
        for (lowest, highest) in window.iter_mut().skip(2 * row as usize).take(2) {
            *lowest = (*lowest).min(first);
            *highest = (*highest).max(last);
        }
    }
    widen(window, n_columns, radius);
}

/// Grows the window by `radius` to all sides. Its borders never move back from
/// row to row, so the row `radius` before has the lowest and the one `radius`
/// behind the highest column of all around.
fn widen(window: &mut SearchWindow, n_columns: usize, radius: usize) {
    let n_rows = window.len();
    let highest_column = n_columns as u32 - 1;
    for row in 0..n_rows {
        let ahead = window[(row + radius).min(n_rows - 1)].1;
        window[row].1 = ahead.saturating_add(radius as u32).min(highest_column);
    }
    for row in (0..n_rows).rev() {
        let before = window[row.saturating_sub(radius)].0;
        window[row].0 = before.saturating_sub(radius as u32);
    }
}
