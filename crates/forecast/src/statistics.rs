// SPDX-License-Identifier: MIT OR Apache-2.0

//! Means and spreads of a few numbers.

/// 0 for none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Standard deviation divided by the mean, as a fraction; 0 for fewer than two, or
/// where the mean is 0.
pub(crate) fn rsd(values: &[f64]) -> f64 {
    let mean = mean(values);
    if values.len() < 2 || mean == 0.0 {
        return 0.0;
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt() / mean
}

/// Standard deviations on both sides of the mean that contain this share of a normal
/// distribution (Winitzki's approximation, good to a few thousandths).
pub(crate) fn deviations(confidence: f64) -> f64 {
    let a = 0.147;
    let log = (1.0 - confidence.clamp(0.0, 0.999_999).powi(2)).ln();
    let first = 2.0 / (std::f64::consts::PI * a) + log / 2.0;
    (2.0 * ((first * first - log / a).sqrt() - first)).sqrt().max(1e-3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_confidences_have_their_usual_deviations() {
        let check = |confidence, expected: f64| {
            assert!((deviations(confidence) - expected).abs() < 0.01, "{}", deviations(confidence));
        };
        check(0.9, 1.645);
        check(0.95, 1.96);
        check(0.6827, 1.0);
    }

    #[test]
    fn spread_is_relative_to_the_mean() {
        assert_eq!(mean(&[]), 0.0);
        assert_eq!(rsd(&[5.0]), 0.0);
        assert_eq!(rsd(&[0.0, 0.0]), 0.0);
        assert!((rsd(&[9.0, 11.0]) - 0.1414).abs() < 1e-4);
    }
}
