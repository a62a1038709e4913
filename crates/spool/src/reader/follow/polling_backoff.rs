// SPDX-License-Identifier: MIT OR Apache-2.0

//! When to poll again, less and less often while nothing is found.

use std::time::{Duration, Instant};

/// A thread that was quiet for some time is looked at after a wait of up to three
/// times that.
const GROWTH: u32 = 4;

/// Due at once, then after waits that grow by a factor of [`GROWTH`].
#[derive(Debug)]
pub(super) struct PollingBackoff {
    due_at: Option<Instant>,
    wait: Duration,
    first: Duration,
    longest: Duration,
}

impl PollingBackoff {
    pub(super) fn new((first, longest): (Duration, Duration)) -> PollingBackoff {
        PollingBackoff { due_at: None, wait: first, first, longest }
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due_at.is_none_or(|due_at| now >= due_at)
    }

    /// It was done now.
    pub(super) fn advance(&mut self, now: Instant) {
        self.due_at = Some(now + self.wait);
        self.wait = (self.wait * GROWTH).min(self.longest);
    }

    /// Whether nothing was found for so long that waits have reached the maximum.
    pub(super) fn is_slow(&self) -> bool {
        self.wait == self.longest
    }

    /// The next time is at an instant that is known.
    pub(super) fn postpone(&mut self, due_at: Instant) {
        self.due_at = Some(due_at);
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
    fn waits_grow_up_to_the_longest_and_are_short_again_when_hastened() {
        let start = Instant::now();
        let ms = Duration::from_millis;
        let mut schedule = PollingBackoff::new((ms(10), ms(100)));
        assert!(schedule.is_due(start));
        for wait in [10, 40, 100, 100] {
            assert_eq!(schedule.is_slow(), wait == 100);
            schedule.advance(start);
            assert!(!schedule.is_due(start + ms(wait - 1)));
            assert!(schedule.is_due(start + ms(wait)));
        }
        schedule.hasten();
        schedule.advance(start);
        assert!(schedule.is_due(start + ms(10)));
    }
}
