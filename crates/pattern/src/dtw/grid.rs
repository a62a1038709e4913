// SPDX-License-Identifier: MIT OR Apache-2.0

//! The warping matrix, of which only two rows are kept.
//!
//! Each cell costs the difference of two values plus the cheapest of its three
//! predecessors. Rows are padded by a cell on the left that nothing reaches, so
//! that the inner loop has no special cases.

/// For each row of the matrix the columns that may be visited, ends included.
pub(crate) type SearchWindow = Vec<(u32, u32)>;

/// Where the cheapest path into a cell comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Step {
    Diagonal,
    Up,
    Left,
}

/// Memory for rows and steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grid {
    above: Vec<f64>,
    row: Vec<f64>,
    steps: Vec<Step>,
    /// Where the steps of each row begin.
    starts: Vec<usize>,
}

impl Grid {
    /// All cells; infinite once every path costs more than `limit`.
    pub fn exact(&mut self, down: &[f32], across: &[f32], limit: f64) -> f64 {
        let width = across.len();
        self.row.clear();
        self.row.resize(width + 1, f64::INFINITY);
        let row = &mut self.row[..];
        // Before the first cell: the only place from which it can be reached.
        row[0] = 0.0;
        for &value in down {
            let mut diagonal = row[0];
            row[0] = f64::INFINITY;
            let (mut left, mut lowest) = (f64::INFINITY, f64::INFINITY);
            for (cell, &other) in row[1..].iter_mut().zip(across) {
                let up = *cell;
                // The value just found comes last: the next cell waits for it.
                left = smaller(smaller(diagonal, up), left) + f64::from((value - other).abs());
                diagonal = up;
                *cell = left;
                lowest = smaller(lowest, left);
            }
            if lowest > limit {
                return f64::INFINITY;
            }
        }
        row[width]
    }

    /// The cells of a window; infinite once every path costs more than `limit`.
    pub fn windowed(
        &mut self,
        down: &[f32],
        across: &[f32],
        window: &SearchWindow,
        limit: f64,
    ) -> f64 {
        self.prepare(across.len());
        let mut reach = (0, 0);
        for (&value, &(first, last)) in down.iter().zip(window) {
            let (first, last) = (first as usize, last as usize);
            self.open_row(reach, last);
            // Column c is at c + 1; what is left of the row cannot be reached.
            let above = &self.above[first..last + 2];
            let row = &mut self.row[first..last + 2];
            row[0] = f64::INFINITY;
            let (mut left, mut lowest) = (f64::INFINITY, f64::INFINITY);
            let cells = row[1..].iter_mut().zip(above.windows(2)).zip(&across[first..=last]);
            for ((cell, above), &other) in cells {
                left =
                    smaller(smaller(above[0], above[1]), left) + f64::from((value - other).abs());
                *cell = left;
                lowest = smaller(lowest, left);
            }
            if lowest > limit {
                return f64::INFINITY;
            }
            reach = (first, last);
            std::mem::swap(&mut self.above, &mut self.row);
        }
        self.above[across.len()]
    }

    /// The cheapest path through a window, as cells from the first to the last,
    /// written to `path`.
    pub fn path(
        &mut self,
        down: &[f32],
        across: &[f32],
        window: &SearchWindow,
        path: &mut Vec<(u32, u32)>,
    ) {
        self.prepare(across.len());
        self.steps.clear();
        self.starts.clear();
        let mut reach = (0, 0);
        for (&value, &(first, last)) in down.iter().zip(window) {
            let (first, last) = (first as usize, last as usize);
            self.open_row(reach, last);
            self.starts.push(self.steps.len());
            let above = &self.above[first..last + 2];
            let row = &mut self.row[first..last + 2];
            row[0] = f64::INFINITY;
            let mut left = f64::INFINITY;
            let cells = row[1..].iter_mut().zip(above.windows(2)).zip(&across[first..=last]);
            for ((cell, above), &other) in cells {
                let (mut best, mut step) = (above[0], Step::Diagonal);
                if above[1] < best {
                    (best, step) = (above[1], Step::Up);
                }
                if left < best {
                    (best, step) = (left, Step::Left);
                }
                left = best + f64::from((value - other).abs());
                *cell = left;
                self.steps.push(step);
            }
            reach = (first, last);
            std::mem::swap(&mut self.above, &mut self.row);
        }
        self.trace_back(window, path);
    }

    fn prepare(&mut self, width: usize) {
        for row in [&mut self.above, &mut self.row] {
            row.resize(row.len().max(width + 1), 0.0);
        }
        self.above[0] = 0.0;
        self.above[1] = f64::INFINITY;
    }

    /// Cells above a row that the row above did not reach cost infinitely much.
    fn open_row(&mut self, reach: (usize, usize), last: usize) {
        let reached = reach.1 + 1;
        if last + 1 > reached {
            self.above[reached + 1..=last + 1].fill(f64::INFINITY);
        }
    }

    fn trace_back(&self, window: &SearchWindow, path: &mut Vec<(u32, u32)>) {
        path.clear();
        let Some(mut row) = window.len().checked_sub(1) else { return };
        let mut column = window[row].1;
        loop {
            path.push((row as u32, column));
            if row == 0 && column == 0 {
                break;
            }
            let step = self.steps[self.starts[row] + (column - window[row].0) as usize];
            match step {
                Step::Left => column -= 1,
                Step::Up => row -= 1,
                Step::Diagonal => (row, column) = (row - 1, column - 1),
            }
        }
        path.reverse();
    }
}

/// Of numbers that are never NaN; `f64::min` takes care of them and costs more.
#[inline(always)]
fn smaller(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}
