// SPDX-License-Identifier: MIT OR Apache-2.0

//! Everything that the page of `ioracle report` shows, as plain values of bounded
//! size: a million operations and a thousand ranks are some megabytes.

mod accesses;
mod bins;
mod quality;
mod stacks;
mod timeline;
mod verdict;

use std::cmp::Reverse;
use std::collections::HashMap;

use ioracle_engine::OperationStreams;
use ioracle_events::{
    Access, ContextId, Event, FastMap, FileId, Function, Level, Operation, StreamId, readable,
};
use ioracle_oracle::Oracle;
use serde::Serialize;

pub use self::accesses::{AccessShape, GroupAccesses};
pub use self::quality::{AheadReached, PredictionQuality};
pub use self::stacks::FlameTree;
pub use self::timeline::{FileTimeline, ReportTimeline, ReportTimelineRow};

use self::accesses::AccessTally;
use self::quality::QualityWatcher;
use self::stacks::StackTally;
use self::timeline::TimelineTally;
use self::verdict::verdict;
use crate::file_groups::FileGroups;
use crate::findings::rules::RULES;
use crate::frames::FrameSource;
use crate::job::JobAnalysis;
use crate::loop_tree::{LoopTree, ReturnAddress, SymbolFacts, loop_tree, svg};
use crate::summarise::in_seconds;
use crate::summary::{BusyGroup, Summary};
use crate::tally::CallsHash;

/// Calls whose operations are timed separately.
const MAX_CALLS: usize = 1 << 14;
/// Threads whose loops are shown.
const MAX_LOOP_TREES: usize = 6;
/// Groups of files that are shown.
const MAX_GROUPS: usize = 200;
/// Bursts that are marked.
const MAX_BURSTS: usize = 400;

/// Takes all events of a job and gives what its report shows.
pub struct ReportAnalysis {
    analysis: JobAnalysis,
    operations: OperationStreams,
    timeline: TimelineTally,
    accesses: AccessTally,
    stacks: StackTally,
    calls: FastMap<(ContextId, Function), CallCosts>,
    last_end_ns: FastMap<StreamId, u64>,
    watcher: QualityWatcher,
    /// When each process started, after the first.
    starts_ns: HashMap<u32, u64>,
}

/// What the operations of a call cost, in sum.
#[derive(Clone, Copy, Debug, Default)]
struct CallCosts {
    n: u64,
    bytes: u64,
    io_ns: u64,
    wait_ns: u64,
}

/// What a report shows.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The sentences at the top.
    pub verdict: Vec<String>,
    /// The summary, with the findings.
    pub summary: Summary,
    /// Rules of advice that found nothing: their kind, and when they hold.
    pub fine: Vec<(&'static str, String)>,
    /// Bytes and calls over time.
    pub timeline: ReportTimeline,
    /// Spans with much I/O between quiet ones.
    pub bursts: Vec<BurstSpan>,
    /// The groups of files, those that took most time first.
    pub files: Vec<ReportedGroup>,
    /// How many groups there are.
    pub n_groups: usize,
    /// The loops of the busiest threads.
    pub loops: Vec<ThreadLoops>,
    /// How good predictions were.
    pub quality: PredictionQuality,
    /// The call stacks.
    pub flame: FlameTree,
}

/// A span with much I/O.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BurstSpan {
    /// Its start, in seconds.
    pub start_s: f64,
    /// Its end.
    pub end_s: f64,
    /// Operations that began in it.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: u64,
}

/// A group of files and how it is accessed.
#[derive(Debug, Serialize)]
pub struct ReportedGroup {
    /// What was done to it.
    #[serde(flatten)]
    pub group: BusyGroup,
    /// In what sizes and order.
    pub accesses: GroupAccesses,
}

/// The loops of a thread.
#[derive(Debug, Serialize)]
pub struct ThreadLoops {
    /// The rank of its process, if it has one.
    pub rank: Option<u32>,
    /// The number of its process.
    pub process: u32,
    /// The number of the thread.
    pub thread: u32,
    /// Its operations.
    pub operations: u64,
    /// Threads with the same loops.
    pub n_alike: usize,
    /// The loops.
    pub tree: LoopTree,
    /// A picture of them.
    pub svg: String,
}

/// What is known about a job besides its events.
#[derive(Clone, Debug, Default)]
pub struct ReportedJob {
    /// The name of the program.
    pub program: String,
    /// How long the job took, in seconds.
    pub wall_s: f64,
    /// The rank of each process that has one.
    pub ranks: HashMap<u32, u32>,
    /// Whether enough is known about it to give advice.
    pub has_advice: bool,
}

impl Default for ReportAnalysis {
    fn default() -> ReportAnalysis {
        ReportAnalysis {
            analysis: JobAnalysis::new(),
            operations: OperationStreams::new(Level::Bytes),
            timeline: TimelineTally::default(),
            accesses: AccessTally::default(),
            stacks: StackTally::default(),
            calls: FastMap::default(),
            last_end_ns: FastMap::default(),
            watcher: QualityWatcher::default(),
            starts_ns: HashMap::new(),
        }
    }
}

impl ReportAnalysis {
    /// Defines the frames of a call stack before the first event that names it.
    pub fn define_context(&mut self, id: ContextId, frames: &str) {
        self.analysis.define_context(id, frames);
        self.operations.define_context(id, frames);
    }

    /// Defines where a frame, as call stacks name it, is in the source.
    pub fn define_source(&mut self, frame: &str, source: FrameSource) {
        self.analysis.define_source(frame, source);
    }

    /// Defines the path of a file before the first event that names it.
    pub fn define_file(&mut self, id: FileId, path: &str) {
        self.analysis.define_file(id, path);
    }

    /// Bytes of a file when it was first opened.
    pub fn define_size(&mut self, id: FileId, bytes: u64) {
        self.analysis.define_size(id, bytes);
    }

    /// Defines when a process started, after the first one.
    pub fn define_start(&mut self, process: u32, start_ns: u64) {
        self.starts_ns.insert(process, start_ns);
    }

    /// Takes the next event of its stream in.
    pub fn observe(&mut self, event: &Event) {
        let shift_ns = self.starts_ns.get(&event.stream.rank).copied().unwrap_or(0);
        self.stacks.add_event(event);
        let mut operations = [None, None];
        self.operations.push(event, |operation| {
            let place = usize::from(operations[0].is_some());
            operations[place] = Some(operation);
        });
        for operation in operations.into_iter().flatten() {
            self.add_operation(event.stream, &operation, shift_ns);
        }
        (self.watcher.stream, self.watcher.shift_ns) = (event.stream, shift_ns);
        self.analysis.observe_with(event, &mut self.watcher);
        for predicted in self.watcher.predicted.drain(..) {
            self.timeline.add_predicted(predicted.way, predicted.at_ns, predicted.bytes);
        }
    }

    /// The process whose events came has no more.
    pub fn end_process(&mut self) {
        self.analysis.end_process();
    }

    /// Ends the analysis.
    pub fn finish(mut self, job: &ReportedJob) -> Report {
        let operations =
            std::mem::replace(&mut self.operations, OperationStreams::new(Level::Bytes));
        let mut held = Vec::new();
        operations.finish(|stream, operation| held.push((stream, operation)));
        for (stream, operation) in held {
            let shift_ns = self.starts_ns.get(&stream.rank).copied().unwrap_or(0);
            self.add_operation(stream, &operation, shift_ns);
        }
        self.analysis.end();
        let mut summary = self.analysis.summary(&job.ranks, job.wall_s);
        if !job.has_advice {
            summary.advice.clear();
        }
        let groups = self.analysis.file_groups();
        let timeline = self.timeline.finish(&job.ranks, &groups);
        let accesses = self.accesses.finish(&groups);
        let shown = groups.groups.iter().zip(accesses).take(MAX_GROUPS);
        let files = shown
            .map(|(group, accesses)| ReportedGroup { group: BusyGroup::from(group), accesses })
            .collect();
        let found: Vec<&str> = summary.advice.iter().map(|finding| finding.kind).collect();
        let fine = RULES.iter().filter(|rule| !found.contains(&rule.kind));
        Report {
            verdict: verdict(&job.program, job.wall_s, &summary),
            fine: fine.map(|rule| (rule.kind, (rule.when)())).collect(),
            bursts: self.bursts(&timeline),
            timeline,
            files,
            n_groups: groups.groups.len(),
            loops: self.loops(&groups, job),
            quality: self.watcher.finish(&self.analysis.engine().score()),
            flame: self.stacks.finish(self.analysis.frames()),
            summary,
        }
    }

    fn add_operation(&mut self, stream: StreamId, operation: &Operation, shift_ns: u64) {
        let start_ns = operation.start_ns.saturating_add(shift_ns);
        let end_ns = operation.end_ns.saturating_add(shift_ns).max(start_ns);
        self.timeline.add(stream.rank, operation, (start_ns, end_ns));
        self.accesses.add(stream, operation, start_ns);
        self.stacks.add_operation(operation);
        let last_end_ns = self.last_end_ns.insert(stream, operation.end_ns);
        let call = (operation.context, operation.function);
        if self.calls.len() < MAX_CALLS || self.calls.contains_key(&call) {
            let costs = self.calls.entry(call).or_default();
            costs.n += 1;
            costs.bytes = costs.bytes.saturating_add(operation.size);
            costs.io_ns = costs.io_ns.saturating_add(operation.end_ns - operation.start_ns);
            let wait_ns = last_end_ns.map_or(0, |end| operation.start_ns.saturating_sub(end));
            costs.wait_ns = costs.wait_ns.saturating_add(wait_ns);
        }
    }
}

impl ReportAnalysis {
    /// Spans with operations, as long as the waits that the busiest thread takes
    /// for quiet lie between them.
    fn bursts(&self, timeline: &ReportTimeline) -> Vec<BurstSpan> {
        let engine = self.analysis.engine();
        let busiest = engine.streams().max_by_key(|stream| engine.operations(*stream));
        let oracle = busiest.and_then(|stream| engine.oracle(stream));
        let Some(quiet_ns) = oracle.and_then(|oracle| oracle.quiet_threshold_ns()) else {
            return Vec::new();
        };
        spans(timeline, in_seconds(quiet_ns))
    }

    /// The loops of the busiest threads, but only one of those that do the same.
    fn loops(&self, groups: &FileGroups, job: &ReportedJob) -> Vec<ThreadLoops> {
        let engine = self.analysis.engine();
        let mut streams: Vec<StreamId> = engine.streams().collect();
        streams.sort_by_key(|stream| (Reverse(engine.operations(*stream)), *stream));
        let mut by_behaviour: Vec<(CallsHash, ThreadLoops)> = Vec::new();
        for stream in streams {
            let behaviour = self.analysis.behaviour(stream);
            if let Some((_, alike)) = by_behaviour.iter_mut().find(|(of, _)| *of == behaviour) {
                alike.n_alike += 1;
                continue;
            }
            if by_behaviour.len() == MAX_LOOP_TREES {
                continue;
            }
            let Some(oracle) = engine.oracle(stream) else { continue };
            let tree = self.tree(oracle, groups);
            let loops = ThreadLoops {
                rank: job.ranks.get(&stream.rank).copied(),
                process: stream.rank,
                thread: stream.thread,
                operations: engine.operations(stream),
                n_alike: 1,
                svg: svg::draw(&tree, &job.program),
                tree,
            };
            by_behaviour.push((behaviour, loops));
        }
        by_behaviour.into_iter().map(|(_, loops)| loops).collect()
    }

    fn tree(&self, oracle: &Oracle, groups: &FileGroups) -> LoopTree {
        let mut calls: HashMap<u32, (ContextId, Function, CallCosts)> = HashMap::new();
        for (&(context, function), costs) in &self.calls {
            let Some(symbol) = oracle.symbol_in(context, function) else { continue };
            let known = calls.entry(symbol.0).or_insert((context, function, CallCosts::default()));
            // Which of several contexts stands for them must not depend on a hash.
            known.0 = known.0.min(context);
            known.2.join(costs);
        }
        let facts = |symbol: u32| {
            let (context, function, costs) = calls.get(&symbol)?;
            let n = costs.n.max(1) as f64;
            let (caller, source) = self.caller(*context);
            Some(SymbolFacts {
                call: function.name().to_owned(),
                is_open: function.access() == Access::Open,
                bytes: costs.bytes as f64 / n,
                io_time_s: in_seconds(costs.io_ns) / n,
                wait_s: in_seconds(costs.wait_ns) / n,
                caller,
                source,
                files: self.files_of(*context, *function, groups),
                stack: self
                    .analysis
                    .frames()
                    .outermost_first(*context)
                    .filter_map(ReturnAddress::parse)
                    .collect(),
            })
        };
        loop_tree(oracle.grammar().grammar(), &facts)
    }

    fn files_of(&self, context: ContextId, function: Function, groups: &FileGroups) -> Vec<String> {
        let files = self.analysis.files_of_call(context, function, groups);
        files.iter().map(|path| readable(path).into_owned()).collect()
    }

    /// The place of the program that makes a call, and its place in the source.
    fn caller(&self, context: ContextId) -> (Option<String>, Option<String>) {
        match self.analysis.frames().stack(context).into_iter().next() {
            Some(frame) => (Some(frame.function.unwrap_or(frame.frame)), frame.source),
            None => (None, None),
        }
    }
}

impl CallCosts {
    fn join(&mut self, other: &CallCosts) {
        self.n += other.n;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.io_ns = self.io_ns.saturating_add(other.io_ns);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
    }
}

/// Spans of bins with any operation, between quiet ones of at least this length.
fn spans(timeline: &ReportTimeline, quiet_s: f64) -> Vec<BurstSpan> {
    let width = timeline.bin_s;
    let quiet_bins = (quiet_s / width).ceil().max(2.0) as usize;
    let at = |series: &[u64], bin: usize| series.get(bin).copied().unwrap_or(0);
    let n_bins = timeline.busy_ns.len();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for bin in 0..n_bins {
        if at(&timeline.busy_ns, bin) + operations_in(timeline, bin) == 0 {
            continue;
        }
        match spans.last_mut() {
            Some((_, end)) if bin - *end < quiet_bins => *end = bin + 1,
            _ => spans.push((bin, bin + 1)),
        }
    }
    // If nearly all of the run is I/O, bursts are not worth showing.
    let n_busy: usize = spans.iter().map(|(first, end)| end - first).sum();
    if spans.len() < 2 || spans.len() > MAX_BURSTS || n_busy * 2 > n_bins {
        return Vec::new();
    }
    let span = |(first, end): (usize, usize)| BurstSpan {
        start_s: first as f64 * width,
        end_s: end as f64 * width,
        operations: (first..end).map(|bin| operations_in(timeline, bin)).sum(),
        bytes: (first..end).map(|bin| at(&timeline.read, bin) + at(&timeline.written, bin)).sum(),
    };
    spans.into_iter().map(span).collect()
}

fn operations_in(timeline: &ReportTimeline, bin: usize) -> u64 {
    let series = [&timeline.reads, &timeline.writes, &timeline.others];
    series.iter().filter_map(|series| series.get(bin)).sum()
}
