// SPDX-License-Identifier: MIT OR Apache-2.0

//! Turns the calls of a trace into steps.

use std::collections::BTreeMap;

use ioracle_events::{Event, FastMap, FastSet, FileId, Function, Layer};
use ioracle_trace::Trace;

use super::names::safe_names;
use super::order::{Order, Place, SignalPurpose, SignalUse};
use super::{
    Action, CacheAdvice, MAX_STEPS, OpenMode, PlannedFile, PlannedProcess, ReplayError, ReplayPlan,
    Step, SyncDepth,
};
use crate::class::{Api, IoClass, Kind};
use crate::profile::{CallPart, Finished, OwnTime, Sorted, Storage, StorageFiles, sort_calls};

/// Classes that steps can refer to; calls of further ones are made but not counted.
const MAX_PLAN_CLASSES: usize = u16::MAX as usize;

pub(super) fn plan(
    trace: &Trace,
    storage: &Storage,
    mut progress: impl FnMut(u64),
) -> Result<ReplayPlan, ReplayError> {
    let files = StorageFiles::find(trace, storage, &mut progress)?;
    let mut planner = Planner::default();
    sort_calls(trace, &files, &mut progress, |call, sorted| planner.take(call, sorted))?;
    if planner.n_steps > MAX_STEPS {
        return Err(ReplayError::TooLong { trace: trace.name().to_owned() });
    }
    if planner.n_steps == 0 {
        let trace = trace.name().to_owned();
        return Err(ReplayError::Nothing { trace, storage: files.describe() });
    }
    Ok(planner.finish(trace))
}

/// A step while its neighbours are not known.
#[derive(Clone, Copy)]
struct Timed {
    start_ns: u64,
    end_ns: u64,
    /// Among steps of the same time.
    rank: Rank,
    step: Step,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    EndSignal,
    EndMeeting,
    BeginSignal,
    BeginMeeting,
    Wait,
    Call,
    Signal,
}

#[derive(Default)]
struct Planner {
    n_steps: usize,
    streams: BTreeMap<(u32, u32), Vec<Timed>>,
    classes: BTreeMap<IoClass, u16>,
    class_list: Vec<IoClass>,
    class_bytes: Vec<u64>,
    files: FastMap<FileId, u32>,
    file_ids: Vec<FileId>,
    /// What must be there before, by number of the file.
    before: Vec<Option<u64>>,
    is_made: FastSet<FileId>,
    written: FastMap<FileId, (u64, u64)>,
    /// Where the last byte that room was reserved for ends.
    allocated: FastMap<FileId, u64>,
    slots: FastMap<u32, u32>,
    /// By process and descriptor.
    handles: FastMap<(u32, i64), (u32, FileId)>,
    /// Files that are used without having been opened.
    unopened: FastMap<(u32, FileId), u32>,
    positions: FastMap<(u32, u32), u64>,
    order: Order,
    left_out: BTreeMap<String, u64>,
    original_ns: u64,
    original_waiting_ns: u64,
    n_renames: u32,
    /// Where the step of each request is, by process and request.
    requests: FastMap<(u32, u32), ((u32, u32), usize)>,
}

impl Planner {
    fn take(&mut self, call: &Finished, sorted: Sorted) {
        let event = &call.event;
        let place = Place {
            process: event.stream.rank,
            stream: event.stream.thread,
            time_ns: call.start_ns,
        };
        if event.function.is_collective() && event.function.layer() == Layer::MpiIo {
            self.order.collective(event.file, event.function, place, call.end_ns);
        }
        if sorted == Err(OwnTime::Waiting) {
            self.original_waiting_ns += call.own_ns;
        }
        if let (Err(OwnTime::Memory), Some(advice)) = (sorted, CacheAdvice::of(event))
            && let Some((slot, _)) = self.handles.get(&(place.process, event.handle)).copied()
        {
            let (offset, bytes) = (event.offset.unwrap_or(0), event.requested);
            let action = Action::Advise { slot, offset, bytes, advice };
            self.push(place, call.end_ns, Step::uncounted(action));
        }
        let Ok((class, bytes, part)) = sorted else { return };
        if part == CallPart::Completion {
            self.complete(event, call.own_ns);
        }
        if part == CallPart::Completion || self.n_steps > MAX_STEPS {
            return;
        }
        let Some(action) = self.action(event, &class, call.end_ns, place) else {
            *self.left_out.entry(event.function.name().to_owned()).or_default() += 1;
            return;
        };
        let is_buffered = part == CallPart::Buffered;
        let class = self.class_number(class);
        if !is_buffered {
            self.original_ns += call.own_ns;
            if let Some(sum) = class.and_then(|it| self.class_bytes.get_mut(usize::from(it))) {
                *sum = sum.saturating_add(bytes);
            }
        }
        let original_ns = if is_buffered { 0 } else { call.own_ns };
        let step = Step { think_ns: 0, action, class, original_ns, is_buffered };
        let index = self.push(place, call.end_ns, step);
        if let Some(request) = event.request() {
            self.requests.insert((place.process, request), ((place.process, place.stream), index));
        }
    }

    /// The wait for a request is part of it: a replay has it done at once.
    fn complete(&mut self, event: &Event, own_ns: u64) {
        let request = event.request().map(|request| (event.stream.rank, request));
        let Some((stream, index)) = request.and_then(|key| self.requests.get(&key)) else { return };
        if let Some(timed) = self.streams.get_mut(stream).and_then(|steps| steps.get_mut(*index)) {
            timed.step.original_ns += own_ns;
            self.original_ns += own_ns;
        }
    }

    /// Adds a step to its stream and says which it is there.
    fn push(&mut self, place: Place, end_ns: u64, step: Step) -> usize {
        self.n_steps += 1;
        let timed = Timed { start_ns: place.time_ns, end_ns, rank: Rank::Call, step };
        let steps = self.streams.entry((place.process, place.stream)).or_default();
        steps.push(timed);
        steps.len() - 1
    }

    fn action(
        &mut self,
        event: &Event,
        class: &IoClass,
        end_ns: u64,
        place: Place,
    ) -> Option<Action> {
        let process = place.process;
        if class.kind == Kind::Stat {
            return Some(self.stat(event, place));
        }
        if event.failed() {
            let is_open = matches!(class.kind, Kind::Open | Kind::Create);
            // What is not there now may be there later; then it is opened.
            return is_open.then(|| Action::Probe { file: self.file(event.file) });
        }
        match class.kind {
            Kind::Open | Kind::Create => {
                let file = self.file(event.file);
                let creates = class.kind == Kind::Create;
                if creates {
                    self.is_made.insert(event.file);
                    self.order.make(event.file, (0, 0), end_ns, place);
                } else {
                    self.order.need(event.file, None, place);
                    self.require(event.file, 0);
                }
                let slot = self.new_slot(process);
                let number = if event.handle >= 0 { event.handle } else { event.result };
                self.handles.insert((process, number), (slot, event.file));
                Some(Action::Open { slot, file, mode: open_mode(event, creates) })
            }
            Kind::Close => {
                let (slot, _) = self.handles.remove(&(process, event.handle))?;
                Some(Action::Close { slot })
            }
            Kind::Write if event.function == Function::Fflush => {
                let slot = self.slot(event, class.api, place);
                Some(Action::Sync { slot, depth: SyncDepth::Buffer })
            }
            Kind::Read | Kind::Write => {
                let slot = self.slot(event, class.api, place);
                let moved = event.transferred();
                let position = self.positions.entry((process, slot)).or_default();
                let offset = event.offset.unwrap_or(*position);
                let end = offset.saturating_add(moved);
                *position = end;
                if class.kind == Kind::Read {
                    self.order.need(event.file, Some((offset, end)), place);
                    if !class.cached && moved > 0 {
                        self.require(event.file, end);
                    }
                    // A read at the end of a file finds the end again.
                    let bytes = if moved == 0 { event.requested } else { moved };
                    return Some(Action::Read { slot, offset, bytes });
                }
                self.order.make(event.file, (offset, end), end_ns, place);
                let (bytes, largest) = self.written.entry(event.file).or_default();
                *bytes = bytes.saturating_add(moved);
                *largest = (*largest).max(end);
                Some(Action::Write { slot, offset, bytes: moved })
            }
            Kind::Sync => {
                let depth = match event.function {
                    Function::Fdatasync => SyncDepth::Data,
                    _ => SyncDepth::All,
                };
                let slot = self.slot(event, class.api, place);
                Some(Action::Sync { slot, depth })
            }
            Kind::Truncate => self.resize(event, class.api, place),
            Kind::Delete => Some(Action::Delete { file: self.file(event.file) }),
            Kind::Rename => {
                self.require(event.file, 0);
                self.n_renames += 1;
                Some(Action::Rename { file: self.file(event.file), number: self.n_renames })
            }
            Kind::Stat | Kind::Wait => None,
        }
    }

    /// What is asked about a file of another kind, or one that is not there, is asked about
    /// a file with no bytes, or none.
    fn stat(&mut self, event: &Event, place: Place) -> Action {
        if let Some(&(slot, file)) = self.handles.get(&(place.process, event.handle))
            && file == event.file
            && event.function == Function::Fstat
        {
            return Action::StatOpen { slot };
        }
        if !event.failed() {
            self.require(event.file, 0);
        }
        Action::Stat { file: self.file(event.file) }
    }

    fn resize(&mut self, event: &Event, api: Api, place: Place) -> Option<Action> {
        let bytes = event.requested;
        match event.function {
            Function::Fallocate | Function::PosixFallocate => {
                let keeps_length = match &*event.detail {
                    "" => false,
                    "KEEP_SIZE" => true,
                    // Holes and moved ranges are not made again.
                    _ => return None,
                };
                let offset = event.offset.unwrap_or(0);
                let allocated = self.allocated.entry(event.file).or_default();
                *allocated = (*allocated).max(offset.saturating_add(bytes));
                let slot = self.slot(event, api, place);
                Some(Action::Allocate { slot, offset, bytes, keeps_length })
            }
            Function::Ftruncate => {
                Some(Action::Resize { slot: self.slot(event, api, place), bytes })
            }
            _ => Some(Action::Truncate { file: self.file(event.file), bytes }),
        }
    }

    /// The slot of a call's descriptor. A descriptor that was inherited, or opened
    /// before recording began, is opened here without being counted.
    fn slot(&mut self, event: &Event, api: Api, place: Place) -> u32 {
        if let Some(&(slot, file)) = self.handles.get(&(place.process, event.handle))
            && file == event.file
        {
            return slot;
        }
        if let Some(slot) = self.unopened.get(&(place.process, event.file)) {
            return *slot;
        }
        let (slot, file) = (self.new_slot(place.process), self.file(event.file));
        self.unopened.insert((place.process, event.file), slot);
        let mode = OpenMode {
            write: true,
            create: true,
            buffered: api == Api::Stdio,
            ..OpenMode::default()
        };
        let action = Action::Open { slot, file, mode };
        self.push(place, place.time_ns, Step::uncounted(action));
        slot
    }

    fn new_slot(&mut self, process: u32) -> u32 {
        let slots = self.slots.entry(process).or_default();
        *slots += 1;
        *slots - 1
    }

    fn file(&mut self, id: FileId) -> u32 {
        let next = self.file_ids.len() as u32;
        let number = *self.files.entry(id).or_insert(next);
        if number == next {
            self.file_ids.push(id);
            self.before.push(None);
        }
        number
    }

    /// Bytes up to `end` must be there unless the replay makes the file.
    fn require(&mut self, id: FileId, end: u64) {
        let number = self.file(id) as usize;
        if !self.is_made.contains(&id) && !self.written.contains_key(&id) {
            let before = &mut self.before[number];
            *before = Some(before.unwrap_or(0).max(end));
        }
    }

    fn class_number(&mut self, class: IoClass) -> Option<u16> {
        if let Some(number) = self.classes.get(&class) {
            return Some(*number);
        }
        let number = u16::try_from(self.class_list.len()).ok()?;
        if self.class_list.len() >= MAX_PLAN_CLASSES {
            return None;
        }
        self.class_list.push(class);
        self.class_bytes.push(0);
        self.classes.insert(class, number);
        Some(number)
    }

    fn finish(mut self, trace: &Trace) -> ReplayPlan {
        let order = std::mem::take(&mut self.order);
        let mut signals = Vec::new();
        let starts = self.starts_of_threads();
        for (number, signal) in (0..).zip(order.signals().into_iter().chain(starts)) {
            signals.push(signal.given_at.len() as u32);
            let (give, wait, action) = match signal.purpose {
                SignalPurpose::CollectiveBegin => {
                    (Rank::BeginSignal, Rank::BeginMeeting, Action::Meet(number))
                }
                SignalPurpose::CollectiveEnd => {
                    (Rank::EndSignal, Rank::EndMeeting, Action::Meet(number))
                }
                SignalPurpose::Data => (Rank::Signal, Rank::Wait, Action::Wait(number)),
            };
            for place in signal.given_at {
                self.insert(place, place.time_ns, give, Action::Signal(number));
            }
            for place in signal.awaited_at {
                let done_ns = signal.done_ns.min(place.time_ns);
                let end_ns = if wait == Rank::Wait { done_ns } else { place.time_ns };
                self.insert(place, end_ns, wait, action);
            }
        }
        let first_ns = self.streams.values().flatten().map(|step| step.start_ns).min().unwrap_or(0);
        let mut processes: Vec<PlannedProcess> = Vec::new();
        for ((process, _), mut steps) in self.streams {
            steps.sort_by_key(|step| (step.start_ns, step.rank));
            let begin = steps.first().map_or(0, |step| step.start_ns - first_ns);
            let is_next = processes.last().is_none_or(|last| last.number != process);
            if is_next {
                let slots = self.slots.get(&process).copied().unwrap_or(0);
                let start_ns = begin;
                let streams = Vec::new();
                processes.push(PlannedProcess { number: process, start_ns, slots, streams });
            }
            let Some(planned) = processes.last_mut() else { continue };
            planned.start_ns = planned.start_ns.min(begin);
            planned.streams.push(with_think_times(steps, first_ns));
        }
        // Of its process, a thread waits for its own beginning.
        for process in &mut processes {
            for stream in &mut process.streams {
                if let Some(first) = stream.first_mut() {
                    first.think_ns = first.think_ns.saturating_sub(process.start_ns);
                }
            }
        }
        let paths = self.file_ids.iter().map(|id| trace.files().get(*id).unwrap_or(""));
        let files: Vec<PlannedFile> = (safe_names(paths).into_iter().zip(&self.before))
            .map(|(name, before)| PlannedFile { name, before: *before })
            .collect();
        let before: u64 =
            self.before.iter().flatten().fold(0, |sum, bytes| sum.saturating_add(*bytes));
        let mut made = self.allocated;
        for (file, (bytes, largest)) in self.written {
            let needed = made.entry(file).or_default();
            *needed = (*needed).max(bytes.min(largest));
        }
        let bytes_needed = made.into_values().fold(before, u64::saturating_add);
        ReplayPlan {
            files,
            processes,
            classes: self.class_list,
            class_bytes: self.class_bytes,
            signals,
            left_out: self.left_out,
            bytes_needed,
            original_ns: self.original_ns,
            original_waiting_ns: self.original_waiting_ns,
        }
    }

    /// A thread begins where the first thread of its process has come to, which starts the
    /// others in most programs.
    fn starts_of_threads(&self) -> Vec<SignalUse> {
        let mut signals = Vec::new();
        // Ends and starts of the first thread's steps.
        let (mut first, mut first_of): (Vec<(u64, u64)>, Option<u32>) = (Vec::new(), None);
        for (&(process, stream), steps) in &self.streams {
            if stream == 0 {
                first = steps.iter().map(|step| (step.end_ns, step.start_ns)).collect();
                first.sort_unstable();
                first_of = Some(process);
                continue;
            }
            let begin = steps.iter().map(|step| step.start_ns).min();
            let Some(begin) = begin.filter(|_| first_of == Some(process)) else { continue };
            let n_before = first.partition_point(|(end_ns, _)| *end_ns <= begin);
            if let Some(&(end_ns, time_ns)) = first[..n_before].last() {
                let mut signal = SignalUse::of(Place { process, stream: 0, time_ns }, end_ns);
                signal.awaited_at.push(Place { process, stream, time_ns: begin });
                signals.push(signal);
            }
        }
        signals
    }

    fn insert(&mut self, place: Place, end_ns: u64, rank: Rank, action: Action) {
        let step = Step::uncounted(action);
        let timed = Timed { start_ns: place.time_ns, end_ns, rank, step };
        self.streams.entry((place.process, place.stream)).or_default().push(timed);
    }
}

/// From times to the pauses between them; the first one counts from the beginning
/// of all. Inside a collective call there are none: what the trace shows there is
/// waiting for other ranks, and the replay waits for them itself. Where a thread waits
/// for what another has made, the pause begins when that is done.
fn with_think_times(steps: Vec<Timed>, first_ns: u64) -> Vec<Step> {
    let (mut last_end, mut is_collective) = (first_ns, false);
    let mut planned = Vec::with_capacity(steps.len());
    for timed in steps {
        let mut step = timed.step;
        let is_end = matches!(timed.rank, Rank::EndSignal | Rank::EndMeeting);
        if timed.rank == Rank::Wait {
            last_end = last_end.max(timed.end_ns);
        } else if timed.rank != Rank::Signal {
            if !is_collective && !is_end {
                step.think_ns = timed.start_ns.saturating_sub(last_end);
            }
            last_end = last_end.max(timed.end_ns);
        }
        match timed.rank {
            Rank::BeginMeeting => is_collective = true,
            Rank::EndMeeting => is_collective = false,
            _ => {}
        }
        planned.push(step);
    }
    planned
}

fn open_mode(event: &Event, creates: bool) -> OpenMode {
    let has = |flag| event.detail.split('|').any(|other| other == flag);
    let is_stdio = event.function.layer() == Layer::Stdio;
    let write = match is_stdio {
        true => event.detail.contains(['w', 'a', '+']),
        false => !has("RDONLY"),
    };
    OpenMode {
        write: write || creates,
        create: creates || has("CREAT") || is_stdio && write,
        truncate: event.opens_truncated(),
        direct: has("DIRECT"),
        durable: has("SYNC") || has("DSYNC"),
        buffered: is_stdio,
    }
}
