// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reads a whole trace into an analysis, process by process.

use std::collections::{BTreeSet, HashMap, HashSet};

use anyhow::{Context, Result};
use ioracle_events::{ContextId, Event, FileId, StreamId};
use ioracle_insight::{FrameSource, JobAnalysis, ReportAnalysis};
use ioracle_prefetch::PrefetchReport;
use ioracle_trace::Trace;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::shared::failure::without_lenient;
use crate::shared::learn::say_incomplete;
use crate::shared::numbers::counted;
use crate::shared::output::say;
use crate::shared::progress::Progress;
use crate::shared::source_lines::frame_source;
use crate::shared::summary::{KnowledgeUse, MissingCalls, TraceProcesses};

/// Events between two moves of the progress bar.
const PROGRESS_STEP: u64 = 4096;

/// An analysis that takes the events of a job.
pub trait EventSink {
    /// The frames of a call stack.
    fn define_context(&mut self, id: ContextId, frames: &str);
    /// Where a frame is in the source.
    fn define_source(&mut self, frame: &str, source: FrameSource);
    /// The path of a file.
    fn define_file(&mut self, id: FileId, path: &str);
    /// Bytes of a file when it was first opened.
    fn define_size(&mut self, id: FileId, bytes: u64);
    /// The next event of its stream.
    fn observe(&mut self, event: &Event);
    /// The process whose events came has no more.
    fn end_process(&mut self);
}

macro_rules! analysis {
    ($type:ty) => {
        impl EventSink for $type {
            fn define_context(&mut self, id: ContextId, frames: &str) {
                <$type>::define_context(self, id, frames);
            }

            fn define_source(&mut self, frame: &str, source: FrameSource) {
                <$type>::define_source(self, frame, source);
            }

            fn define_file(&mut self, id: FileId, path: &str) {
                <$type>::define_file(self, id, path);
            }

            fn define_size(&mut self, id: FileId, bytes: u64) {
                <$type>::define_size(self, id, bytes);
            }

            fn observe(&mut self, event: &Event) {
                <$type>::observe(self, event);
            }

            fn end_process(&mut self) {
                <$type>::end_process(self);
            }
        }
    };
}

analysis!(JobAnalysis);
analysis!(ReportAnalysis);

/// Reads all events, with a progress bar; says what could not be read.
pub fn read(trace: &Trace, analysis: &mut impl EventSink) -> Result<TraceExtent> {
    trace.contexts().iter().for_each(|(id, frames)| analysis.define_context(id, frames));
    trace.files().iter().for_each(|(id, path)| {
        analysis.define_file(id, path);
        if let Some(bytes) = trace.provenance().file_place(id).size_at_open {
            analysis.define_size(id, bytes);
        }
    });
    define_sources(trace, analysis);
    let mut seen = TraceExtent::default();
    let progress = Progress::new();
    progress.expect(trace.meta().events.unwrap_or(0));
    let mut events = trace.events_by_process()?;
    for event in events.by_ref() {
        let event = event?;
        // The rows of a table may go from process to process and back.
        let is_next = seen.process.replace(event.stream.rank) != Some(event.stream.rank);
        if is_next && trace.is_process_by_process() {
            analysis.end_process();
        }
        seen.take(event.stream, (event.start_ns, event.end_ns));
        analysis.observe(&event);
        if seen.n_events.is_multiple_of(PROGRESS_STEP) {
            progress.advance(PROGRESS_STEP);
        }
    }
    progress.finish();
    say_incomplete(trace);
    seen.skipped = trace.skipped() + events.skipped();
    if let (1.., Some(first)) = (seen.skipped, trace.first_skipped().or(events.first_skipped())) {
        let (rows, first) = (counted(seen.skipped, "bad row"), without_lenient(&first.to_string()));
        say(format_args!("{}: skipped {rows}, the first: {first}", trace.name()));
    }
    Ok(seen)
}

/// Defines where frames are in the source, as far as the trace says so.
fn define_sources(trace: &Trace, analysis: &mut impl EventSink) {
    let mut known: HashSet<&str> = HashSet::new();
    for frame in trace.contexts().iter().flat_map(|(_, frames)| frames.split(';')) {
        let Some(place) = trace.provenance().source_places(frame).first() else { continue };
        if known.insert(frame) {
            analysis.define_source(frame, frame_source(place));
        }
    }
}

/// What the events themselves show about processes and times.
#[derive(Default)]
pub struct TraceExtent {
    /// Events read.
    pub n_events: u64,
    /// Rows or events that could not be read.
    pub skipped: u64,
    process: Option<u32>,
    streams: HashSet<StreamId>,
    processes: BTreeSet<u32>,
    span_ns: Option<(u64, u64)>,
}

impl TraceExtent {
    fn take(&mut self, stream: StreamId, (start_ns, end_ns): (u64, u64)) {
        self.n_events += 1;
        if self.streams.insert(stream) {
            self.processes.insert(stream.rank);
        }
        let (first, last) = self.span_ns.unwrap_or((start_ns, end_ns));
        self.span_ns = Some((first.min(start_ns), last.max(end_ns)));
    }

    /// From the start of the first event to the end of the last one.
    pub fn event_span_s(&self, trace: &Trace) -> f64 {
        let seen_s =
            || self.span_ns.map_or(0.0, |(first, last)| last.saturating_sub(first) as f64 * 1e-9);
        trace.meta().event_span_s.unwrap_or_else(seen_s)
    }

    /// The rank of each process; in tables without processes each rank is one.
    pub fn ranks(&self, trace: &Trace) -> HashMap<u32, u32> {
        match trace.process_ranks() {
            Some(ranks) => (0..).zip(ranks).filter_map(|(n, rank)| Some((n, rank?))).collect(),
            None => self.processes.iter().map(|&rank| (rank, rank)).collect(),
        }
    }

    /// Who made the calls.
    pub fn processes(&self, trace: &Trace, ranks: &HashMap<u32, u32>) -> TraceProcesses {
        let with_calls = trace.process_ranks().map_or(self.processes.len(), |ranks| ranks.len());
        let distinct: BTreeSet<&u32> = ranks.values().collect();
        TraceProcesses {
            seen: trace.meta().processes_seen.unwrap_or(with_calls as u64),
            threads: self.streams.len() as u64,
            ranks_seen: trace.process_ranks().map_or(0, |_| distinct.len() as u32),
        }
    }
}

/// Duration of the run, if the trace has it.
pub fn wall_s(trace: &Trace) -> Option<f64> {
    trace.meta().wall_s.filter(|wall_s| *wall_s > 0.0)
}

/// Calls that were seen when the trace was recorded and are not in it.
pub fn missing(trace: &Trace) -> Vec<MissingCalls> {
    MissingCalls::all(|_, cause| trace.meta().not_recorded.get(cause).copied().unwrap_or(0))
}

/// What prefetching did when the trace was recorded, if it did anything.
pub fn prefetch(trace: &Trace) -> Result<Option<PrefetchReport>> {
    described(trace, "prefetch", trace.meta().prefetch.as_ref())
}

/// What the knowledge graph knew when the trace was recorded, if it was asked.
pub fn knowledge(trace: &Trace) -> Result<Option<KnowledgeUse>> {
    described(trace, "knowledge", trace.meta().knowledge.as_ref())
}

fn described<T: DeserializeOwned>(
    trace: &Trace,
    field: &str,
    value: Option<&Value>,
) -> Result<Option<T>> {
    value.map(T::deserialize).transpose().with_context(|| {
        format!(
            "'{field}' in the description (meta.json) of '{}' is not what 'ioracle run' writes; \
             remove that field from it",
            trace.name()
        )
    })
}
