// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reports how the job is doing (`shared::status`), a few times a second and only while
//! somebody is watching.

use std::path::Path;
use std::time::{Duration, Instant};

use ioracle_engine::Engine;
use ioracle_events::{Access, Event, Layer, PredictedFile, Prediction, StreamId};
use ioracle_grammar::LoopTurn;
use ioracle_trace::{Follower, JobProcess, ProcessNumber};

use super::watch::RunObserver;
use crate::shared::status::{
    BurstStatus, JobStatus, LoopStatus, NextStatus, ProcessStatus, StatusFile, StatusScore,
    ThreadStatus, UNKNOWN_FILE, now_ns,
};

/// Time between two checks whether somebody is watching.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Processes and threads in the status, and the operations ahead of each thread.
const MAX_PROCESSES: usize = 64;
const MAX_STREAMS: usize = 16;
const MAX_NEXT: usize = 5;
/// The longest name of a file.
const MAX_NAME: usize = 200;

/// Reports how a job is doing.
pub struct StatusPublisher {
    file: StatusFile,
    application: String,
    started: Instant,
    looked: Instant,
    last: Option<(Instant, Counted)>,
    /// By the number of the process: what it did so far, and until the last document.
    processes: Vec<(Counted, Counted)>,
}

/// What rates are made of.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    events: u64,
    read: u64,
    written: u64,
}

impl Counted {
    fn since(self, before: Counted) -> Counted {
        Counted {
            events: self.events.saturating_sub(before.events),
            read: self.read.saturating_sub(before.read),
            written: self.written.saturating_sub(before.written),
        }
    }
}

impl StatusPublisher {
    /// For a job that begins; `None` if there is no room for its file.
    pub fn new(directory: &Path, application: String) -> Option<StatusPublisher> {
        let (file, now) = (StatusFile::create(directory).ok()?, Instant::now());
        let (last, processes) = (None, Vec::new());
        Some(StatusPublisher { file, application, started: now, looked: now, last, processes })
    }

    /// Counts an event. The number of processes is bounded where they are numbered.
    #[inline]
    pub fn count(&mut self, process: ProcessNumber, event: &Event) {
        let place = process.0 as usize;
        if place >= self.processes.len() {
            self.processes.resize(place + 1, Default::default());
        }
        let (counted, _) = &mut self.processes[place];
        counted.events += 1;
        let moves = matches!(event.function.layer(), Layer::Posix | Layer::Stdio);
        match event.function.access() {
            Access::Read if moves => counted.read += event.transferred(),
            Access::Write if moves => counted.written += event.transferred(),
            _ => {}
        }
    }

    /// Reports, if it is time and somebody is watching; returns whether somebody is.
    pub fn look(&mut self, now: Instant, watch: &RunObserver<'_>, follower: &mut Follower) -> bool {
        if now.duration_since(self.looked) < LOOK_EVERY {
            return self.last.is_some();
        }
        self.looked = now;
        if self.file.is_wanted() {
            let status = self.status(now, watch, follower);
            // If the status cannot be written, only those who watch miss it.
            let _ = self.file.write(&status);
        } else {
            self.last = None;
            // Rates begin with the first document.
            self.processes.iter_mut().for_each(|(counted, before)| *before = *counted);
        }
        self.last.is_some()
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
        let moved = counted.since(before);
        let rate = |n: u64| n as f64 / elapsed_s;
        let engine = &watch.learner.engine;
        let score = engine.score();
        JobStatus {
            application: self.application.clone(),
            pid: std::process::id(),
            elapsed_s: self.started.elapsed().as_secs_f64(),
            processes: follower.processes().len() as u64,
            streams: follower.n_streams() as u64,
            events: counted.events,
            events_per_s: rate(moved.events),
            bytes_read: counted.read,
            bytes_written: counted.written,
            read_bytes_per_s: rate(moved.read),
            written_bytes_per_s: rate(moved.written),
            learns_later: watch.learns_later(),
            score: (score.operations > 0).then(|| StatusScore {
                operations: score.operations,
                context_accuracy: score.context_accuracy(),
                hit_ratio: score.hit_ratio(),
            }),
            prefetch: watch.learner.prefetch_status(),
            busiest_processes: self.busiest_processes(elapsed_s, follower.processes()),
            busiest: busiest(engine, follower),
        }
    }

    /// The processes that did most since the last document, then those that did most
    /// before.
    fn busiest_processes(&mut self, elapsed_s: f64, known: &[JobProcess]) -> Vec<ProcessStatus> {
        let rate = |n: u64| n as f64 / elapsed_s;
        let done = self.processes.iter_mut().zip(known).zip(0_u32..);
        let mut listed: Vec<_> = done
            .map(|(((counted, before), known), process)| {
                let moved = counted.since(std::mem::replace(before, *counted));
                (std::cmp::Reverse((moved.events, counted.events)), process, *counted, moved, known)
            })
            .collect();
        listed.sort_unstable_by_key(|(busy, process, ..)| (*busy, *process));
        listed.truncate(MAX_PROCESSES);
        let listed = listed.into_iter().map(|(_, process, counted, moved, known)| ProcessStatus {
            process,
            pid: known.pid,
            rank: known.rank,
            name: name_of(&known.executable).chars().take(MAX_NAME).collect(),
            events: counted.events,
            events_per_s: rate(moved.events),
            bytes_read: counted.read,
            bytes_written: counted.written,
            read_bytes_per_s: rate(moved.read),
            written_bytes_per_s: rate(moved.written),
        });
        listed.collect()
    }
}

fn name_of(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn busiest(engine: &Engine, follower: &mut Follower) -> Vec<ThreadStatus> {
    let mut streams: Vec<(u64, StreamId)> =
        engine.streams().map(|stream| (engine.operations(stream), stream)).collect();
    streams.sort_unstable_by_key(|(operations, stream)| (std::cmp::Reverse(*operations), *stream));
    streams.truncate(MAX_STREAMS);
    let listed = streams.into_iter().enumerate().filter_map(|(place, (operations, stream))| {
        let oracle = engine.oracle(stream)?;
        let since_ns = follower.inside_since_ns(stream);
        // Looking for a burst may take milliseconds.
        let burst = if place == 0 { oracle.next_burst() } else { None };
        let burst = burst.filter(|burst| burst.starts_in_ns > 0);
        let turns = oracle.grammar().turns();
        // Predictions count from the end of the last operation.
        let process_start_ns =
            follower.processes().get(stream.rank as usize).map_or(0, |process| process.start_ns);
        let ended_ns = engine.last_end_ns(stream).map(|end_ns| process_start_ns + end_ns);
        let passed_ns = ended_ns.map_or(0, |ended_ns| now_ns().saturating_sub(ended_ns));
        Some(ThreadStatus {
            process: stream.rank,
            thread: stream.thread,
            operations,
            inside_s: since_ns.map(|since_ns| in_s(now_ns().saturating_sub(since_ns))),
            loops: turns.map(loop_status).collect(),
            next: engine
                .predict(stream, MAX_NEXT)
                .iter()
                .map(|it| next(it, passed_ns, engine))
                .collect(),
            next_burst: burst.map(|burst| BurstStatus {
                in_s: in_s(burst.starts_in_ns.saturating_sub(passed_ns)),
                operations: burst.operations,
                bytes: burst.bytes,
            }),
        })
    });
    listed.collect()
}

fn loop_status(LoopTurn { turn, turns, length }: LoopTurn) -> LoopStatus {
    LoopStatus { turn, turns, operations: length }
}

fn next(prediction: &Prediction, passed_ns: u64, engine: &Engine) -> NextStatus {
    let file = match &prediction.file {
        PredictedFile::Known(file) => engine.path(*file).unwrap_or(UNKNOWN_FILE),
        PredictedFile::New(name) => name,
    };
    let skipped = file.chars().count().saturating_sub(MAX_NAME);
    let file: String = file.chars().skip(skipped).collect();
    NextStatus {
        function: prediction.function.name().to_owned(),
        file,
        offset: prediction.offset,
        size: prediction.size,
        in_s: in_s(prediction.from_now_ns.saturating_sub(passed_ns)),
        probability: prediction.probability,
    }
}

fn in_s(ns: u64) -> f64 {
    ns as f64 / 1e9
}
