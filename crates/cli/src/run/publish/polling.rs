// SPDX-License-Identifier: MIT OR Apache-2.0

//! When the spool is looked at without a pause, for threads that ask.
//!
//! Waking up takes some ten microseconds, and a hundred where the processor has gone
//! idle meanwhile. Programs that ask make their calls in bursts, so we do not sleep for
//! [`AWAKE`] after an event, nor during a wait that is expected to be [`SHORT`].
//! Because we predict when the next operation comes, we can wake up before it: how long
//! before depends on how late sleeps end on this machine and how well the thread keeps
//! to its times. If that would take more than half of the wait, or others want the
//! processor, we sleep until the thread's record wakes us.

use std::time::{Duration, Instant};

/// How long not to sleep after an event.
const AWAKE: Duration = Duration::from_micros(200);
/// Waits without sleeping.
const SHORT: Duration = Duration::from_millis(1);
/// The least time to be early by.
const LEAST_EARLY: Duration = Duration::from_micros(100);
/// We may be early by this part of a wait.
const EARLY_PART: u32 = 4;
/// If we are interrupted again within this time, others share the processor, and we
/// yield it for as long.
const CROWDED: Duration = Duration::from_millis(100);

/// When to be awake.
#[derive(Default)]
pub struct AdaptivePolling {
    awake_until: Option<Instant>,
    /// Begin and end of the next time to be awake.
    planned: Option<(Instant, Instant)>,
    /// How late sleeps end: the longest, which fades.
    lateness: Duration,
    interrupted: Option<Instant>,
    crowded_until: Option<Instant>,
}

/// When the next operation of a thread is expected.
#[derive(Default)]
pub struct Arrival {
    last: Option<Instant>,
    wait: Option<Duration>,
    /// Mean of the last errors; each counts half of the one after it.
    error: Duration,
}

impl AdaptivePolling {
    /// Something has happened.
    pub fn stay_awake(&mut self, now: Instant) {
        self.awake_until = self.awake_until.max(Some(now + AWAKE));
    }

    /// Whether not to sleep.
    pub fn is_awake(&self, now: Instant) -> bool {
        self.awake_until.is_some_and(|until| now < until)
    }

    /// Others had the processor, which we wanted to keep. Once does not count.
    pub fn interrupted(&mut self, now: Instant) {
        let before = self.interrupted.replace(now);
        if before.is_some_and(|before| now.duration_since(before) < CROWDED) {
            self.crowded_until = Some(now + CROWDED);
        }
    }

    /// How long to sleep, at most this long, to be awake before the next arrival.
    pub fn plan<'a>(
        &mut self,
        now: Instant,
        at_most: Duration,
        arrivals: impl Iterator<Item = &'a Arrival>,
    ) -> Duration {
        self.planned = None;
        if self.crowded_until.is_some_and(|until| now < until) {
            return at_most;
        }
        let near = arrivals.filter_map(|arrival| arrival.near(self.lateness));
        let Some((from, until)) = near.filter(|(_, until)| now < *until).min() else {
            return at_most;
        };
        let wait = from.saturating_duration_since(now);
        if wait < at_most {
            self.planned = Some((from, until));
        }
        wait.min(at_most)
    }

    /// A sleep that was planned has ended.
    pub fn wake(&mut self, now: Instant) {
        // If nothing is planned to begin before now, a record has ended it.
        if let Some((from, until)) = self.planned.take().filter(|(from, _)| *from <= now) {
            self.lateness = (self.lateness - self.lateness / 16).max(now.duration_since(from));
            self.awake_until = self.awake_until.max(Some(until));
        }
    }
}

impl Arrival {
    /// An operation has come.
    pub fn came(&mut self, now: Instant) {
        if let (Some(last), Some(wait)) = (self.last, self.wait) {
            let (came, expected) = (now.duration_since(last), wait);
            self.error = (self.error + came.abs_diff(expected)) / 2;
        }
        self.last = Some(now);
        self.wait = None;
    }

    /// The next one is expected this long after the last.
    pub fn expect(&mut self, wait: Option<Duration>) {
        self.wait = wait;
    }

    /// From when to when it is expected, given how late sleeps end.
    fn near(&self, lateness: Duration) -> Option<(Instant, Instant)> {
        let (last, wait) = (self.last?, self.wait?);
        let at = last.checked_add(wait)?;
        let least = LEAST_EARLY + 2 * self.error;
        if wait <= SHORT {
            return Some((last, at + least));
        }
        // One sleep that ended very late does not make the next ones useless.
        let early = (least + lateness).min(wait / EARLY_PART);
        (least <= early).then(|| (at - early, at + early))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_millis(20);

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// A thread that has made a call every 5 ms, each time late by this much.
    fn arrival(start: Instant, errors: &[u64]) -> Arrival {
        let mut arrival = Arrival::default();
        let mut now = start;
        for error in errors {
            arrival.came(now);
            arrival.expect(Some(us(5000)));
            now += us(5000 + error);
        }
        arrival.came(now);
        arrival.expect(Some(us(5000)));
        arrival
    }

    #[test]
    fn one_wakes_up_before_what_is_expected_and_stays_awake_until_it_should_have_come() {
        let start = Instant::now();
        let arrival = arrival(start, &[0, 0]);
        let last = start + us(10_000);
        let mut polling = AdaptivePolling::default();
        assert_eq!(polling.plan(last, LONG, [&arrival].into_iter()), us(4900));
        assert!(!polling.is_awake(last + us(4000)));
        polling.wake(last + us(4900));
        assert!(polling.is_awake(last + us(5099)));
        assert!(!polling.is_awake(last + us(5100)));
        assert_eq!(polling.plan(last + us(5100), LONG, [&arrival].into_iter()), LONG);
    }

    #[test]
    fn who_wakes_up_late_wakes_up_earlier_the_next_time() {
        let start = Instant::now();
        let arrival = arrival(start, &[]);
        let mut polling = AdaptivePolling::default();
        polling.plan(start, LONG, [&arrival].into_iter());
        polling.wake(start + us(4980));
        assert_eq!(polling.plan(start, LONG, [&arrival].into_iter()), us(4820));
        polling.wake(start + us(9000));
        assert_eq!(polling.plan(start, LONG, [&arrival].into_iter()), us(3750), "not all the time");
        for _ in 0..100 {
            let in_time = polling.plan(start, LONG, [&arrival].into_iter());
            polling.wake(start + in_time);
        }
        let faded = polling.plan(start, LONG, [&arrival].into_iter());
        assert!(faded > us(4800), "{faded:?}");
    }

    #[test]
    fn nobody_waits_awake_for_what_does_not_keep_its_times() {
        let start = Instant::now();
        let mut polling = AdaptivePolling::default();
        let erratic = arrival(start, &[3000, 0, 3000]);
        let last = start + us(5000 * 3 + 6000);
        assert_eq!(polling.plan(last, LONG, [&erratic].into_iter()), LONG);
        polling.wake(last + us(5000));
        assert!(!polling.is_awake(last + us(5000)));
    }

    #[test]
    fn short_waits_are_sat_through_unless_others_want_the_processor() {
        let start = Instant::now();
        let mut arrival = Arrival::default();
        arrival.came(start);
        arrival.expect(Some(us(700)));
        let mut polling = AdaptivePolling::default();
        assert_eq!(polling.plan(start + us(200), LONG, [&arrival].into_iter()), us(0));
        polling.wake(start + us(200));
        assert!(polling.is_awake(start + us(799)) && !polling.is_awake(start + us(800)));
        polling.interrupted(start + us(250));
        assert_eq!(polling.plan(start + us(250), LONG, [&arrival].into_iter()), us(0));
        polling.interrupted(start + us(300));
        assert_eq!(polling.plan(start + us(300), LONG, [&arrival].into_iter()), LONG);
    }
}
