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
pub struct Arguments {
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
pub fn run(arguments: &Arguments) -> Result<()> {
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
<<<<<<< HEAD
    trace.contexts().iter().for_each(|(id, frames)| analysis.define_context(id, frames));
    trace.files().iter().for_each(|(id, path)| analysis.define_file(id, path));
    let mut seen = Seen::default();
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
    let skipped = trace.skipped() + events.skipped();
    if let (1.., Some(first)) = (skipped, trace.first_skipped().or(events.first_skipped())) {
        let (rows, first) = (counted(skipped, "bad row"), without_lenient(&first.to_string()));
        say(format_args!("{}: skipped {rows}, the first: {first}", trace.name()));
    }
=======
    let seen = whole_trace::read(trace, &mut analysis)?;
>>>>>>> b60e209 (report: a page that shows what a recorded program did and what to change)
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
        skipped: seen.skipped,
        not_in_trace: TraceSummary::NOT_IN_TRACE,
    })
}
<<<<<<< HEAD

/// What the events themselves tell of processes and times.
#[derive(Default)]
struct Seen {
    process: Option<u32>,
    n_events: u64,
    streams: HashSet<StreamId>,
    processes: BTreeSet<u32>,
    span_ns: Option<(u64, u64)>,
}

impl Seen {
    fn take(&mut self, stream: StreamId, (start_ns, end_ns): (u64, u64)) {
        self.n_events += 1;
        if self.streams.insert(stream) {
            self.processes.insert(stream.rank);
        }
        let (first, last) = self.span_ns.unwrap_or((start_ns, end_ns));
        self.span_ns = Some((first.min(start_ns), last.max(end_ns)));
    }

    fn span_s(&self) -> f64 {
        self.span_ns.map_or(0.0, |(first, last)| last.saturating_sub(first) as f64 * 1e-9)
    }

    /// The rank of each process; in tables without processes each rank is one.
    fn ranks(&self, trace: &Trace) -> HashMap<u32, u32> {
        match trace.process_ranks() {
            Some(ranks) => (0..).zip(ranks).filter_map(|(n, rank)| Some((n, rank?))).collect(),
            None => self.processes.iter().map(|&rank| (rank, rank)).collect(),
        }
    }

    fn processes(&self, trace: &Trace, ranks: &HashMap<u32, u32>) -> TraceProcesses {
        let with_calls = trace.process_ranks().map_or(self.processes.len(), |ranks| ranks.len());
        let distinct: BTreeSet<&u32> = ranks.values().collect();
        TraceProcesses {
            seen: trace.meta().processes_seen.unwrap_or(with_calls as u64),
            threads: self.streams.len() as u64,
            ranks_seen: trace.process_ranks().map_or(0, |_| distinct.len() as u32),
        }
    }
}
=======
>>>>>>> b60e209 (report: a page that shows what a recorded program did and what to change)
