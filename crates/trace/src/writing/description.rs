// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a written trace says about itself in `meta.json`.

use std::collections::BTreeMap;
use std::path::Path;

use ioracle_events::{Event, Function};
use serde::Serialize;
use serde_json::Value;

use crate::error::Error;
use crate::trace::{Form, ReadOptions, Trace};
use crate::writing::ranks::ProcessRanks;

/// What the events do not contain about a run. What is left empty is taken from the
/// first process that was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The application.
    pub application: String,
    /// How it was started.
    pub command: String,
    /// Wall-clock time of the whole run, in seconds.
    pub wall_s: Option<f64>,
    /// Processes of the job, also those that made no recorded call.
    pub processes_seen: Option<u64>,
    /// Calls that were seen but not recorded, by cause.
    pub not_recorded: BTreeMap<String, u64>,
    /// What prefetching did, as `ioracle run --json` prints it.
    pub prefetch: Option<Value>,
    /// What the knowledge graph knew, as `ioracle run --json` prints it.
    pub knowledge: Option<Value>,
    /// Other remarks.
    pub notes: String,
}

/// `meta.json` as it is written.
#[derive(Debug, Default, Serialize)]
pub(crate) struct MetaDocument {
    pub(crate) application: String,
    pub(crate) version: String,
    pub(crate) command: String,
    pub(crate) ranks: usize,
    pub(crate) processes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) processes_seen: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wall_s: Option<f64>,
    pub(crate) event_span_s: f64,
    pub(crate) events: u64,
    pub(crate) events_per_rank: BTreeMap<u32, u64>,
    pub(crate) events_per_level: BTreeMap<&'static str, u64>,
    pub(crate) events_per_op: BTreeMap<&'static str, BTreeMap<&'static str, u64>>,
    pub(crate) distinct_stacks: u64,
    pub(crate) distinct_files: u64,
    pub(crate) rank_start_offset_ns: BTreeMap<u32, u64>,
    pub(crate) not_recorded: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) incomplete: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prefetch: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) knowledge: Option<Value>,
    pub(crate) notes: String,
}

/// Counts events as they are written.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    per_process: BTreeMap<u32, Span>,
    per_function: BTreeMap<Function, u64>,
}

/// The events of a process.
#[derive(Clone, Copy, Debug)]
struct Span {
    n_events: u64,
    /// Since the start of the process.
    first_ns: u64,
    last_ns: u64,
}

impl Counts {
    /// Counts what a finished trace holds.
    pub(crate) fn of_trace(directory: &Path) -> Result<Counts, Error> {
        let mut counts = Counts::default();
        let trace = Trace::open(directory, ReadOptions { lenient: true })?;
        if let Form::Native(native) = trace.form() {
            native.each_event(|process, event| counts.count(process, event));
        }
        Ok(counts)
    }

    pub(crate) fn count(&mut self, process: u32, event: &Event) {
        *self.per_function.entry(event.function).or_default() += 1;
        let (start_ns, end_ns) = (event.start_ns, event.end_ns);
        let span = self.per_process.entry(process);
        let span = span.or_insert(Span { n_events: 0, first_ns: start_ns, last_ns: end_ns });
        span.n_events += 1;
        span.first_ns = span.first_ns.min(start_ns);
        span.last_ns = span.last_ns.max(end_ns);
    }

    /// Fills in what was counted.
    pub(crate) fn write_into(self, document: &mut MetaDocument, ranks: &ProcessRanks) {
        let mut whole: Option<(u64, u64)> = None;
        for (process, span) in self.per_process {
            let (rank, shift_ns) = ranks.shift_ns(process);
            *document.events_per_rank.entry(rank).or_default() += span.n_events;
            let offset_ns = ranks.start_offset_ns(rank);
            document.rank_start_offset_ns.insert(rank, offset_ns);
            let of_all = |time: u64| offset_ns.saturating_add(shift_ns).saturating_add(time);
            let (first, last) = (of_all(span.first_ns), of_all(span.last_ns));
            whole = Some(whole.map_or((first, last), |(a, b)| (a.min(first), b.max(last))));
        }
        let (first, last) = whole.unwrap_or_default();
        document.event_span_s = (last - first) as f64 / 1e9;
        document.ranks = document.events_per_rank.len();
        document.events = document.events_per_rank.values().sum();
        for (function, n) in self.per_function {
            let layer = function.layer().name();
            *document.events_per_level.entry(layer).or_default() += n;
            document.events_per_op.entry(layer).or_default().insert(function.name(), n);
        }
    }
}
