// SPDX-License-Identifier: MIT OR Apache-2.0

//! How many calls are under way at the same time.
//!
//! Every call of the first reading is an interval on the common time axis. From
//! their sorted ends comes the integral of the number of calls under way, and from
//! two values of it the mean number during any interval.

/// Calls that are taken in; beyond that, what the first ones did holds for all.
const MAX_CALLS: usize = 1 << 21;

/// Takes in intervals.
#[derive(Default)]
pub(crate) struct Overlap {
    /// Time, and +1 at a beginning or -1 at an end.
    changes: Vec<(u64, i32)>,
    is_full: bool,
}

/// Answers how many overlap.
pub(crate) struct Concurrency {
    /// Time, calls under way from then on, and their integral up to then.
    steps: Vec<(u64, u32, f64)>,
    /// The mean while any was under way, if not all were taken in.
    mean: Option<f64>,
}

impl Overlap {
    pub(crate) fn add(&mut self, start_ns: u64, end_ns: u64) {
        if self.changes.len() / 2 >= MAX_CALLS {
            self.is_full = true;
        } else {
            self.changes.push((start_ns, 1));
            self.changes.push((end_ns, -1));
        }
    }

    pub(crate) fn finish(mut self) -> Concurrency {
        self.changes.sort_unstable();
        let (mut steps, mut active, mut integral, mut last) = (Vec::new(), 0_i64, 0.0, 0);
        let mut busy_ns = 0.0;
        for (time, change) in self.changes {
            let passed = (time - last) as f64;
            integral += active as f64 * passed;
            busy_ns += if active > 0 { passed } else { 0.0 };
            active += i64::from(change);
            last = time;
            // An end sorts before a beginning at the same time, so that it never
            // falls below 0 but for calls that took no time.
            steps.push((time, active.max(0) as u32, integral));
        }
        let mean = self.is_full.then(|| if busy_ns > 0.0 { integral / busy_ns } else { 1.0 });
        Concurrency { steps, mean }
    }
}

impl Concurrency {
    /// How many calls were under way during this one, itself included, as a power of
    /// two.
    pub(crate) fn during(&self, start_ns: u64, end_ns: u64) -> u16 {
        let mean = self.mean.unwrap_or_else(|| {
            let length = end_ns.saturating_sub(start_ns) as f64;
            if length > 0.0 { (self.until(end_ns) - self.until(start_ns)) / length } else { 1.0 }
        });
        // The nearest power of two: 1.5 is between 1 and 2.
        let exponent = mean.max(1.0).log2().round() as u32;
        1 << exponent.min(15)
    }

    fn until(&self, time: u64) -> f64 {
        let after = self.steps.partition_point(|step| step.0 <= time);
        match after.checked_sub(1).and_then(|before| self.steps.get(before)) {
            Some(&(at, active, integral)) => integral + f64::from(active) * (time - at) as f64,
            None => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_under_way_at_the_same_time_are_counted() {
        let mut overlap = Overlap::default();
        for (start, end) in [(0, 100), (200, 300), (200, 300), (210, 300), (205, 299), (400, 400)] {
            overlap.add(start, end);
        }
        let concurrency = overlap.finish();
        assert_eq!(concurrency.during(0, 100), 1);
        assert_eq!(concurrency.during(200, 300), 4);
        assert_eq!(concurrency.during(400, 400), 1);
        assert_eq!(concurrency.during(900, 1000), 1);
    }

    #[test]
    fn past_the_bound_the_mean_of_the_first_calls_holds() {
        let mut overlap = Overlap::default();
        (0..MAX_CALLS as u64 + 1).for_each(|n| overlap.add(n / 2 * 10, n / 2 * 10 + 10));
        assert_eq!(overlap.finish().during(u64::MAX - 5, u64::MAX), 2);
    }
}
