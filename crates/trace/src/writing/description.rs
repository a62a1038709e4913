// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a written trace says about itself in `meta.json`.

use std::collections::BTreeMap;

use ioracle_events::Function;
use serde::Serialize;

use crate::writing::ranks::{Place, Ranks};

/// What the events do not tell of a run. What is left empty is taken from the
/// first process that was seen.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The application.
    pub application: String,
    /// How it was started.
    pub command: String,
    /// Wall-clock time of the whole run, in seconds.
    pub wall_s: Option<f64>,
    /// Calls that were seen but not recorded, by cause.
    pub not_recorded: BTreeMap<String, u64>,
    /// What else is to be known.
    pub notes: String,
}

/// `meta.json` as it is written.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Document {
    pub(crate) application: String,
    pub(crate) version: String,
    pub(crate) command: String,
    pub(crate) ranks: usize,
    pub(crate) processes: usize,
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
    pub(crate) notes: String,
}

/// Counts events as they are written.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    per_rank: BTreeMap<u32, u64>,
    per_function: BTreeMap<Function, u64>,
    /// First start and last end on the time axis of the first rank.
    span_ns: Option<(u64, u64)>,
}

impl Counts {
    pub(crate) fn count(&mut self, place: &Place, function: Function, end_ns: u64, ranks: &Ranks) {
        *self.per_rank.entry(place.rank).or_default() += 1;
        *self.per_function.entry(function).or_default() += 1;
        let offset_ns = ranks.start_offset_ns(place.rank);
        let (start_ns, end_ns) =
            (offset_ns.saturating_add(place.start_ns), offset_ns.saturating_add(end_ns));
        let (first, last) = self.span_ns.unwrap_or((start_ns, end_ns));
        self.span_ns = Some((first.min(start_ns), last.max(end_ns)));
    }

    pub(crate) fn n_ranks(&self) -> usize {
        self.per_rank.len()
    }

    pub(crate) fn n_events(&self) -> u64 {
        self.per_rank.values().sum()
    }

    /// Fills in what was counted.
    pub(crate) fn tell(self, document: &mut Document, ranks: &Ranks) {
        document.ranks = self.n_ranks();
        document.events = self.n_events();
        let (first, last) = self.span_ns.unwrap_or_default();
        document.event_span_s = (last - first) as f64 / 1e9;
        for (function, n) in self.per_function {
            let layer = function.layer().name();
            *document.events_per_level.entry(layer).or_default() += n;
            document.events_per_op.entry(layer).or_default().insert(function.name(), n);
        }
        let starts = self.per_rank.keys().map(|&rank| (rank, ranks.start_offset_ns(rank)));
        document.rank_start_offset_ns = starts.collect();
        document.events_per_rank = self.per_rank;
    }
}
