// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dynamic time warping: how much it costs to align two series.
//!
//! | function | what | cost |
//! | --- | --- | --- |
//! | [`exact`] | the true distance; the reference | `n m` cells |
//! | [`fast`] | FastDTW, never below the true distance but for rounding | `O((n + m) radius)` cells |
//! | [`lower_bound`] | never above the true distance | `n + m` steps |
//! | [`upper_bound`] | never below the true distance | `n + m` steps |
//!
//! [`Warping`] puts them together: short series are compared completely, those of some
//! thousand values within a wide band, longer ones by FastDTW, and none further than
//! needed to know that the distance is above a limit. Its distances are rounded by less
//! than one in 100,000. An empty series is aligned with any other as if it held one 0.

mod antidiagonal;
mod bounds;
mod corridor;
mod exact;
mod fast;
mod striped;

pub use bounds::{SeriesRange, lower_bound, upper_bound};
pub use exact::exact;
pub use fast::fast;

/// FastDTW begins with copies so coarse that they have at most so many cells, and
/// compares them completely.
pub(crate) const EXACT_CELLS: usize = 1 << 18;

/// Pairs with more cells are compared by FastDTW: from about 2,900 values each on,
/// where a wide band takes a third of a millisecond.
const STRIPED_CELLS: usize = 1 << 23;

/// Compares series, with memory that is reused.
#[derive(Clone, Debug, Default)]
pub struct Warping {
    radius: usize,
    fast: fast::FastMatrix,
    matrix: striped::StripedMatrix,
}

/// What a comparison with a limit found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WarpingDistance {
    /// The distance.
    Is(f64),
    /// It is above the limit, and this much at least.
    AtLeast(f64),
}

impl Warping {
    /// Compares long series by FastDTW of this radius.
    pub fn new(radius: usize) -> Warping {
        Warping { radius, ..Warping::default() }
    }

    /// The distance: the true one for short series, else the lower of what a band or
    /// FastDTW and the straight alignment give, so between the true one and
    /// [`upper_bound`].
    pub fn distance(&mut self, a: &[f32], b: &[f32]) -> f64 {
        match self.distance_within(a, b, f64::INFINITY) {
            WarpingDistance::Is(distance) | WarpingDistance::AtLeast(distance) => distance,
        }
    }

    /// The same, given up as soon as it is certain to be above `limit`.
    pub fn distance_within(&mut self, a: &[f32], b: &[f32], limit: f64) -> WarpingDistance {
        if limit < f64::INFINITY {
            let bound = lower_bound(a, b, SeriesRange::of(a), SeriesRange::of(b));
            if bound > limit {
                return WarpingDistance::AtLeast(bound);
            }
        }
        let (a, b) = (at_least_one(a), at_least_one(b));
        let distance = match a.len().saturating_mul(b.len()) {
            ..=STRIPED_CELLS => self.matrix.distance(a, b, limit),
            _ => fast::within(&mut self.fast, a, b, self.radius, limit),
        };
        let distance = distance.min(upper_bound(a, b));
        match distance > limit {
            true => WarpingDistance::AtLeast(limit),
            false => WarpingDistance::Is(distance),
        }
    }
}

/// What stands for an empty series.
fn at_least_one(series: &[f32]) -> &[f32] {
    if series.is_empty() { &[0.0] } else { series }
}

#[cfg(test)]
mod tests;
