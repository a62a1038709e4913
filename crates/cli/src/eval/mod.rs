// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle eval`: the papers' metrics on recorded traces.

mod figures;
mod table;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;

use anyhow::Result;
use ioracle_lab::{
    Ablation, EvaluateOptions, Evaluation, RankReport, Survey, ablate, evaluate, measure_cost,
};
use ioracle_trace::Trace;

use crate::shared::failure::open_trace;
use crate::shared::learn::survey_warning;
use crate::shared::numbers::counted;
use crate::shared::output;
use crate::shared::progress::Progress;
use crate::shared::table::Colours;

const EXAMPLES: &str = "\
Examples:
  ioracle eval traces/cm1                       every rank, for people
  ioracle eval traces/* --rank 0 --baselines    rank 0 of several, compared with other methods
  ioracle eval traces/cm1 --json                one JSON document for scripts
  ioracle eval traces/cm1 --plots figures       the report's Figures 2 to 8 as SVG and PNG

Every operation is predicted before it is seen. A trace is a directory that 'ioracle run --record'
or 'ioracle import' wrote, or one with events.csv, stacks.csv and files.csv (or .csv.zst).";

/// Measure how well recorded traces are predicted
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct EvalArguments {
    /// Directories of recorded traces
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// Only this rank (default: all of them)
    #[arg(long, value_name = "R")]
    rank: Option<u32>,
    /// Also run the baselines, for comparison
    #[arg(long)]
    baselines: bool,
    /// Skip bad rows and count them instead of stopping there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document: an array with an object per trace and rank
    #[arg(long)]
    json: bool,
    /// Write the report's Figures 2 to 8 into this directory
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Write the evaluation document and its figures into this directory
    #[arg(long, value_name = "DIR", hide = true)]
    document: Option<PathBuf>,
    /// Traces evaluated at the same time (default: as many as processors)
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// One evaluated trace.
struct Evaluated {
    trace: Trace,
    survey: Survey,
    reports: Vec<RankReport>,
    ablations: Vec<Ablation>,
}

/// Runs the subcommand.
pub fn run(arguments: &EvalArguments) -> Result<()> {
    let evaluated = evaluate_all(arguments)?;
    let reports: Vec<&RankReport> = evaluated.iter().flat_map(|trace| &trace.reports).collect();
    let evaluations: Vec<&Evaluation> = reports.iter().map(|report| &report.evaluation).collect();
    if let Some(directory) = &arguments.plots {
        let n_figures = figures::write_figures(directory, &reports, figures::Format::SvgAndPng)?;
        output::say(format_args!(
            "wrote {} as SVG and PNG to '{}'",
            counted(n_figures as u64, "figure"),
            directory.display()
        ));
    }
    if arguments.json {
        output::print_json(&evaluations)?;
    } else {
        output::print_text(&table::render(&evaluations, Colours::for_stdout()))?;
    }
    match &arguments.document {
        Some(directory) => figures::write_document(directory, evaluated),
        None => Ok(()),
    }
}

/// The directories among the arguments. A shell's `*` also names the files that lie
/// beside the traces; they are no reason to reject the rest.
fn traces(arguments: &EvalArguments) -> Vec<&Path> {
    let all = arguments.traces.iter().map(PathBuf::as_path);
    let (files, others): (Vec<&Path>, Vec<&Path>) = all.partition(|path| path.is_file());
    if others.is_empty() {
        return files;
    }
    for file in files {
        output::say(format_args!(
            "'{}' is a file, not the directory of a trace; skipped",
            file.display()
        ));
    }
    others
}

/// Evaluates the traces by several threads; the results keep their order.
fn evaluate_all(arguments: &EvalArguments) -> Result<Vec<Evaluated>> {
    let traces = traces(arguments);
    let processors = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = arguments.jobs.unwrap_or(processors).get().min(traces.len());
    let progress = Progress::new();
    let next = Mutex::new(traces.iter().enumerate());
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let taken = lock(&next).next();
                    let Some((index, path)) = taken else { break };
                    let result = evaluate_one(path, arguments, &progress);
                    lock(&results).push((index, result));
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    results.sort_by_key(|(index, _)| *index);
    let results: Result<Vec<Evaluated>> = results.into_iter().map(|(_, result)| result).collect();
    let mut evaluated = results?;
    // One at a time: two would disturb each other's timing.
    for Evaluated { trace, survey, reports, .. } in &mut evaluated {
        measure_cost(trace, survey, &ioracle_oracle::Config::default(), reports)?;
    }
    progress.finish();
    Ok(evaluated)
}

fn evaluate_one(path: &Path, arguments: &EvalArguments, progress: &Progress) -> Result<Evaluated> {
    let trace = open_trace(path, ioracle_trace::ReadOptions { lenient: arguments.lenient })?;
    let survey = Survey::of(&trace, arguments.rank)?;
    survey_warning(&trace, &survey);
    let options = EvaluateOptions {
        baselines: arguments.baselines,
        series: arguments.plots.is_some() || arguments.document.is_some(),
        ..EvaluateOptions::default()
    };
    progress.expect(survey.operations());
    let mut shown = 0;
    let reports = evaluate(&trace, &survey, &options, |state| {
        progress.advance(state.operations - shown);
        shown = state.operations;
    })?;
    let ablations = match arguments.document {
        Some(_) => ablate(&trace, &survey)?,
        None => Vec::new(),
    };
    Ok(Evaluated { trace, survey, reports, ablations })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
