// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle live`: a running job in the terminal, as its status file shows it.
//!
//! What is shown is text made for a width and a height ([`lines`]); the terminal, its
//! keys and its resizing are in [`screen`].

mod lines;
mod screen;

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use self::lines::{Choice, LiveView};
pub use self::screen::leave;
use self::screen::{Key, LiveScreen};
use crate::shared::jobs::{self, FoundJob};
use crate::shared::output;
use crate::shared::process::is_alive;
use crate::shared::status::{JobStatus, Silence, StatusReader};

const EXAMPLES: &str = "\
Examples:
  ioracle live              the running job of this user; if there are several, choose one
  ioracle live 4711         the job whose 'ioracle run' is process 4711
  ioracle live simulation   the job of this application
  ioracle run --live -- ./simulation
                            run a program and watch it

Keys: q, Esc or Ctrl-C leave the view; the job continues.";

/// Time between two looks at the job.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// After this long without news, check whether the job is still there.
const SILENT: Duration = Duration::from_millis(1500);

/// Watch a running job in the terminal
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct LiveArguments {
    /// The job: the process number of its 'ioracle run', its directory, or the name of its
    /// application (default: the running one)
    #[arg(value_name = "JOB")]
    job: Option<String>,
    /// Look in this directory too
    #[arg(long, value_name = "DIR", env = ioracle_spool::settings::DIR, hide_env_values = true)]
    dir: Option<PathBuf>,
    /// Show the end of the file on standard input, where the program's output goes; for
    /// 'run --live'
    #[arg(long, hide = true)]
    output: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &LiveArguments) -> Result<()> {
    check_terminal()?;
    let found = match &arguments.job {
        Some(job) => jobs::named(job, arguments.dir.as_deref())?,
        None => jobs::running(arguments.dir.as_deref()),
    };
    if found.is_empty() {
        bail!("no job of this user runs on this machine; start one with 'ioracle run -- COMMAND'");
    }
    let mut screen = LiveScreen::open()?;
    let chosen = match <[FoundJob; 1]>::try_from(found) {
        Ok([only]) => Some(only),
        Err(several) => choose(several, &mut screen)?,
    };
    let Some(job) = chosen else { return Ok(()) };
    let output = arguments.output.then(|| io::stdin().as_fd().try_clone_to_owned()).transpose();
    let output = output.context("could not read the program's output")?.map(File::from);
    if output.is_some() {
        screen.leave_without(job.reader, was_killed(&job))?;
    }
    let end = watch(&job, output.as_ref(), &mut screen);
    drop(screen);
    // Under 'run --live' the summary says so.
    match end? {
        LiveEnd::Ended(name) if !arguments.output => {
            output::print_text(&format!("{name} has ended\n"))
        }
        LiveEnd::Ended(_) | LiveEnd::Left => Ok(()),
    }
}

/// Refuses a terminal that cannot be drawn on.
pub fn check_terminal() -> Result<()> {
    let term = std::env::var("TERM").unwrap_or_default();
    if matches!(term.as_str(), "" | "dumb") {
        bail!(
            "the live view needs a terminal that can be drawn on, and TERM is '{term}'; \
             'ioracle jobs' prints how jobs are doing"
        );
    }
    let tty = std::fs::File::options().read(true).write(true).open("/dev/tty");
    if !tty.is_ok_and(|tty| tty.is_terminal()) {
        bail!(
            "the live view needs a terminal, and there is none here; 'ioracle jobs' prints how \
             jobs are doing"
        );
    }
    Ok(())
}

/// Lets the user choose one of several jobs; none if they leave.
fn choose(found: Vec<FoundJob>, screen: &mut LiveScreen) -> Result<Option<FoundJob>> {
    let mut readers: Vec<_> =
        found.iter().map(|job| StatusReader::open(&job.directory).ok()).collect();
    let mut statuses: Vec<Option<JobStatus>> = vec![None; found.len()];
    let mut selected = 0;
    loop {
        for (reader, status) in readers.iter_mut().zip(&mut statuses) {
            if let Some(Ok(news)) = reader.as_mut().map(StatusReader::news) {
                *status = Some(news);
            }
        }
        let jobs: Vec<_> = found.iter().map(|job| job.reader).zip(&statuses).collect();
        screen.draw(|width, height| Choice { jobs: &jobs, selected }.lines(width, height))?;
        match screen.key(LOOK_EVERY)? {
            Some(Key::Leave) => return Ok(None),
            Some(Key::Up) => selected = selected.saturating_sub(1),
            Some(Key::Down) => selected = (selected + 1).min(found.len() - 1),
            Some(Key::Choose) => return Ok(found.into_iter().nth(selected)),
            None => {}
        }
    }
}

/// How a look at a job ended.
enum LiveEnd {
    /// The user has left.
    Left,
    /// The job of this name is over.
    Ended(String),
}

/// The message for a job without its reader.
fn was_killed(job: &FoundJob) -> String {
    format!("the 'ioracle run' of this job was killed; {}", jobs::how_to_recover(&job.directory))
}

/// Shows a job until it ends or the user leaves.
fn watch(job: &FoundJob, output: Option<&File>, screen: &mut LiveScreen) -> Result<LiveEnd> {
    // Until it has said its name.
    let mut name = format!("the job in '{}'", job.directory.display());
    let mut reader = match StatusReader::open(&job.directory) {
        Ok(reader) => reader,
        Err(Silence::Ended) => return Ok(LiveEnd::Ended(name)),
        Err(silence) => bail!(
            "the job in '{}' cannot be shown: {}",
            job.directory.display(),
            silence.sentence()
        ),
    };
    let without_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let mut view = LiveView::new(output.is_some(), without_colour);
    let mut answered = Instant::now();
    loop {
        match reader.news() {
            Ok(status) => {
                name = format!("the job '{}'", status.application);
                view.update(status);
                answered = Instant::now();
            }
            Err(Silence::Ended) => return Ok(LiveEnd::Ended(name)),
            Err(silence) if answered.elapsed() > SILENT => {
                if job.reader != 0 && !is_alive(job.reader) {
                    bail!(was_killed(job));
                }
                view.trouble = Some(silence.sentence());
            }
            Err(_) => {}
        }
        if let (Some(lines), Some(file)) = (&mut view.output, output) {
            *lines = lines::end_of_file(file);
        }
        screen.draw(|width, height| view.lines(width, height))?;
        if let Some(Key::Leave) = screen.key(LOOK_EVERY)? {
            return Ok(LiveEnd::Left);
        }
    }
}
