// SPDX-License-Identifier: MIT OR Apache-2.0

//! What `ioracle run` reports at the end, as plain values from which text and JSON are
//! made. The names of the fields are a contract; `docs/run.md` explains them.

mod render;
mod unseen;

use std::path::PathBuf;

use ioracle_insight::{Predicted, Summary};
use ioracle_prefetch::PrefetchReport;
use ioracle_spool::layout;
use serde::{Deserialize, Serialize};

pub use self::render::{Screen, render, render_trace, what_is_known, what_prefetching_did};
pub use self::unseen::{Circumstances, Unseen};
use crate::shared::linked::LinkedIn;

/// The whole summary of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunSummary {
    /// Changes when a field changes its meaning.
    pub format: u32,
    pub application: String,
    pub command: Vec<String>,
    /// Of this command in a parallel job.
    pub rank: Option<u32>,
    pub world_size: Option<u32>,
    pub ending: Ending,
    pub wall_s: f64,
    pub processes: ProcessTotals,
    /// What its I/O was.
    #[serde(flatten)]
    pub job: Summary,
    pub unrecorded: UnrecordedTotals,
    /// Libraries whose calls are not seen.
    pub linked_in: Vec<LinkedIn>,
    /// Only when that was asked for.
    pub stacks: Option<StacksCompared>,
    /// Why there is nothing to report.
    pub unseen: Option<Unseen>,
    /// The recorded trace.
    #[serde(serialize_with = "crate::shared::text::as_optional_path")]
    pub trace: Option<PathBuf>,
    /// Records that are in the trace in raw form, and which this summary does not
    /// cover: the program was faster than they could be read.
    pub left_raw: u64,
    /// Only with `--model`.
    pub model: Option<ModelUse>,
    /// Only with `--prefetch`.
    pub prefetch: Option<PrefetchReport>,
    /// Only with `--knowledge`.
    pub knowledge: Option<KnowledgeUse>,
    /// Processor time that this command took itself.
    pub own_cpu_s: f64,
}

/// The summary of a recorded trace: what `run` said about its I/O, as far as the trace
/// contains it.
#[derive(Clone, Debug, Serialize)]
pub struct TraceSummary {
    /// As of [`RunSummary`].
    pub format: u32,
    /// Name of the trace.
    pub trace: String,
    pub application: String,
    /// The words of the command, joined by spaces.
    pub command: Vec<String>,
    /// Duration of the run, if the trace has it.
    pub wall_s: Option<f64>,
    /// From the start of the first event to the end of the last one.
    pub event_span_s: f64,
    pub processes: TraceProcesses,
    #[serde(flatten)]
    pub job: Summary,
    pub unrecorded: UnrecordedCalls,
    /// What prefetching did when the trace was recorded.
    pub prefetch: Option<PrefetchReport>,
    /// What the knowledge graph knew then.
    pub knowledge: Option<KnowledgeUse>,
    /// Rows or events that could not be read.
    pub skipped: u64,
    /// Fields of the summary of a live run that no trace holds.
    pub not_in_trace: &'static [&'static str],
}

impl TraceSummary {
    /// What is left out.
    pub const NOT_IN_TRACE: &'static [&'static str] = &[
        "ending",
        "rank",
        "world_size",
        "processes.still_running",
        "processes.ranks_expected",
        "unrecorded.recorded",
        "unrecorded.processes",
        "unrecorded.threads",
        "unrecorded.programs",
        "unrecorded.unfinished",
        "unrecorded.io_uring",
        "unrecorded.not_learned",
        "unrecorded.given_up_threads",
        "unrecorded.damaged",
        "linked_in",
        "stacks",
        "unseen",
        "left_raw",
        "model",
        "own_cpu_s",
    ];
}

/// Who made the calls of a trace.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct TraceProcesses {
    pub seen: u64,
    pub threads: u64,
    pub ranks_seen: u32,
}

/// Calls that were seen when the trace was recorded and are not in it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UnrecordedCalls {
    pub calls: Vec<MissingCalls>,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With an exit code.
    Exited(i32),
    /// By a signal.
    Killed(i32),
}

/// Who took part.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct ProcessTotals {
    /// Programs that loaded the library; one that replaces itself (exec) counts
    /// again.
    pub seen: u64,
    /// Threads that made a recorded call.
    pub threads: u64,
    /// Processes still running; what they do now is not recorded.
    pub still_running: u64,
    /// Ranks that a launcher below this command started.
    pub ranks_expected: u32,
    pub ranks_seen: u32,
}

/// How useful a model was, and how it was saved.
#[derive(Clone, Debug, Serialize)]
pub struct ModelUse {
    #[serde(serialize_with = "crate::shared::text::as_path")]
    pub file: PathBuf,
    /// What was loaded; nothing in a first run.
    pub known: Option<ModelKnown>,
    /// Why the file was not used; it stays as it is.
    pub refused: Option<String>,
    /// Call stacks of rebuilt programs that were found again by the names of
    /// functions.
    pub carried_over: usize,
    /// How well the first 100 operations of every thread were predicted.
    pub first: Option<Predicted>,
    pub saved: Option<ModelSaved>,
    pub not_saved: Option<String>,
}

/// What the knowledge graph knew and has learned.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct KnowledgeUse {
    /// The repository.
    #[serde(serialize_with = "crate::shared::text::as_path")]
    pub file: PathBuf,
    pub application: String,
    /// Runs in it, with this one.
    pub runs: u32,
    pub vertices: usize,
    pub edges: usize,
    /// Accesses whose data object the graph knew; none if it knew nothing.
    pub matched_percent: Option<f64>,
    /// Accesses that were the next step of the path.
    pub predicted_percent: Option<f64>,
    /// Why the repository was not used; it stays as it is.
    pub refused: Option<String>,
    /// Why this run was not added to it.
    pub not_updated: Option<String>,
}

/// What a loaded model knew.
#[derive(Clone, Debug, Serialize)]
pub struct ModelKnown {
    pub application: String,
    pub runs: u32,
    /// Threads of the job that are distinguished.
    pub roles: usize,
    pub operations: u64,
}

/// What was saved.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ModelSaved {
    pub bytes: u64,
    pub runs: u32,
    pub roles: usize,
}

/// What is missing from all of the above.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UnrecordedTotals {
    /// Calls that were made and not recorded, by cause.
    pub calls: Vec<MissingCalls>,
    /// Calls that were recorded.
    pub recorded: u64,
    /// Processes that made calls of which none could be recorded, and threads
    /// like that, of all processes.
    pub processes: u64,
    pub threads: u64,
    /// The first of these processes.
    pub programs: Vec<UnrecordedProcessRow>,
    /// Calls whose record was started and never finished.
    pub unfinished: u64,
    /// Requests to io_uring: seen, not recorded.
    pub io_uring: u64,
    /// Recorded calls that nothing was learned from, as the program was faster.
    pub not_learned: u64,
    /// Threads that `--in-process` did not learn to their end.
    pub given_up_threads: u64,
    /// Streams that could not be read to their end, a sentence each.
    pub damaged: Vec<String>,
}

/// Causes that mean a lack of room for records.
const LOSSES: [&str; 3] = ["no_room", "limit", "no_file"];
/// Share of all calls that may be lost; beyond it, no advice is given.
const MAX_LOST: f64 = 0.1;

impl UnrecordedTotals {
    /// Calls that could not be recorded for want of a place.
    pub fn lost(&self) -> u64 {
        MissingCalls::lost(&self.calls)
    }

    /// Whether what was seen is too little to say what is slow.
    pub fn is_too_much(&self) -> bool {
        MissingCalls::are_too_many(&self.calls, self.recorded)
    }
}

/// A process of which no call could be recorded.
#[derive(Clone, Debug, Serialize)]
pub struct UnrecordedProcessRow {
    pub pid: u32,
    /// File name of its program.
    pub name: String,
    pub cause: &'static str,
}

/// Call stacks compared with those that `backtrace()` finds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StacksCompared {
    pub checked: u64,
    pub different: u64,
}

/// Calls that are missing for one cause.
#[derive(Clone, Debug, Serialize)]
pub struct MissingCalls {
    pub cause: &'static str,
    pub calls: u64,
    /// The cause in words, and what to do.
    pub sentence: &'static str,
}

impl MissingCalls {
    /// Calls among them that could not be recorded for want of a place.
    pub fn lost(calls: &[MissingCalls]) -> u64 {
        let losses = calls.iter().filter(|missing| LOSSES.contains(&missing.cause));
        losses.map(|missing| missing.calls).fold(0, u64::saturating_add)
    }

    /// Whether so many are missing that the rest cannot show what is slow.
    pub fn are_too_many(calls: &[MissingCalls], recorded: u64) -> bool {
        let lost = MissingCalls::lost(calls) as f64;
        lost > MAX_LOST * (lost + recorded as f64)
    }

    /// All causes for which calls are missing; `calls` returns how many, of a cause
    /// and its name.
    pub fn all(calls: impl Fn(layout::UnrecordedCause, &str) -> u64) -> Vec<MissingCalls> {
        let of = |reason| {
            let (cause, sentence) = in_words(reason);
            MissingCalls { cause, calls: calls(reason, cause), sentence }
        };
        layout::UnrecordedCause::ALL
            .into_iter()
            .map(of)
            .filter(|missing| missing.calls > 0)
            .collect()
    }
}

/// Why calls were not recorded: a word for programs, a sentence for people.
pub fn in_words(cause: layout::UnrecordedCause) -> (&'static str, &'static str) {
    match cause {
        layout::UnrecordedCause::NoRoom => (
            "no_room",
            "there was no room for records, or a limit of the process forbids them; name a larger \
             place with --dir",
        ),
        layout::UnrecordedCause::Limit => (
            "limit",
            "the space limit was reached; raise it with --limit, or let the program wait with \
             --wait-ms",
        ),
        layout::UnrecordedCause::NoFile => (
            "no_file",
            "no file for records could be made: the process has changed its user or its root, or \
             cannot reach the place, which 'ioracle doctor' checks",
        ),
        layout::UnrecordedCause::Interrupted => {
            ("interrupted", "made by a signal handler while another call was being recorded")
        }
        layout::UnrecordedCause::Borrowed => ("borrowed", "made between vfork and exec"),
        layout::UnrecordedCause::Sandboxed => ("sandboxed", "made inside a seccomp sandbox"),
        layout::UnrecordedCause::LittleStack => {
            ("little_stack", "made with too little stack left to record them")
        }
    }
}
