// SPDX-License-Identifier: MIT OR Apache-2.0

//! The warping matrix of series of some thousand values, [`LANES`] rows at a time.
//!
//! Rows are cut into blocks, one below the other, and each lane of a vector
//! computes a block of its own, so that a lane never waits for its neighbour of the
//! same vector (Farrar, 2007, calls such a layout striped). A block needs the last row
//! of the block above, so each lane is one step behind the lane before it. A step is
//! [`COLUMNS`] columns, to load and store each row once for several cells. Nothing is
//! shuffled but once per step, and the compiler keeps all of a step in registers.
//!
//! Matrices of up to [`EXACT_CELLS`] cells are computed completely, and so are those of
//! series of different length. Of larger ones only
//! a wide band around the straight alignment is, in strips of [`STRIP_ROWS`] rows of
//! which each has columns of its own. The corridor of FastDTW costs less, but it
//! misses the best path where series have a few high values: coarse copies no longer
//! show where those are. The distances of 10,000 pairs of the evaluation were wrong by
//! a factor of 5 for one pair in twenty; a band half as wide as the series is not.
//!
//! Costs are `f32` above an `f64`, as in [`antidiagonal`](super::antidiagonal).

use std::ops::Range;

/// Blocks of rows that are computed side by side.
const LANES: usize = 16;
/// Columns per step.
const COLUMNS: usize = 4;
/// Rows of a strip: enough to make what a step costs beside its cells small.
const STRIP_ROWS: usize = 256;
/// Matrices with more cells than this are computed in part.
const EXACT_CELLS: usize = 500_000;
/// Unless one series is longer by this factor: then some part of the other is stretched,
/// and the best path may be far from the straight alignment. Distances were wrong by
/// factors of up to 50 there.
const MOST_STRETCHED: f64 = 1.2;
/// How far the band goes to each side of the straight alignment, beside the strip
/// itself, as a share of the columns.
const BAND: f64 = 0.14;
/// Steps between two looks at the lowest cost.
const BLOCK: usize = 32;
/// What series are padded with, and columns with its negative: further from all
/// values than any path is long.
const OUTSIDE: f32 = 1e37;

/// A row of each block.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Lanes([f32; LANES]);

/// Memory of the kernel, reused from one comparison to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct StripedMatrix {
    rows: Vec<Lanes>,
    /// The last column of all rows that was computed.
    costs: Vec<Lanes>,
    /// The columns in steps, from the last to the first: those of all lanes are
    /// neighbours then.
    columns: [Vec<f32>; COLUMNS],
    /// The costs of the last row of the strip above, from the column before the first.
    above: Vec<f64>,
    /// Those of the columns that are computed, relative to the lowest.
    edge: Vec<f32>,
    /// The costs of the last row of the strip.
    bottom: Vec<f64>,
}

impl StripedMatrix {
    /// The cost of the cheapest path through all cells, or those of the band;
    /// infinite once every path costs more than `limit`. Neither series is empty.
    pub fn distance(&mut self, a: &[f32], b: &[f32], limit: f64) -> f64 {
        let (rows, columns) = if a.len() < b.len() { (a, b) } else { (b, a) };
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            return with_avx2(self, rows, columns, limit);
        }
        self.compute(rows, columns, limit)
    }

    #[inline(always)]
    fn compute(&mut self, rows: &[f32], columns: &[f32], limit: f64) -> f64 {
        let is_whole = rows.len().saturating_mul(columns.len()) <= EXACT_CELLS
            || columns.len() as f64 > MOST_STRETCHED * rows.len() as f64;
        let height = if is_whole { rows.len() } else { STRIP_ROWS };
        self.above.clear();
        self.above.resize(columns.len() + 1, f64::INFINITY);
        // The cell before the first, the only one from which that is reached.
        self.above[0] = 0.0;
        let mut last = f64::INFINITY;
        for (index, strip) in rows.chunks(height).enumerate() {
            let first = index * height;
            let wanted = match is_whole {
                true => 0..columns.len(),
                false => band(first..first + strip.len(), rows.len(), columns.len()),
            };
            last = self.strip(strip, columns, wanted);
            // Each path crosses the last row of each strip.
            if limit < f64::INFINITY && least(&self.above, f64::INFINITY).min(last) > limit {
                return f64::INFINITY;
            }
        }
        last
    }

    /// Computes some columns of a strip from the row above it. Leaves its last row in
    /// place of that, if its rows fill all lanes, and gives its last cell.
    #[inline(always)]
    fn strip(&mut self, rows: &[f32], columns: &[f32], wanted: Range<usize>) -> f64 {
        let n_rows = rows.len().div_ceil(LANES);
        self.rows.clear();
        self.rows.resize(n_rows, Lanes([OUTSIDE; LANES]));
        for (lane, block) in rows.chunks(n_rows).enumerate() {
            self.rows.iter_mut().zip(block).for_each(|(row, value)| row.0[lane] = *value);
        }
        self.costs.clear();
        self.costs.resize(n_rows, Lanes([f32::INFINITY; LANES]));
        // Steps end with the last column; the first ones may stand for no column.
        let n_groups = wanted.len().div_ceil(COLUMNS);
        let column = |group: usize, at: usize| {
            (wanted.end + group * COLUMNS + at).checked_sub(n_groups * COLUMNS)
        };
        for (at, padded) in self.columns.iter_mut().enumerate() {
            padded.clear();
            padded.resize(LANES, -OUTSIDE);
            let values = (0..n_groups).rev().map(|group| column(group, at));
            padded.extend(values.map(|index| index.map_or(-OUTSIDE, |index| columns[index])));
            padded.resize(n_groups + 2 * LANES, -OUTSIDE);
        }
        let first_base = least(&self.above[wanted.start..=wanted.end], f64::INFINITY);
        let first_base = if first_base.is_finite() { first_base } else { 0.0 };
        let relative = |cost: f64| (cost - first_base) as f32;
        self.edge.clear();
        for index in (0..n_groups).flat_map(|group| (0..COLUMNS).map(move |at| column(group, at))) {
            let cost = index.map_or(f64::INFINITY, |index| self.above[index + 1]);
            self.edge.push(relative(cost));
        }
        // What is above and left of the first column.
        let mut diagonal = Lanes([f32::INFINITY; LANES]);
        match column(0, 0) {
            Some(index) => diagonal.0[0] = relative(self.above[index]),
            None => {
                let n_none = n_groups * COLUMNS - wanted.end;
                self.edge[n_none - 1] = relative(self.above[0]);
            }
        }
        self.bottom.clear();

        let last = rows.len() - 1;
        let (last_lane, last_row) = (last / n_rows, last % n_rows);
        let mut base = first_base;
        let mut bottoms = [Lanes([f32::INFINITY; LANES]); COLUMNS];
        for step in 0..n_groups + last_lane {
            let first = LANES + n_groups - 1 - step;
            let edge = self.edge.get(step * COLUMNS..(step + 1) * COLUMNS);
            let edge = edge.unwrap_or(&[f32::INFINITY; COLUMNS]);
            let lowered = (base - first_base) as f32;
            let mut values = [Lanes([0.0; LANES]); COLUMNS];
            let mut above = [Lanes([0.0; LANES]); COLUMNS];
            for at in 0..COLUMNS {
                values[at].0.copy_from_slice(&self.columns[at][first..first + LANES]);
                above[at].0[1..].copy_from_slice(&bottoms[at].0[..LANES - 1]);
                above[at].0[0] = edge[at] - lowered;
            }
            let next_diagonal = above[COLUMNS - 1];
            bottoms = cells(&self.rows, &mut self.costs, &values, above, diagonal);
            diagonal = next_diagonal;
            if step >= LANES - 1 {
                self.bottom
                    .extend(bottoms.iter().map(|bottom| base + f64::from(bottom.0[LANES - 1])));
            }
            if step % BLOCK == BLOCK - 1 {
                // Paths that are between two lanes, or still in the strip above, may cost
                // less than those in all cells of the last column.
                let ahead = self.edge.get((step + 1) * COLUMNS..).unwrap_or(&[]);
                let mut lowest = least(ahead, f32::INFINITY) - lowered;
                for cost in self.costs.iter().chain(&bottoms).chain([&diagonal]) {
                    lowest = smaller(lowest, least(&cost.0, f32::INFINITY));
                }
                if lowest.is_finite() {
                    let all = self.costs.iter_mut().chain(&mut bottoms).chain([&mut diagonal]);
                    all.for_each(|cost| cost.0.iter_mut().for_each(|cost| *cost -= lowest));
                    base += f64::from(lowest);
                }
            }
        }
        let cost = base + f64::from(self.costs[last_row].0[last_lane]);
        self.above.fill(f64::INFINITY);
        // The last steps are those of the last columns.
        let n_known = self.bottom.len().min(wanted.end);
        let known = &self.bottom[self.bottom.len() - n_known..];
        self.above[wanted.end + 1 - n_known..=wanted.end].copy_from_slice(known);
        cost
    }
}

/// The lowest of some costs, several at a time.
#[inline(always)]
fn least<T: Copy + PartialOrd>(costs: &[T], infinite: T) -> T {
    const AT_ONCE: usize = 16;
    let mut low = [infinite; AT_ONCE];
    let chunks = costs.chunks_exact(AT_ONCE);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (low, &cost) in low.iter_mut().zip(chunk) {
            *low = if cost < *low { cost } else { *low };
        }
    }
    low.iter().chain(rest).fold(infinite, |low, &cost| if cost < low { cost } else { low })
}

/// The columns of a strip's band.
fn band(strip: Range<usize>, n_rows: usize, n_columns: usize) -> Range<usize> {
    let column = |row: usize, further: f64| {
        let share = row as f64 / n_rows as f64 + further;
        (share.clamp(0.0, 1.0) * n_columns as f64) as usize
    };
    column(strip.start, -BAND)..(column(strip.end, BAND) + 1).min(n_columns)
}

/// The cells of all rows in some columns. Gives those of the last rows.
#[inline(always)]
fn cells(
    rows: &[Lanes],
    costs: &mut [Lanes],
    columns: &[Lanes; COLUMNS],
    mut above: [Lanes; COLUMNS],
    mut diagonal: Lanes,
) -> [Lanes; COLUMNS] {
    for (row, cost) in rows.iter().zip(costs) {
        let mut left = *cost;
        let next_diagonal = left;
        for (column, above) in columns.iter().zip(&mut above) {
            let mut new = Lanes([0.0; LANES]);
            for lane in 0..LANES {
                let least = smaller(smaller(diagonal.0[lane], above.0[lane]), left.0[lane]);
                new.0[lane] = (row.0[lane] - column.0[lane]).abs() + least;
            }
            diagonal = std::mem::replace(above, new);
            left = new;
        }
        diagonal = next_diagonal;
        *cost = left;
    }
    above
}

/// Of numbers that are never NaN.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// The same code for vectors of eight numbers, which nearly all processors of the last
/// ten years have: twice as fast.
#[cfg(target_arch = "x86_64")]
fn with_avx2(matrix: &mut StripedMatrix, rows: &[f32], columns: &[f32], limit: f64) -> f64 {
    #[target_feature(enable = "avx2")]
    fn compute(matrix: &mut StripedMatrix, rows: &[f32], columns: &[f32], limit: f64) -> f64 {
        matrix.compute(rows, columns, limit)
    }
    // SAFETY: the processor has these instructions, which the only caller has asked.
    #[allow(unsafe_code, reason = "there is no safe call of a function with more instructions")]
    unsafe {
        compute(matrix, rows, columns, limit)
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
            (state >> 40) % 10
        };
        (0..len)
            .map(|_| [0.0, 0.0, 0.0, 32768.0, 65536.0, 0.0, 0.0, 1e10, 0.0, 4e9][next() as usize])
            .collect()
    }

    #[test]
    fn whole_matrices_of_all_shapes_are_exact_by_either_code() {
        let mut matrix = StripedMatrix::default();
        for n in (1..40).chain([63, 64, 65, 255, 256, 257, 700]) {
            for m in [1, 2, 3, 4, 5, 15, 16, 17, 31, 100, 999] {
                let (a, b) = (series(n, 1), series(m, 2));
                let truth = exact(&a, &b);
                let (rows, columns) = if n < m { (&a, &b) } else { (&b, &a) };
                let found = matrix.compute(rows, columns, f64::INFINITY);
                assert!((found - truth).abs() <= 1e-5 * truth, "{n} {m}: {found} {truth}");
                assert_eq!(matrix.distance(&a, &b, f64::INFINITY), found, "{n} {m}");
            }
        }
    }

    #[test]
    fn a_band_is_never_below_the_true_distance_and_exact_near_the_straight_alignment() {
        let mut matrix = StripedMatrix::default();
        for (n, m) in [(1000, 900), (1000, 701), (2500, 300), (1700, 1601)] {
            let (a, b) = (series(n, 5), series(m, 6));
            let (truth, found) = (exact(&a, &b), matrix.distance(&a, &b, f64::INFINITY));
            assert!(found >= truth * (1.0 - 1e-5), "{n} {m}: {found} {truth}");
            assert!(found <= truth * 1.01, "{n} {m}: {found} {truth}");
            assert_eq!(matrix.distance(&a, &a, f64::INFINITY), 0.0);
        }
    }

    #[test]
    fn strips_of_the_band_meet_and_reach_both_ends() {
        for (n_rows, n_columns) in [(701, 1000), (1000, 1000), (1025, 30_000), (2048, 2049)] {
            let strips: Vec<Range<usize>> = (0..n_rows)
                .step_by(STRIP_ROWS)
                .map(|first| band(first..(first + STRIP_ROWS).min(n_rows), n_rows, n_columns))
                .collect();
            assert_eq!((strips[0].start, strips[strips.len() - 1].end), (0, n_columns));
            assert!(strips.windows(2).all(|two| two[1].start < two[0].end), "{strips:?}");
        }
    }
}
