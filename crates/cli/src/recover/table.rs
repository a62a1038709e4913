// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was found, for people: numbers and what they count, one per line.

use crate::recover::found::{RecoveredJob, RecoveredTrace};
use crate::shared::numbers::{counted, grouped, noun_for};
use crate::shared::table::{Cell, Colours, Tone};

/// A number and what it counts.
type Line = (u64, String, Tone);

/// The text for standard output.
pub fn render(found: &RecoveredTrace, colours: Colours) -> String {
    let (source, trace) = (found.source.display(), found.written.directory.display());
    let mut text = match &found.job {
        Some(RecoveredJob { continued: true, .. }) => {
            format!("{source}: what was left was added to the recording in {trace}\n")
        }
        Some(_) => format!("{source}: recovered to {trace}\n"),
        None => format!("{trace}: the recording is finished\n"),
    };
    let lines = lines(found);
    let width = lines.iter().map(|(n, ..)| grouped(*n).len()).max().unwrap_or(0);
    for (n, what, tone) in lines {
        let line = Cell::new(format!("{:>width$}  {what}", grouped(n)), tone);
        text.push_str(&format!("  {}\n", colours.paint(&line)));
    }
    if let Some(why) = &found.written.incomplete {
        text.push_str(&format!("The recording {why}.\n"));
    }
    for sentence in found.job.iter().flat_map(|job| &job.damaged) {
        text.push_str(&format!("damaged: {sentence}\n"));
    }
    match (&found.job, found.removed) {
        (Some(_), Some(true)) => text.push_str("The job's directory was deleted.\n"),
        (Some(_), None) => {
            text.push_str("The job's directory was kept; --remove deletes it.\n");
        }
        // The reason why it could not be deleted is on standard error.
        _ => {}
    }
    text
}

fn lines(found: &RecoveredTrace) -> Vec<Line> {
    let written = &found.written;
    let ranks = counted(written.n_ranks as u64, "rank");
    let is_continued = found.job.as_ref().is_some_and(|job| job.continued);
    let in_all = if is_continued { " in all" } else { "" };
    let mut lines = vec![
        (written.n_events, format!("{} of {ranks}{in_all}", noun_for(written.n_events, "event"))),
        (written.n_contexts, noun_for(written.n_contexts, "call stack")),
        (written.n_files, noun_for(written.n_files, "file")),
    ];
    if let Some(job) = &found.job {
        let (processes, threads) =
            (noun_for(job.n_processes, "process"), counted(job.n_streams, "thread"));
        lines.push(match job.continued {
            // The numbers above are those of the whole trace.
            true => {
                let (events, processes) =
                    (noun_for(job.n_events, "event"), counted(job.n_processes, "process"));
                (job.n_events, format!("{events} in what was left, of {processes} with {threads}"))
            }
            false => (job.n_processes, format!("{processes} with {threads}")),
        });
    }
    let there = lines.into_iter().map(|(n, what)| (n, what, Tone::Plain));
    let n_damaged = written.n_damaged;
    let what = format!("{} of the recording, damaged and skipped", noun_for(n_damaged, "part"));
    let damaged = (n_damaged > 0).then_some((n_damaged, what, Tone::Bad));
    there.chain(damaged).chain(found.job.iter().flat_map(missing)).collect()
}

/// What is not in the trace.
fn missing(job: &RecoveredJob) -> Vec<Line> {
    let not_recorded = job.not_recorded.iter().map(|missing| {
        (missing.n_calls, "call", format!("not recorded because {}", missing.because))
    });
    // What that reader took, it had recorded in the same place.
    let n_lost = if job.continued { 0 } else { job.n_taken_before };
    let others = [
        (job.n_holes, "call", "whose record was started and never finished"),
        (n_lost, "record", "taken by an earlier reader"),
        (job.n_io_uring, "request", "to io_uring, not recorded"),
        (job.n_damaged, "fault", "in the files of the job"),
    ];
    let others = others.map(|(n, noun, what)| (n, noun, what.to_owned()));
    let all = not_recorded.chain(others).filter(|(n, ..)| *n > 0);
    all.map(|(n, noun, what)| (n, format!("{} {what}", noun_for(n, noun)), Tone::Bad)).collect()
}
