// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds a cheap alignment of two series in linear time and space.
//!
//! This is FastDTW (Salvador and Chan, 2007): align coarse copies, project the
//! path onto the finer ones, refine within `radius` cells. It differs in three
//! ways, all because wide windows cost little where many cells are computed at
//! once: each copy is [`FACTOR`] times coarser than the one before instead of
//! twice; the window is at least `radius` rows to each side of the path on every
//! antidiagonal; and coarsening stops as soon as an exact alignment is cheap.

use crate::dtw::antidiagonal::{Antidiagonals, LANES, SearchWindow};
use crate::dtw::corridor::Corridor;
use crate::dtw::{EXACT_CELLS, at_least_one};

/// Values of a series that become one of its coarser copy.
const FACTOR: usize = 8;

/// Memory of the kernels, reused from one comparison to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct FastMatrix {
    coarse: Antidiagonals,
    corridor: Corridor,
}

/// The cost of a cheap alignment, never below the true distance but for
/// rounding.
pub fn fast(a: &[f32], b: &[f32], radius: usize) -> f64 {
    within(&mut FastMatrix::default(), a, b, radius, f64::INFINITY)
}

/// The same; infinite once it is certain to be above `limit`.
pub(crate) fn within(
    matrix: &mut FastMatrix,
    a: &[f32],
    b: &[f32],
    radius: usize,
    limit: f64,
) -> f64 {
    let (a, b) = (at_least_one(a), at_least_one(b));
    let mut levels: Vec<(Vec<f32>, Vec<f32>)> = Vec::new();
    loop {
        let (a, b) = levels.last().map_or((a, b), |(a, b)| (a, b));
        if a.len().saturating_mul(b.len()) <= EXACT_CELLS || a.len().min(b.len()) <= FACTOR {
            break;
        }
        let level = (coarser(a), coarser(b));
        levels.push(level);
    }
    let mut window: Option<SearchWindow> = None;
    let mut path = Vec::new();
    while let Some((coarse_a, coarse_b)) = levels.pop() {
        matrix.coarse.path(&coarse_a, &coarse_b, window.as_ref(), &mut path);
        let (n_rows, n_columns) =
            levels.last().map_or((a.len(), b.len()), |(a, b)| (a.len(), b.len()));
        let centres = project(&path, n_rows, n_columns);
        let width = (2 * radius + 1).next_multiple_of(LANES);
        window = Some(SearchWindow { centres, width });
    }
    match window {
        Some(window) => matrix.corridor.distance(a, b, &window, limit),
        None => matrix.coarse.distance(a, b, limit),
    }
}

/// Blocks of neighbours become their mean; the last one may be smaller.
fn coarser(series: &[f32]) -> Vec<f32> {
    series.chunks(FACTOR).map(|block| block.iter().sum::<f32>() / block.len() as f32).collect()
}

/// Where the path of a coarser matrix crosses each antidiagonal of the finer:
/// straight lines between the middles of its cells.
fn project(path: &[(u32, u32)], n_rows: usize, n_columns: usize) -> Vec<u32> {
    let fine = |coarse: u32, n: usize| (coarse as usize * FACTOR + FACTOR / 2).min(n - 1) as u32;
    let mut centres = Vec::with_capacity(n_rows + n_columns - 1);
    centres.push(0);
    let mut from = (0_u32, 0_u32);
    let inner = path.iter().map(|&(row, column)| (fine(row, n_rows), fine(column, n_columns)));
    for to in inner.chain([(n_rows as u32 - 1, n_columns as u32 - 1)]) {
        let (rows, steps) = (to.0 - from.0, to.0 + to.1 - from.0 - from.1);
        let (mut row, mut rest) = (from.0, 0);
        for _ in 0..steps {
            rest += rows;
            if rest >= steps {
                rest -= steps;
                row += 1;
            }
            centres.push(row);
        }
        from = to;
    }
    centres
}
