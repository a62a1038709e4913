// SPDX-License-Identifier: MIT OR Apache-2.0

//! How long until the next operation, and how long the call itself takes.
//!
//! The report's statistics (minimum, maximum, mean, variance, and the halving
//! weighted mean of equation 1) and a few rivals of the halving mean, which
//! follows every outlier half way: the one with the smallest recent absolute
//! error is believed.

use ioracle_events::Spread;
use serde::{Deserialize, Serialize};

/// Estimates that compete: at once, halving mean, mean, last, median, and up to
/// three that the caller remembers by a longer context.
pub const N_ESTIMATES: usize = 8;
/// The first of the caller's estimates.
pub const FIRST_CONTEXTUAL: usize = 5;
/// No wait.
const AT_ONCE: usize = 0;
/// The halving mean, which the report uses.
const HALVING: usize = 1;

/// How predictable a time is (section 3.2.4 of the report).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeClass {
    /// The operation follows at once.
    Immediate,
    /// It follows after a time that hardly varies.
    Predictable,
    /// It depends on what the oracle cannot see.
    Unpredictable,
}

/// Statistics of one kind of time span, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeStatistics {
    n: u32,
    min: f32,
    max: f32,
    mean: f32,
    /// Sum of squared distances from the mean (Welford).
    squares: f32,
    halving: f32,
    last: f32,
    median: f32,
    /// Decayed absolute error of each estimate.
    errors: [f32; N_ESTIMATES],
}

/// Waits below this are all the same to a program.
const IMMEDIATE_NS: f32 = 100_000.0;

impl TimeStatistics {
    /// Learns one span; `contextual` are the caller's estimates made before.
    pub fn learn(&mut self, span_ns: u64, contextual: [Option<f32>; 3]) {
        let span = span_ns as f32;
        if self.n > 0 {
            let fade = (1.0 / (self.n as f32 + 1.0)).max(0.05);
            let estimates = self.estimates(contextual);
            for (error, estimate) in self.errors.iter_mut().zip(estimates) {
                // An estimate not made is taken to be as wrong as the report's.
                let miss = (estimate.unwrap_or(self.halving) - span).abs();
                *error += (miss - *error) * fade;
            }
        } else {
            *self = TimeStatistics { min: span, max: span, median: span, halving: span, ..*self };
            // At once is the one estimate that the first span already judges.
            self.errors[AT_ONCE] = span;
        }
        self.n = self.n.saturating_add(1);
        self.min = self.min.min(span);
        self.max = self.max.max(span);
        let distance = span - self.mean;
        self.mean += distance / self.n as f32;
        self.squares += distance * (span - self.mean);
        self.halving = (self.halving + span) / 2.0;
        self.last = span;
        // The median is where steps up and down balance; steps in proportion to
        // it follow any scale.
        let step = (self.median * (1.0 / self.n as f32).max(0.05)).max(20.0);
        self.median = if span > self.median {
            (self.median + step).min(span)
        } else {
            (self.median - step).max(span)
        };
    }

    /// How many spans there were.
    pub fn count(&self) -> u32 {
        self.n
    }

    /// Whether every span so far, and this one, was too short to matter.
    pub fn follows_at_once(&self, span_ns: u64) -> bool {
        self.max.max(span_ns as f32) <= IMMEDIATE_NS
    }

    /// The estimate with the smallest recent error.
    pub fn best(&self, contextual: [Option<f32>; 3]) -> u64 {
        self.best_from(AT_ONCE, contextual)
    }

    /// The same of spans that are never nothing, as that of a call.
    pub fn best_of_call(&self) -> u64 {
        self.best_from(HALVING, [None; 3])
    }

    /// Equation 1 of the report, which the report predicts by.
    pub fn halving_mean(&self) -> u64 {
        self.halving as u64
    }

    /// Range and deviation seen.
    pub fn spread(&self) -> Spread {
        Spread {
            min: f64::from(self.min),
            max: f64::from(self.max),
            deviation: f64::from((self.squares.max(0.0) / self.n.max(1) as f32).sqrt()),
        }
    }

    /// Which of the report's three kinds it is.
    pub fn class(&self) -> TimeClass {
        let deviation = self.spread().deviation as f32;
        if self.max <= IMMEDIATE_NS || (self.median <= IMMEDIATE_NS && deviation <= IMMEDIATE_NS) {
            TimeClass::Immediate
        } else if deviation <= 0.25 * self.mean {
            TimeClass::Predictable
        } else {
            TimeClass::Unpredictable
        }
    }

    /// Adds what another oracle has seen of the same kind of span.
    pub fn merge(&mut self, other: &TimeStatistics) {
        if self.n == 0 {
            *self = *other;
        } else if other.n > 0 {
            let (a, b) = (self.n as f32, other.n as f32);
            let distance = other.mean - self.mean;
            self.squares += other.squares + distance * distance * a * b / (a + b);
            self.mean += distance * b / (a + b);
            self.n = self.n.saturating_add(other.n);
            self.min = self.min.min(other.min);
            self.max = self.max.max(other.max);
        }
    }

    /// Whether all numbers are ones that learning can lead to.
    pub fn is_valid(&self) -> bool {
        let numbers = [self.min, self.max, self.mean, self.squares, self.halving, self.last];
        numbers.iter().chain(&self.errors).chain([&self.median]).all(|x| x.is_finite())
    }

    /// The first one with the smallest error, of those from `first` on. A plain loop: the
    /// compiler made calls of a chain of iterators, for each operation and prediction.
    fn best_from(&self, first: usize, contextual: [Option<f32>; 3]) -> u64 {
        let estimates = self.estimates(contextual);
        let (mut best, mut least) = (None, f32::INFINITY);
        for (estimate, error) in estimates[first..].iter().zip(&self.errors[first..]) {
            if estimate.is_some() && (best.is_none() || *error < least) {
                (best, least) = (*estimate, *error);
            }
        }
        best.map_or(0, |estimate| estimate as u64)
    }

    fn estimates(&self, contextual: [Option<f32>; 3]) -> [Option<f32>; N_ESTIMATES] {
        let mut estimates = [None; N_ESTIMATES];
        estimates[AT_ONCE] = Some(0.0);
        estimates[HALVING] = Some(self.halving);
        estimates[2] = Some(self.mean);
        estimates[3] = Some(self.last);
        estimates[4] = Some(self.median);
        estimates[FIRST_CONTEXTUAL..].copy_from_slice(&contextual);
        estimates
    }
}

/// Whether estimates of waits are better than none, by how many waits they are
/// made from. A first wait may be that of a cold cache, and two say little; how
/// little, depends on the program, so it is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WaitTrust {
    ages: [Misses; N_WAIT_AGES],
    all: Misses,
    /// How much nearer than no wait the waits were that were stated.
    gained_ns: f64,
    /// All waits together.
    waited_ns: f64,
}

/// How far the waits stated were off, and how far no wait would have been.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Misses {
    stated_ns: f64,
    at_once_ns: f64,
}

const N_WAIT_AGES: usize = 5;

/// What part of all waits may be lost by stating waits where none would be nearer.
const TOLERANCE: f64 = 0.02;

/// How fast old misses fade.
const KEPT: f64 = 1.0 - 1.0 / 1024.0;

/// A wait expected of the next operation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ExpectedWait {
    /// How long.
    pub interarrival_ns: u64,
    /// The spread of such waits.
    pub spread: Spread,
    /// How many waits it was made from: none, 1, 2, 3 to 5, up to 20, more.
    pub age: u8,
}

impl ExpectedWait {
    /// What the statistics of a transition lead to.
    pub fn new(interarrival_ns: u64, times: &TimeStatistics) -> ExpectedWait {
        let age = match times.count() {
            few @ 0..=2 => few as u8,
            3..=5 => 3,
            6..=20 => 4,
            _ => 5,
        };
        ExpectedWait { interarrival_ns, spread: times.spread(), age }
    }
}

impl WaitTrust {
    /// Takes in how long it took where one wait was expected and another stated.
    pub fn learn(&mut self, expected: ExpectedWait, stated_ns: u64, came_ns: u64) {
        self.waited_ns += came_ns as f64;
        self.gained_ns += came_ns as f64 - stated_ns.abs_diff(came_ns) as f64;
        let Some(age) = usize::from(expected.age).checked_sub(1) else { return };
        let missed_ns = expected.interarrival_ns.abs_diff(came_ns) as f64;
        for misses in [&mut self.ages[age], &mut self.all] {
            misses.stated_ns = misses.stated_ns * KEPT + missed_ns;
            misses.at_once_ns = misses.at_once_ns * KEPT + came_ns as f64;
        }
    }

    /// The wait to be stated: none where that has been nearer, both of waits known
    /// so well and of all. Long waits are few: those of one age may look bad
    /// because of a single one. Nor is it ever longer than what stating waits has
    /// gained, or half of what it would have: so a single wait, such as that of a
    /// process that lost its processor, cannot make all of them worse than none.
    pub fn trusted(&self, expected: ExpectedWait) -> u64 {
        let age = usize::from(expected.age).checked_sub(1);
        let is_better = self.all.is_better() || age.is_some_and(|age| self.ages[age].is_better());
        if !is_better {
            return 0;
        }
        // Stating a wait costs at most that wait if there is none.
        let earned_ns = self.gained_ns + TOLERANCE * self.waited_ns;
        let expected_gain_ns = (self.all.at_once_ns - self.all.stated_ns) / 2.0;
        let most_ns = earned_ns.max(expected_gain_ns).max(0.0);
        expected.interarrival_ns.min(most_ns as u64)
    }

    /// Whether all numbers are ones that learning can lead to.
    pub fn is_valid(&self) -> bool {
        let misses = self.ages.iter().chain([&self.all]);
        let numbers = misses.flat_map(|it| [it.stated_ns, it.at_once_ns]);
        numbers.chain([self.gained_ns, self.waited_ns]).all(f64::is_finite)
    }
}

impl Misses {
    fn is_better(&self) -> bool {
        self.stated_ns <= self.at_once_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected(interarrival_ns: u64) -> ExpectedWait {
        ExpectedWait { interarrival_ns, spread: Spread::default(), age: 1 }
    }

    #[test]
    fn waits_are_not_stated_where_none_would_be_nearer() {
        let mut trust = WaitTrust::default();
        trust.learn(expected(1_000_000), 0, 1_000_000);
        assert_eq!(trust.trusted(expected(500)), 500);
        (0..2).for_each(|_| trust.learn(expected(1_000_000), 0, 1000));
        assert_eq!(trust.trusted(expected(500)), 0);
    }

    #[test]
    fn waits_are_stated_again_once_they_were_right() {
        let mut trust = WaitTrust::default();
        trust.learn(expected(1_000_000), 0, 1000);
        (0..3).for_each(|_| trust.learn(expected(1_000_000), 0, 1_000_000));
        assert_eq!(trust.trusted(expected(500)), 500);
    }

    #[test]
    fn a_single_long_wait_is_not_stated_before_it_came_again() {
        let mut trust = WaitTrust::default();
        (0..100).for_each(|_| trust.learn(expected(1000), 1000, 1000));
        let earned_ns = 102_000;
        assert_eq!(trust.trusted(expected(1_000_000)), earned_ns);
        trust.learn(expected(1_000_000), earned_ns, 1_000_000);
        trust.learn(expected(1_000_000), earned_ns, 1_000_000);
        assert_eq!(trust.trusted(expected(1_000_000)), 1_000_000);
    }
}
