// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the distance is at least and at most, in linear time.

use crate::dtw::at_least_one;

/// The lowest and highest value of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesRange {
    /// The lowest.
    pub low: f32,
    /// The highest.
    pub high: f32,
}

impl SeriesRange {
    /// Of this series.
    pub fn of(series: &[f32]) -> SeriesRange {
        let series = at_least_one(series);
        let mut range = SeriesRange { low: series[0], high: series[0] };
        for &value in series {
            range.low = range.low.min(value);
            range.high = range.high.max(value);
        }
        range
    }

    fn distance_to(&self, value: f32) -> f32 {
        (self.low - value).max(value - self.high).max(0.0)
    }
}

/// The distance is this much at least (Yi, Jagadish and Faloutsos, 1998): each
/// value is aligned with some value of the other series, so what lies outside
/// the other's range costs its way there. First and last values are aligned
/// with each other, which counts where it is more.
pub fn lower_bound(a: &[f32], b: &[f32], range_a: SeriesRange, range_b: SeriesRange) -> f64 {
    let (a, b) = (at_least_one(a), at_least_one(b));
    let outside = |series: &[f32], range: SeriesRange| {
        series.iter().map(|&value| f64::from(range.distance_to(value))).sum::<f64>()
    };
    let ends = match (a, b) {
        ([one], [other]) => f64::from((one - other).abs()),
        _ => f64::from((a[0] - b[0]).abs()) + f64::from((a[a.len() - 1] - b[b.len() - 1]).abs()),
    };
    outside(a, range_b).max(outside(b, range_a)).max(ends)
}

/// The distance is this much at most: the cost of the alignment along the
/// straight line from the first values to the last.
pub fn upper_bound(a: &[f32], b: &[f32]) -> f64 {
    let (a, b) = (at_least_one(a), at_least_one(b));
    let (longer, shorter) = if a.len() < b.len() { (b, a) } else { (a, b) };
    // The shorter series moves on by one at most: to the value at row * shorter /
    // longer, without a division each time.
    let (mut sum, mut column, mut rest) = (0.0, 0, 0);
    for &value in longer {
        sum += f64::from((value - shorter[column]).abs());
        rest += shorter.len();
        if rest >= longer.len() {
            rest -= longer.len();
            column += 1;
        }
    }
    sum
}
