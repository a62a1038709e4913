// SPDX-License-Identifier: MIT OR Apache-2.0

//! Follows the server's calls, recognises a pattern each second, shows it and
//! lets the tuner decide.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ioracle_events::{Event, FileId};
use ioracle_pattern::{
    PatternConfig, PatternId, PatternWatcher, RecognisedSlice, Request, StoreError,
};
use ioracle_trace::{Follower, Observer, ProcessNumber};
use serde_json::json;

use super::tune::Tuner;
use crate::pattern::source::request_of;
use crate::shared::numbers::{bytes, grouped};
use crate::shared::output;
use crate::shared::request_feed::{Feed, JoinedJob};

const TICK: Duration = Duration::from_secs(1);
/// Between two looks at a job that was joined.
const JOINED_PAUSE: Duration = Duration::from_millis(20);
/// Patterns in the summary, those of most seconds.
const MAX_LISTED: usize = 12;
const FAILED: &str = "could not follow the server's calls";

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
    started: Instant,
    /// When the present slice began.
    began: Instant,
    /// How long each pattern lasted, and its family.
    seconds: BTreeMap<PatternId, (u64, PatternId)>,
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
            started: Instant::now(),
            began: Instant::now(),
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
        while !self.ended.load(Ordering::Acquire) {
            let was_idle = self.watcher.requests() == 0;
            let n_records = follower.poll(self).context(FAILED)?;
            if was_idle && self.watcher.requests() > 0 {
                // A slice starts with its first request, as recorded ones do.
                self.began = Instant::now();
            }
            if self.began.elapsed() >= TICK {
                self.tick();
            }
            if n_records == 0 {
                let left = TICK.saturating_sub(self.began.elapsed());
                follower.wait(left.min(Duration::from_millis(100)));
            }
        }
        follower.close();
        follower.finish(self).context(FAILED)?;
        self.tick();
        Ok(())
    }

    /// Follows a job that was joined until it ends, or until `ended` is set.
    pub fn follow_joined(&mut self, job: &mut JoinedJob) -> Result<Feed> {
        let mut found = Feed::Requests(0);
        while found != Feed::Ended && !self.ended.load(Ordering::Acquire) {
            let was_idle = self.watcher.requests() == 0;
            found = job.poll(|request| self.observe(request))?;
            if was_idle && self.watcher.requests() > 0 {
                self.began = Instant::now();
            }
            if self.began.elapsed() >= TICK {
                self.tick();
            }
            if found == Feed::Requests(0) {
                thread::sleep(JOINED_PAUSE);
            }
        }
        self.tick();
        Ok(found)
    }

    /// Takes a request of the server.
    fn observe(&mut self, request: &Request) {
        self.n_bytes = self.n_bytes.saturating_add(request.size);
        self.watcher.observe(request);
        if self.watcher.load_has_changed() {
            self.cut();
        }
        if let Some(tuner) = &mut self.tuner
            && self.watcher.load_has_begun()
            && self.watcher.guess_by_files().is_some()
        {
            tuner.load_began(&mut self.watcher);
        }
    }

    /// Ends a slice.
    fn tick(&mut self) {
        let began = std::mem::replace(&mut self.began, Instant::now());
        let seconds = began.elapsed().as_secs_f64().max(1e-3);
        let bytes_per_s = std::mem::take(&mut self.n_bytes) as f64 / seconds;
        let Some(slice) = self.watcher.tick() else { return };
        self.seconds.entry(slice.id).or_insert((0, slice.family)).0 += 1;
        if let Some(tuner) = &mut self.tuner {
            tuner.tick(&mut self.watcher, slice.family, began, bytes_per_s);
        }
        self.report(&slice, seconds, bytes_per_s);
    }

    /// Another load has begun: ends the slice of the one before. It is too short
    /// for a reward, and nothing is to be set for what is over.
    fn cut(&mut self) {
        let began = std::mem::replace(&mut self.began, Instant::now());
        let elapsed = began.elapsed();
        let bytes_per_s =
            std::mem::take(&mut self.n_bytes) as f64 / elapsed.as_secs_f64().max(1e-3);
        if let Some(slice) = self.watcher.cut(elapsed.as_nanos() as u64) {
            self.report(&slice, elapsed.as_secs_f64().max(1e-3), bytes_per_s);
        }
    }

    fn report(&self, slice: &RecognisedSlice, seconds: f64, bytes_per_s: f64) {
        let requests_per_s = (slice.counts.requests() as f64 / seconds) as u64;
        self.show(slice, requests_per_s, bytes_per_s as u64);
    }

    fn show(&self, found: &RecognisedSlice, requests_per_s: u64, bytes_per_s: u64) {
        let option = self.tuner.as_ref().and_then(Tuner::in_force);
        if self.shown == Shown::Json {
            let line = json!({
                "second": self.started.elapsed().as_secs(),
                "pattern": found.id.0,
                "family": found.family.0,
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
            self.started.elapsed().as_secs(),
            found.id.0,
            grouped(requests_per_s),
            bytes(bytes_per_s),
        ));
    }

    /// What was seen, after the end.
    pub fn summary(&self) -> String {
        let mut by_seconds: Vec<(u64, PatternId, PatternId)> =
            self.seconds.iter().map(|(id, (seconds, family))| (*seconds, *id, *family)).collect();
        by_seconds.sort_by_key(|(seconds, id, _)| (std::cmp::Reverse(*seconds), *id));
        let mut text = format!(
            "ioracle: {} patterns in {} s\n",
            by_seconds.len(),
            self.seconds.values().map(|(seconds, _)| seconds).sum::<u64>()
        );
        for (seconds, id, family) in by_seconds.iter().take(MAX_LISTED) {
            let best = self.tuner.as_ref().and_then(|tuner| tuner.best(&self.watcher, *family));
            let best = best.map_or(String::new(), |name| format!(", best under option {name}"));
            text.push_str(&format!("  pattern {}: {} s{best}\n", id.0, grouped(*seconds)));
        }
        text
    }
}

impl Observer for Following {
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
            self.observe(&request);
        }
    }
}
