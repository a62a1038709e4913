// SPDX-License-Identifier: MIT OR Apache-2.0

//! Follows the server's calls, recognises a pattern each second, shows it and
//! lets the tuner decide.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ioracle_events::{ContextId, Event, FileId, StreamId};
use ioracle_pattern::{PatternConfig, PatternId, PatternWatcher, RecognisedSlice, StoreError};
use ioracle_trace::{Follower, JobProcess, Observer, ProcessNumber};
use serde_json::json;

use super::tune::Tuner;
use crate::pattern::source::request_of;
use crate::shared::numbers::{bytes, grouped};
use crate::shared::output;

const TICK: Duration = Duration::from_secs(1);
/// Patterns that the summary tells, those of most seconds.
const MAX_TOLD: usize = 12;

/// How each second is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A line on standard error.
    Text,
    /// A JSON object on standard output.
    Json,
}

/// All that is known of a server while it runs.
pub struct Following {
    watcher: PatternWatcher,
    tuner: Option<Tuner>,
    under: Option<PathBuf>,
    /// Files below that directory, if one was given.
    wanted: HashSet<FileId>,
    shown: Shown,
    ended: Arc<AtomicBool>,
    n_bytes: u64,
    n_ticks: u64,
    seconds: BTreeMap<PatternId, u64>,
}

impl Following {
    /// Nothing seen yet. `ended` is set when the server has ended.
    pub fn new(
        config: PatternConfig,
        tuner: Option<Tuner>,
        under: Option<&Path>,
        shown: Shown,
        ended: Arc<AtomicBool>,
    ) -> Following {
        let mut watcher = PatternWatcher::new(config);
        if let Some(tuner) = &tuner {
            tuner.tell_options(&mut watcher);
        }
        Following {
            watcher,
            tuner,
            under: under.map(Path::to_owned),
            wanted: HashSet::new(),
            shown,
            ended,
            n_bytes: 0,
            n_ticks: 0,
            seconds: BTreeMap::new(),
        }
    }

    /// What earlier runs have learned.
    pub fn load(&mut self, known: &Path) -> Result<(), StoreError> {
        self.watcher.load(known)
    }

    /// Keeps what is known now.
    pub fn save(&self, known: &Path) -> Result<(), StoreError> {
        self.watcher.save(known)
    }

    /// Follows the job until the server has ended and all is read.
    pub fn follow(&mut self, follower: &mut Follower) -> Result<()> {
        let failed = "could not follow the server's calls";
        let mut began = Instant::now();
        while !self.ended.load(Ordering::Acquire) {
            let n_records = follower.poll(self).context(failed)?;
            if began.elapsed() >= TICK {
                self.tick(began);
                began = Instant::now();
            }
            if n_records == 0 {
                follower.wait(TICK.saturating_sub(began.elapsed()).min(Duration::from_millis(100)));
            }
        }
        follower.close();
        follower.finish(self).context(failed)?;
        self.tick(began);
        Ok(())
    }

    /// Ends a slice.
    fn tick(&mut self, began: Instant) {
        self.n_ticks += 1;
        let seconds = began.elapsed().as_secs_f64().max(1e-3);
        let bytes_per_s = std::mem::take(&mut self.n_bytes) as f64 / seconds;
        let Some(slice) = self.watcher.tick() else { return };
        *self.seconds.entry(slice.id).or_default() += 1;
        if let Some(tuner) = &mut self.tuner {
            tuner.tick(&mut self.watcher, slice.id, began, bytes_per_s);
        }
        let requests_per_s = (slice.counts.requests() as f64 / seconds) as u64;
        self.show(&slice, requests_per_s, bytes_per_s as u64);
    }

    fn show(&self, found: &RecognisedSlice, requests_per_s: u64, bytes_per_s: u64) {
        let option = self.tuner.as_ref().and_then(Tuner::in_force);
        if self.shown == Shown::Json {
            let line = json!({
                "second": self.n_ticks,
                "pattern": found.id.0,
                "known": found.is_match,
                "score": found.score,
                "since_s": found.since,
                "next": found.next.map(|next| next.id.0),
                "next_in_s": found.next.map(|next| next.slices),
                "next_probability": found.next.map(|next| next.probability),
                "requests_per_s": requests_per_s,
                "bytes_per_s": bytes_per_s,
                "option": option,
            });
            // Whoever read it may have seen enough.
            let _ = output::print_text(&format!("{line}\n"));
            return;
        }
        let sure = match found.is_match {
            true => format!("{:.0} % sure, for {} s", found.score * 100.0, found.since),
            false => "new".to_owned(),
        };
        let option = option.map_or(String::new(), |name| format!(", option {name}"));
        let next = found.next.map_or(String::new(), |next| {
            let percent = next.probability * 100.0;
            format!(", next pattern {} in {} s ({percent:.0} %)", next.id.0, next.slices)
        });
        output::print_error_text(&format!(
            "{:>6} s  pattern {} ({sure})  {} requests/s  {}/s{option}{next}\n",
            self.n_ticks,
            found.id.0,
            grouped(requests_per_s),
            bytes(bytes_per_s),
        ));
    }

    /// What was seen, after the end.
    pub fn summary(&self) -> String {
        let mut by_seconds: Vec<(u64, PatternId)> =
            self.seconds.iter().map(|(id, seconds)| (*seconds, *id)).collect();
        by_seconds.sort_by_key(|(seconds, id)| (std::cmp::Reverse(*seconds), *id));
        let mut text = format!(
            "ioracle: {} patterns in {} s\n",
            by_seconds.len(),
            self.seconds.values().sum::<u64>()
        );
        for (seconds, id) in by_seconds.iter().take(MAX_TOLD) {
            let best = self.tuner.as_ref().and_then(|tuner| tuner.best(&self.watcher, *id));
            let best = best.map_or(String::new(), |name| format!(", best under option {name}"));
            text.push_str(&format!("  pattern {}: {} s{best}\n", id.0, grouped(*seconds)));
        }
        text
    }
}

impl Observer for Following {
    fn process(&mut self, _: ProcessNumber, _: &JobProcess) {}

    fn stream_began(&mut self, _: StreamId, _: u32) {}

    fn context(&mut self, _: ContextId, _: &str) {}

    fn file(&mut self, id: FileId, path: &str) {
        if self.under.as_ref().is_some_and(|under| Path::new(path).starts_with(under)) {
            self.wanted.insert(id);
        }
    }

    fn event(&mut self, _: ProcessNumber, event: &Event) {
        if self.under.is_some() && !self.wanted.contains(&event.file) {
            return;
        }
        if let Some(request) = request_of(event) {
            self.n_bytes = self.n_bytes.saturating_add(request.size);
            self.watcher.observe(&request);
        }
    }

    fn stream_ended(&mut self, _: StreamId) {}
}
