// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle forecast`: how long a recorded program's I/O would take on another
//! storage system; with `--profile`, what it consists of.

mod json;
mod profile;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ioracle_forecast::{Comparison, Forecast, Profile, Storage, System, Terms, WhatIf};
use ioracle_trace::{ReadOptions, Trace};

use crate::replay::storage;
use crate::shared::failure::{WrongUse, open_trace};
use crate::shared::output;
use crate::shared::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  ioracle forecast trace --profile                               where the I/O time goes
  ioracle bench --dir /scratch --for trace -o scratch.json       measure both systems…
  ioracle bench --dir /lustre --for trace -o lustre.json
  ioracle forecast trace --reference scratch.json --target lustre.json
                                                                 …and forecast
  ioracle forecast run-1 run-2 run-3 --reference scratch.json --target lustre.json --json
                                                                 several runs of one program
  ioracle forecast trace --reference scratch.json --target lustre.json --actual there
                                                                 compared with a run on the target

The reference is the system on which the trace was recorded.";

/// Forecast a program's I/O time on another storage system
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ForecastArguments {
    /// Directories of recorded traces: runs of one program on the reference system
    #[arg(value_name = "TRACE", required = true)]
    traces: Vec<PathBuf>,
    /// Show where the I/O time goes, by class of call, with functions and source lines
    #[arg(long)]
    profile: bool,
    /// The system on which the traces were recorded, as 'ioracle bench' measured it
    #[arg(long, value_name = "FILE", required_unless_present = "profile")]
    reference: Option<PathBuf>,
    /// The system to forecast for; further ones are compared with the first
    #[arg(long, value_name = "FILE", num_args = 1.., required_unless_present = "profile")]
    target: Vec<PathBuf>,
    /// Traces of real runs on the target, to compare the forecast with
    #[arg(long, value_name = "TRACE", num_args = 1..)]
    actual: Vec<PathBuf>,
    /// Count only files below this directory or mount point of the trace; / for all (default: those
    /// on the file system that moved the most bytes)
    #[arg(long, value_name = "DIR")]
    storage: Option<String>,
    /// The same for the traces of --actual (default: as --storage)
    #[arg(long, value_name = "DIR", requires = "actual")]
    actual_storage: Option<String>,
    /// Leave out parts of the model, to see what each contributes: replays, caching, seeks,
    /// concurrency, shrinking, waiting
    #[arg(long, value_name = "TERM", value_delimiter = ',', value_parser = TERMS)]
    without: Vec<String>,
    /// Skip and count what cannot be read instead of stopping there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

const TERMS: [&str; 6] = ["replays", "caching", "seeks", "concurrency", "shrinking", "waiting"];

/// All that is shown.
struct Outcome {
    reference: System,
    target: System,
    runs: usize,
    storage: String,
    forecast: Forecast,
    what_if: Vec<WhatIf>,
    comparison: Option<Comparison>,
}

/// Runs the subcommand.
pub fn run(arguments: &ForecastArguments) -> Result<()> {
    let options = ReadOptions { lenient: arguments.lenient };
    let wanted = storage(arguments.storage.as_deref());
    let (mut traces, mut runs) = (Vec::new(), Vec::new());
    for path in &arguments.traces {
        let (trace, profile) = profile_of(path, options, &wanted)?;
        traces.push(trace);
        runs.push(profile);
    }
    if arguments.profile {
        if !arguments.actual.is_empty() || arguments.reference.is_some() {
            let message = "--profile shows a trace alone; leave out --reference, --target and \
                           --actual, or leave out --profile";
            return Err(WrongUse(message.to_owned()).into());
        }
        let ([trace], [run]) = (traces.as_slice(), runs.as_slice()) else {
            let message = "--profile shows one trace; name one at a time";
            return Err(WrongUse(message.to_owned()).into());
        };
        return match arguments.json {
            true => output::print_json(&profile::document(trace, run)),
            false => output::print_text(&profile::render(trace, run)),
        };
    }
    let outcome = outcome(arguments, &runs, options)?;
    match arguments.json {
        true => output::print_json(&json::document(&outcome)),
        false => output::print_text(&table::render(&outcome)),
    }
}

fn outcome(
    arguments: &ForecastArguments,
    runs: &[Profile],
    options: ReadOptions,
) -> Result<Outcome> {
    let (Some(reference), [target, others @ ..]) =
        (&arguments.reference, arguments.target.as_slice())
    else {
        bail!("name both systems, with --reference FILE and --target FILE");
    };
    let (reference, target) = (System::load(reference)?, System::load(target)?);
    let is_left_out = |term: &str| arguments.without.iter().any(|other| other == term);
    let terms = Terms {
        replays: !is_left_out("replays"),
        caching: !is_left_out("caching"),
        seeks: !is_left_out("seeks"),
        concurrency: !is_left_out("concurrency"),
        shrinking: !is_left_out("shrinking"),
        waiting: !is_left_out("waiting"),
    };
    let forecast = Forecast::of(runs, &reference, &target, terms);
    if !forecast.has_io() {
        bail!(
            "the trace '{}' has no calls on {} that take time; name the storage that it used with \
             --storage DIR, or all with --storage /",
            runs.first().map_or("", |run| run.trace.as_str()),
            runs.first().map_or("", |run| run.storage.as_str())
        );
    }
    let mut others_forecast = Vec::new();
    for path in others {
        let other = System::load(path)?;
        let forecast = Forecast::of(runs, &reference, &other, terms);
        others_forecast.push((other.name, forecast));
    }
    let what_if = forecast.what_if(runs, &reference, &target, &others_forecast);
    let wanted = storage(arguments.actual_storage.as_deref().or(arguments.storage.as_deref()));
    let mut actual = Vec::new();
    for path in &arguments.actual {
        actual.push(profile_of(path, options, &wanted)?.1);
    }
    let comparison = (!actual.is_empty()).then(|| forecast.compare(&actual));
    let storage = runs.first().map_or(String::new(), |run| run.storage.clone());
    Ok(Outcome { reference, target, runs: runs.len(), storage, forecast, what_if, comparison })
}

fn profile_of(path: &Path, options: ReadOptions, wanted: &Storage) -> Result<(Trace, Profile)> {
    let trace = open_trace(path, options)?;
    let progress = Progress::new();
    progress.expect(3 * trace.meta().events.unwrap_or(0));
    let profile = Profile::of(&trace, wanted, |events| progress.advance(events));
    progress.finish();
    Ok((trace, profile?))
}
