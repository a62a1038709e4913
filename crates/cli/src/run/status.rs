// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tells those who look how the job is doing (`shared::status`), a few times a
//! second and only while somebody does.

use std::path::Path;
use std::time::{Duration, Instant};

use ioracle_engine::Engine;
use ioracle_events::{PredictedFile, Prediction, StreamId};
use ioracle_trace::Follower;

use super::watch::RunObserver;
use crate::shared::status::{
    BurstStatus, JobStatus, LoopStatus, NextStatus, StatusFile, StatusScore, StreamStatus, now_ns,
};

/// Time between two looks at whether somebody wants to know.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Threads that are told of, and the operations ahead of each.
const MAX_STREAMS: usize = 16;
const MAX_NEXT: usize = 5;
/// The longest name of a file.
const MAX_NAME: usize = 512;

/// Tells how a job is doing.
pub struct StatusPublisher {
    file: StatusFile,
    application: String,
    started: Instant,
    looked: Instant,
    last: Option<(Instant, Counted)>,
}

/// What rates are made of.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    events: u64,
    read: u64,
    written: u64,
}

impl StatusPublisher {
    /// For a job that begins; `None` if there is no room for its file.
    pub fn new(directory: &Path, application: String) -> Option<StatusPublisher> {
        let (file, now) = (StatusFile::create(directory).ok()?, Instant::now());
        Some(StatusPublisher { file, application, started: now, looked: now, last: None })
    }

    /// Tells, if it is time to and somebody wants to know.
    pub fn look(&mut self, now: Instant, watch: &RunObserver<'_>, follower: &mut Follower) {
        if now.duration_since(self.looked) < LOOK_EVERY {
            return;
        }
        self.looked = now;
        if self.file.is_wanted() {
            let status = self.status(now, watch, follower);
            // That it cannot be written, nobody need be told who cannot see it.
            let _ = self.file.write(&status);
        } else {
            self.last = None;
        }
    }

    fn status(
        &mut self,
        now: Instant,
        watch: &RunObserver<'_>,
        follower: &mut Follower,
    ) -> JobStatus {
        let (read, written) = watch.insight.bytes();
        let counted = Counted { events: watch.insight.events(), read, written };
        let (since, before) = self.last.replace((now, counted)).unwrap_or((now, counted));
        let elapsed_s = now.duration_since(since).as_secs_f64().max(1e-3);
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / elapsed_s;
        let engine = &watch.learner.engine;
        let score = engine.score();
        JobStatus {
            application: self.application.clone(),
            pid: std::process::id(),
            elapsed_s: self.started.elapsed().as_secs_f64(),
            processes: follower.processes().len() as u64,
            streams: follower.n_streams() as u64,
            events: counted.events,
            events_per_s: rate(counted.events, before.events),
            bytes_read: counted.read,
            bytes_written: counted.written,
            read_bytes_per_s: rate(counted.read, before.read),
            written_bytes_per_s: rate(counted.written, before.written),
            learns_later: watch.learns_later(),
            score: (score.operations > 0).then(|| StatusScore {
                operations: score.operations,
                context_accuracy: score.context_accuracy(),
                hit_ratio: score.hit_ratio(),
            }),
            busiest: busiest(engine, follower),
        }
    }
}

fn busiest(engine: &Engine, follower: &mut Follower) -> Vec<StreamStatus> {
    let mut streams: Vec<(u64, StreamId)> =
        engine.streams().map(|stream| (engine.operations(stream), stream)).collect();
    streams.sort_unstable_by_key(|(operations, stream)| (std::cmp::Reverse(*operations), *stream));
    streams.truncate(MAX_STREAMS);
    let told = streams.into_iter().enumerate().filter_map(|(place, (operations, stream))| {
        let oracle = engine.oracle(stream)?;
        let since_ns = follower.inside_since_ns(stream);
        // Looking for a burst may take milliseconds.
        let burst = if place == 0 { oracle.next_burst() } else { None };
        let burst = burst.filter(|burst| burst.starts_in_ns > 0);
        let turns = oracle.grammar().turns();
        Some(StreamStatus {
            process: stream.rank,
            thread: stream.thread,
            operations,
            inside_s: since_ns.map(|since_ns| in_s(now_ns().saturating_sub(since_ns))),
            loops: turns.map(|(turn, turns)| LoopStatus { turn, turns }).collect(),
            next: engine.predict(stream, MAX_NEXT).iter().map(|it| next(it, engine)).collect(),
            next_burst: burst.map(|burst| BurstStatus {
                in_s: in_s(burst.starts_in_ns),
                operations: burst.operations,
                bytes: burst.bytes,
            }),
        })
    });
    told.collect()
}

fn next(prediction: &Prediction, engine: &Engine) -> NextStatus {
    let file = match &prediction.file {
        PredictedFile::Known(file) => engine.path(*file).unwrap_or("?"),
        PredictedFile::New(name) => name,
    };
    let file: String = file.chars().take(MAX_NAME).collect();
    NextStatus {
        function: prediction.function.name().to_owned(),
        file,
        offset: prediction.offset,
        size: prediction.size,
        in_s: in_s(prediction.from_now_ns),
        probability: prediction.probability,
    }
}

fn in_s(ns: u64) -> f64 {
    ns as f64 / 1e9
}
