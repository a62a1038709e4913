// SPDX-License-Identifier: MIT OR Apache-2.0

//! Follows the job on a thread of its own: counts, learns, records.
//!
//! The thread is niced by [`NICENESS`]. On a node with a free core that changes
//! nothing. On a full one it still gets about a tenth of a core beside a busy
//! program, which is some 30,000 calls a second learned or 300,000 recorded;
//! with SCHED_IDLE it could get nothing at all, and the spool would fill. When
//! it falls behind all the same, it stops learning first: a record that is lost
//! is worse than one that nothing is learned from.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ioracle_engine::{Config, Engine};
use ioracle_events::{ContextId, Event, FileId, StreamId};
use ioracle_trace::{CsvWriter, Follower, Observer, Process, ProcessNumber};
use rustix::time::{ClockId, clock_gettime};

use super::bursts::BurstTally;
use super::signals::Signals;
use super::tally::Tally;

const NICENESS: i32 = 10;
/// Sleep between looks while the job is active, and when nothing was found for
/// long. Writers wake us earlier when a batch is full.
const SHORT_SLEEP: Duration = Duration::from_millis(20);
const LONG_SLEEP: Duration = Duration::from_millis(250);
/// How far behind the program learning is given up for a while, unless there is
/// still much room for records.
const MAX_LAG_NS: u64 = 1_000_000_000;
const MUCH_ROOM: f64 = 0.75;
/// How long is learned after the program has ended. Nothing is said meanwhile.
const MAX_AFTER_END: Duration = Duration::from_secs(1);
/// Events between two looks at the clock.
const CLOCK_EVERY: u64 = 64;
/// How often a recording is handed to the system.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Paths kept for the summary.
const MAX_PATHS: usize = 1 << 18;

/// All that is known of a job.
pub struct Watch<'a> {
    pub engine: Engine,
    pub tally: Tally,
    pub bursts: BurstTally,
    pub paths: HashMap<FileId, Box<str>>,
    /// Events that were counted and recorded, not learned.
    pub n_not_learned: u64,
    recorder: Option<CsvWriter>,
    not_recorded: Option<anyhow::Error>,
    /// When each process began, by its number.
    starts_ns: Vec<u64>,
    has_room: bool,
    learns: bool,
    ended: Arc<AtomicBool>,
    ended_at: Option<Instant>,
    signals: &'a Signals,
    /// Somebody does not want to wait for what is still to be learned.
    is_hurried: bool,
}

impl<'a> Watch<'a> {
    /// Nothing seen yet. `ended` is set by whoever sees the program end, and
    /// reads no signals from then on.
    pub fn new(
        recorder: Option<CsvWriter>,
        ended: Arc<AtomicBool>,
        signals: &'a Signals,
    ) -> Watch<'a> {
        Watch {
            engine: Engine::new(Config::default()),
            tally: Tally::default(),
            bursts: BurstTally::default(),
            paths: HashMap::new(),
            n_not_learned: 0,
            recorder,
            not_recorded: None,
            starts_ns: Vec::new(),
            has_room: true,
            learns: true,
            ended,
            ended_at: None,
            signals,
            is_hurried: false,
        }
    }

    /// Follows the job until the program has ended and all is read.
    pub fn follow(&mut self, follower: &mut Follower) -> Result<()> {
        // Of this thread alone. If it is forbidden we are only less polite.
        let _ = rustix::process::setpriority_process(None, NICENESS);
        let mut sleep = SHORT_SLEEP;
        let mut flushed = Instant::now();
        loop {
            let n_records = follower.poll(self).context(NOT_FOLLOWED)?;
            self.has_room = follower.fill() <= 1.0 - MUCH_ROOM;
            if flushed.elapsed() >= FLUSH_EVERY {
                flushed = Instant::now();
                self.flush();
            }
            if self.ended.load(Ordering::Acquire) {
                break;
            }
            if n_records > 0 {
                sleep = SHORT_SLEEP;
            } else {
                follower.wait(sleep);
                sleep = (sleep * 2).min(LONG_SLEEP);
            }
        }
        follower.close();
        follower.finish(self).context(NOT_FOLLOWED)?;
        self.engine.finish();
        Ok(())
    }

    /// The recording to finish, or why there is none.
    pub fn take_recording(&mut self) -> Option<Result<CsvWriter>> {
        self.flush();
        let recorder = self.recorder.take()?;
        Some(self.not_recorded.take().map_or(Ok(recorder), Err))
    }

    fn flush(&mut self) {
        if let (Some(recorder), None) = (&mut self.recorder, &self.not_recorded) {
            self.not_recorded = recorder.flush().err().map(anyhow::Error::from);
        }
    }

    /// Decides whether there is time to learn from an event.
    fn look_at_clock(&mut self, process: ProcessNumber, event: &Event) {
        if self.ended_at.is_none() && self.ended.load(Ordering::Acquire) {
            self.ended_at = Some(Instant::now());
        }
        self.learns = match self.ended_at {
            Some(ended_at) => {
                self.is_hurried = self.is_hurried || self.signals.ask_to_end();
                !self.is_hurried && ended_at.elapsed() < MAX_AFTER_END
            }
            None if self.has_room => true,
            None => {
                let start_ns = self.starts_ns.get(process.index()).copied().unwrap_or(0);
                now_ns().saturating_sub(start_ns.saturating_add(event.end_ns)) < MAX_LAG_NS
            }
        };
    }
}

const NOT_FOLLOWED: &str = "the records of the program could not be read to their end";

impl Observer for Watch<'_> {
    fn process(&mut self, number: ProcessNumber, process: &Process) {
        if self.starts_ns.len() <= number.index() {
            self.starts_ns.resize(number.index() + 1, 0);
        }
        self.starts_ns[number.index()] = process.start_ns;
        if let Some(recorder) = &mut self.recorder {
            recorder.process(number, process);
        }
    }

    fn context(&mut self, id: ContextId, frames: &str) {
        self.engine.define_context(id, frames);
        if let Some(recorder) = &mut self.recorder {
            recorder.context(id, frames);
        }
    }

    fn file(&mut self, id: FileId, path: &str) {
        self.engine.define_file(id, path);
        if self.paths.len() < MAX_PATHS {
            self.paths.insert(id, path.into());
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.file(id, path);
        }
    }

    fn stream_began(&mut self, id: StreamId, tid: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.stream_began(id, tid);
        }
    }

    fn event(&mut self, process: ProcessNumber, event: &Event) {
        if self.tally.events.is_multiple_of(CLOCK_EVERY) {
            self.look_at_clock(process, event);
        }
        self.tally.add(event);
        if let Some(recorder) = &mut self.recorder {
            recorder.event(process, event);
        }
        if self.learns {
            self.engine.observe(event);
            let oracle = self.engine.oracle(event.stream);
            self.bursts.add(event, oracle.and_then(|oracle| oracle.quiet_threshold_ns()));
        } else {
            self.n_not_learned += 1;
        }
    }

    fn stream_ended(&mut self, id: StreamId) {
        self.engine.end_stream(id);
        if self.engine.oracle(id).is_none() {
            self.bursts.forget(id);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.stream_ended(id);
        }
    }

    fn keep(&mut self) {
        if let Some(recorder) = &mut self.recorder {
            recorder.keep();
        }
    }
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
}
