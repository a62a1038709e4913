// SPDX-License-Identifier: MIT OR Apache-2.0

//! Turns the path ahead of each stream into requests for the performer, and what
//! the program reads into the account of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ioracle_engine::{Engine, PathStep};
use ioracle_events::{
    Access, Event, FastMap, FileId, Function, Layer, PredictedFile, StreamId, plain, unescaped,
};
use ioracle_knowledge::is_system_path;
use ioracle_prefetch::{
    ExpectedRead, FileKey, FileRounds, LogFollower, LoggedPath, ObservedRead, Opening, Planner,
    PrefetchOutcome, PrefetchReport, PrefetchRequest, PrefetchSettings, ReadLog, ReadLogger,
    ReadWait, RequestId, Situation, StorageKey, StreamDemand,
};

use super::client::Performer;
use super::descriptors::{MountPoints, NoDescriptor, ProgramDescriptors};
use super::graph::{GraphPlans, is_expected};
use super::protocol::{Answer, MAX_PATH_BYTES, Order, Outcome, Reply, monotonic_ns};
use super::series::SeriesFinder;
use super::timeline::{Timeline, TimelineRow};
use crate::shared::status::PrefetchStatus;

/// Steps that are kept ahead of each stream that reads: 64 MiB of the 8 KiB reads
/// that netCDF makes.
const HORIZON: usize = 8192;
/// Steps that are made ready beyond those that are planned. Making one takes about
/// half a microsecond.
const STEPS_IN_STOCK: usize = 256;
/// The same while predictions are unproven: the path may be derived anew with every
/// operation.
const UNPROVEN_STEPS: usize = 32;
/// Streams that are read ahead of.
const MAX_STREAMS: usize = 64;
/// Processes whose beginning is kept.
const MAX_PROCESSES: usize = 65_536;
/// Files that are numbered.
const MAX_FILES: usize = 65_536;
/// Time between two plans, unless something has happened.
const PLAN_EVERY: Duration = Duration::from_micros(200);
/// Threads of which it is asked per plan whether they are inside a call: a system
/// call each.
const MAX_LOOKED_AT: usize = 64;
/// How long a stream that has done something is looked at that often.
const ACTIVE: Duration = Duration::from_millis(100);
/// Streams that have done nothing for so long are not read ahead of: long
/// computations end with an event.
const IDLE: Duration = Duration::from_secs(60);

/// A job of which nothing was seen is looked at so often, for so long.
const FIRST_LOOKS: Duration = Duration::from_millis(1);
const BEGINNING: Duration = Duration::from_secs(1);
/// Time between two looks at a program that has nothing to wait for: being woken by
/// each of its calls would cost it more.
const DORMANT_LOOKS: Duration = Duration::from_millis(2);
/// Streams of which all steps are looked at when they begin: an interpreter makes thousands
/// of calls on its modules before it reads any data (xarray 4,600), and meanwhile there is
/// time to read ahead.
const MAX_LOOKS_FAR: usize = 4;
/// Steps that are looked at of a branch that is not the likeliest.
const BRANCH_STEPS: usize = 64;
const MAX_BRANCHES: usize = 4;

const FORBIDDEN: &str = "opening a file here drops what is cached of it, and the descriptors of the \
    program may not be used: the system does not allow it to be traced \
    (/proc/sys/kernel/yama/ptrace_scope, or the rules of a container)";

/// Reads ahead of the program.
pub struct Prefetcher {
    planner: Planner,
    min_gain: f64,
    performer: Performer,
    files: Files,
    streams: BTreeMap<StreamId, Reader>,
    graph: GraphPlans,
    series: SeriesFinder,
    /// What this run reads, for the next one, and what the last one has read.
    logger: ReadLogger,
    log: Option<LogFollower>,
    processes: FastMap<u32, Process>,
    descriptors: ProgramDescriptors,
    /// Kinds of them where opening a file drops what is cached of it.
    dropping: BTreeSet<String>,
    /// Descriptors of the program may not be used.
    is_forbidden: bool,
    directory: PathBuf,
    started: Instant,
    planned: Option<Instant>,
    /// Something has happened since the last plan.
    has_news: bool,
    /// Where it is wanted.
    timeline: Option<Timeline>,
    /// What requests on their way ask for.
    asked: HashMap<RequestId, PrefetchRequest>,
    /// The program has ended: what is still learned is only accounted for.
    has_ended: bool,
    /// Earlier runs tell what will be read.
    has_foreknowledge: bool,
    /// Streams whose path may still be looked at as far as it is known.
    n_looks_left: usize,
}

/// What came of reading ahead.
pub struct Prefetched {
    pub report: PrefetchReport,
    /// Who read what and when, where that is wanted.
    pub timeline: Option<String>,
    /// What the program has read, for the next run.
    pub log: ReadLog,
}

/// How closely the program is to be followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attention {
    /// How long records may wait after others: a program that makes many calls is not
    /// to wake the reader with each.
    pub pause: Duration,
    /// How long one may sleep although no records come; none where only they count.
    pub at_most: Option<Duration>,
}

/// A process of the job.
#[derive(Clone, Copy)]
struct Process {
    pid: u32,
    /// When it began, on the monotonic clock.
    start_ns: u64,
}

/// A stream that reads.
struct Reader {
    /// The number of the first step that is not planned yet.
    next_step: u64,
    /// How often its path was derived anew.
    n_derived: u64,
    /// When its last operation was seen, but for those since the last plan.
    seen: Instant,
    has_news: bool,
    /// Whether it waits for its reads. Without that it has no path ahead.
    demand: StreamDemand,
    /// The files that it reads in turn.
    rounds: FileRounds,
}

/// The files of the job, by name. A file that is only expected and one that was
/// opened since are the same.
#[derive(Default)]
pub struct Files {
    /// Of files that events have named.
    by_id: FastMap<FileId, FileKey>,
    keys: HashMap<Box<str>, FileKey>,
    /// The same by whole paths, as the knowledge graph has them.
    by_path: HashMap<Box<str>, FileKey>,
    /// The working directory.
    directory: Box<str>,
    names: Vec<Box<str>>,
    paths: Vec<Box<str>>,
    mounts: MountPoints,
    /// Where each file lies.
    storages: Vec<StorageKey>,
    /// Whether the performer knows the file.
    is_known: Vec<bool>,
    /// The process that opened it last.
    opened_by: Vec<Option<u32>>,
}

impl Prefetcher {
    /// The process that reads is started when there is something to read.
    pub fn new(settings: PrefetchSettings) -> Prefetcher {
        let here = std::env::current_dir().unwrap_or_default();
        Prefetcher {
            min_gain: settings.min_gain,
            planner: Planner::new(settings),
            performer: Performer::default(),
            files: Files {
                directory: here.to_string_lossy().into(),
                mounts: MountPoints::of_system(),
                ..Files::default()
            },
            graph: GraphPlans::default(),
            series: SeriesFinder::default(),
            logger: ReadLogger::new(monotonic_ns()),
            log: None,
            streams: BTreeMap::new(),
            processes: FastMap::default(),
            descriptors: ProgramDescriptors::default(),
            dropping: BTreeSet::new(),
            is_forbidden: false,
            directory: here,
            started: Instant::now(),
            planned: None,
            has_news: false,
            timeline: None,
            asked: HashMap::new(),
            has_ended: false,
            has_foreknowledge: false,
            n_looks_left: 0,
        }
    }

    /// From now on keeps a table of who reads what and when.
    pub fn keep_timeline(&mut self) {
        self.timeline = Some(Timeline::new(monotonic_ns()));
    }

    /// The program was started with these words, which may name files.
    pub fn name_files(&mut self, words: Vec<String>) {
        self.series.name_files(words, &self.files.directory);
    }

    /// Follows the run in what an earlier one has read.
    pub fn follow_log(&mut self, log: &ReadLog) {
        let (files, series) = (&mut self.files, &mut self.series);
        // Inputs that the command does not name any more are not read again.
        let key_of = |path: &str, was_named: bool| match !was_named || series.is_named(path) {
            true => files.keyed(path),
            false => None,
        };
        self.log = Some(LogFollower::new(log, monotonic_ns(), key_of));
        self.has_news = true;
    }

    /// A process of the job has begun, then, on the monotonic clock.
    pub fn begin_process(&mut self, number: u32, pid: u32, start_ns: u64) {
        if self.processes.len() < MAX_PROCESSES {
            self.processes.insert(number, Process { pid, start_ns });
        }
    }

    /// Takes in an event that the engine has learned.
    pub fn observe(&mut self, event: &Event, engine: &mut Engine) {
        let access = event.function.access();
        let is_atomic = matches!(event.function.layer(), Layer::Posix | Layer::Stdio);
        if event.failed() || !is_atomic || event.file == FileId::UNKNOWN {
            return;
        }
        let Some(file) = self.files.key_of(event.file, engine) else { return };
        let mut wait = ReadWait::None;
        match access {
            Access::Read => wait = self.observe_read(event, file, engine),
            Access::Write | Access::Truncate => {
                self.planner.exclude(file);
                self.logger.exclude(file);
            }
            Access::Open if event.detail.contains("DIRECT") => self.planner.exclude(file),
            Access::Open => self.observe_open(event.stream, file),
            Access::Close | Access::Sync | Access::Seek | Access::Define => {}
        }
        let may_act = !self.has_ended && !self.is_at_rest();
        let may_begin = may_act && self.streams.len() < MAX_STREAMS;
        if may_begin && !self.streams.contains_key(&event.stream) {
            engine.keep_path_ahead(event.stream, HORIZON);
            self.look_far(event.stream, engine);
            let demand = StreamDemand::new(self.min_gain, self.has_foreknowledge);
            let seen = Instant::now();
            let rounds = FileRounds::default();
            let reader =
                Reader { next_step: 0, n_derived: 0, seen, has_news: true, demand, rounds };
            self.streams.insert(event.stream, reader);
        }
        let Some(reader) = self.streams.get_mut(&event.stream) else { return };
        let was_calm = reader.demand.is_calm();
        reader.demand.observe(event.start_ns, event.end_ns, wait);
        match (was_calm, reader.demand.is_calm()) {
            (false, true) => engine.drop_path_ahead(event.stream),
            (true, false) if may_act => {
                (reader.next_step, reader.n_derived) = (0, 0);
                engine.keep_path_ahead(event.stream, HORIZON);
            }
            _ => {}
        }
        if !reader.demand.is_calm() {
            (reader.has_news, self.has_news) = (true, true);
        }
    }

    /// Earlier runs tell what will be read.
    pub fn begin_with_foreknowledge(&mut self) {
        self.planner.begin_with_foreknowledge();
        self.has_foreknowledge = true;
        self.n_looks_left = MAX_LOOKS_FAR;
    }

    /// Looks which storages a stream will read from, as far as earlier runs tell.
    fn look_far(&mut self, stream: StreamId, engine: &mut Engine) {
        let Some(n_left) = self.n_looks_left.checked_sub(1) else { return };
        self.n_looks_left = n_left;
        engine.extend_path_ahead(stream, HORIZON);
        let engine = &*engine;
        let Some(path) = engine.path_ahead(stream) else { return };
        for step in (0..path.len()).filter_map(|place| path.step(place)) {
            let read = expected_read(&step, 0, engine, &mut self.files);
            if !read.bytes.is_empty() {
                self.planner.expect_storage(read.storage);
            }
        }
    }

    /// Whether it has given up for good.
    pub fn is_stopped(&self) -> bool {
        self.planner.stopped().is_some()
    }

    /// Whether nothing is to be read ahead, for good or until the program waits.
    fn is_at_rest(&self) -> bool {
        self.is_stopped() || self.planner.is_dormant()
    }

    /// It may be another file of the same name by now.
    fn observe_open(&mut self, stream: StreamId, file: FileKey) {
        self.files.opened_by[file.0 as usize] = Some(stream.rank);
        self.forget(file);
        let path = self.path(file);
        if !self.drops_cache(&path) {
            self.planner.reopen(file, Opening::KeepsCache);
            return;
        }
        self.planner.reopen(file, Opening::DropsCache);
        // What could not be read before it was open can be read now.
        if let Some(reader) = self.streams.get_mut(&stream) {
            reader.next_step = 0;
        }
    }

    /// Whether opening a file drops what is cached of it, as far as that is known.
    fn drops_cache(&self, path: &Path) -> bool {
        !self.dropping.is_empty()
            && self.files.mounts.kind(path).is_some_and(|kind| self.dropping.contains(kind))
    }

    fn path(&self, file: FileKey) -> PathBuf {
        use std::os::unix::ffi::OsStringExt;
        let name = std::ffi::OsString::from_vec(unescaped(self.files.name(file)));
        self.directory.join(name)
    }

    fn observe_read(&mut self, event: &Event, file: FileKey, engine: &Engine) -> ReadWait {
        let stream = event.stream;
        // What was there before the read is heard of before it.
        if self.planner.n_in_flight() > 0 {
            self.take_answers();
        }
        let path = engine.path_ahead(stream).zip(self.streams.get_mut(&stream));
        let mut expected = path.map(|(path, reader)| {
            std::mem::replace(&mut reader.n_derived, path.n_derived()) == path.n_derived()
        });
        let Some(offset) = event.offset else { return ReadWait::None };
        let bytes = offset..offset.saturating_add(event.transferred());
        if let Some(source) = engine.graph().filter(|_| expected != Some(true))
            && is_expected(source, self.files.path_of(file), &bytes)
        {
            expected = Some(true);
        }
        // Where it is not known when the process began, the read has just ended.
        let began_ns = self.processes.get(&stream.rank).map(|process| process.start_ns);
        let began_ns = began_ns.unwrap_or_else(|| monotonic_ns().saturating_sub(event.end_ns));
        let mut read = ObservedRead {
            file,
            storage: self.files.storage(file),
            bytes,
            site: event.context.0,
            start_ns: began_ns.saturating_add(event.start_ns),
            end_ns: began_ns.saturating_add(event.end_ns),
            expected,
        };
        if let Some(reader) = self.streams.get_mut(&stream) {
            if reader.rounds.expects(&read) {
                read.expected = Some(true);
            }
            reader.rounds.observe(&read);
        }
        let (path, series) = (self.files.path_of(file), &mut self.series);
        let describe = || {
            let is_named = series.is_named(path);
            (!is_system_path(path)).then_some(LoggedPath { path, is_named })
        };
        if self.logger.observe(&read, describe)
            && let Some(log) = &mut self.log
            && log.observe(&read)
        {
            read.expected = Some(true);
        }
        if !self.is_at_rest() {
            self.follow_series(&mut read);
        }
        let wait = self.planner.observe(&read);
        if let Some(timeline) = &mut self.timeline {
            timeline.add(&TimelineRow {
                who: "program",
                start_ns: read.start_ns,
                end_ns: read.end_ns,
                seen_ns: monotonic_ns(),
                file: self.files.name(file),
                offset,
                bytes: event.transferred(),
                what: if read.expected == Some(true) { "expected" } else { "unexpected" },
            });
        }
        wait
    }

    /// Whether the read is of a file among others that are read one after the other.
    fn follow_series(&mut self, read: &mut ObservedRead) {
        let path = self.files.path_of(read.file).to_owned();
        let files = &mut self.files;
        if self.series.observe(read, &path, |path| files.keyed(path)) {
            read.expected = Some(true);
        }
        while let Some((list, (directory, kind))) = self.series.take_directory() {
            let (directory, kind) = (directory.as_bytes().to_owned(), kind.as_bytes().to_owned());
            self.performer.order(&Order::List { list, directory, kind });
        }
    }

    /// A stream has ended.
    pub fn end(&mut self, stream: StreamId) {
        self.streams.remove(&stream);
    }

    /// The program has ended. Nobody needs paths any more, and keeping them makes
    /// learning what waits slower.
    pub fn program_ended(&mut self, engine: &mut Engine) {
        self.has_ended = true;
        self.streams.keys().for_each(|stream| engine.drop_path_ahead(*stream));
    }

    /// Takes in what has been read and says what to read next. Answers how closely the
    /// program is to be followed.
    pub fn act(
        &mut self,
        engine: &mut Engine,
        is_inside_call: impl FnMut(StreamId) -> bool,
    ) -> Attention {
        let has_answers = self.take_answers();
        let now = Instant::now();
        for reader in self.streams.values_mut() {
            if std::mem::take(&mut reader.has_news) {
                reader.seen = now;
            }
        }
        if self.is_at_rest() {
            // Nothing is predicted for nothing.
            while let Some((stream, _)) = self.streams.pop_first() {
                engine.drop_path_ahead(stream);
            }
        } else if !self.has_ended {
            let is_due = self.planned.is_none_or(|planned| now - planned >= PLAN_EVERY);
            self.has_news |= engine.graph().is_some_and(|source| self.graph.has_news(source));
            if has_answers || self.has_news && is_due {
                (self.planned, self.has_news) = (Some(now), false);
                self.plan(engine, now, is_inside_call);
            }
        }
        let is_active = |reader: &Reader| !reader.demand.is_calm() && now - reader.seen < ACTIVE;
        let is_beginning = self.streams.is_empty() && now - self.started < BEGINNING;
        if self.planner.n_in_flight() > 0 || self.has_news {
            Attention { pause: PLAN_EVERY, at_most: Some(PLAN_EVERY) }
        } else if self.streams.values().any(is_active) {
            // Its next record wakes us.
            Attention { pause: PLAN_EVERY, at_most: None }
        } else if is_beginning && !self.is_at_rest() {
            Attention { pause: PLAN_EVERY, at_most: Some(FIRST_LOOKS) }
        } else {
            Attention { pause: DORMANT_LOOKS, at_most: None }
        }
    }

    /// How it is doing.
    pub fn status(&self) -> PrefetchStatus {
        let report = self.planner.report();
        PrefetchStatus {
            bytes: report.bytes,
            used: report.used,
            in_flight: self.planner.n_in_flight() as u64,
            saved_s: report.saved_s,
            stopped: report.stopped,
        }
    }

    /// What came of it all.
    pub fn finish(mut self) -> Prefetched {
        self.take_answers();
        let mut report = self.planner.report();
        if let (None, Some(why)) = (&report.why, self.performer.lost()) {
            (report.stopped, report.why) = (true, Some(why.to_owned()));
        }
        if report.why.is_none() && self.is_forbidden {
            report.why = Some(FORBIDDEN.to_owned());
        }
        Prefetched {
            report,
            timeline: self.timeline.map(Timeline::into_text),
            log: self.logger.finish(),
        }
    }

    fn take_answers(&mut self) -> bool {
        let mut any = false;
        while let Some(reply) = self.performer.reply() {
            any = true;
            let answer = match reply {
                Reply::Done(answer) => answer,
                Reply::Names { list, names } => {
                    let names = Some(names).filter(|names| !names.is_empty());
                    let files = &mut self.files;
                    self.series.take_names(list, names, |path| files.keyed(path));
                    continue;
                }
            };
            let outcome = match answer.outcome {
                Outcome::Fetched => {
                    PrefetchOutcome::Fetched { bytes: answer.bytes, took_ns: answer.took_ns }
                }
                Outcome::Resident => PrefetchOutcome::Resident,
                Outcome::Refused => PrefetchOutcome::Refused,
                Outcome::OtherFile | Outcome::CacheDropped => PrefetchOutcome::Dropped,
            };
            self.take_note(&answer);
            self.planner.complete(RequestId(answer.id), outcome, answer.ended_ns);
            let asked = self.asked.remove(&RequestId(answer.id));
            if let (Some(timeline), Some(asked)) = (&mut self.timeline, asked) {
                timeline.add(&TimelineRow {
                    who: "prefetch",
                    start_ns: answer.ended_ns.saturating_sub(answer.took_ns),
                    end_ns: answer.ended_ns,
                    seen_ns: monotonic_ns(),
                    file: self.files.name(asked.file),
                    offset: asked.bytes.start,
                    bytes: asked.bytes.end - asked.bytes.start,
                    what: match answer.outcome {
                        Outcome::Fetched => "fetched",
                        Outcome::Resident => "resident",
                        Outcome::Refused => "refused",
                        Outcome::OtherFile | Outcome::CacheDropped => "dropped",
                    },
                });
            }
        }
        any
    }

    /// Learns about the file and its mount from an answer.
    fn take_note(&mut self, answer: &Answer) {
        let Some(asked) = self.asked.get(&RequestId(answer.id)) else { return };
        let file = asked.file;
        if let Some(end) = answer.file_end {
            self.planner.end_file(file, end);
        }
        if answer.outcome != Outcome::CacheDropped {
            return;
        }
        let path = self.path(file);
        if let Some(kind) = self.files.mounts.kind(&path)
            && self.dropping.insert(kind.to_owned())
        {
            // Steps that are given up now can be read through the program's descriptors.
            self.streams.values_mut().for_each(|reader| reader.next_step = 0);
        }
    }

    /// Plans the streams one after the other, the one whose next step is nearest
    /// first.
    fn plan(
        &mut self,
        engine: &mut Engine,
        now: Instant,
        mut is_inside_call: impl FnMut(StreamId) -> bool,
    ) {
        let now_ns = monotonic_ns();
        let is_trusted = self.planner.is_trusted();
        // Trusted predictions are acted on beside calls, too: then only branches ask.
        let asks = !is_trusted || self.planner.n_in_flight() == 0;
        let mut looked_at = (self.streams.iter())
            .filter(|(_, reader)| now.duration_since(reader.seen) <= IDLE)
            .take(MAX_LOOKED_AT);
        let inside_call = asks && looked_at.any(|(&stream, _)| is_inside_call(stream));
        let situation = Situation { now_ns, inside_call };
        // The source that is surer of what it expects next comes first. What both expect
        // is asked for once.
        let graph_first = engine.graph().is_some_and(|source| {
            let next = self.streams.iter().filter_map(|(&stream, reader)| {
                let path = engine.path_ahead(stream)?;
                let place = reader.next_step.saturating_sub(path.first_number());
                path.step(place as usize).map(|step| step.access_probability)
            });
            self.graph.confidence(source) > next.fold(0.0, f64::max)
        });
        let mut requests = Vec::new();
        if let Some(log) = &mut self.log {
            let (made, n_planned) = self.planner.plan(situation, log.ahead(now_ns));
            log.take_planned(n_planned);
            requests = made;
        }
        if graph_first {
            requests.extend(self.plan_graph(engine, situation, now));
        }
        for (&stream, reader) in &mut self.streams {
            if now.duration_since(reader.seen) > IDLE {
                continue;
            }
            let Some(path) = engine.path_ahead(stream) else { continue };
            let end = path.first_number() + path.len() as u64;
            let in_stock = if is_trusted { STEPS_IN_STOCK } else { UNPROVEN_STEPS };
            if end < reader.next_step.max(path.first_number()) + in_stock as u64 {
                engine.extend_path_ahead(stream, in_stock);
            }
            let engine = &*engine;
            let Some(path) = engine.path_ahead(stream) else { continue };
            let first = path.first_number();
            reader.next_step = reader.next_step.max(first);
            let since_ns = now.duration_since(reader.seen).as_nanos() as u64;
            let places = (reader.next_step - first) as usize..path.len();
            let files = &mut self.files;
            let (in_turn, _) = self.planner.plan(situation, reader.rounds.ahead(now_ns));
            requests.extend(in_turn);
            let steps = places.filter_map(|place| path.step(place));
            let expected = steps.map(|step| expected_read(&step, since_ns, engine, files));
            let (made, n_planned) = self.planner.plan(situation, expected);
            reader.next_step += n_planned as u64;
            if made.is_empty() && self.planner.n_in_flight() == 0 {
                let branches = branches(stream, since_ns, engine, files);
                requests.extend(self.planner.plan_branch(situation, branches));
            }
            requests.extend(made);
        }
        for series in self.series.series_mut() {
            let (made, n_planned) = self.planner.plan(situation, series.ahead(now_ns));
            series.take_planned(n_planned);
            requests.extend(made);
        }
        if !graph_first {
            requests.extend(self.plan_graph(engine, situation, now));
        }
        for request in requests {
            self.request(request);
        }
    }

    fn plan_graph(
        &mut self,
        engine: &mut Engine,
        situation: Situation,
        now: Instant,
    ) -> Vec<PrefetchRequest> {
        self.graph.plan(engine, &mut self.planner, &mut self.files, (situation, now))
    }

    fn request(&mut self, request: PrefetchRequest) {
        self.asked.insert(request.id, request.clone());
        let PrefetchRequest { id, file, bytes } = request;
        let FileKey(number) = file;
        let place = number as usize;
        let path = self.path(file);
        let mut descriptor = None;
        if self.drops_cache(&path) {
            descriptor = self.descriptor(file, &path);
            if descriptor.is_none() {
                return self.drop_request(id);
            }
        }
        if !self.files.is_known[place] {
            let path = unescaped(&self.files.names[place]);
            self.files.is_known[place] = self.performer.order(&Order::Open { file: number, path });
        }
        let length = bytes.end - bytes.start;
        let read = Order::Read { id: id.0, file: number, offset: bytes.start, length, descriptor };
        if !self.files.is_known[place] || !self.performer.order(&read) {
            self.drop_request(id);
        }
    }

    fn drop_request(&mut self, id: RequestId) {
        self.asked.remove(&id);
        self.planner.complete(id, PrefetchOutcome::Dropped, monotonic_ns());
    }

    /// A copy of the program's descriptor of a file.
    fn descriptor(&mut self, file: FileKey, path: &Path) -> Option<std::os::fd::OwnedFd> {
        let number = self.files.opened_by[file.0 as usize]?;
        let pid = self.processes.get(&number)?.pid;
        let copy = self.descriptors.copy(pid, path);
        self.is_forbidden |= copy.as_ref().err() == Some(&NoDescriptor::Forbidden);
        copy.ok()
    }

    fn forget(&mut self, file: FileKey) {
        let place = file.0 as usize;
        if std::mem::take(&mut self.files.is_known[place]) {
            self.performer.order(&Order::Close { file: file.0 });
        }
    }
}

/// The next reads on branches that are not the likeliest.
fn branches(
    stream: StreamId,
    since_ns: u64,
    engine: &Engine,
    files: &mut Files,
) -> Vec<ExpectedRead> {
    let Some(oracle) = engine.oracle(stream) else { return Vec::new() };
    let n_branches = oracle.predict().len().min(MAX_BRANCHES);
    let mut reads = Vec::new();
    for branch in 1..n_branches {
        let first = &oracle.predict()[branch];
        // Of all that follows, it is only open whether the branch is taken.
        let (probability, source) = (first.operation_probability, first.source);
        for step in oracle.ahead(branch).take(BRANCH_STEPS) {
            let place = (step.offset, step.size);
            let (file, bytes) = range_of(&step.file, step.function, place, engine, files);
            let in_ns = step.from_now_ns.saturating_sub(since_ns);
            let storage = files.storage(file);
            reads.push(ExpectedRead { file, storage, bytes, in_ns, probability, source });
        }
    }
    reads
}

/// A step as a read; one that reads nothing has no bytes.
fn expected_read(
    step: &PathStep,
    since_ns: u64,
    engine: &Engine,
    files: &mut Files,
) -> ExpectedRead {
    let place = (step.offset, step.size);
    let (file, bytes) = range_of(step.file, step.function, place, engine, files);
    ExpectedRead {
        file,
        storage: files.storage(file),
        bytes,
        in_ns: step.from_now_ns.saturating_sub(since_ns),
        probability: step.access_probability,
        source: step.source,
    }
}

/// The file and bytes of a predicted operation; none if it reads nothing.
fn range_of(
    file: &PredictedFile,
    function: Function,
    (offset, size): (Option<u64>, u64),
    engine: &Engine,
    files: &mut Files,
) -> (FileKey, Range<u64>) {
    let is_read = function.access() == Access::Read
        && matches!(function.layer(), Layer::Posix | Layer::Stdio);
    let key = match file {
        _ if !is_read => None,
        PredictedFile::Known(file) => files.key_of(*file, engine),
        PredictedFile::New(name) => files.key(name),
    };
    match (key, offset) {
        (Some(key), Some(start)) => (key, start..start.saturating_add(size)),
        _ => (FileKey(0), 0..0),
    }
}

impl Files {
    fn name(&self, file: FileKey) -> &str {
        self.names.get(file.0 as usize).map_or("", |name| name)
    }

    /// Where a file lies.
    pub fn storage(&self, file: FileKey) -> StorageKey {
        self.storages.get(file.0 as usize).copied().unwrap_or_default()
    }

    /// The whole path of a file.
    fn path_of(&self, file: FileKey) -> &str {
        self.paths.get(file.0 as usize).map_or("", |path| path)
    }

    /// The number of a file that the engine knows.
    fn key_of(&mut self, file: FileId, engine: &Engine) -> Option<FileKey> {
        if let Some(&key) = self.by_id.get(&file) {
            return Some(key);
        }
        let key = self.key(engine.path(file)?)?;
        if self.by_id.len() < MAX_FILES {
            self.by_id.insert(file, key);
        }
        Some(key)
    }

    /// The whole path of a name.
    fn path(&self, name: &str) -> String {
        match plain(name) {
            name if name.starts_with('/') => name.into_owned(),
            name => format!("{}/{name}", self.directory.trim_end_matches('/')),
        }
    }

    /// The number of the file at a whole path.
    pub fn key_of_path(&mut self, path: &str) -> Option<FileKey> {
        match self.by_path.get(path) {
            Some(&key) => Some(key),
            None => self.key(&path.replace('%', "%25")),
        }
    }

    /// The same, and where it lies.
    fn keyed(&mut self, path: &str) -> Option<(FileKey, StorageKey)> {
        let key = self.key_of_path(path)?;
        Some((key, self.storage(key)))
    }

    /// The number of a file; none if there are too many, or its name is no path.
    fn key(&mut self, name: &str) -> Option<FileKey> {
        if let Some(&key) = self.keys.get(name) {
            return Some(key);
        }
        if self.names.len() >= MAX_FILES || name.len() > MAX_PATH_BYTES || name.contains('\0') {
            return None;
        }
        // It may be one that the graph has named.
        let path: Box<str> = self.path(name).into();
        if let Some(&key) = self.by_path.get(&path) {
            self.keys.insert(name.into(), key);
            return Some(key);
        }
        let key = FileKey(self.names.len() as u32);
        let mount = self.mounts.number(Path::new(&*path)).unwrap_or_default();
        self.storages.push(StorageKey(mount as u32));
        self.keys.insert(name.into(), key);
        self.paths.push(path.clone());
        self.by_path.insert(path, key);
        self.names.push(name.into());
        self.is_known.push(false);
        self.opened_by.push(None);
        Some(key)
    }
}
