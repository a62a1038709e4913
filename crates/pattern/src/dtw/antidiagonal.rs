// SPDX-License-Identifier: MIT OR Apache-2.0

//! The warping matrix, one antidiagonal at a time.
//!
//! Each cell costs the difference of two values plus the cheapest of its three
//! predecessors. All predecessors of a cell lie on the two antidiagonals before
//! its own, so the cells of one antidiagonal do not depend on each other and the
//! compiler turns the inner loop into vector instructions. A row at a time would
//! make each cell wait for its left neighbour.
//!
//! Cells are computed [`LANES`] at a time, also where fewer are wanted: series are
//! padded with numbers so far from all others that no path leads through a cell
//! outside the matrix. So the inner loop has no rest and no case for the border.
//!
//! Costs are `f32`, which doubles the cells per instruction. They would lose
//! digits in long sums, so every [`BLOCK`] antidiagonals the lowest cost is moved
//! into an `f64`; what stays is the difference between neighbouring paths.

/// The cells that may be visited: on the antidiagonal `row + column = k` `width`
/// of them, of which the one of row `centres[k]` is in the middle. Centres never
/// decrease and grow by at most 1 from one antidiagonal to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchWindow {
    pub centres: Vec<u32>,
    pub width: usize,
}

/// Cells that are computed at once: a few registers of the smallest vectors.
pub(crate) const LANES: usize = 16;

/// The width of windows that are computed by one straight piece of code.
const USUAL_WIDTH: usize = 48;

/// Antidiagonals between two checks of the lowest cost.
const BLOCK: usize = 128;

/// What series are padded with. Further from all values than any path is long.
pub(crate) const OUTSIDE: f32 = 1e37;

/// Memory of the kernel, reused from one comparison to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Antidiagonals {
    front: Wavefront,
    /// All costs, where a path is wanted: antidiagonal by antidiagonal.
    costs: Vec<f32>,
    /// For each antidiagonal its first padded row and where its costs begin.
    starts: Vec<(u32, u32)>,
}

/// The last antidiagonals that were computed.
#[derive(Clone, Debug, Default)]
struct Wavefront {
    /// Cells before the first row and after the last.
    padding: usize,
    /// The costs of three antidiagonals by row, padded.
    lines: [Vec<f32>; 3],
    /// The first series, padded.
    rows: Vec<f32>,
    /// The second series from its end, padded: neighbours on an antidiagonal are
    /// neighbours here.
    columns: Vec<f32>,
    n_rows: usize,
    n_columns: usize,
    /// What was subtracted from all costs.
    base: f64,
}

/// Some neighbouring cells of an antidiagonal.
#[derive(Clone, Copy, Debug, Default)]
struct Cells {
    /// The first padded row.
    first: usize,
    /// A multiple of [`LANES`].
    len: usize,
}

impl Antidiagonals {
    /// The cost of the cheapest path through all cells; infinite once every path costs
    /// more than `limit`. Neither series is empty.
    pub fn distance(&mut self, a: &[f32], b: &[f32], limit: f64) -> f64 {
        let front = &mut self.front;
        front.prepare(a.iter().copied(), b.iter().rev().copied(), LANES);
        let n_lines = a.len() + b.len() - 1;
        for k in 0..n_lines {
            let cells = front.all(k);
            front.line(k, cells);
            if k % BLOCK == BLOCK - 1 {
                front.rebase(k, cells);
                if front.base > limit {
                    return f64::INFINITY;
                }
            }
        }
        front.base + f64::from(front.lines[(n_lines - 1) % 3][LANES + a.len() - 1])
    }

    /// The cheapest path, as cells from the first to the last, written to
    /// `path`. Nothing is subtracted from costs here: the series are coarse copies,
    /// and their sums short.
    pub fn path(
        &mut self,
        a: &[f32],
        b: &[f32],
        window: Option<&SearchWindow>,
        path: &mut Vec<(u32, u32)>,
    ) {
        let padding = window.map_or(0, |window| window.width) + LANES;
        self.front.prepare(a.iter().copied(), b.iter().rev().copied(), padding);
        self.costs.clear();
        self.starts.clear();
        for k in 0..a.len() + b.len() - 1 {
            let cells = match window {
                Some(window) => self.front.around(window.centres[k] as usize, window),
                None => self.front.all(k),
            };
            self.front.line(k, cells);
            self.starts.push((cells.first as u32, self.costs.len() as u32));
            let line = &self.front.lines[k % 3];
            self.costs.extend_from_slice(&line[cells.first..][..cells.len]);
        }
        self.trace_back(a.len(), b.len(), path);
    }

    fn trace_back(&self, n_rows: usize, n_columns: usize, path: &mut Vec<(u32, u32)>) {
        let cost = |row: Option<usize>, column: Option<usize>| {
            let (Some(row), Some(column)) = (row, column) else { return f32::INFINITY };
            let k = row + column;
            let (first, start) = self.starts[k];
            let end = self.starts.get(k + 1).map_or(self.costs.len(), |next| next.1 as usize);
            let index = (self.front.padding + row).checked_sub(first as usize);
            let index = index.map(|index| start as usize + index).filter(|index| *index < end);
            index.map_or(f32::INFINITY, |index| self.costs[index])
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

impl Wavefront {
    /// Begins with the first values of two series, of which the second is given
    /// from its end.
    fn prepare(
        &mut self,
        rows: impl ExactSizeIterator<Item = f32>,
        columns: impl ExactSizeIterator<Item = f32>,
        padding: usize,
    ) {
        (self.padding, self.base) = (padding, 0.0);
        (self.n_rows, self.n_columns) = (rows.len(), columns.len());
        pad(&mut self.rows, padding, rows, OUTSIDE);
        pad(&mut self.columns, padding, columns, -OUTSIDE);
        for line in &mut self.lines {
            line.clear();
            line.resize(self.rows.len(), f32::INFINITY);
        }
        // The cell before the first, the only one from which that is reached: on
        // antidiagonal -2, whose memory is that of antidiagonal 1.
        self.lines[1][padding - 1] = 0.0;
    }

    /// The cells of a window around a row.
    #[inline]
    fn around(&self, centre: usize, window: &SearchWindow) -> Cells {
        Cells { first: self.padding + centre - window.width / 2, len: window.width }
    }

    /// All cells of antidiagonal `k`.
    #[inline]
    fn all(&self, k: usize) -> Cells {
        let (first, end) = ((k + 1).saturating_sub(self.n_columns), (k + 1).min(self.n_rows));
        Cells { first: self.padding + first, len: (end - first).next_multiple_of(LANES) }
    }

    /// The costs of some cells of antidiagonal `k`.
    #[inline]
    fn line(&mut self, k: usize, cells: Cells) {
        let Cells { first, len } = cells;
        let (rows, columns) = (&self.rows[first..], &self.columns[self.column(k, first)..]);
        let (out, before, before_that) = rotated(&mut self.lines, k, cells);
        match len {
            USUAL_WIDTH => costs::<USUAL_WIDTH>(out, rows, columns, before, before_that),
            _ => {
                for at in (0..len).step_by(LANES) {
                    let (before, before_that) = (&before[at..], &before_that[at..]);
                    costs::<LANES>(
                        &mut out[at..],
                        &rows[at..],
                        &columns[at..],
                        before,
                        before_that,
                    );
                }
            }
        }
    }

    /// Where the value of a padded row's column on antidiagonal `k` is.
    #[inline]
    fn column(&self, k: usize, padded_row: usize) -> usize {
        self.n_columns - 1 + padded_row - k
    }

    /// Subtracts the lowest cost of the last two antidiagonals, which every path
    /// crosses, from both.
    fn rebase(&mut self, k: usize, Cells { first, len }: Cells) {
        // One row more on each side: the antidiagonal before may begin earlier.
        let cells = first - 1..first + len + 1;
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
            self.base += f64::from(lowest);
        }
    }
}

/// Fills a series that is padded on both sides.
pub(crate) fn pad(
    series: &mut Vec<f32>,
    padding: usize,
    values: impl Iterator<Item = f32>,
    outside: f32,
) {
    series.clear();
    series.resize(padding, outside);
    series.extend(values);
    series.resize(series.len() + padding, outside);
}

/// The memory of antidiagonal `k` from its first cell on, and of the two before
/// from one row earlier.
#[inline]
fn rotated(
    lines: &mut [Vec<f32>; 3],
    k: usize,
    Cells { first, len }: Cells,
) -> (&mut [f32], &[f32], &[f32]) {
    let [zero, one, two] = lines;
    let (out, before, before_that) = match k % 3 {
        0 => (zero, two, one),
        1 => (one, zero, two),
        _ => (two, one, zero),
    };
    // Windows move by one row at most, so these two cells are all that later
    // antidiagonals read beside those written here.
    out[first - 1] = f32::INFINITY;
    out[first + len] = f32::INFINITY;
    (&mut out[first..], &before[first - 1..], &before_that[first - 1..])
}

/// The costs of `N` cells. Not inlined: only the arguments of a function are known
/// not to overlap.
#[inline(never)]
fn costs<const N: usize>(
    out: &mut [f32],
    rows: &[f32],
    columns: &[f32],
    before: &[f32],
    before_that: &[f32],
) {
    let (out, rows, columns) = (&mut out[..N], &rows[..N], &columns[..N]);
    let (above, left, diagonal) = (&before[..N], &before[1..N + 1], &before_that[..N]);
    for cell in 0..N {
        let least = smaller(smaller(above[cell], left[cell]), diagonal[cell]);
        out[cell] = (rows[cell] - columns[cell]).abs() + least;
    }
}

/// Of numbers that are never NaN; `f32::min` takes care of them and costs more.
#[inline(always)]
pub(crate) fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}
