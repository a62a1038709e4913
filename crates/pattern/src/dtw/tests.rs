// SPDX-License-Identifier: MIT OR Apache-2.0

//! Each fast routine beside its naive twin.

use proptest::prelude::*;

use super::*;

/// The definition, with the whole matrix.
fn naive(a: &[f32], b: &[f32]) -> f64 {
    let (a, b) = (at_least_one(a), at_least_one(b));
    let mut matrix = vec![vec![f64::INFINITY; b.len() + 1]; a.len() + 1];
    matrix[0][0] = 0.0;
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            let before = matrix[i][j].min(matrix[i][j + 1]).min(matrix[i + 1][j]);
            matrix[i + 1][j + 1] = before + f64::from((x - y).abs());
        }
    }
    matrix[a.len()][b.len()]
}

/// Distances as servers see them: contiguous, strided, other files.
fn series(max_len: usize) -> impl Strategy<Value = Vec<f32>> {
    let value = prop_oneof![Just(0.0_f32), Just(32768.0), Just(1e10), 0.0_f32..1e10];
    proptest::collection::vec(value, 0..max_len)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

/// What the kernel may lose by counting in `f32`.
const ROUNDING: f64 = 1e-5;

proptest! {
    #[test]
    fn exact_is_the_definition(a in series(60), b in series(60)) {
        prop_assert!(close(exact(&a, &b), naive(&a, &b)));
    }

    #[test]
    fn fast_with_a_radius_of_the_whole_matrix_is_exact(a in series(900), b in series(900)) {
        let (found, truth) = (fast(&a, &b, 1000), exact(&a, &b));
        prop_assert!((found - truth).abs() <= ROUNDING * truth, "{found} {truth}");
    }

    #[test]
    fn distances_lie_between_their_bounds(a in series(900), b in series(900), radius in 0_usize..8) {
        let true_distance = exact(&a, &b);
        let low = lower_bound(&a, &b, SeriesRange::of(&a), SeriesRange::of(&b));
        prop_assert!(low <= true_distance * (1.0 + 1e-9));
        prop_assert!(true_distance <= upper_bound(&a, &b) * (1.0 + 1e-9));
        prop_assert!(true_distance <= fast(&a, &b, radius) * (1.0 + ROUNDING));
        let used = Warping::new(radius).distance(&a, &b);
        prop_assert!(true_distance <= used * (1.0 + ROUNDING));
        prop_assert!(used <= upper_bound(&a, &b) * (1.0 + 1e-9));
    }

    #[test]
    fn a_limit_never_changes_what_lies_below_it(a in series(900), b in series(900), share in 0.0_f64..2.0) {
        let mut warping = Warping::new(2);
        let distance = warping.distance(&a, &b);
        match warping.distance_within(&a, &b, distance * share) {
            WarpingDistance::Is(found) => prop_assert_eq!(found, distance),
            WarpingDistance::AtLeast(bound) => {
                prop_assert!(distance > distance * share);
                prop_assert!(bound <= distance * (1.0 + ROUNDING));
            }
        }
    }

    #[test]
    fn a_series_has_no_distance_from_itself(a in series(2000)) {
        prop_assert_eq!(Warping::new(1).distance(&a, &a), 0.0);
    }
}

#[test]
fn memory_of_earlier_comparisons_does_not_matter() {
    let mut warping = Warping::new(1);
    let long: Vec<f32> = (0..5000).map(|n| (n % 7) as f32).collect();
    let short = [1.0, 5.0];
    let fresh = exact(&short, &[2.0, 2.0, 7.0]);
    warping.distance(&long, &long[3..]);
    assert_eq!(warping.distance(&short, &[2.0, 2.0, 7.0]), fresh);
}

#[test]
fn series_of_very_different_lengths_are_aligned() {
    let long = vec![3.0_f32; 10_000];
    assert_eq!(Warping::new(1).distance(&long, &[3.0]), 0.0);
    assert_eq!(Warping::new(1).distance(&long, &[]), 30_000.0);
    assert_eq!(Warping::new(1).distance(&[], &[]), 0.0);
    assert_eq!(fast(&long, &[1.0, 2.0, 3.0], 0), exact(&long, &[1.0, 2.0, 3.0]));
}
