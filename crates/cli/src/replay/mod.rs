// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle replay`: makes the calls of a trace, or of a model, again.
//!
//! `ioracle-forecast` plans; here the plan is performed by one process per recorded
//! process, which this one starts, brings together and waits for.

mod coordinate;
mod data;
mod generated;
mod perform;
mod place;
mod protocol;
mod report;
mod stream;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::ValueEnum;
use ioracle_bench::MemoryLimit;
use ioracle_forecast::{ReplayPlan, Storage};
use ioracle_trace::ReadOptions;

use crate::shared::failure::open_trace;
use crate::shared::numbers::parse_bytes;
use crate::shared::output;
use crate::shared::progress::Progress;

pub use coordinate::{Interrupted, Performed, ReplaySettings, perform as perform_plan};
pub use place::ReplayPlace;

const EXAMPLES: &str = "\
Examples:
  ioracle replay trace --dir /scratch/me              the same calls on other storage
  ioracle replay trace --dir . --think-time none      without the pauses between them
  ioracle replay trace --dir . --cache cold --json    nothing cached at the start; for scripts
  ioracle replay cm1.model --dir . --operations 9000  what a model predicts

The files are made in a new directory below --dir, with made-up data, and removed at the
end. Nothing outside that directory is written.";

/// Repeat the I/O calls of a trace or a model in any directory
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ReplayArguments {
    /// Directory of a recorded trace, or a saved model
    #[arg(value_name = "TRACE|MODEL")]
    source: PathBuf,
    /// Directory on the storage to replay on
    #[arg(long, value_name = "D")]
    dir: PathBuf,
    /// Pauses between calls: keep them, leave them out (none), or multiply them (scale=F)
    #[arg(long, value_name = "keep|none|scale=F", default_value = "keep", value_parser = think_scale)]
    think_time: f64,
    /// Whether files that are read are in the cache at the start
    #[arg(long, value_enum, default_value_t = Cache::Warm)]
    cache: Cache,
    /// How many times smaller a compressor could make the data that is written
    #[arg(long, value_name = "RATIO", default_value_t = 1.0, value_parser = ratio)]
    compress_ratio: f64,
    /// Run the processes in a control group with this much memory, page cache included
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    memory_limit: Option<u64>,
    /// Replay only files below this directory or mount point of the trace; / for all (default: those
    /// on the file system that moved the most bytes)
    #[arg(long, value_name = "DIR")]
    storage: Option<String>,
    /// Operations that each stream of a model makes (default: as many as it has learned)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    operations: Option<u32>,
    /// Keep the files
    #[arg(long)]
    keep_files: bool,
    /// Skip and count what cannot be read instead of stopping there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The state of the cache at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Cache {
    /// Cached
    Warm,
    /// Dropped from the page cache
    Cold,
}

/// Performs the part of one process; started by 'ioracle replay'.
#[derive(clap::Args)]
pub struct PerformReplayArguments {}

/// One process of a replay.
pub fn perform(_: &PerformReplayArguments) -> Result<ExitCode> {
    perform::run()
}

/// Runs the subcommand.
pub fn run(arguments: &ReplayArguments) -> Result<ExitCode> {
    let plan = plan(arguments)?;
    let interrupted = Interrupted::watch()?;
    let place = ReplayPlace::make(&arguments.dir, plan.bytes_needed, arguments.keep_files)?;
    let settings = ReplaySettings {
        think_scale: arguments.think_time,
        is_cold: arguments.cache == Cache::Cold,
        compress_ratio: arguments.compress_ratio,
        time_limit: None,
        memory_limit: arguments.memory_limit.map(MemoryLimit::new).transpose()?,
        shows_progress: true,
    };
    let performed = perform_plan(&plan, &place, &settings, &interrupted);
    if arguments.keep_files {
        output::say(format_args!("the files are in '{}'", place.path().display()));
    }
    drop(place);
    let Some(performed) = performed? else {
        output::say("the replay was interrupted; its files are removed");
        return Ok(ExitCode::from(130));
    };
    let document = report::document(&plan, &performed);
    if arguments.json {
        output::print_json(&document)?;
    } else {
        output::print_text(&report::render(&document))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(arguments: &ReplayArguments) -> Result<ReplayPlan> {
    let trace = if arguments.source.is_file() {
        generated::trace(&arguments.source, arguments.operations)?
    } else {
        if arguments.operations.is_some() {
            let message = "--operations is for models; leave it out, a trace ends by itself";
            return Err(crate::shared::failure::WrongUse(message.to_owned()).into());
        }
        open_trace(&arguments.source, ReadOptions { lenient: arguments.lenient })?
    };
    let storage = storage(arguments.storage.as_deref());
    let progress = Progress::new();
    progress.expect(3 * trace.meta().events.unwrap_or(0));
    let plan = ReplayPlan::of(&trace, &storage, |events| progress.advance(events));
    progress.finish();
    plan.with_context(|| format!("could not replay '{}'", arguments.source.display()))
}

/// What `--storage` says.
pub fn storage(text: Option<&str>) -> Storage {
    match text {
        None => Storage::Busiest,
        Some("/") => Storage::Everything,
        Some(path) => Storage::Below(path.to_owned()),
    }
}

/// Reads the value of `--think-time`.
fn think_scale(text: &str) -> Result<f64, String> {
    let wrong = || "give keep, none, or scale=F with a number F from 0 up".to_owned();
    match text {
        "keep" => Ok(1.0),
        "none" => Ok(0.0),
        _ => {
            let number = text.strip_prefix("scale=").and_then(|text| text.parse::<f64>().ok());
            number.filter(|scale| scale.is_finite() && *scale >= 0.0).ok_or_else(wrong)
        }
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|ratio| (1.0..=4096.0).contains(ratio));
    number.ok_or_else(|| "give a number from 1 (not at all) to 4096".to_owned())
}
