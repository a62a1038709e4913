// SPDX-License-Identifier: MIT OR Apache-2.0

//! How far two load profiles are apart, aspect by aspect.
//!
//! Distributions are compared in two ways, because each misses what the other
//! sees: the Hellinger distance notices any bin that is filled in one and empty
//! in the other, however near; the earth mover's distance says by how many powers
//! of two a distribution has moved, and forgives a little.

use crate::profile::{
    Bins, FILE_STEP, GAP, LAG, LoadProfile, N_BINS, N_SCALARS, SIZE, STEP, Scalar,
};

/// Aspects that are compared.
pub(crate) const N_ASPECTS: usize = 20;

/// The distance of each aspect.
pub(crate) type Aspects = [f32; N_ASPECTS];

/// What always counts as noise: differences below these are not believed.
pub(crate) const LEAST_SCALES: Aspects = [
    // Sizes, steps, steps within files, lags: Hellinger, earth mover's.
    0.02, 0.05, 0.03, 0.1, 0.03, 0.1, 0.03, 0.1, //
    // Time between requests, mean lag, share of continuations.
    0.2, 0.1, 0.02, //
    // Share of reads, files, streams, span, reuse, rate.
    0.02, 0.1, 0.1, 0.1, 0.02, 0.2, //
    // Effective files, burst, mean size.
    0.05, 0.1, 0.05,
];

/// A profile made ready to be compared with many.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ProfileVector {
    /// Square roots of shares.
    roots: [f32; N_BINS],
    scalars: [f32; N_SCALARS],
}

impl ProfileVector {
    /// Numbers in storage.
    pub const LEN: usize = N_BINS + N_SCALARS;

    pub fn new(profile: &LoadProfile) -> ProfileVector {
        ProfileVector { roots: profile.shares.map(f32::sqrt), scalars: profile.scalars }
    }

    /// All numbers, for storage.
    pub fn numbers(&self) -> impl Iterator<Item = f32> {
        self.roots.into_iter().chain(self.scalars)
    }

    /// From storage; `None` if they cannot be such numbers.
    pub fn from_numbers(numbers: &[f32]) -> Option<ProfileVector> {
        let (roots, scalars) = numbers.split_at_checked(N_BINS)?;
        let roots: [f32; N_BINS] = roots.try_into().ok()?;
        let scalars: [f32; N_SCALARS] = scalars.try_into().ok()?;
        let are_roots = roots.iter().all(|root| (0.0..=1.001).contains(root));
        let are_finite = scalars.iter().all(|scalar| scalar.is_finite());
        (are_roots && are_finite).then_some(ProfileVector { roots, scalars })
    }

    /// The distance of each aspect.
    pub fn compare(&self, other: &ProfileVector) -> Aspects {
        let (a, b) = (self, other);
        let mut aspects = [0.0; N_ASPECTS];
        for (index, bins) in [SIZE, STEP, FILE_STEP, LAG].into_iter().enumerate() {
            let (hellinger, moved) = distances(bins, a, b);
            aspects[2 * index] = hellinger;
            aspects[2 * index + 1] = moved;
        }
        aspects[8] = distances(GAP, a, b).1;
        aspects[10] = (a.continued() - b.continued()).abs();
        let scalar =
            |scalar: Scalar| (a.scalars[scalar as usize] - b.scalars[scalar as usize]).abs();
        aspects[9] = scalar(Scalar::MeanLag);
        aspects[11] = scalar(Scalar::ReadShare);
        aspects[12] = scalar(Scalar::Files);
        aspects[13] = scalar(Scalar::Streams);
        aspects[14] = scalar(Scalar::Span);
        aspects[15] = scalar(Scalar::Reuse);
        aspects[16] = scalar(Scalar::Rate);
        aspects[17] = scalar(Scalar::EffectiveFiles);
        aspects[18] = scalar(Scalar::Burst);
        aspects[19] = scalar(Scalar::MeanSize);
        aspects
    }

    /// The share of requests that continue a stream.
    fn continued(&self) -> f32 {
        let jumps = self.roots[LAG.first];
        1.0 - jumps * jumps
    }
}

/// Hellinger and earth mover's distance of a histogram.
#[inline]
fn distances(bins: Bins, a: &ProfileVector, b: &ProfileVector) -> (f32, f32) {
    let range = bins.first..bins.first + bins.n;
    let (mut overlap, mut lead, mut moved) = (0.0_f32, 0.0_f32, 0.0_f32);
    for (&a, &b) in a.roots[range.clone()].iter().zip(&b.roots[range]) {
        overlap += a * b;
        lead += a * a - b * b;
        moved += lead.abs();
    }
    ((1.0 - overlap).max(0.0).sqrt(), moved)
}
