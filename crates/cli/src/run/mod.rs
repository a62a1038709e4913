// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle run`: starts a program with the capture library, follows its I/O
//! while it runs, and says in the end what was seen.
//!
//! The main thread stands between the program and its caller ([`supervise`]), another
//! one follows the spool ([`watch`]). [`report`] combines their results, which are
//! shown like all summaries ([`summary`]).

mod session;
pub mod settings;

mod keep;
mod knowledge;
pub mod launch;
mod learner;
mod live;
mod model;
mod pace;
mod publish;
mod ranks;
pub mod signals;
mod status;
pub mod supervise;

mod report;
mod watch;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use ioracle_trace::TimePrecision;

use self::ranks::RankInJob;
use self::session::RunPlan;
use self::settings::Settings;
use crate::shared::executable::ExecutableKind;
use crate::shared::failure;
use crate::shared::find::find;
use crate::shared::output::{self, say};
use crate::shared::summary::{self, Ending, RunSummary, Screen};

const EXAMPLES: &str = "\
Examples:
  ioracle run -- ./simulation input.nml           watch a program, then print what it did
  ioracle run --record trace -- ./simulation      keep the trace for 'ioracle eval'
  ioracle run --model sim.model -- ./simulation   start from what earlier runs learned
  ioracle run --learn later -- ./simulation       do not learn until it has ended
  ioracle run --knowledge runs.db -- ./simulation learn what runs read and write
  ioracle run --live -- ./simulation              watch it in the terminal while it runs
  ioracle run -- mpirun -n 4 ./simulation         all ranks on this machine
  mpirun -n 4 ioracle run -- ./simulation         each rank on its own, on many machines

The summary goes to standard error. The exit code is the program's; if a signal ended it, the
same signal ends ioracle. 127: the command was not found; 126: it cannot be started; 1: capture
could not be set up, and the program was not started; 2: wrong use.";

/// Run a program and watch its I/O
#[derive(clap::Args)]
#[command(after_help = format!("{}\n\n{EXAMPLES}", settings::variables_without_flag()))]
pub struct RunArguments {
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
    /// Write the trace to this directory; under mpirun or srun, to 'rank-N' inside it
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Precision of times in the trace: exact, 1us (start and end to the microsecond) or 1% (waits
    /// and durations to a percent); coarser times make it smaller
    #[arg(long, value_name = "PRECISION", default_value_t, requires = "record")]
    times: TimePrecision,
    /// Leave function names and source lines out of the trace and of advice; they are looked up
    /// while the program runs, and for a second at most when it has ended
    #[arg(long)]
    no_symbols: bool,
    /// Start from what earlier runs learned, if the file exists, and save it with what this run adds
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// When to learn from the recorded calls: while the program runs, or only afterwards
    #[arg(long, value_name = "WHEN", value_enum, default_value_t)]
    learn: pace::LearnWhen,
    /// Neither use nor update what was learned over many runs
    #[arg(long)]
    no_knowledge: bool,
    /// Watch the program in the terminal while it runs; its output is shown in a part of the
    /// screen, and printed when it has ended
    #[arg(long)]
    live: bool,
    /// Print the summary as one JSON document on standard output; under mpirun or srun, only rank 0
    #[arg(long)]
    json: bool,
    /// Also write the summary to this file as JSON; under mpirun or srun, with 'rank-N' before the
    /// extension
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Also write when the program and prefetching read what to this file as CSV; under mpirun or
    /// srun, with 'rank-N' before the extension
    #[arg(long, value_name = "FILE", requires = "prefetch")]
    prefetch_timeline: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

impl RunArguments {
    /// Where the summary of this rank is written to.
    fn summary_file(&self, place: Option<RankInJob>) -> Option<PathBuf> {
        own_file(self.summary.as_deref()?, place)
    }

    /// Where the timeline of this rank is written to.
    fn timeline_file(&self, place: Option<RankInJob>) -> Option<PathBuf> {
        own_file(self.prefetch_timeline.as_deref()?, place)
    }
}

fn own_file(file: &Path, place: Option<RankInJob>) -> Option<PathBuf> {
    Some(place.map_or_else(|| file.to_owned(), |place| place.own_file(file)))
}

/// What is known about a run besides its I/O.
struct Ran {
    application: String,
    command: Vec<OsString>,
    kind: ExecutableKind,
    disabled: bool,
    place: Option<RankInJob>,
    ending: Ending,
    wall_s: f64,
    own_cpu_s: f64,
}

/// Runs the subcommand; the exit code is the program's.
pub fn run(arguments: &RunArguments) -> Result<ExitCode> {
    let found = find(&arguments.command[0], std::env::var_os("PATH").as_deref());
    let done = match found {
        Ok(path) => RunPlan::make(arguments, path)?.perform()?,
        Err(not_started) => Err(not_started),
    };
    match done {
        Ok(summary) => {
            deliver(arguments, &summary);
            summary.ending.imitate();
            Ok(ExitCode::from(summary.ending.shell_code()))
        }
        Err(not_started) => {
            say(&not_started);
            Ok(ExitCode::from(not_started.code))
        }
    }
}

/// Prints or writes the summary wherever it was asked for. If that fails somewhere, a
/// message says so, but the run does not count as failed.
fn deliver(arguments: &RunArguments, summary: &RunSummary) {
    let place = summary.rank.map(|rank| RankInJob { rank, world_size: summary.world_size });
    if !arguments.settings.quiet {
        output::print_error_text(&summary::render(summary, Screen::of_stderr()));
    }
    let file = arguments.summary_file(place);
    let written = file.map_or(Ok(()), |file| write(&file, summary));
    // Several documents on one standard output could not be parsed.
    let prints = arguments.json && place.is_none_or(|place| place.rank == 0);
    let printed = if prints { output::print_json(summary) } else { Ok(()) };
    for error in [written, printed].into_iter().filter_map(Result::err) {
        failure::report(&error);
    }
}

fn write(file: &Path, summary: &RunSummary) -> Result<()> {
    let mut document = serde_json::to_vec_pretty(summary)?;
    document.push(b'\n');
    output::write_file_soon(file, &document)
}
