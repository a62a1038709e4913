// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle show`: the summary that `ioracle run` printed, from a trace.

use std::path::PathBuf;

use anyhow::Result;
use ioracle_insight::JobAnalysis;
use ioracle_trace::{ReadOptions, Trace};

use crate::shared::failure::open_trace;
use crate::shared::summary::{self, MissingCalls, Screen, TraceSummary, UnrecordedCalls};
use crate::shared::{output, whole_trace};

const EXAMPLES: &str = "\
Examples:
  ioracle show trace                 what 'ioracle run --record trace' printed
  ioracle show trace --json          the same for scripts
  ioracle show tests/traces/cm1-grads    a trace in CSV format

What only a live run knows, such as how the program ended, is left out.";

/// Show what a recorded program did, and what to change
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ShowArguments {
    /// Directory of a recorded, recovered or imported trace
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// Skip and count what cannot be read instead of stopping there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &ShowArguments) -> Result<()> {
    let trace = open_trace(&arguments.trace, ReadOptions { lenient: arguments.lenient })?;
    let summary = summarise(&trace)?;
    if arguments.json {
        output::print_json(&summary)
    } else {
        output::print_text(&summary::render_trace(&summary, Screen::of_stdout()))
    }
}

/// Reads the whole trace.
fn summarise(trace: &Trace) -> Result<TraceSummary> {
    let mut analysis = JobAnalysis::new();
    let seen = whole_trace::read(trace, &mut analysis)?;
    let ranks = seen.ranks(trace);
    let event_span_s = seen.event_span_s(trace);
    let wall_s = whole_trace::wall_s(trace);
    let calls = whole_trace::missing(trace);
    let mut job = analysis.finish(&ranks, wall_s.unwrap_or(event_span_s));
    if MissingCalls::are_too_many(&calls, seen.n_events) {
        job.advice.clear();
    }
    let meta = trace.meta();
    Ok(TraceSummary {
        format: 1,
        trace: trace.name().to_owned(),
        application: meta.application.clone(),
        command: Some(meta.command.clone()).filter(|it| !it.is_empty()).into_iter().collect(),
        wall_s,
        event_span_s,
        processes: seen.processes(trace, &ranks),
        job,
        unrecorded: UnrecordedCalls { calls },
        prefetch: whole_trace::prefetch(trace)?,
        knowledge: whole_trace::knowledge(trace)?,
        skipped: seen.skipped,
        not_in_trace: TraceSummary::NOT_IN_TRACE,
    })
}
