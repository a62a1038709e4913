// SPDX-License-Identifier: MIT OR Apache-2.0

//! The cost of the cheapest path through a corridor of a long warping matrix.
//!
//! The corridor is computed one antidiagonal at a time, as in
//! [`antidiagonal`](super::antidiagonal), but nothing is kept except its last two
//! antidiagonals. They are stored relative to the search window, so that all they take
//! is some hundred bytes: the series are the only thing that is read from further away
//! than the nearest cache.
//!
//! Each antidiagonal waits for the one before, longer than its cells take. So two are
//! computed at the same time: from the first cell on and from the last one back, until
//! they meet.
//!
//! Costs are `f32` above an `f64`, and series are padded, as described there.

use std::mem::swap;

use crate::dtw::antidiagonal::{LANES, OUTSIDE, SearchWindow, pad, smaller};

/// The width of windows that are computed by one straight piece of code.
const USUAL_WIDTH: usize = 48;

/// Antidiagonals between two looks at the lowest cost.
const BLOCK: usize = 128;

/// Memory of the kernel, reused from one comparison to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct Corridor {
    /// The first series, padded.
    rows: Vec<f32>,
    /// The second series from its end, padded: neighbours on an antidiagonal are
    /// neighbours here.
    columns: Vec<f32>,
    /// The lines of both fronts.
    lines: Vec<f32>,
}

/// The last antidiagonals that were computed from one end.
#[derive(Debug)]
struct Front<'a> {
    /// The last one: the costs in the window, with a cell on each side that nothing
    /// reaches.
    last: &'a mut [f32],
    /// The one before.
    before: &'a mut [f32],
    /// Memory for the next.
    next: &'a mut [f32],
    /// The padded rows at which the windows of the last two begin.
    first: usize,
    first_before: usize,
    /// What was subtracted from all costs.
    base: f64,
}

impl Corridor {
    /// The cost of the cheapest path through the window; infinite once every path costs
    /// more than `limit`. Neither series is empty.
    pub fn distance(&mut self, a: &[f32], b: &[f32], window: &SearchWindow, limit: f64) -> f64 {
        pad(&mut self.rows, window.width, a.iter().copied(), OUTSIDE);
        pad(&mut self.columns, window.width, b.iter().rev().copied(), -OUTSIDE);
        self.lines.clear();
        self.lines.resize(6 * (window.width + 2), f32::INFINITY);
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return with_avx2(self, window, limit);
        }
        self.compute(window, limit)
    }

    #[inline(always)]
    fn compute(&mut self, window: &SearchWindow, limit: f64) -> f64 {
        match window.width {
            USUAL_WIDTH => self.compute_width(window, USUAL_WIDTH, limit),
            width => self.compute_width(window, width, limit),
        }
    }

    #[inline(always)]
    fn compute_width(&mut self, window: &SearchWindow, width: usize, limit: f64) -> f64 {
        let (rows, columns) = (&*self.rows, &*self.columns);
        let (of_forward, of_backward) = self.lines.split_at_mut(3 * (width + 2));
        let last = window.centres.len() - 1;
        // The padded row at which the window of an antidiagonal begins, and where the
        // column of that row is.
        let first = |k: usize| width + window.centres[k] as usize - width / 2;
        let last_column = columns.len() - 2 * width - 1;
        let values = |k: usize, first: usize| {
            let column = last_column + first - k;
            (&rows[first..first + width], &columns[column..column + width])
        };
        // The first cell comes after one that costs nothing, two antidiagonals before.
        let mut forward = Front::new(of_forward, width, first(0), width / 2);
        let mut backward = Front::new(of_backward, width, first(last), width / 2 + 2);
        for k in 0..=last / 2 {
            let start = first(k);
            let moved = start - forward.first;
            let moved_both = start - forward.first_before;
            forward.line(values(k, start), width, start, moved, moved_both);
            let back = last - k;
            if back > k {
                let start = first(back);
                let moved = backward.first - start;
                let moved_both = backward.first_before - start;
                backward.line(values(back, start), width, start, 1 - moved, 2 - moved_both);
            }
            if k % BLOCK == BLOCK - 1 {
                forward.rebase();
                backward.rebase();
                if forward.base + backward.base > limit {
                    return f64::INFINITY;
                }
            }
        }
        forward.meet(&backward)
    }
}

impl<'a> Front<'a> {
    /// Begins beside a window, before the cell that is reached from `start` alone.
    #[inline(always)]
    fn new(lines: &'a mut [f32], width: usize, first: usize, start: usize) -> Front<'a> {
        let (last, rest) = lines.split_at_mut(width + 2);
        let (before, next) = rest.split_at_mut(width + 2);
        before[start] = 0.0;
        Front { last, before, next, first, first_before: first, base: 0.0 }
    }

    /// The next antidiagonal. Its cells come after two neighbours each of the last one,
    /// from `beside` on, and one of the line before, from `diagonal` on.
    #[inline(always)]
    fn line(
        &mut self,
        (rows, columns): (&[f32], &[f32]),
        width: usize,
        first: usize,
        beside: usize,
        diagonal: usize,
    ) {
        let (one, other) = (&self.last[beside..][..width], &self.last[beside + 1..][..width]);
        let diagonal = &self.before[diagonal..][..width];
        let (rows, columns) = (&rows[..width], &columns[..width]);
        let next = &mut self.next[1..][..width];
        for at in (0..width).step_by(LANES) {
            // Nothing is stored until all is computed, so that the compiler need not
            // know that the lines do not overlap.
            let mut costs = [0.0_f32; LANES];
            for (lane, cost) in costs.iter_mut().enumerate() {
                let cell = at + lane;
                let least = smaller(smaller(one[cell], other[cell]), diagonal[cell]);
                *cost = (rows[cell] - columns[cell]).abs() + least;
            }
            next[at..at + LANES].copy_from_slice(&costs);
        }
        swap(&mut self.before, &mut self.next);
        swap(&mut self.last, &mut self.before);
        (self.first_before, self.first) = (self.first, first);
    }

    /// Subtracts the lowest cost of the last two antidiagonals, which every path
    /// crosses, from both.
    #[inline(always)]
    fn rebase(&mut self) {
        let lines = self.last.iter().chain(&*self.before);
        let lowest = lines.fold(f32::INFINITY, |low, &cost| smaller(cost, low));
        if lowest.is_finite() {
            let lines = self.last.iter_mut().chain(&mut *self.before);
            lines.for_each(|cost| *cost -= lowest);
            self.base += f64::from(lowest);
        }
    }

    /// The cost of the cheapest path from here to the other end, where the other front
    /// has come from: its last antidiagonal is the one after the last of this.
    fn meet(&self, other: &Front) -> f64 {
        let cost = |line: &[f32], first: usize, row: usize| {
            let cost = (row + 1).checked_sub(first).and_then(|index| line.get(index));
            f64::from(cost.copied().unwrap_or(f32::INFINITY))
        };
        let mine = |row: usize| cost(self.last, self.first, row);
        let mine_before = |row: usize| cost(self.before, self.first_before, row);
        let its = |row: usize| cost(other.last, other.first, row);
        let its_before = |row: usize| cost(other.before, other.first_before, row);
        let mut least = f64::INFINITY;
        // Windows move by one row at most.
        for row in self.first - 1..self.first + self.last.len() {
            let through = mine(row) + its(row).min(its(row + 1)).min(its_before(row + 1));
            least = least.min(through).min(mine_before(row) + its(row + 1));
        }
        self.base + other.base + least
    }
}

/// The same code for vectors of eight numbers, which nearly all processors of the last
/// ten years have.
#[cfg(target_arch = "x86_64")]
fn with_avx2(corridor: &mut Corridor, window: &SearchWindow, limit: f64) -> f64 {
    #[target_feature(enable = "avx2")]
    fn compute(corridor: &mut Corridor, window: &SearchWindow, limit: f64) -> f64 {
        corridor.compute(window, limit)
    }
    // SAFETY: the processor has these instructions, which the only caller has asked.
    #[allow(unsafe_code, reason = "there is no safe call of a function with more instructions")]
    unsafe {
        compute(corridor, window, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtw::exact;

    /// Numbers that look random, with many zeros and some that are very large.
    fn series(len: usize, seed: u64) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 40) % 6
        };
        (0..len).map(|_| [0.0, 0.0, 32768.0, 1e10, 0.0, 4e9][next() as usize]).collect()
    }

    /// The straight alignment.
    fn centres(n_rows: usize, n_columns: usize) -> Vec<u32> {
        let n_lines = n_rows + n_columns - 1;
        (0..n_lines).map(|k| (k * (n_rows - 1) / (n_lines - 1).max(1)) as u32).collect()
    }

    #[test]
    fn a_corridor_that_covers_the_matrix_is_exact_by_either_code() {
        let mut corridor = Corridor::default();
        for n in 1..24 {
            for m in 1..24 {
                let (a, b) = (series(n, 1), series(m, 2));
                let truth = exact(&a, &b);
                for width in [USUAL_WIDTH, 2 * USUAL_WIDTH] {
                    let window = SearchWindow { centres: centres(n, m), width };
                    let found = corridor.distance(&a, &b, &window, f64::INFINITY);
                    assert!((found - truth).abs() <= 1e-5 * truth, "{n} {m}: {found} {truth}");
                    corridor.lines.fill(f32::INFINITY);
                    assert_eq!(corridor.compute(&window, f64::INFINITY), found, "{n} {m}");
                }
            }
        }
    }

    #[test]
    fn a_series_lies_in_the_corridor_of_itself_and_a_limit_is_noticed() {
        let mut corridor = Corridor::default();
        let window = SearchWindow { centres: centres(5000, 5000), width: USUAL_WIDTH };
        let (a, b) = (series(5000, 3), series(5000, 4));
        assert_eq!(corridor.distance(&a, &a, &window, f64::INFINITY), 0.0);
        let found = corridor.distance(&a, &b, &window, f64::INFINITY);
        assert!(found >= exact(&a, &b) * (1.0 - 1e-5), "{found}");
        assert_eq!(corridor.distance(&a, &b, &window, found), found);
        assert_eq!(corridor.distance(&a, &b, &window, found / 2.0), f64::INFINITY);
    }
}
