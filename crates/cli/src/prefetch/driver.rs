// SPDX-License-Identifier: MIT OR Apache-2.0

//! Turns the path ahead of each stream into requests for the performer, and what
//! the program reads into the account of them.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use anyhow::Result;
use ioracle_engine::{Engine, PathStep};
use ioracle_events::{Access, Event, FileId, Layer, PredictedFile, StreamId};
use ioracle_prefetch::{
    ExpectedRead, FileKey, ObservedRead, Planner, PrefetchOutcome, PrefetchReport, PrefetchRequest,
    PrefetchSettings, RequestId, Situation,
};

use super::client::Performer;
use super::protocol::{MAX_PATH_BYTES, Order, Outcome, monotonic_ns};

/// Steps that are kept ahead of each stream that reads: 64 MiB of the 8 KiB reads
/// that netCDF makes.
const HORIZON: usize = 8192;
/// Steps that are made ready beyond those that are planned. Making one takes about
/// half a microsecond.
const STEPS_IN_STOCK: usize = 256;
/// Streams that are read ahead of.
const MAX_STREAMS: usize = 64;
/// Processes whose beginning is kept.
const MAX_PROCESSES: usize = 65_536;
/// Files that are numbered.
const MAX_FILES: usize = 65_536;
/// Time between two plans, unless something has happened.
const PLAN_EVERY: Duration = Duration::from_micros(200);
/// A stream that is later than this with what was expected of it has changed its
/// mind, or has ended.
const LATE: Duration = Duration::from_millis(10);
/// How long a stream that has done something is looked at that often.
const ACTIVE: Duration = Duration::from_millis(100);
/// Streams that have done nothing for so long are not read ahead of: long
/// computations end with an event.
const IDLE: Duration = Duration::from_secs(60);

/// Reads ahead of the program.
pub struct Prefetcher {
    planner: Planner,
    performer: Performer,
    files: Files,
    streams: BTreeMap<StreamId, Reader>,
    /// When processes began, on the monotonic clock.
    processes: HashMap<u32, u64>,
    planned: Option<Instant>,
    /// Something has happened since the last plan.
    has_news: bool,
}

/// A stream that reads.
struct Reader {
    /// The number of the first step that is not planned yet.
    next_step: u64,
    /// How often its path was derived anew.
    n_derived: u64,
    /// When its last operation was seen.
    seen: Instant,
}

/// The files of the job, by name. A file that is only expected and one that was
/// opened since are the same.
#[derive(Default)]
struct Files {
    keys: HashMap<Box<str>, FileKey>,
    names: Vec<Box<str>>,
    /// Whether the performer knows the file.
    is_known: Vec<bool>,
}

impl Prefetcher {
    /// Starts the process that reads.
    pub fn start(settings: PrefetchSettings) -> Result<Prefetcher> {
        Ok(Prefetcher {
            planner: Planner::new(settings),
            performer: Performer::start()?,
            files: Files::default(),
            streams: BTreeMap::new(),
            processes: HashMap::new(),
            planned: None,
            has_news: false,
        })
    }

    /// A process of the job has begun, then, on the monotonic clock.
    pub fn begin_process(&mut self, number: u32, start_ns: u64) {
        if self.processes.len() < MAX_PROCESSES {
            self.processes.insert(number, start_ns);
        }
    }

    /// Takes in an event that the engine has learned.
    pub fn observe(&mut self, event: &Event, engine: &mut Engine) {
        let access = event.function.access();
        let is_atomic = matches!(event.function.layer(), Layer::Posix | Layer::Stdio);
        if event.failed() || !is_atomic || event.file == FileId::UNKNOWN {
            return;
        }
        let Some(file) = engine.path(event.file).and_then(|name| self.files.key(name)) else {
            return;
        };
        if !self.streams.contains_key(&event.stream) && self.streams.len() < MAX_STREAMS {
            engine.keep_path_ahead(event.stream, HORIZON);
            let reader = Reader { next_step: 0, n_derived: 0, seen: Instant::now() };
            self.streams.insert(event.stream, reader);
        }
        match access {
            Access::Read => self.observe_read(event, file, engine),
            Access::Write | Access::Truncate => self.planner.exclude(file),
            Access::Open if event.detail.contains("DIRECT") => self.planner.exclude(file),
            // It may be another file of the same name by now.
            Access::Open => self.forget(file),
            Access::Close | Access::Sync | Access::Seek | Access::Define => {}
        }
        if let Some(reader) = self.streams.get_mut(&event.stream) {
            reader.seen = Instant::now();
            self.has_news = true;
        }
    }

    fn observe_read(&mut self, event: &Event, file: FileKey, engine: &Engine) {
        let stream = event.stream;
        // What was there before the read is heard of before it.
        if self.planner.n_in_flight() > 0 {
            self.take_answers();
        }
        let n_derived = engine.path_ahead(stream).map_or(0, |path| path.n_derived());
        let reader = self.streams.get_mut(&stream);
        let expected = reader
            .is_some_and(|reader| std::mem::replace(&mut reader.n_derived, n_derived) == n_derived);
        let Some(offset) = event.offset else { return };
        // Where it is not known when the process began, the read has just ended.
        let began_ns = self.processes.get(&stream.rank).copied();
        let began_ns = began_ns.unwrap_or_else(|| monotonic_ns().saturating_sub(event.end_ns));
        self.planner.observe(&ObservedRead {
            file,
            bytes: offset..offset.saturating_add(event.transferred()),
            site: event.context.0,
            start_ns: began_ns.saturating_add(event.start_ns),
            end_ns: began_ns.saturating_add(event.end_ns),
            expected,
        });
    }

    /// A stream has ended.
    pub fn end(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    /// Takes in what has been read and says what to read next. While the program
    /// reads, answers how long one may sleep until the next time.
    pub fn act(&mut self, engine: &mut Engine) -> Option<Duration> {
        let has_answers = self.take_answers();
        let now = Instant::now();
        let is_due = self.planned.is_none_or(|planned| now - planned >= PLAN_EVERY);
        if has_answers || self.has_news && is_due {
            (self.planned, self.has_news) = (Some(now), false);
            self.plan(engine, now);
        }
        let is_active = |reader: &Reader| now - reader.seen < ACTIVE;
        let any = self.planner.n_in_flight() > 0 || self.streams.values().any(is_active);
        any.then_some(PLAN_EVERY)
    }

    /// What came of it all.
    pub fn finish(mut self) -> PrefetchReport {
        self.take_answers();
        let mut report = self.planner.report();
        if report.why.is_none() && !self.performer.is_running() {
            (report.stopped, report.why) =
                (true, Some("the process that reads ahead has ended".to_owned()));
        }
        report
    }

    fn take_answers(&mut self) -> bool {
        let mut any = false;
        while let Some(answer) = self.performer.answer() {
            any = true;
            let outcome = match answer.outcome {
                Outcome::Fetched => {
                    PrefetchOutcome::Fetched { bytes: answer.bytes, took_ns: answer.took_ns }
                }
                Outcome::Resident => PrefetchOutcome::Resident,
                Outcome::Refused => PrefetchOutcome::Refused,
            };
            self.planner.complete(RequestId(answer.id), outcome, answer.ended_ns);
        }
        any
    }

    /// Plans the streams one after the other, the one whose next step is nearest
    /// first.
    fn plan(&mut self, engine: &mut Engine, now: Instant) {
        let now_ns = monotonic_ns();
        let inside_call = self.streams.iter().any(|(&stream, reader)| {
            let next = engine.path_ahead(stream).and_then(|path| path.step(0));
            let since_ns = now.duration_since(reader.seen).as_nanos() as u64;
            // Unless it is late, when it does something else.
            next.is_some_and(|next| {
                since_ns >= next.from_now_ns
                    && since_ns < next.from_now_ns + 4 * next.io_time_ns + LATE.as_nanos() as u64
            })
        });
        let situation = Situation { now_ns, inside_call };
        let mut requests = Vec::new();
        for (&stream, reader) in &mut self.streams {
            if now.duration_since(reader.seen) > IDLE {
                continue;
            }
            let Some(path) = engine.path_ahead(stream) else { continue };
            let end = path.first_number() + path.len() as u64;
            if end < reader.next_step.max(path.first_number()) + STEPS_IN_STOCK as u64 {
                engine.extend_path_ahead(stream, STEPS_IN_STOCK);
            }
            let engine = &*engine;
            let Some(path) = engine.path_ahead(stream) else { continue };
            let first = path.first_number();
            reader.next_step = reader.next_step.max(first);
            let since_ns = now.duration_since(reader.seen).as_nanos() as u64;
            let places = (reader.next_step - first) as usize..path.len();
            let files = &mut self.files;
            let steps = places.filter_map(|place| path.step(place));
            let expected = steps.map(|step| expected_read(&step, since_ns, engine, files));
            let (made, n_planned) = self.planner.plan(situation, expected);
            reader.next_step += n_planned as u64;
            requests.extend(made);
        }
        for request in requests {
            self.request(request);
        }
    }

    fn request(&mut self, request: PrefetchRequest) {
        let PrefetchRequest { id, file, bytes } = request;
        let FileKey(number) = file;
        let place = number as usize;
        if !self.files.is_known[place] {
            let path = self.files.names[place].as_bytes().to_vec();
            self.files.is_known[place] = self.performer.order(&Order::Open { file: number, path });
        }
        let length = bytes.end - bytes.start;
        let read = Order::Read { id: id.0, file: number, offset: bytes.start, length };
        if !self.files.is_known[place] || !self.performer.order(&read) {
            self.planner.complete(id, PrefetchOutcome::Dropped, monotonic_ns());
        }
    }

    fn forget(&mut self, file: FileKey) {
        let place = file.0 as usize;
        if std::mem::take(&mut self.files.is_known[place]) {
            self.performer.order(&Order::Close { file: file.0 });
        }
    }
}

/// A step as a read; one that reads nothing has no bytes.
fn expected_read(
    step: &PathStep,
    since_ns: u64,
    engine: &Engine,
    files: &mut Files,
) -> ExpectedRead {
    let is_read = step.function.access() == Access::Read
        && matches!(step.function.layer(), Layer::Posix | Layer::Stdio);
    let file = match step.file {
        PredictedFile::Known(file) => engine.path(*file).and_then(|name| files.key(name)),
        PredictedFile::New(name) => files.key(name),
    };
    let start = step.offset.unwrap_or(0);
    let bytes = match (is_read && step.offset.is_some(), file) {
        (true, Some(_)) => start..start.saturating_add(step.size),
        _ => 0..0,
    };
    ExpectedRead {
        file: file.unwrap_or(FileKey(0)),
        bytes,
        in_ns: step.from_now_ns.saturating_sub(since_ns),
        probability: step.access_probability,
        source: step.source,
    }
}

impl Files {
    /// The number of a file; none if there are too many, or its name is no path.
    fn key(&mut self, name: &str) -> Option<FileKey> {
        if let Some(&key) = self.keys.get(name) {
            return Some(key);
        }
        if self.names.len() >= MAX_FILES || name.len() > MAX_PATH_BYTES || name.contains('\0') {
            return None;
        }
        let key = FileKey(self.names.len() as u32);
        self.keys.insert(name.into(), key);
        self.names.push(name.into());
        self.is_known.push(false);
        Some(key)
    }
}
