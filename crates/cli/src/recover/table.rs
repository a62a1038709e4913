// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was found, for people: numbers and what they count, one per line.

use crate::recover::found::{Found, FoundJob};
use crate::shared::numbers::grouped;
use crate::shared::table::{Cell, Colours, Tone};

/// A number and what it counts.
type Line = (u64, String, Tone);

/// The text for standard output.
pub fn render(found: &Found, colours: Colours) -> String {
    let (source, trace) = (found.source.display(), found.written.directory.display());
    let mut text = match &found.job {
        Some(FoundJob { continued: true, .. }) => {
            format!("{source}: what was left is added to the recording in {trace}\n")
        }
        Some(_) => format!("{source}: what was left is now the trace {trace}\n"),
        None => format!("{trace}: the recording is finished\n"),
    };
    let lines = lines(found);
    let width = lines.iter().map(|(n, ..)| grouped(*n).len()).max().unwrap_or(0);
    for (n, what, tone) in lines {
        let line = Cell::new(format!("{:>width$}  {what}", grouped(n)), tone);
        text.push_str(&format!("  {}\n", colours.paint(&line)));
    }
    for sentence in found.job.iter().flat_map(|job| &job.damaged) {
        text.push_str(&format!("damaged: {sentence}\n"));
    }
    match &found.job {
        Some(_) if found.removed => text.push_str("The job's directory is deleted.\n"),
        Some(_) => text.push_str("The job's directory is kept; --remove would delete it.\n"),
        None => {}
    }
    text
}

fn lines(found: &Found) -> Vec<Line> {
    let written = &found.written;
    let mut lines = vec![
        (written.n_events, format!("events of {}", counted(written.n_ranks as u64, "rank"))),
        (written.n_contexts, "call stacks".to_owned()),
        (written.n_files, "files".to_owned()),
    ];
    if let Some(job) = &found.job {
        lines.push((
            job.n_processes,
            format!("processes with {}", counted(job.n_streams, "thread")),
        ));
    }
    let there = lines.into_iter().map(|(n, what)| (n, what, Tone::Plain));
    there.chain(found.job.iter().flat_map(missing)).collect()
}

/// What is not in the trace.
fn missing(job: &FoundJob) -> Vec<Line> {
    let not_recorded = job.not_recorded.iter().map(|missing| {
        (missing.n_calls, format!("calls not recorded because {}", missing.because))
    });
    // What that reader took, it had recorded in the same place.
    let n_lost = if job.continued { 0 } else { job.n_taken_before };
    let others = [
        (job.n_holes, "calls whose record was begun and never finished"),
        (n_lost, "records taken by an earlier reader"),
        (job.n_io_uring, "requests to io_uring, which are not recorded"),
        (job.n_damaged, "faults in the files of the job"),
    ];
    let others = others.map(|(n, what)| (n, what.to_owned()));
    let all = not_recorded.chain(others).filter(|(n, _)| *n > 0);
    all.map(|(n, what)| (n, what, Tone::Bad)).collect()
}

fn counted(n: u64, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        _ => format!("{} {what}s", grouped(n)),
    }
}
