// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle recover`: a trace from what a job left behind.
//!
//! What is left is either the directory in which the processes of a job
//! recorded (its reader was killed), or the directory of a trace whose writer
//! was killed before it was finished. If both are there, the first is added to
//! the second.

mod discard;
mod found;
mod json;
mod table;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use ioracle_trace::{
    Description, Follower, ReadOptions, TimePrecision, Trace, TraceRecorder, Written, repair,
};

use crate::recover::found::{EarlierRecording, RecoveredTrace};
use crate::shared::failure::WrongUse;
use crate::shared::numbers::counted;
use crate::shared::output;
use crate::shared::process::is_alive;
use crate::shared::table::Colours;
use crate::shared::text::shell_quoted;

const EXAMPLES: &str = "\
Examples:
  ioracle recover /dev/shm/ioracle-4711-8c2f0a91 -o trace    what the processes of a job recorded
  ioracle recover trace                                      a recording that was not finished
  ioracle recover trace --discard                            delete it instead
  ioracle eval trace                                         what to do with it next

A job leaves its directory behind when 'ioracle run' was killed; the next
'ioracle run' and 'ioracle doctor' name it. It is kept unless --remove is given.";

/// Recover a trace from a killed job
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RecoverArguments {
    /// Directory of a job or of an unfinished recording
    #[arg(value_name = "DIRECTORY")]
    directory: PathBuf,
    /// Where to write the trace of a job; an unfinished recording is completed in place
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Working directory of the job; paths inside it are written relative to it
    /// (default: the current directory)
    #[arg(long, value_name = "DIR")]
    relative_to: Option<PathBuf>,
    /// Precision of times in a new trace: exact, 1us or 1%
    #[arg(long, value_name = "PRECISION", default_value_t)]
    times: TimePrecision,
    /// Read the job even if another process is reading it and may take records away
    #[arg(long)]
    force: bool,
    /// Delete the job's directory once the trace is written
    #[arg(long, conflicts_with = "force")]
    remove: bool,
    /// Delete what was left, the directory of a job or a recording that was not
    /// finished, instead of turning it into a trace
    #[arg(long, conflicts_with_all = ["output", "relative_to", "force", "remove"])]
    discard: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &RecoverArguments) -> Result<()> {
    let directory = &arguments.directory;
    if arguments.discard {
        return discard::run(directory, arguments.json);
    }
    let (found, kept) = if !is_job(directory) && TraceRecorder::is_unfinished(directory) {
        (finish_recording(arguments)?, Ok(()))
    } else {
        recover_job(arguments)?
    };
    if arguments.json {
        output::print_json(&json::document(&found))?;
    } else {
        output::print_text(&table::render(&found, Colours::for_stdout()))?;
    }
    kept
}

fn is_job(directory: &Path) -> bool {
    directory.join(ioracle_spool::layout::JOB_FILE).exists()
}

fn finish_recording(arguments: &RecoverArguments) -> Result<RecoveredTrace> {
    if arguments.output.is_some() {
        let sentence = "a recording is completed in its own directory; leave out -o";
        return Err(WrongUse(sentence.to_owned()).into());
    }
    let written = repair(&arguments.directory)?;
    Ok(RecoveredTrace::recording(&arguments.directory, written))
}

/// Explains how to continue if a directory holds a recording per rank.
fn refuse_ranks(directory: &Path) -> Result<()> {
    let entries = directory.read_dir().into_iter().flatten().flatten();
    let mut ranks: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| TraceRecorder::is_unfinished(path))
        .collect();
    ranks.sort();
    match ranks.first() {
        Some(first) => Err(WrongUse(format!(
            "'{}' contains {}; finish each of them: 'ioracle recover {}' and so on",
            directory.display(),
            counted(ranks.len() as u64, "unfinished recording"),
            shell_quoted(first)
        ))
        .into()),
        None => Ok(()),
    }
}

/// Explains that there is nothing to do if a directory holds a whole trace.
fn refuse_trace(directory: &Path) -> Result<()> {
    match Trace::open(directory, ReadOptions::default()) {
        Ok(_) => bail!(
            "'{}' contains a complete trace; there is nothing to recover, read it as it is",
            directory.display()
        ),
        Err(_) => Ok(()),
    }
}

/// Writes the trace of a job; also whether the job could be removed, if that
/// was asked for.
fn recover_job(arguments: &RecoverArguments) -> Result<(RecoveredTrace, Result<()>)> {
    if !is_job(&arguments.directory) {
        refuse_ranks(&arguments.directory)?;
        refuse_trace(&arguments.directory)?;
    }
    let mut follower = Follower::open(&arguments.directory)?;
    let Some(output) = &arguments.output else {
        return Err(WrongUse("name the directory to write the trace to with -o".to_owned()).into());
    };
    if let Some(reader) = follower.other_reader().filter(|_| !arguments.force) {
        bail!(
            "the job '{}' is being read by process {reader}; wait until it ends, or read what is there now with --force",
            arguments.directory.display()
        );
    }
    follower.relative_to(&working_directory(arguments)?);
    let recording = match TraceRecorder::is_unfinished(output) {
        true => EarlierRecording::Continued,
        false => EarlierRecording::New,
    };
    let written = write(&mut follower, recording, output, arguments.times)?;
    let mut found = RecoveredTrace::job(&arguments.directory, &follower, recording, written);
    if !arguments.remove {
        return Ok((found, Ok(())));
    }
    let removed = remove(follower, &arguments.directory);
    found.removed = Some(removed.is_ok());
    Ok((found, removed))
}

fn working_directory(arguments: &RecoverArguments) -> Result<PathBuf> {
    match &arguments.relative_to {
        Some(directory) => Ok(std::path::absolute(directory)?),
        None => std::env::current_dir().context(
            "the current directory no longer exists; name that of the job with --relative-to",
        ),
    }
}

/// Writes all that there is. If that fails, a recording that was begun here is removed
/// again: the job still has everything.
fn write(
    follower: &mut Follower,
    recording: EarlierRecording,
    output: &Path,
    times: TimePrecision,
) -> Result<Written> {
    if recording == EarlierRecording::Continued {
        let mut writer = TraceRecorder::reopen(output)?;
        follower.finish(&mut writer)?;
        return Ok(writer.finish(&description(follower))?);
    }
    let mut writer = TraceRecorder::create(output, times)?;
    if let Err(error) = follower.finish(&mut writer) {
        writer.discard()?;
        return Err(error.into());
    }
    let finished = writer.finish(&description(follower));
    if finished.is_err() && TraceRecorder::is_unfinished(output) {
        TraceRecorder::reopen(output)?.discard()?;
    }
    Ok(finished?)
}

fn description(follower: &Follower) -> Description {
    let missing = follower.totals().not_recorded();
    let first = follower.processes().first();
    Description {
        application: first.map(|process| process.application.clone()).unwrap_or_default(),
        not_recorded: missing.iter().map(|row| (row.cause.to_owned(), row.n_calls)).collect(),
        notes: "recovered from what the job left behind".to_owned(),
        ..Description::default()
    }
}

/// Deletes the job's directory, unless a process of it still writes there.
fn remove(follower: Follower, directory: &Path) -> Result<()> {
    if let Some(process) = follower.processes().iter().find(|process| is_alive(process.pid)) {
        bail!(
            "the trace is written, but '{}' was not removed: process {} of the job is still running; remove it when that has ended",
            directory.display(),
            process.pid
        );
    }
    Ok(follower.remove()?)
}
