// SPDX-License-Identifier: MIT OR Apache-2.0

//! How well file, offset, size and time of the next operation were predicted.

use super::calibration::CalibrationBins;
use super::sums::{Mean, Moments};

/// Errors of predicted sizes count at most this much, as in the report's figure.
pub const SIZE_ERROR_CAP: f64 = 5.0;

/// Where a data access lies in its file; `start` is `None` where the call has
/// no position that could be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessedRange {
    /// First byte.
    pub start: Option<u64>,
    /// Length in bytes.
    pub size: u64,
}

/// What one prediction says of a data access that came: the segment, if it is
/// in the right file and a data access at all.
pub type Stated = Option<AccessedRange>;

/// Equation 3 of the report, between 0 and 1: the overlap of the predicted and
/// the accessed segment, relative to the distance between their extrema.
///
/// Empty accesses hit if both are empty, wherever they are in the file. Where
/// neither has a position, as in a call that a library answers from its cache,
/// the size must be right.
pub fn hit(stated: Stated, came: AccessedRange) -> f64 {
    let Some(stated) = stated else { return 0.0 };
    if stated.size == 0 || came.size == 0 {
        return f64::from(u8::from(stated.size == came.size));
    }
    let (x_start, y_start) = match (stated.start, came.start) {
        (Some(x), Some(y)) => (x, y),
        (None, None) => return f64::from(u8::from(stated.size == came.size)),
        _ => return 0.0,
    };
    let x_end = u128::from(x_start) + u128::from(stated.size);
    let y_end = u128::from(y_start) + u128::from(came.size);
    let overlap = x_end.min(y_end).saturating_sub(u128::from(x_start.max(y_start)));
    let extent = x_end.max(y_end) - u128::from(x_start.min(y_start));
    overlap as f64 / extent as f64
}

/// Equation 2 of the report, cut at 5; `None` for an empty access.
pub fn size_error(stated: u64, came: u64) -> Option<f64> {
    let error = stated.abs_diff(came) as f64 / came as f64;
    (came > 0).then(|| error.min(SIZE_ERROR_CAP))
}

/// The scores of predicted places and times of a run.
#[derive(Clone, Debug, Default)]
pub struct PlaceScore {
    /// Share of operations whose file was predicted.
    pub file: Mean,
    /// Relative size error of data accesses that are not empty.
    pub size_error: Mean,
    /// Share of data accesses whose size was exact.
    pub size_exact: Mean,
    /// Share of data accesses whose file and offset were predicted.
    pub offset: Mean,
    /// Hit ratio of data accesses.
    pub hit: Mean,
    /// How far the probability of the top prediction, of operation, file and
    /// place together, can be trusted.
    pub calibration: CalibrationBins,
    /// Absolute error of the interarrival time in seconds.
    pub time_error: Moments,
}

impl PlaceScore {
    /// Compares statements, each with the probability of its operation and the
    /// top one first, with a data access. Returns the hit ratio.
    ///
    /// Offset and hit ratio are weighted by the probabilities as they were
    /// stated; what is left of 1 was no statement and counts 0.
    pub fn add_data_access(
        &mut self,
        stated: impl Iterator<Item = (f64, Stated)>,
        top_size: Option<u64>,
        came: AccessedRange,
    ) -> f64 {
        let (mut offset_weight, mut hit_weight) = (0.0, 0.0);
        for (probability, segment) in stated {
            let is_there = segment.is_some_and(|segment| segment.start == came.start);
            offset_weight += if is_there { probability } else { 0.0 };
            hit_weight += probability * hit(segment, came);
        }
        self.offset.add(offset_weight);
        self.hit.add(hit_weight);
        self.size_exact.add(f64::from(u8::from(top_size == Some(came.size))));
        if let Some(error) = size_error(top_size.unwrap_or(0), came.size) {
            self.size_error.add(error);
        }
        hit_weight
    }

    /// Takes in whether the file of an operation was predicted.
    pub fn add_file(&mut self, right: bool) {
        self.file.add(f64::from(u8::from(right)));
    }

    /// Takes in a predicted and an observed interarrival time.
    pub fn add_time(&mut self, stated_ns: u64, came_ns: u64) {
        self.time_error.add(stated_ns.abs_diff(came_ns) as f64 * 1e-9);
    }

    /// Takes in the scores of another stream.
    pub fn merge(&mut self, other: &PlaceScore) {
        self.file.merge(other.file);
        self.size_error.merge(other.size_error);
        self.size_exact.merge(other.size_exact);
        self.offset.merge(other.offset);
        self.hit.merge(other.hit);
        self.calibration.merge(&other.calibration);
        self.time_error.merge(other.time_error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: u64, size: u64) -> AccessedRange {
        AccessedRange { start: Some(start), size }
    }

    #[test]
    fn the_same_segment_is_a_full_hit() {
        assert_eq!(hit(Some(at(10, 5)), at(10, 5)), 1.0);
    }

    #[test]
    fn an_overlap_counts_relative_to_the_extrema() {
        // [0, 10) against [5, 20): 5 of 20 bytes.
        assert_eq!(hit(Some(at(0, 10)), at(5, 15)), 0.25);
        assert_eq!(hit(Some(at(0, 10)), at(10, 10)), 0.0);
    }

    #[test]
    fn empty_accesses_hit_only_each_other() {
        assert_eq!(hit(Some(at(3, 0)), at(7, 0)), 1.0);
        assert_eq!(hit(Some(at(7, 1)), at(7, 0)), 0.0);
        assert_eq!(hit(Some(at(7, 0)), at(7, 1)), 0.0);
        assert_eq!(hit(None, at(7, 0)), 0.0);
    }

    #[test]
    fn segments_at_the_end_of_the_number_range_do_not_overflow() {
        assert_eq!(hit(Some(at(u64::MAX, u64::MAX)), at(u64::MAX, u64::MAX)), 1.0);
    }

    #[test]
    fn without_positions_the_size_must_be_right() {
        let unknown = |size| AccessedRange { start: None, size };
        assert_eq!(hit(Some(unknown(10)), unknown(10)), 1.0);
        assert_eq!(hit(Some(unknown(5)), unknown(10)), 0.0);
        assert_eq!(hit(Some(at(0, 5)), unknown(5)), 0.0);
    }

    #[test]
    fn a_size_error_is_relative_and_cut_at_5() {
        assert_eq!(size_error(5000, 2), Some(5.0));
        assert_eq!(size_error(3, 2), Some(0.5));
        assert_eq!(size_error(3, 0), None);
    }

    #[test]
    fn several_statements_count_by_their_weights() {
        let mut score = PlaceScore::default();
        let stated = [(0.5, Some(at(0, 8))), (0.25, None), (0.25, Some(at(0, 4)))];
        let hit = score.add_data_access(stated.into_iter(), Some(8), at(0, 8));
        // 0.5 * 1 + 0.25 * 0 + 0.25 * 0.5
        assert_eq!(hit, 0.625);
        assert_eq!(score.offset.percent(), Some(75.0));
        assert_eq!(score.size_exact.percent(), Some(100.0));
        assert_eq!(score.size_error.value(), Some(0.0));
    }

    #[test]
    fn what_is_not_stated_counts_0() {
        let mut score = PlaceScore::default();
        let stated = [(0.5, Some(at(0, 8)))].into_iter();
        let hit = score.add_data_access(stated, Some(8), at(0, 8));
        assert_eq!(hit, 0.5);
        assert_eq!(score.add_data_access(std::iter::empty(), None, at(0, 8)), 0.0);
    }

    #[test]
    fn an_empty_access_has_no_size_error_but_may_be_exact() {
        let mut score = PlaceScore::default();
        score.add_data_access([(1.0, Some(at(0, 0)))].into_iter(), Some(0), at(0, 0));
        assert_eq!(score.size_error.value(), None);
        assert_eq!(score.size_exact.percent(), Some(100.0));
        assert_eq!(score.hit.percent(), Some(100.0));
    }

    #[test]
    fn time_errors_are_in_seconds() {
        let mut score = PlaceScore::default();
        score.add_time(3_000_000_000, 1_000_000_000);
        assert_eq!(score.time_error.mean(), Some(2.0));
    }
}
