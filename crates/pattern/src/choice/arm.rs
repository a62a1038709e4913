// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is known of one option under one pattern.

/// The usual reward of an option, which single outliers do not move.
///
/// It is the median of the last `N_RECENT` rewards: one that belongs to
/// another pattern (a wrong match) does no harm once there are three, while a
/// lasting change wins within eight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArmEstimate {
    weight: f64,
    mean: f64,
    deviation: f64,
    recent: [f64; N_RECENT],
    n_recent: usize,
    next: usize,
}

const N_RECENT: usize = 15;

impl ArmEstimate {
    /// What an earlier run knew; nothing if the numbers make no sense.
    pub fn new(weight: f64, mean: f64, deviation: f64) -> ArmEstimate {
        let is_sound = [weight, mean, deviation].iter().all(|number| number.is_finite());
        if !is_sound || weight <= 0.0 || deviation < 0.0 {
            return ArmEstimate::default();
        }
        let mut arm = ArmEstimate { weight, mean, deviation, ..ArmEstimate::default() };
        arm.remember(mean);
        arm
    }

    /// Discounted number of rewards.
    pub fn weight(&self) -> f64 {
        self.weight
    }

    /// The usual reward; 0 without weight.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// How far rewards usually are from it.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    pub(crate) fn is_untried(&self) -> bool {
        self.n_recent == 0
    }

    /// Rewards that the mean is made of.
    pub(crate) fn n_recent(&self) -> usize {
        self.n_recent
    }

    /// Takes a reward in.
    pub(crate) fn learn(&mut self, reward: f64) {
        // Rewards that hardly count any more are forgotten.
        self.n_recent = self.n_recent.min(self.weight.ceil() as usize);
        self.weight += 1.0;
        self.remember(reward);
        self.mean = self.median();
        // Outliers count here: an option they were seen of is tried again sooner.
        let sum: f64 = self.recent().map(|reward| (reward - self.mean).abs()).sum();
        self.deviation = sum / self.n_recent as f64;
    }

    /// Makes what was seen count less.
    pub(crate) fn discount(&mut self, factor: f64) {
        self.weight *= factor;
    }

    /// Adds what was learned of the same option elsewhere.
    pub(crate) fn merge(&mut self, other: &ArmEstimate) {
        let weight = self.weight + other.weight;
        if other.weight > 0.0 && weight > 0.0 {
            let share = other.weight / weight;
            let mean = self.mean + (other.mean - self.mean) * share;
            let deviation = self.deviation + (other.deviation - self.deviation) * share;
            *self = ArmEstimate::new(weight, mean, deviation);
        }
    }

    fn remember(&mut self, reward: f64) {
        self.recent[self.next] = reward;
        self.next = (self.next + 1) % N_RECENT;
        self.n_recent = (self.n_recent + 1).min(N_RECENT);
    }

    /// The last rewards, the newest first.
    fn recent(&self) -> impl Iterator<Item = f64> {
        (0..self.n_recent).map(|age| self.recent[(self.next + N_RECENT - 1 - age) % N_RECENT])
    }

    fn median(&self) -> f64 {
        let mut values = [0.0; N_RECENT];
        values.iter_mut().zip(self.recent()).for_each(|(value, reward)| *value = reward);
        let values = &mut values[..self.n_recent];
        values.sort_by(f64::total_cmp);
        let half = values.len() / 2;
        match values.len() {
            0 => 0.0,
            n if n % 2 == 1 => values[half],
            _ => values[half - 1].midpoint(values[half]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_do_not_move_the_mean_and_a_lasting_change_does() {
        let mut arm = ArmEstimate::default();
        (0..20).for_each(|n| arm.learn(100.0 + f64::from(n % 3)));
        (0..3).for_each(|_| arm.learn(5000.0));
        assert!((arm.mean() - 101.0).abs() < 2.0, "{arm:?}");
        (0..8).for_each(|_| arm.learn(200.0));
        assert_eq!(arm.mean(), 200.0);
    }

    #[test]
    fn what_makes_no_sense_is_nothing() {
        for numbers in
            [(f64::NAN, 1.0, 1.0), (1.0, f64::INFINITY, 1.0), (-1.0, 1.0, 1.0), (1.0, 1.0, -1.0)]
        {
            assert_eq!(ArmEstimate::new(numbers.0, numbers.1, numbers.2), ArmEstimate::default());
        }
    }
}
