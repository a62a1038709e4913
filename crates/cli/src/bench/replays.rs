// SPDX-License-Identifier: MIT OR Apache-2.0

//! Replays of the traces that a benchmark is for.
//!
//! Calls that are measured class by class meet an idle system and the caches of the
//! benchmark. Replayed, they meet what they do in the program: what it has written
//! before, the calls of its other processes, its pauses. The times of the classes
//! are points like others, marked as replayed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use ioracle_bench::{
    BenchError, BenchPlace, CacheState, CallTimes, MeanSpread, MemoryLimit, RepetitionRule,
    SessionProgress, point_of,
};
use ioracle_forecast::{IoClass, Kind, Point, ReplayError, ReplayPlan};
use ioracle_trace::ReadOptions;

use super::progress::BenchProgress;
use super::warnings::BenchWarning;
use super::{BenchArguments, Interruption};
use crate::replay::{Interrupted, Performed, ReplayPlace, ReplaySettings, perform_plan, storage};
use crate::shared::failure::open_trace;
use crate::shared::numbers::bytes;

/// The share of the time of a benchmark that replays may take.
const SHARE: f64 = 0.5;
/// Replays of each kind that there should be time for: one alone has no spread.
const WANTED: u32 = 2;

/// A trace that was replayed.
pub struct ReplayedTrace {
    /// The directory of the trace.
    pub trace: PathBuf,
    /// Its time in I/O calls when it was recorded.
    pub original_s: f64,
    /// The same of the replays, those with uncached files first.
    pub replayed_s: Vec<(CacheState, MeanSpread)>,
}

/// What came of all traces.
#[derive(Default)]
pub struct Replays {
    /// Those that were replayed.
    pub traces: Vec<ReplayedTrace>,
    /// The times of their calls.
    pub points: Vec<Point>,
    /// Those that were not.
    pub warnings: Vec<BenchWarning>,
    /// Bytes that lay on the storage at most.
    pub disk_bytes: u64,
}

/// How long the replays of a benchmark may take.
pub fn time_for(arguments: &BenchArguments) -> Duration {
    arguments.time_limit.mul_f64(SHARE)
}

/// Replays every trace in the place of the benchmark, several times.
pub fn replay(
    arguments: &BenchArguments,
    place: &BenchPlace,
    limit: Option<&MemoryLimit>,
    signals: &Interruption,
) -> Result<Replays> {
    let mut replays = Replays::default();
    let mut times = PointTimes::default();
    let time = time_for(arguments) / (arguments.traces.len().max(1) as u32);
    for path in &arguments.traces {
        let plan = match plan(arguments, place, path)? {
            Ok(plan) => plan,
            Err(reason) => {
                replays.warnings.push(BenchWarning::NotReplayed { trace: path.clone(), reason });
                continue;
            }
        };
        let mut session = ReplaySession { arguments, place, limit, signals, plan: &plan, time };
        replays.disk_bytes = replays.disk_bytes.max(plan.bytes_needed);
        let replayed_s = session.perform(&mut times)?;
        let original_s = plan.original_ns as f64 * 1e-9;
        replays.traces.push(ReplayedTrace { trace: path.clone(), original_s, replayed_s });
    }
    replays.points = times.points();
    Ok(replays)
}

/// The plan of a replay, or why there is none.
fn plan(
    arguments: &BenchArguments,
    place: &BenchPlace,
    path: &Path,
) -> Result<Result<ReplayPlan, String>> {
    let trace = open_trace(path, ReadOptions::default())?;
    let plan = match ReplayPlan::of(&trace, &storage(arguments.storage.as_deref()), |_| {}) {
        Err(ReplayError::Trace(error)) => return Err(error.into()),
        Err(error) => return Ok(Err(error.to_string())),
        Ok(plan) => plan,
    };
    if plan.bytes_needed > arguments.disk_limit {
        let (needed, limit) = (bytes(plan.bytes_needed), bytes(arguments.disk_limit));
        return Ok(Err(format!("it needs {needed}, more than --disk-limit allows ({limit})")));
    }
    Ok(match place.check_room(plan.bytes_needed) {
        Ok(()) => Ok(plan),
        Err(error) => Err(error.to_string()),
    })
}

struct ReplaySession<'a> {
    arguments: &'a BenchArguments,
    place: &'a BenchPlace,
    limit: Option<&'a MemoryLimit>,
    signals: &'a Interruption,
    plan: &'a ReplayPlan,
    time: Duration,
}

impl ReplaySession<'_> {
    /// Repeats the replay until its spread is known, or the time is over.
    fn perform(&mut self, times: &mut PointTimes) -> Result<Vec<(CacheState, MeanSpread)>> {
        let start = Instant::now();
        let rule = self.arguments.rules().repetition;
        let mut caches = self.arguments.cache_states();
        if self.plan.files.iter().all(|file| file.before.unwrap_or(0) == 0) {
            // Nothing could have been cached.
            caches.truncate(1);
        }
        let mut sums: Vec<Vec<f64>> = vec![Vec::new(); caches.len()];
        let progress = BenchProgress::new();
        for round in 0..rule.max.max(1) {
            for (&cache, sums) in caches.iter().zip(&mut sums) {
                progress.show(&SessionProgress {
                    label: "replaying the trace".to_owned(),
                    n_done: round as usize,
                    n_works: rule.max as usize,
                    left: self.time.saturating_sub(start.elapsed()),
                });
                let performed = self.once(cache, caches.len())?;
                let all: u64 = performed.classes.iter().map(CallTimes::sum_ns).sum();
                sums.push(all as f64 * 1e-9);
                let is_one_of_two = caches.len() > 1;
                times.add(self.plan, &performed, is_one_of_two && cache == CacheState::Warm);
            }
            let n = round + 1;
            // The next round would take about as long as those before.
            let is_late = start.elapsed() + start.elapsed() / n > self.time;
            if is_late || is_known(&rule, &sums) {
                break;
            }
        }
        progress.finish();
        let spread =
            |(cache, sums): (&CacheState, &Vec<f64>)| Some((*cache, MeanSpread::of(sums)?));
        Ok(caches.iter().zip(&sums).filter_map(spread).collect())
    }

    fn once(&self, cache: CacheState, n_caches: usize) -> Result<Performed> {
        let most = self.time / n_caches as u32;
        // Pauses are shortened only if they would take half of the time that each of the
        // wanted replays has: storage that writes behind the program's back does so then.
        let pauses_s = self.plan.pauses_ns() as f64 * 1e-9;
        let think_scale = (most.as_secs_f64() / f64::from(2 * WANTED) / pauses_s).min(1.0);
        let settings = ReplaySettings {
            think_scale,
            is_cold: cache == CacheState::Cold,
            compress_ratio: 1.0,
            // A whole replay tells more than the beginnings of two.
            time_limit: Some(self.time),
            memory_limit: self.limit.cloned(),
            shows_progress: false,
        };
        let interrupted = Interrupted(Arc::clone(&self.signals.interrupted));
        let place = ReplayPlace::make(self.place.path(), self.plan.bytes_needed, false)?;
        let performed = perform_plan(self.plan, &place, &settings, &interrupted)?;
        performed.ok_or_else(|| BenchError::Interrupted.into())
    }
}

fn is_known(rule: &RepetitionRule, sums: &[Vec<f64>]) -> bool {
    sums.iter().all(|sums| rule.is_enough(sums))
}

/// The times of each class, replay by replay.
#[derive(Default)]
struct PointTimes {
    by_class: BTreeMap<IoClass, ClassTimes>,
}

#[derive(Default)]
struct ClassTimes {
    /// Calls and bytes when recorded.
    calls: u64,
    bytes: u64,
    replays: Vec<CallTimes>,
}

impl PointTimes {
    /// Adds a replay. Where files were cached on purpose, all reads are cached ones.
    fn add(&mut self, plan: &ReplayPlan, performed: &Performed, is_warm: bool) {
        let mut replay: BTreeMap<IoClass, (u64, u64, CallTimes)> = BTreeMap::new();
        let originals = plan.original_by_class();
        let rows = plan.classes.iter().zip(&plan.class_bytes).zip(originals);
        for (((class, bytes), (calls, _)), times) in rows.zip(&performed.classes) {
            let is_cached = class.cached || is_warm && class.kind == Kind::Read;
            let row = replay.entry(IoClass { cached: is_cached, ..*class }).or_default();
            (row.0, row.1) = (row.0 + calls, row.1.saturating_add(*bytes));
            row.2.merge(times);
        }
        replay.insert(IoClass::WAITING, (0, 0, performed.waiting.clone()));
        for (class, (calls, bytes, times)) in replay.into_iter().filter(|row| row.1.2.n() > 0) {
            let row = self.by_class.entry(class).or_default();
            (row.calls, row.bytes) = (row.calls + calls, row.bytes.saturating_add(bytes));
            row.replays.push(times);
        }
    }

    fn points(&self) -> Vec<Point> {
        let of_class = |(class, row): (&IoClass, &ClassTimes)| {
            // Rounded up, the mean of a bin is in it.
            let bytes =
                if class.kind.has_size() { row.bytes.div_ceil(row.calls.max(1)) } else { 0 };
            let replays: Vec<&CallTimes> = row.replays.iter().collect();
            Some(Point { replayed: true, ..point_of(*class, bytes, &replays)? })
        };
        self.by_class.iter().filter_map(of_class).collect()
    }
}
