// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle run`: starts a program with the capture library, follows its I/O
//! while it runs, and says in the end what was seen.
//!
//! The main thread stands between the program and its caller ([`supervise`]),
//! another one follows the spool ([`watch`]). What they leave is put together
//! in [`report`] and shown by [`render`].

mod session;
mod settings;

mod launch;
mod learner;
mod model;
mod publish;
mod ranks;
mod signals;
mod supervise;

mod bursts;
mod tally;
mod watch;

mod advice;
mod alike;
mod render;
mod report;
mod summary;
mod unseen;
mod variables;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use ioracle_trace::Times;

use self::ranks::Place;
use self::session::Plan;
use self::settings::Settings;
use self::summary::Summary;
use self::supervise::Ending;
use crate::shared::executable::Kind;
use crate::shared::failure;
use crate::shared::find::find;
use crate::shared::output::{self, say};
use crate::shared::table::Colours;

const EXAMPLES: &str = "\
Examples:
  ioracle run -- ./simulation input.nml           watch a program, then say what it did
  ioracle run --record trace -- ./simulation      keep the trace for 'ioracle eval'
  ioracle run --model sim.model -- ./simulation   predict from what earlier runs have learned
  ioracle run -- mpirun -n 4 ./simulation         all ranks on this machine
  mpirun -n 4 ioracle run -- ./simulation         each rank on its own, on many machines

The summary goes to standard error. The exit code is the program's; if a signal ended it, the
same signal ends ioracle. 127: the command was not found; 126: it cannot be started; 1: capture
could not be set up, and the program was not started; 2: wrong use.";

/// Run a program and watch its I/O
#[derive(clap::Args)]
#[command(after_help = format!("{}\n\n{EXAMPLES}", settings::variables_without_flag()))]
pub struct Arguments {
    /// The program and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true)]
    command: Vec<OsString>,
    /// Name of the application (default: that of the command)
    #[arg(long, value_name = "APP")]
    name: Option<String>,
    /// Keep the trace in this directory; below mpirun or srun in 'rank-N' in it
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// How exactly the trace keeps times: exact, 1us (start and end to the microsecond) or 1%
    /// (waits and durations to a percent); coarser ones make it smaller
    #[arg(long, value_name = "PRECISION", default_value_t, requires = "record")]
    times: Times,
    /// Begin with what earlier runs have learned, if the file is there, and save it with what this one
    /// adds
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    /// Print the summary as one JSON document on standard output; below mpirun or srun rank 0 does
    #[arg(long)]
    json: bool,
    /// Write the summary as a JSON document to this file, too; below mpirun or srun 'rank-N' is put
    /// before its extension
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    #[command(flatten)]
    settings: Settings,
}

impl Arguments {
    /// Where the summary of this rank is written to.
    fn summary_file(&self, place: Option<Place>) -> Option<PathBuf> {
        let file = self.summary.as_ref()?;
        Some(place.map_or_else(|| file.clone(), |place| place.own_file(file)))
    }
}

/// What is known of a run besides its I/O.
struct Ran {
    application: String,
    command: Vec<OsString>,
    kind: Kind,
    disabled: bool,
    place: Option<Place>,
    ending: Ending,
    wall_s: f64,
    own_cpu_s: f64,
}

/// Runs the subcommand; the exit code is the program's.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let found = find(&arguments.command[0], std::env::var_os("PATH").as_deref());
    let done = match found {
        Ok(path) => Plan::make(arguments, path)?.perform()?,
        Err(not_started) => Err(not_started),
    };
    match done {
        Ok(summary) => {
            tell(arguments, &summary);
            summary.ending.imitate();
            Ok(ExitCode::from(summary.ending.shell_code()))
        }
        Err(not_started) => {
            say(&not_started);
            Ok(ExitCode::from(not_started.code))
        }
    }
}

/// Tells the summary wherever it was asked for. If that fails somewhere, it is
/// said, and the program's run is no failure for it.
fn tell(arguments: &Arguments, summary: &Summary) {
    let place = summary.rank.map(|rank| Place { rank, world_size: summary.world_size });
    if !arguments.settings.quiet {
        output::print_error_text(&render::render(summary, Colours::for_stderr()));
    }
    let file = arguments.summary_file(place);
    let written = file.map_or(Ok(()), |file| write(&file, summary));
    // Of many documents on one standard output nothing could be read.
    let prints = arguments.json && place.is_none_or(|place| place.rank == 0);
    let printed = if prints { output::print_json(summary) } else { Ok(()) };
    for error in [written, printed].into_iter().filter_map(Result::err) {
        failure::report(&error);
    }
}

fn write(file: &Path, summary: &Summary) -> Result<()> {
    let mut document = serde_json::to_vec_pretty(summary)?;
    document.push(b'\n');
    output::write_file(file, &document)
}
