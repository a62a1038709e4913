// SPDX-License-Identifier: MIT OR Apache-2.0

//! Random numbers that are the same everywhere: xoshiro256++ seeded by
//! splitmix64 (Blackman and Vigna), so that a seed names a run for good.

/// A generator of pseudo-random numbers.
#[derive(Clone, Debug)]
pub struct SimulationRng {
    state: [u64; 4],
}

impl SimulationRng {
    /// The generator of a seed; streams of the same seed are independent.
    pub fn new(seed: u64, stream: u64) -> SimulationRng {
        let mut mixed = splitmix(seed) ^ stream.wrapping_mul(0xA24B_AED4_963E_E407);
        let state = std::array::from_fn(|_| {
            mixed = mixed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            splitmix(mixed)
        });
        SimulationRng { state }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = a.wrapping_add(*d).rotate_left(23).wrapping_add(*a);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(limit)) >> 64) as u64
    }

    /// Exponentially distributed, in nanoseconds.
    pub fn exponential_ns(&mut self, mean_ns: u64) -> u64 {
        (-(1.0 - self.unit()).ln() * mean_ns as f64) as u64
    }

    /// Puts the items into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

fn splitmix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_its_numbers() {
        let mut one = SimulationRng::new(7, 1);
        let mut same = SimulationRng::new(7, 1);
        let mut other = SimulationRng::new(7, 2);
        let first = one.bits();
        assert_eq!(first, same.bits());
        assert_ne!(first, other.bits());
    }

    #[test]
    fn means_are_what_they_should_be() {
        let mut rng = SimulationRng::new(1, 0);
        let n = 200_000;
        let unit: f64 = (0..n).map(|_| rng.unit()).sum::<f64>() / f64::from(n);
        assert!((unit - 0.5).abs() < 0.005, "{unit}");
        let waited: u64 = (0..n).map(|_| rng.exponential_ns(1_000_000)).sum();
        let mean = waited as f64 / f64::from(n) / 1e6;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }
}
