// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle jobs`: the running jobs of this user, as they report themselves.

use std::fmt::Write;
use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;

use crate::shared::jobs::{self, FoundJob};
use crate::shared::numbers::{bytes, counted, duration};
use crate::shared::output;
use crate::shared::status::{self, JobStatus, Silence, ThreadStatus, clock, soon, traffic};

const EXAMPLES: &str = "\
Examples:
  ioracle jobs              the running jobs of this user on this machine
  ioracle jobs --json       the same for scripts

Each job has a second and a half to answer.";

/// List the running jobs of this user
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct JobsArguments {
    /// Look in this directory too
    #[arg(long, value_name = "DIR", env = ioracle_spool::settings::DIR, hide_env_values = true)]
    dir: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ListedJob {
    #[serde(serialize_with = "crate::shared::text::as_path")]
    directory: PathBuf,
    pid: u32,
    /// `running`, `left` by a reader that was killed, or `ended` meanwhile.
    state: &'static str,
    status: Option<JobStatus>,
    /// Why there is no status.
    note: Option<String>,
}

/// Runs the subcommand.
pub fn run(arguments: &JobsArguments) -> Result<()> {
    let found = jobs::find(arguments.dir.as_deref());
    // In parallel, so that the waits for those that do not answer overlap.
    let listed: Vec<ListedJob> = std::thread::scope(|scope| {
        let asked: Vec<_> =
            found.into_iter().map(|job| scope.spawn(move || look_at(job))).collect();
        asked.into_iter().filter_map(|asked| asked.join().ok()).collect()
    });
    if arguments.json {
        return output::print_json(&serde_json::json!({ "format": 1, "jobs": listed }));
    }
    output::print_text(&table(&listed))
}

fn look_at(FoundJob { directory, reader, is_alive }: FoundJob) -> ListedJob {
    if !is_alive {
        let note = format!("its 'ioracle run' was killed; {}", jobs::how_to_recover(&directory));
        return ListedJob { directory, pid: reader, state: "left", status: None, note: Some(note) };
    }
    let (state, status, note) = match status::ask(&directory) {
        Ok(status) => ("running", Some(status), None),
        Err(silence) => {
            let state = if silence == Silence::Ended { "ended" } else { "running" };
            (state, None, Some(silence.sentence().to_owned()))
        }
    };
    ListedJob { directory, pid: reader, state, status, note }
}

fn table(jobs: &[ListedJob]) -> String {
    if jobs.is_empty() {
        return "no jobs of this user on this machine\n".to_owned();
    }
    let mut text = String::new();
    for job in jobs {
        // Writing to a string cannot fail.
        let _ = match (&job.status, &job.note) {
            (Some(status), _) => write!(text, "{}", running(job, status)),
            (None, note) => {
                let note = note.as_deref().unwrap_or_default();
                writeln!(text, "{} (process {}): {note}", job.directory.display(), job.pid)
            }
        };
    }
    text
}

fn running(job: &ListedJob, status: &JobStatus) -> String {
    let mut text = format!(
        "{} (process {}, {}): {}, {}, {}\n",
        status.application,
        job.pid,
        clock(status.elapsed_s),
        counted(status.processes, "process"),
        counted(status.streams, "thread"),
        traffic(status),
    );
    if let Some(score) = &status.score {
        let _ = writeln!(
            text,
            "  predicted: {:.1} % of {}, {:.1} % of the bytes",
            score.context_accuracy,
            counted(score.operations, "operation"),
            score.hit_ratio
        );
    }
    for stream in &status.busiest {
        let _ = writeln!(text, "  {}", thread(stream));
    }
    text
}

fn thread(stream: &ThreadStatus) -> String {
    let mut text = format!("thread {}.{}", stream.process, stream.thread);
    for turns in &stream.loops {
        let _ = write!(text, ", {}", turns.in_words());
    }
    if let Some(inside_s) = stream.inside_s {
        let _ = write!(text, ", inside a call for {}", duration(inside_s));
    }
    if let Some(next) = stream.next.first() {
        let _ = write!(text, "; next: {}", next.function);
        if next.size > 0 {
            let _ = write!(text, " of {}", bytes(next.size));
        }
        let _ = write!(text, ", {}", next.file);
    }
    if let Some(burst) = &stream.next_burst {
        let _ = write!(text, "; next burst {}: {}", soon(burst.in_s), bytes(burst.bytes));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::status::NextStatus;

    #[test]
    fn numbers_are_written_as_in_the_live_view() {
        let next = |function: &str, size| ThreadStatus {
            inside_s: Some(0.25),
            next: vec![NextStatus {
                function: function.to_owned(),
                file: "out".to_owned(),
                size,
                ..NextStatus::default()
            }],
            ..ThreadStatus::default()
        };
        let status = JobStatus {
            application: "app".to_owned(),
            elapsed_s: 62.0,
            processes: 1,
            streams: 2,
            events: 8196,
            bytes_written: 1,
            busiest: vec![next("open", 0), next("fgetc", 1)],
            ..JobStatus::default()
        };
        let job =
            ListedJob { directory: "/".into(), pid: 7, state: "running", status: None, note: None };
        assert_eq!(
            running(&job, &status),
            "app (process 7, 1:02): 1 process, 2 threads, 8,196 calls (0/s), read 0 B (0 B/s), \
             wrote 1 B (0 B/s)\n  \
             thread 0.0, inside a call for 250.0 ms; next: open, out\n  \
             thread 0.0, inside a call for 250.0 ms; next: fgetc of 1 B, out\n"
        );
    }
}
