// SPDX-License-Identifier: MIT OR Apache-2.0

//! When to do again what is less and less likely to find anything.

use std::time::{Duration, Instant};

/// Due at once, then after waits that double.
#[derive(Debug)]
pub(super) struct Schedule {
    due_at: Option<Instant>,
    wait: Duration,
    first: Duration,
    longest: Duration,
}

impl Schedule {
    pub(super) fn new((first, longest): (Duration, Duration)) -> Schedule {
        Schedule { due_at: None, wait: first, first, longest }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due_at.is_none_or(|due_at| now >= due_at)
    }

    /// It was done now.
    pub(super) fn advance(&mut self, now: Instant) {
        self.due_at = Some(now + self.wait);
        self.wait = (self.wait * 2).min(self.longest);
    }

    /// Waits after the next time are short again.
    pub(super) fn hasten(&mut self) {
        self.wait = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest_and_are_short_again_when_hastened() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        let mut schedule = Schedule::new((ms(10), ms(40)));
        assert!(schedule.is_due(start));
        for wait in [10, 20, 40, 40] {
            schedule.advance(start);
            assert!(!schedule.is_due(start + ms(wait - 1)));
            assert!(schedule.is_due(start + ms(wait)));
        }
        schedule.hasten();
        schedule.advance(start);
        assert!(schedule.is_due(start + ms(10)));
    }
}
