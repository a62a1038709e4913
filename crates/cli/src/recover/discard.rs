// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle recover --discard`: deletes what a job left behind.

use std::path::Path;

use anyhow::{Result, bail};
use ioracle_events::Event;
use ioracle_trace::{Follower, Observer, ProcessNumber, TraceRecorder};
use serde_json::json;

use crate::recover::{is_job, refuse_ranks, refuse_trace};
use crate::shared::output;
use crate::shared::process::is_alive;

/// Deletes a job, or a recording that was not finished, that no process is using.
pub fn run(directory: &Path, as_json: bool) -> Result<()> {
    if is_job(directory) {
        discard_job(directory)?;
    } else {
        if !TraceRecorder::is_unfinished(directory) {
            refuse_ranks(directory)?;
            refuse_trace(directory)?;
        }
        TraceRecorder::discard_unfinished(directory)?;
        // Stays if it holds something else.
        let _ = std::fs::remove_dir(directory);
    }
    match as_json {
        true => output::print_json(&json!({ "source": directory, "discarded": true })),
        false => output::print_text(&format!("{}: discarded\n", directory.display())),
    }
}

fn discard_job(directory: &Path) -> Result<()> {
    let mut follower = Follower::open(directory)?;
    if let Some(reader) = follower.other_reader() {
        bail!(
            "the job '{}' is being read by process {reader}; wait for its end",
            directory.display()
        );
    }
    // The processes of a job are known only after reading it.
    follower.finish(&mut Nobody)?;
    if let Some(process) = follower.processes().iter().find(|process| is_alive(process.pid)) {
        bail!(
            "'{}' was not deleted: process {} of the job is still running; discard it when that has ended",
            directory.display(),
            process.pid
        );
    }
    Ok(follower.remove()?)
}

/// Ignores everything.
struct Nobody;

impl Observer for Nobody {
    fn event(&mut self, _: ProcessNumber, _: &Event) {}
}
