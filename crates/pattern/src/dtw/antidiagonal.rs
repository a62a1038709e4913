// SPDX-License-Identifier: MIT OR Apache-2.0

//! The warping matrix, one antidiagonal at a time.
//!
//! Each cell costs the difference of two values plus the cheapest of its three
//! predecessors. All predecessors of a cell lie on the two antidiagonals before
//! its own, so the cells of one antidiagonal do not depend on each other and the
//! compiler turns the inner loop into vector instructions. A row at a time would
//! make each cell wait for its left neighbour.
//!
//! Costs are `f32`, which doubles the cells per instruction. They would lose
//! digits in long sums, so every [`BLOCK`] antidiagonals the lowest cost is moved
//! into an `f64`; what stays is the difference between neighbouring paths.

/// The cells that may be visited: on the antidiagonal `row + column = k` those
/// whose row is at most `radius` from `centres[k]`. Centres never decrease and
/// grow by at most 1 from one antidiagonal to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchWindow {
    pub centres: Vec<u32>,
    pub radius: usize,
}

/// Antidiagonals between two checks of the lowest cost.
const BLOCK: usize = 128;

/// Memory of the kernel, reused from one comparison to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Antidiagonals {
    /// The costs of three antidiagonals; a row's cell is one behind its number,
    /// so that the row before the first one has a place.
    lines: [Vec<f32>; 3],
    /// The second series from its end: neighbours on an antidiagonal are
    /// neighbours here.
    reversed: Vec<f32>,
    /// All costs, where a path is wanted: antidiagonal by antidiagonal.
    costs: Vec<f32>,
    /// For each antidiagonal its first row and where its costs begin.
    starts: Vec<(u32, usize)>,
}

impl Antidiagonals {
    /// The cost of the cheapest path through all cells, or those of a window;
    /// infinite once every path costs more than `limit`. Neither series is
    /// empty.
    pub fn distance(
        &mut self,
        a: &[f32],
        b: &[f32],
        window: Option<&SearchWindow>,
        limit: f64,
    ) -> f64 {
        self.prepare(a, b);
        let mut base = 0.0;
        let last = a.len() + b.len() - 2;
        for k in 0..=last {
            let (first, end) = rows(k, a.len(), b.len(), window);
            self.line(k, a, b.len(), first, end);
            if k % BLOCK == BLOCK - 1 {
                base += self.rebase(k, first, end);
                if base > limit {
                    return f64::INFINITY;
                }
            }
        }
        base + f64::from(self.lines[last % 3][a.len()])
    }

    /// The cheapest path, as cells from the first to the last, written to
    /// `path`. Nothing is subtracted from costs here: the series are coarse
    /// copies, and their sums short.
    pub fn path(
        &mut self,
        a: &[f32],
        b: &[f32],
        window: Option<&SearchWindow>,
        path: &mut Vec<(u32, u32)>,
    ) {
        self.prepare(a, b);
        self.costs.clear();
        self.starts.clear();
        for k in 0..=a.len() + b.len() - 2 {
            let (first, end) = rows(k, a.len(), b.len(), window);
            self.line(k, a, b.len(), first, end);
            self.starts.push((first as u32, self.costs.len()));
            self.costs.extend_from_slice(&self.lines[k % 3][first + 1..end + 1]);
        }
        self.trace_back(a.len(), b.len(), path);
    }

    fn prepare(&mut self, a: &[f32], b: &[f32]) {
        self.reversed.clear();
        self.reversed.extend(b.iter().rev());
        for line in &mut self.lines {
            line.clear();
            line.resize(a.len() + 2, f32::INFINITY);
        }
        // The cell before the first, the only one from which that is reached: on
        // antidiagonal -2, whose memory is that of antidiagonal 1.
        self.lines[1][0] = 0.0;
    }

    /// The costs of rows `first..end` of antidiagonal `k`.
    #[inline]
    fn line(&mut self, k: usize, a: &[f32], n_columns: usize, first: usize, end: usize) {
        let len = end - first;
        let [zero, one, two] = &mut self.lines;
        let (out, before, before_that) = match k % 3 {
            0 => (zero, two, one),
            1 => (one, zero, two),
            _ => (two, one, zero),
        };
        let a = &a[first..end];
        let b = &self.reversed[n_columns - 1 + first - k..][..len];
        let above = &before[first..end];
        let left = &before[first + 1..end + 1];
        let diagonal = &before_that[first..end];
        // Windows move by one row at most, so these two cells are all that later
        // antidiagonals read beside those written here.
        out[first] = f32::INFINITY;
        out[end + 1] = f32::INFINITY;
        let out = &mut out[first + 1..end + 1];
        for index in 0..len {
            let least = smaller(smaller(above[index], left[index]), diagonal[index]);
            out[index] = (a[index] - b[index]).abs() + least;
        }
    }

    /// Subtracts the lowest cost of the last two antidiagonals, which every path
    /// crosses, from both.
    fn rebase(&mut self, k: usize, first: usize, end: usize) -> f64 {
        // One row more on each side: the antidiagonal before may begin earlier.
        let cells = first.saturating_sub(1)..(end + 2).min(self.lines[0].len());
        let (line, before) = (k % 3, (k + 2) % 3);
        let mut lowest = f32::INFINITY;
        for index in [line, before] {
            for &cost in &self.lines[index][cells.clone()] {
                lowest = smaller(cost, lowest);
            }
        }
        if lowest.is_finite() {
            for index in [line, before] {
                self.lines[index][cells.clone()].iter_mut().for_each(|cost| *cost -= lowest);
            }
        }
        f64::from(lowest)
    }

    fn trace_back(&self, n_rows: usize, n_columns: usize, path: &mut Vec<(u32, u32)>) {
        let cost = |row: Option<usize>, column: Option<usize>| {
            let (Some(row), Some(column)) = (row, column) else { return f32::INFINITY };
            let k = row + column;
            let (first, start) = self.starts[k];
            let end = self.starts.get(k + 1).map_or(self.costs.len(), |next| next.1);
            let index = row.checked_sub(first as usize).map(|index| start + index);
            index.filter(|index| *index < end).map_or(f32::INFINITY, |index| self.costs[index])
        };
        path.clear();
        let (mut row, mut column) = (n_rows - 1, n_columns - 1);
        while (row, column) != (0, 0) {
            path.push((row as u32, column as u32));
            let (up, left) = (row.checked_sub(1), column.checked_sub(1));
            let diagonal = cost(up, left);
            let (above, beside) = (cost(up, Some(column)), cost(Some(row), left));
            // A step to a cell outside the window costs infinitely much, and one
            // of the three is inside.
            (row, column) = if diagonal <= above && diagonal <= beside {
                (row - 1, column - 1)
            } else if above <= beside {
                (row - 1, column)
            } else {
                (row, column - 1)
            };
        }
        path.push((0, 0));
        path.reverse();
    }
}

/// The rows of antidiagonal `k` that are visited, the end excluded.
#[inline]
fn rows(
    k: usize,
    n_rows: usize,
    n_columns: usize,
    window: Option<&SearchWindow>,
) -> (usize, usize) {
    let (first, end) = ((k + 1).saturating_sub(n_columns), (k + 1).min(n_rows));
    match window {
        None => (first, end),
        Some(window) => {
            let centre = window.centres[k] as usize;
            let lowest = centre.saturating_sub(window.radius);
            (first.max(lowest), end.min(centre + window.radius + 1))
        }
    }
}

/// Of numbers that are never NaN; `f32::min` takes care of them and costs more.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}
