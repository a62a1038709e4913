// SPDX-License-Identifier: MIT OR Apache-2.0

//! Sorts the calls of a trace into classes.

use std::collections::BTreeMap;

use ioracle_events::{
    Access, ContextId, Event, FastMap, FastSet, FileId, Function, Layer, StreamId,
};
use ioracle_trace::{Error, Trace};

use super::extents::Touched;
use super::mixture::TimeHistogram;
use super::overlap::{Concurrency, Overlap};
use super::stream_buffer::{BLOCK, StreamBuffer};
use super::{
    CallSite, Direction, MAX_CALL_SITES, MAX_CLASSES, OwnTime, ProcessTime, Profile, ProfiledClass,
    StorageFiles,
};
use crate::class::{Api, ClassPattern, IoClass, Kind, SizeBin};
use crate::replay::CacheAdvice;

/// Entries of each table that follows positions, handles and requests; at the
/// bound, what is new counts as sequential, buffered and complete.
const MAX_FOLLOWED: usize = 1 << 20;

/// Seek distances are distinguished by these sizes only: finer ones would make a class
/// of nearly every call of a program that jumps about.
const DISTANCES: [u64; 5] = [64 << 10, 1 << 20, 16 << 20, 1 << 30, 1 << 40];

/// The class of a call, its bytes, and its part in the class; or where else its time
/// belongs.
pub(crate) type Sorted = Result<(IoClass, u64, CallPart), OwnTime>;

/// What a call is to its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallPart {
    /// A call of its own.
    Whole,
    /// The wait for a request, which belongs to the call that submitted it.
    Completion,
    /// A call that the buffer of a stream serves. Its class is that of the call that
    /// will move the buffer; its time counts as [`OwnTime::Buffered`].
    Buffered,
}

/// Sorts all calls, handing each to `each` once the calls inside it are known.
pub(crate) fn sort_calls(
    trace: &Trace,
    storage: &StorageFiles<'_>,
    progress: &mut impl FnMut(u64),
    mut each: impl FnMut(&Finished, Sorted),
) -> Result<Profile, Error> {
    let mut survey = Survey::default();
    walk(trace, progress, |call| survey.take(storage, call))?;
    let facts = survey.finish();
    let mut builder = Builder::new(trace, storage, &facts);
    walk(trace, progress, |call| {
        let sorted = builder.take(&call);
        each(&call, sorted);
    })?;
    Ok(builder.finish())
}

/// A call whose inner calls are all known.
pub(crate) struct Finished {
    pub(crate) event: Event,
    /// When it began and ended, on the time axis of all processes.
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Its duration without that of the calls inside it.
    pub(crate) own_ns: u64,
    has_inner: bool,
    /// MPI made it for itself.
    is_internal: bool,
}

struct Unfinished {
    event: Event,
    inner_ns: u64,
    has_inner: bool,
    is_internal: bool,
}

/// Gives each call of a trace once the calls inside it have come.
fn walk(
    trace: &Trace,
    progress: &mut impl FnMut(u64),
    mut take: impl FnMut(Finished),
) -> Result<(), Error> {
    let mut mpi = trace.mpi_internals();
    let mut stacks: FastMap<StreamId, Vec<Unfinished>> = FastMap::default();
    let mut end_calls = |stack: &mut Vec<Unfinished>, depth: u32| {
        while let Some(call) = stack.pop_if(|call| call.event.depth >= depth) {
            let duration = call.event.end_ns.saturating_sub(call.event.start_ns);
            if let Some(outer) = stack.last_mut() {
                outer.inner_ns = outer.inner_ns.saturating_add(duration);
                outer.has_inner = true;
            }
            let begin = trace.process_start_ns(call.event.stream.rank);
            take(Finished {
                start_ns: begin.saturating_add(call.event.start_ns),
                end_ns: begin.saturating_add(call.event.end_ns),
                own_ns: duration.saturating_sub(call.inner_ns),
                has_inner: call.has_inner,
                is_internal: call.is_internal,
                event: call.event,
            });
        }
    };
    for event in trace.events_by_process()? {
        let event = event?;
        progress(1);
        // Its time is that of the first part.
        if event.is_further_part() {
            continue;
        }
        let is_internal = mpi.observe(&event);
        let stack = stacks.entry(event.stream).or_default();
        end_calls(stack, event.depth);
        // Calls of the system have none inside them. To wait for the next call of the
        // thread would put them behind calls that other threads made since.
        let is_lowest = matches!(event.function.layer(), Layer::Posix | Layer::Stdio);
        let depth = event.depth;
        stack.push(Unfinished { event, inner_ns: 0, has_inner: false, is_internal });
        if is_lowest {
            end_calls(stack, depth);
        }
    }
    let mut left: Vec<_> = stacks.into_iter().collect();
    left.sort_unstable_by_key(|(stream, _)| *stream);
    left.iter_mut().for_each(|(_, stack)| end_calls(stack, 0));
    Ok(())
}

/// Whether a call may touch storage by itself.
fn may_touch_storage(call: &Finished) -> bool {
    let function = call.event.function;
    let is_low = matches!(function.layer(), Layer::Posix | Layer::Stdio);
    let is_mpi_data = function.layer() == Layer::MpiIo && function.access().is_data();
    !call.is_internal
        && !call.has_inner
        && (is_low || is_mpi_data)
        && kind_of(&call.event).is_some()
}

/// What a call does to storage, if it does anything. Whether an open creates is
/// known only with the file's history.
fn kind_of(event: &Event) -> Option<Kind> {
    match event.function.access() {
        Access::Read => Some(Kind::Read),
        Access::Write => Some(Kind::Write),
        Access::Open if event.function == Function::Fdopen => None,
        Access::Open => Some(Kind::Open),
        Access::Close => Some(Kind::Close),
        Access::Sync => Some(Kind::Sync),
        Access::Truncate => Some(Kind::Truncate),
        Access::Seek => None,
        Access::Define => match event.function {
            Function::Unlink | Function::MpiDelete => Some(Kind::Delete),
            Function::Rename => Some(Kind::Rename),
            Function::Fallocate | Function::PosixFallocate => Some(Kind::Truncate),
            Function::Stat | Function::Lstat | Function::Fstat | Function::Access => {
                Some(Kind::Stat)
            }
            _ => None,
        },
    }
}

/// What the first reading finds out.
#[derive(Default)]
struct Survey {
    overlap: Overlap,
    touched: Touched,
    /// The first process that used a file, and whether there is another one.
    users: FastMap<FileId, (u32, bool)>,
    truncated: FastMap<FileId, Vec<u64>>,
    dropped: FastMap<FileId, Vec<Dropped>>,
    streams: FastSet<StreamId>,
    span: Option<(u64, u64)>,
    sees_inside_collectives: bool,
}

/// Bytes that the program has dropped from the cache (`posix_fadvise`).
struct Dropped {
    time_ns: u64,
    start: u64,
    end: u64,
}

struct Facts {
    concurrency: Concurrency,
    touched: Touched,
    users: FastMap<FileId, (u32, bool)>,
    truncated: FastMap<FileId, Vec<u64>>,
    dropped: FastMap<FileId, Vec<Dropped>>,
    streams: usize,
    span_ns: u64,
    /// Whether the calls inside of collective calls were recorded. Then a rank that
    /// makes none there has handed its data to another one, and waits.
    sees_inside_collectives: bool,
}

impl Survey {
    fn take(&mut self, storage: &StorageFiles<'_>, call: Finished) {
        let event = &call.event;
        self.streams.insert(event.stream);
        let (first, last) = self.span.unwrap_or((call.start_ns, call.end_ns));
        self.span = Some((first.min(call.start_ns), last.max(call.end_ns)));
        let is_collective = event.function.is_collective();
        self.sees_inside_collectives |= is_collective && call.has_inner;
        if CacheAdvice::of(event) == Some(CacheAdvice::DontNeed) && storage.contains(event.file) {
            let start = event.offset.unwrap_or(0);
            // No length stands for the rest of the file.
            let end = match event.requested {
                0 => u64::MAX,
                length => start.saturating_add(length),
            };
            let time_ns = call.end_ns;
            self.dropped.entry(event.file).or_default().push(Dropped { time_ns, start, end });
        }
        // Who only looks at a file does not share it, and keeps nobody waiting.
        let is_look = kind_of(event) == Some(Kind::Stat);
        if is_look || !may_touch_storage(&call) || !storage.contains(event.file) {
            return;
        }
        if !is_collective {
            self.overlap.add(call.start_ns, call.end_ns);
        }
        let process = event.stream.rank;
        let (user, is_shared) = self.users.entry(event.file).or_insert((process, false));
        *is_shared |= *user != process;
        if event.opens_truncated() {
            self.truncated.entry(event.file).or_default().push(call.start_ns);
        }
        if let (Some(offset), bytes @ 1..) = (event.offset, event.transferred()) {
            self.touched.add(event.file, offset, offset.saturating_add(bytes), call.end_ns);
        }
    }

    fn finish(self) -> Facts {
        Facts {
            concurrency: self.overlap.finish(),
            touched: self.touched,
            users: self.users,
            truncated: self.truncated,
            dropped: self.dropped,
            streams: self.streams.len(),
            sees_inside_collectives: self.sees_inside_collectives,
            span_ns: self.span.map_or(0, |(first, last)| last - first),
        }
    }
}

impl Facts {
    /// Whether the program has dropped some of these bytes from the cache after it
    /// touched them. If it touched them again since, they count as dropped all the same:
    /// only the first touch is known.
    fn is_dropped(&self, file: FileId, start: u64, end: u64, now: u64) -> bool {
        let Some(since) = self.touched.since(file, start, end) else { return false };
        let dropped = self.dropped.get(&file).into_iter().flatten();
        dropped
            .into_iter()
            .any(|it| since < it.time_ns && it.time_ns <= now && it.start < end && start < it.end)
    }

    /// Whether these bytes were touched before, and not cut off since.
    fn is_known(&self, file: FileId, start: u64, end: u64, now: u64) -> bool {
        let Some(since) = self.touched.since(file, start, end) else { return false };
        let cut = self.truncated.get(&file).into_iter().flatten();
        since < now && !cut.into_iter().any(|time| since < *time && *time <= now)
    }
}

/// What a descriptor was opened for, and what was written through it.
#[derive(Clone, Copy, Default)]
struct Handle {
    direct: bool,
    durable: bool,
    unsynced: u64,
}

#[derive(Clone, Copy)]
struct Position {
    end: u64,
    gap: Option<i64>,
}

struct Row {
    calls: u64,
    bytes: u64,
    time_ns: u64,
    times: TimeHistogram,
    sites: BTreeMap<ContextId, (u64, u64)>,
}

impl Row {
    fn finish(self, class: IoClass) -> ProfiledClass {
        let mut call_sites: Vec<CallSite> = (self.sites.into_iter())
            .map(|(context, (calls, time_ns))| CallSite { context, calls, time_ns })
            .collect();
        call_sites.sort_by_key(|site| std::cmp::Reverse(site.time_ns));
        ProfiledClass {
            class,
            calls: self.calls,
            bytes: self.bytes,
            time_ns: self.time_ns,
            percentiles_ns: (self.times.percentile_ns(0.5), self.times.percentile_ns(0.95)),
            two_speeds: self.times.two_speeds(),
            call_sites,
        }
    }
}

struct Builder<'a> {
    trace: &'a Trace,
    storage: &'a StorageFiles<'a>,
    facts: &'a Facts,
    rows: BTreeMap<IoClass, Row>,
    own_ns: BTreeMap<OwnTime, u64>,
    processes: BTreeMap<u32, ProcessTime>,
    positions: FastMap<(StreamId, FileId), Position>,
    handles: FastMap<(u32, i64), Handle>,
    unsynced: FastMap<(u32, FileId), u64>,
    buffers: FastMap<(u32, i64), StreamBuffer>,
    requests: FastMap<(u32, u32), IoClass>,
    opened: FastSet<FileId>,
}

impl<'a> Builder<'a> {
    fn new(trace: &'a Trace, storage: &'a StorageFiles<'a>, facts: &'a Facts) -> Builder<'a> {
        Builder {
            trace,
            storage,
            facts,
            rows: BTreeMap::new(),
            own_ns: BTreeMap::new(),
            processes: BTreeMap::new(),
            positions: FastMap::default(),
            handles: FastMap::default(),
            unsynced: FastMap::default(),
            buffers: FastMap::default(),
            requests: FastMap::default(),
            opened: FastSet::default(),
        }
    }

    fn take(&mut self, call: &Finished) -> Sorted {
        let sorted = self.sort(call);
        match sorted {
            Ok((_, _, CallPart::Buffered)) => self.keep(OwnTime::Buffered, call),
            Ok((class, bytes, part)) => self.add(class, bytes, part, call),
            Err(own) => self.keep(own, call),
        }
        sorted
    }

    fn sort(&mut self, call: &Finished) -> Sorted {
        let event = &call.event;
        let process = event.stream.rank;
        if call.is_internal {
            return Err(OwnTime::Memory);
        }
        if event.function.access() == Access::Define
            && let Some(request) = event.request()
            && let Some(class) = self.requests.get(&(process, request)).copied()
        {
            return Ok((class, 0, CallPart::Completion));
        }
        if call.has_inner {
            let collective = event.function.is_collective();
            return Err(if collective { OwnTime::Waiting } else { OwnTime::Library });
        }
        let is_handed_over =
            self.facts.sees_inside_collectives || !event.function.access().is_data();
        if event.function.is_collective() && is_handed_over {
            return Err(OwnTime::Waiting);
        }
        if !may_touch_storage(call) {
            return Err(OwnTime::Memory);
        }
        if !self.storage.contains(event.file) {
            return Err(OwnTime::Elsewhere);
        }
        let Some(kind) = kind_of(event) else { return Err(OwnTime::Memory) };
        let is_flush = event.function == Function::Fflush;
        let kind = match kind {
            Kind::Open => self.open(event),
            // It writes what a buffer holds, and forces nothing to storage.
            Kind::Sync if is_flush => Kind::Write,
            kind => kind,
        };
        let moved = event.transferred();
        let (through_system, part) = match event.function.layer() {
            Layer::Stdio if kind.is_data() => self.through_buffer(event, kind, moved),
            _ => (moved, CallPart::Whole),
        };
        let bytes = match kind {
            Kind::Read | Kind::Write => through_system,
            Kind::Sync => self.unsynced.remove(&(process, event.file)).unwrap_or(0),
            Kind::Close => {
                self.handles.get(&(process, event.handle)).map_or(0, |handle| handle.unsynced)
            }
            _ => 0,
        };
        let handle = self.handles.get(&(process, event.handle)).copied().unwrap_or_default();
        self.follow(event, kind, moved);
        let shared = self.facts.users.get(&event.file).is_some_and(|(_, is_shared)| *is_shared);
        let start = event.offset.unwrap_or(0);
        let end = start.saturating_add(moved);
        let is_known = self.facts.is_known(event.file, start, end, call.start_ns);
        let cached = match kind {
            Kind::Read => is_known && !self.facts.is_dropped(event.file, start, end, call.start_ns),
            Kind::Write => is_known || self.existed(event.file, end),
            _ => false,
        };
        let class = IoClass {
            api: api_of(event.function),
            kind,
            size: if kind.has_size() { SizeBin::of(bytes) } else { SizeBin::EMPTY },
            pattern: if kind.is_data() {
                self.pattern(event, moved)
            } else {
                ClassPattern::Sequential
            },
            shared: shared && !matches!(kind, Kind::Delete | Kind::Rename | Kind::Stat),
            concurrency: self.facts.concurrency.during(call.start_ns, call.end_ns),
            synchronous: !is_submission(event.function),
            direct: handle.direct && kind.is_data(),
            durable: handle.durable && kind == Kind::Write,
            cached: cached && moved > 0,
        };
        if !class.synchronous
            && let Some(request) = event.request()
            && self.requests.len() < MAX_FOLLOWED
        {
            self.requests.insert((process, request), class);
        }
        Ok((class, bytes, part))
    }

    /// Bytes that a call of stdio moves through the system, or those of a block if
    /// the stream's buffer serves it.
    fn through_buffer(&mut self, event: &Event, kind: Kind, moved: u64) -> (u64, CallPart) {
        let key = (event.stream.rank, event.handle);
        if !self.buffers.contains_key(&key) && self.buffers.len() >= MAX_FOLLOWED {
            return (moved, CallPart::Whole);
        }
        let buffer = self.buffers.entry(key).or_default();
        let bytes = match kind {
            _ if event.function == Function::Fflush => buffer.flush(),
            // The end of a file is looked for in the file.
            Kind::Read if moved == 0 => return (0, CallPart::Whole),
            Kind::Read => buffer.read(event.offset, moved),
            _ => buffer.write(event.offset, moved),
        };
        if bytes > 0 { (bytes, CallPart::Whole) } else { (BLOCK, CallPart::Buffered) }
    }

    /// Whether an open creates the file.
    fn open(&mut self, event: &Event) -> Kind {
        let has = |flag| event.detail.split('|').any(|other| other == flag);
        let is_new = self.opened.insert(event.file);
        let is_empty = self.trace.provenance().file_place(event.file).size_at_open == Some(0);
        let creates = event.opens_truncated() || has("CREAT") && is_new && is_empty;
        if self.handles.len() < MAX_FOLLOWED {
            let (direct, durable) = (has("DIRECT"), has("SYNC") || has("DSYNC"));
            let handle = Handle { direct, durable, unsynced: 0 };
            // A stdio stream and an open return the descriptor.
            let number = if event.handle >= 0 { event.handle } else { event.result };
            self.handles.insert((event.stream.rank, number), handle);
        }
        if creates { Kind::Create } else { Kind::Open }
    }

    /// Follows what was written and not synced.
    fn follow(&mut self, event: &Event, kind: Kind, moved: u64) {
        let key = (event.stream.rank, event.handle);
        match kind {
            Kind::Write => {
                if self.unsynced.len() < MAX_FOLLOWED {
                    *self.unsynced.entry((event.stream.rank, event.file)).or_default() += moved;
                }
                if let Some(handle) = self.handles.get_mut(&key) {
                    handle.unsynced = handle.unsynced.saturating_add(moved);
                }
            }
            Kind::Sync => {
                if let Some(handle) = self.handles.get_mut(&key) {
                    handle.unsynced = 0;
                }
            }
            Kind::Close => {
                self.handles.remove(&key);
                self.buffers.remove(&key);
            }
            _ => {}
        }
    }

    /// Whether a file was at least this long before the run.
    fn existed(&self, file: FileId, end: u64) -> bool {
        let is_cut = self.facts.truncated.contains_key(&file);
        let size = self.trace.provenance().file_place(file).size_at_open;
        !is_cut && size.is_some_and(|size| end <= size)
    }

    fn pattern(&mut self, event: &Event, moved: u64) -> ClassPattern {
        let Some(offset) = event.offset else { return ClassPattern::Sequential };
        let end = offset.saturating_add(moved);
        let key = (event.stream, event.file);
        let before = self.positions.get(&key).copied();
        if before.is_none() && self.positions.len() >= MAX_FOLLOWED {
            return ClassPattern::Sequential;
        }
        let gap = before.map_or(0, |before| offset as i64 - before.end as i64);
        self.positions.insert(key, Position { end, gap: before.map(|_| gap) });
        let Some(before) = before else { return ClassPattern::Sequential };
        let distance = coarse(gap.unsigned_abs());
        match (gap, before.gap) {
            (0, _) => ClassPattern::Sequential,
            (gap, Some(last)) if gap == last && gap > 0 => ClassPattern::Strided { distance },
            _ => ClassPattern::Random { distance },
        }
    }

    fn add(&mut self, class: IoClass, bytes: u64, part: CallPart, call: &Finished) {
        let is_call = part == CallPart::Whole;
        if self.rows.len() >= MAX_CLASSES && !self.rows.contains_key(&class) {
            return self.keep(OwnTime::Unclassified, call);
        }
        let row = self.rows.entry(class).or_insert_with(|| Row {
            calls: 0,
            bytes: 0,
            time_ns: 0,
            times: TimeHistogram::new(),
            sites: BTreeMap::new(),
        });
        row.calls += u64::from(is_call);
        row.bytes = row.bytes.saturating_add(bytes);
        row.time_ns = row.time_ns.saturating_add(call.own_ns);
        row.times.add(call.own_ns);
        if row.sites.len() < MAX_CALL_SITES || row.sites.contains_key(&call.event.context) {
            let (calls, time_ns) = row.sites.entry(call.event.context).or_default();
            *calls += u64::from(is_call);
            *time_ns += call.own_ns;
        }
        let process = self.process(call.event.stream.rank);
        *match class.direction() {
            Direction::Read => &mut process.read_ns,
            Direction::Write => &mut process.write_ns,
            Direction::Metadata => &mut process.metadata_ns,
        } += call.own_ns;
    }

    fn keep(&mut self, own: OwnTime, call: &Finished) {
        *self.own_ns.entry(own).or_default() += call.own_ns;
        self.process(call.event.stream.rank).other_ns += call.own_ns;
    }

    fn process(&mut self, number: u32) -> &mut ProcessTime {
        self.processes.entry(number).or_default()
    }

    fn finish(self) -> Profile {
        let ranks = self.trace.process_ranks();
        let mut processes = self.processes;
        for (number, process) in &mut processes {
            process.rank = match &ranks {
                Some(ranks) => ranks.get(*number as usize).copied().flatten(),
                None => Some(*number),
            };
        }
        let mut classes: Vec<ProfiledClass> =
            self.rows.into_iter().map(|(class, row)| row.finish(class)).collect();
        classes.sort_by_key(|row| std::cmp::Reverse(row.time_ns));
        let meta = self.trace.meta();
        Profile {
            trace: self.trace.name().to_owned(),
            application: meta.application.clone(),
            classes,
            own_ns: self.own_ns,
            processes,
            span_ns: self.facts.span_ns,
            wall_s: meta.wall_s.filter(|wall_s| *wall_s > 0.0),
            streams: self.facts.streams,
            storage: self.storage.describe(),
        }
    }
}

fn api_of(function: Function) -> Api {
    match function.layer() {
        Layer::Posix => Api::Posix,
        Layer::Stdio => Api::Stdio,
        Layer::MpiIo => Api::MpiIo,
        Layer::HighLevel if function.name().starts_with("H5") => Api::Hdf5,
        Layer::HighLevel => Api::NetCdf,
    }
}

fn is_submission(function: Function) -> bool {
    let name = function.name();
    matches!(function, Function::AioRead | Function::AioWrite)
        || ["mpi_iread", "mpi_iwrite"].iter().any(|form| name.starts_with(form))
        || name.ends_with("_begin")
}

/// The least of [`DISTANCES`] that is as far.
fn coarse(distance: u64) -> SizeBin {
    let found = DISTANCES.iter().find(|limit| distance <= **limit);
    SizeBin::of(found.copied().unwrap_or(DISTANCES[DISTANCES.len() - 1]))
}
