// SPDX-License-Identifier: MIT OR Apache-2.0

//! When to learn: while the program runs, or later.
//!
//! On a node with an idle processor, learning while the program runs takes nothing from
//! it. Where all are busy it does, and records can wait. So a few times a second this
//! looks at the processor time used since: has this process taken more than
//! [`MAX_SHARE`] of what the job took, [`N_LOOKS`] times in a row, with no processor
//! idle and nothing acting on predictions? Then records are left alone until a
//! processor is idle, the room for them is half full, or the program has ended.
//!
//! Once is not enough: what is postponed keeps the user waiting at the end, with one
//! processor busy and the others idle. So if the reader keeps up at little cost, a
//! single slow quarter of a second must not decide.

use std::fs;
use std::time::{Duration, Instant};

use ioracle_trace::JobProcess;
use rustix::time::{ClockId, clock_gettime};

/// The part of the job's processor time that may be taken from it.
const MAX_SHARE: f64 = 0.03;
/// Idle processors from which on one counts as free.
const IDLE: f64 = 0.25;
/// How often in a row too much has to be taken.
const N_LOOKS: u32 = 4;
/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// Processes of a job whose time is looked up; the others count as these do.
const MAX_PROCESSES: usize = 32;

/// When to learn, as the user wants it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LearnWhen {
    /// While the program runs, unless that would slow it down
    #[default]
    Auto,
    /// While the program runs
    Live,
    /// After it has ended, as long as there is space for the records until then
    Later,
}

/// Decides between learning now and later.
pub struct LearningPace {
    learn: LearnWhen,
    is_later: bool,
    /// No processor was idle when it was looked last.
    is_busy: bool,
    last: Option<TimesUsed>,
    /// Looks in a row that have found too much taken.
    n_above: u32,
}

/// Processor time so far, in seconds.
#[derive(Clone, Copy, Debug)]
struct TimesUsed {
    at: Instant,
    idle_s: f64,
    own_s: f64,
    job_s: f64,
}

impl LearningPace {
    /// Nothing has been looked at yet.
    pub fn new(learn: LearnWhen) -> LearningPace {
        let is_later = learn == LearnWhen::Later;
        LearningPace { learn, is_later, is_busy: false, last: None, n_above: 0 }
    }

    /// Whether all processors have something to do without us.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Whether learning is left for later now.
    pub fn is_later(&self) -> bool {
        self.is_later
    }

    /// Looks at what was used, if it is time to.
    pub fn look(&mut self, now: Instant, is_acted_on: bool, processes: &[JobProcess]) {
        if is_acted_on {
            self.is_later = false;
            return;
        }
        let is_due = self.last.is_none_or(|last| now.duration_since(last.at) >= LOOK_EVERY);
        if self.learn != LearnWhen::Auto || !is_due {
            self.is_later |= self.learn == LearnWhen::Later;
            return;
        }
        let Some(used) = TimesUsed::look(now, processes) else { return };
        if let Some(last) = self.last.replace(used) {
            self.decide(&used, &last);
        }
    }

    /// Continues, starts or stops postponing.
    fn decide(&mut self, used: &TimesUsed, last: &TimesUsed) {
        self.is_busy = !used.has_idle_since(last);
        if !self.is_busy {
            (self.is_later, self.n_above) = (false, 0);
        } else if used.has_taken_much_since(last) {
            self.n_above += 1;
            self.is_later |= self.n_above >= N_LOOKS;
        } else {
            // While records wait, nothing is taken.
            self.n_above = 0;
        }
    }
}

impl TimesUsed {
    /// `None` if the system does not say.
    fn look(at: Instant, processes: &[JobProcess]) -> Option<TimesUsed> {
        let own = clock_gettime(ClockId::ProcessCPUTime);
        let own_s = own.tv_sec as f64 + own.tv_nsec as f64 / 1e9;
        let idle_s = idle_s(&fs::read_to_string("/proc/stat").ok()?)?;
        // The latest ones: those that have ended have nothing to report.
        let looked_up = processes.iter().rev().take(MAX_PROCESSES);
        let times: Vec<f64> = looked_up.filter_map(|it| processor_s(it.pid)).collect();
        let n_like_them = processes.len().max(MAX_PROCESSES) as f64 / MAX_PROCESSES as f64;
        let job_s = times.iter().sum::<f64>() * n_like_them;
        Some(TimesUsed { at, idle_s, own_s, job_s })
    }

    /// Whether a processor had little to do in between.
    fn has_idle_since(&self, last: &TimesUsed) -> bool {
        let elapsed_s = self.at.duration_since(last.at).as_secs_f64();
        self.idle_s - last.idle_s >= IDLE * elapsed_s
    }

    /// Whether this process took too much in between.
    fn has_taken_much_since(&self, last: &TimesUsed) -> bool {
        let (own_s, job_s) = (self.own_s - last.own_s, self.job_s - last.job_s);
        job_s > 0.0 && own_s > MAX_SHARE * job_s
    }
}

/// Seconds that the processors we may use have been idle, according to /proc/stat.
fn idle_s(text: &str) -> Option<f64> {
    let allowed = rustix::thread::sched_getaffinity(None).ok()?;
    let mut ticks = 0;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
        if number.is_some_and(|number: usize| allowed.is_set(number)) {
            ticks += words.nth(3)?.parse::<u64>().ok()?;
        }
    }
    Some(seconds(ticks))
}

/// Processor time of a process, its ended threads included.
fn processor_s(pid: u32) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything.
    let mut words = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
    let user: u64 = words.nth(11)?.parse().ok()?;
    let system: u64 = words.next()?.parse().ok()?;
    Some(seconds(user + system))
}

fn seconds(ticks: u64) -> f64 {
    ticks as f64 / rustix::param::clock_ticks_per_second() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_wait_where_reading_them_would_take_much_from_a_busy_program() {
        let start = Instant::now();
        let used = |s, idle_s, own_s, job_s| TimesUsed {
            at: start + Duration::from_secs(s),
            idle_s,
            own_s,
            job_s,
        };
        let last = used(0, 5.0, 1.0, 100.0);
        let mut pace = LearningPace::new(LearnWhen::Auto);
        let mut look = |idle_s: f64, own_s: f64, job_s: f64, expected| {
            let now = used(1, 5.0 + idle_s, 1.0 + own_s, 100.0 + job_s);
            pace.decide(&now, &last);
            assert_eq!(pace.is_later(), expected, "{now:?}");
        };
        look(0.0, 0.05, 2.0, false);
        // Too much, but not often enough in a row.
        (1..N_LOOKS).for_each(|_| look(0.0, 0.07, 2.0, false));
        look(0.0, 0.05, 2.0, false);
        (1..N_LOOKS).for_each(|_| look(0.1, 0.07, 2.0, false));
        look(0.0, 0.07, 2.0, true);
        // While records wait, nothing is taken, and nothing has changed.
        look(0.0, 0.0, 2.0, true);
        look(0.3, 0.0, 1.0, false);
        (0..2 * N_LOOKS).for_each(|_| look(0.3, 0.5, 1.0, false));
    }

    #[test]
    fn who_acts_on_predictions_does_not_wait() {
        let mut pace = LearningPace::new(LearnWhen::Later);
        assert!(pace.is_later());
        pace.look(Instant::now(), true, &[]);
        assert!(!pace.is_later());
        pace.look(Instant::now(), false, &[]);
        assert!(pace.is_later());
        let mut pace = LearningPace::new(LearnWhen::Live);
        pace.look(Instant::now(), false, &[]);
        assert!(!pace.is_later());
    }

    #[test]
    fn the_times_of_this_process_and_machine_can_be_read() {
        let me = JobProcess { pid: std::process::id(), ..JobProcess::default() };
        let used = TimesUsed::look(Instant::now(), &[me]).expect("there is a /proc");
        assert!(used.idle_s > 0.0 && used.own_s > 0.0 && used.job_s >= 0.0, "{used:?}");
    }
}
