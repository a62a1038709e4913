// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern evaluate`: precision and recall on labelled runs.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::thread;

use anyhow::Result;
use ioracle_pattern::evaluation::{
    Algorithm, LabelledRun, OrderReport, feed, largest_distance, shuffled,
};
use ioracle_pattern::{
    Pattern, PatternConfig, PatternError, Request, RequestKind, RequestReader, Slicer,
};
use serde::Serialize;

use crate::pattern::Preset;
use crate::pattern::runs::{self, RunFile};
use crate::shared::numbers::{bytes, grouped, percent};
use crate::shared::output;
use crate::shared::progress::Progress;
use crate::shared::table::{Alignment, Colours, TextTable};

const EXAMPLES: &str = "\
Examples:
  ioracle pattern evaluate runs                      a table for people
  ioracle pattern evaluate runs --json --orders 3    fewer random orders, for scripts

Runs are in DIR/<label>/<repetition>/<server>.csv or .csv.zst. DIR/labels.csv with the header
'directory,label' may give directories other labels. A match with a run of the same label is right.";

/// Measure how well patterns of labelled runs are recognised
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct PatternEvaluateArguments {
    /// Directory of the labelled runs
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Random orders of the runs; the figures are means over them
    #[arg(long, value_name = "N", default_value = "10")]
    orders: NonZeroUsize,
    /// Seed of the random orders; the same seed gives the same figures
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// The paper's constants
    #[arg(long, value_enum, default_value_t)]
    preset: Preset,
    /// Servers evaluated at the same time (default: as many as processors)
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Leave out the first slice of each run, so that the files do not show where a run begins
    #[arg(long)]
    without_starts: bool,
    /// Print one JSON document: an array with an object per algorithm and kind
    #[arg(long)]
    json: bool,
}

/// The figures of an algorithm for one kind, as they are printed.
#[derive(Debug, Serialize)]
struct Row {
    algorithm: &'static str,
    kind: &'static str,
    precision: Option<f64>,
    recall: Option<f64>,
    known: f64,
    matches: f64,
    tick_ms: f64,
    bytes: f64,
    patterns: f64,
}

/// Runs the subcommand.
pub fn run(arguments: &PatternEvaluateArguments) -> Result<()> {
    let servers = runs::find(&arguments.directory)?;
    let reports = evaluate_all(arguments, servers)?;
    let mut rows = Vec::new();
    for algorithm in Algorithm::ALL {
        for kind in RequestKind::ALL {
            let of_row = |report: &&Report| report.algorithm == algorithm && report.kind == kind;
            let reports: Vec<&OrderReport> =
                reports.iter().filter(of_row).map(|report| &report.order).collect();
            rows.push(row(algorithm, kind, &reports));
        }
    }
    match arguments.json {
        true => output::print_json(&rows),
        false => output::print_text(&table(&rows).render(Colours::for_stdout())),
    }
}

struct Report {
    algorithm: Algorithm,
    kind: RequestKind,
    order: OrderReport,
}

/// Evaluates the servers by several threads.
fn evaluate_all(
    arguments: &PatternEvaluateArguments,
    servers: BTreeMap<String, Vec<RunFile>>,
) -> Result<Vec<Report>> {
    let processors = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = arguments.jobs.unwrap_or(processors).get().min(servers.len());
    let mut labels: Vec<&String> = servers.values().flatten().map(|run| &run.label).collect();
    labels.sort();
    labels.dedup();
    let progress = Progress::new();
    progress.expect(servers.values().map(|runs| steps(runs.len(), arguments)).sum());
    let next = Mutex::new(servers.values().enumerate());
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let Some((index, runs)) = lock(&next).next() else { break };
                    let reports = evaluate_server(arguments, runs, &labels, &progress);
                    lock(&results).push((index, reports));
                }
            });
        }
    });
    progress.finish();
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(index, _)| *index);
    let mut reports = Vec::new();
    for (_, of_server) in results {
        reports.extend(of_server?);
    }
    Ok(reports)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Work of a server as the progress bar counts it.
fn steps(n_runs: usize, arguments: &PatternEvaluateArguments) -> u64 {
    (n_runs + arguments.orders.get() * Algorithm::ALL.len() * 2) as u64
}

fn evaluate_server(
    arguments: &PatternEvaluateArguments,
    files: &[RunFile],
    labels: &[&String],
    progress: &Progress,
) -> Result<Vec<Report>> {
    let config = arguments.preset.config();
    let mut runs = Vec::new();
    for file in files {
        let label = labels.binary_search(&&file.label).unwrap_or_default() as u32;
        let mut patterns = patterns(file, config)?;
        if arguments.without_starts && !patterns.is_empty() {
            patterns.remove(0);
        }
        runs.push(LabelledRun { label, patterns });
        progress.advance(1);
    }
    let mut reports = Vec::new();
    for kind in RequestKind::ALL {
        let largest = largest_distance(&runs, kind, config.radius);
        for algorithm in Algorithm::ALL {
            for order in 0..arguments.orders.get() as u64 {
                let order = shuffled(runs.len(), arguments.seed.wrapping_add(order));
                let mut matcher = algorithm.matcher(config, kind, largest);
                let order = feed(&mut *matcher, &runs, &order, kind);
                reports.push(Report { algorithm, kind, order });
                progress.advance(1);
            }
        }
    }
    Ok(reports)
}

/// Requests of a run that are sorted by time.
const MAX_SORTED: usize = 1 << 20;

/// The patterns of a run. Some tools write one process after the other, so up to
/// [`MAX_SORTED`] rows at a time are put in the order of time.
fn patterns(file: &RunFile, config: PatternConfig) -> Result<Vec<Pattern>> {
    let mut slicer = Slicer::new(config);
    let mut patterns = Vec::new();
    let mut reader = RequestReader::open(&file.path)?;
    loop {
        let rows = reader.by_ref().take(MAX_SORTED);
        let mut requests = rows.collect::<Result<Vec<Request>, PatternError>>()?;
        if requests.is_empty() {
            break;
        }
        requests.sort_by_key(|request| request.time_ns);
        for request in &requests {
            patterns.extend(slicer.observe(request));
        }
    }
    patterns.extend(slicer.finish());
    Ok(patterns)
}

fn row(algorithm: Algorithm, kind: RequestKind, reports: &[&OrderReport]) -> Row {
    // A server without patterns of the kind, or an order without a match, has
    // no precision and says nothing about the mean.
    let mean = |value: &dyn Fn(&OrderReport) -> Option<f64>| {
        let values: Vec<f64> = reports.iter().filter_map(|report| value(report)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let all = |value: &dyn Fn(&OrderReport) -> f64| mean(&|report| Some(value(report)));
    let tick_ms = |report: &OrderReport| {
        let n_patterns = report.counts.patterns();
        (n_patterns > 0).then(|| report.time.as_secs_f64() * 1e3 / n_patterns as f64)
    };
    Row {
        algorithm: algorithm.name(),
        kind: kind.name(),
        precision: mean(&|report| report.counts.precision()),
        recall: mean(&|report| report.counts.recall()),
        known: all(&|report| report.known as f64).unwrap_or(0.0),
        matches: all(&|report| report.counts.matches() as f64).unwrap_or(0.0),
        tick_ms: mean(&tick_ms).unwrap_or(0.0),
        bytes: all(&|report| report.bytes as f64).unwrap_or(0.0),
        patterns: all(&|report| report.counts.patterns() as f64).unwrap_or(0.0),
    }
}

fn table(rows: &[Row]) -> TextTable {
    let mut table = TextTable::new(&[
        ("algorithm", Alignment::Left),
        ("kind", Alignment::Left),
        ("precision %", Alignment::Right),
        ("recall %", Alignment::Right),
        ("patterns", Alignment::Right),
        ("matches", Alignment::Right),
        ("known", Alignment::Right),
        ("ms per pattern", Alignment::Right),
        ("memory", Alignment::Right),
    ]);
    for row in rows {
        table.push(vec![
            row.algorithm.into(),
            row.kind.into(),
            percent(row.precision).into(),
            percent(row.recall).into(),
            grouped(row.patterns.round() as u64).into(),
            grouped(row.matches.round() as u64).into(),
            grouped(row.known.round() as u64).into(),
            format!("{:.3}", row.tick_ms).into(),
            bytes(row.bytes as u64).into(),
        ]);
    }
    table
}
