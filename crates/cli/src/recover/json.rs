// SPDX-License-Identifier: MIT OR Apache-2.0

//! What was found, for scripts. Names are a contract.

use ioracle_events::path_text;
use serde_json::{Map, Value, json};

use crate::recover::found::{RecoveredJob, RecoveredTrace};

/// The document.
pub fn document(found: &RecoveredTrace) -> Value {
    let written = &found.written;
    let mut document = json!({
        "source": path_text(&found.source),
        "trace": path_text(&written.directory),
        "events": written.n_events,
        "ranks": written.n_ranks,
        "contexts": written.n_contexts,
        "files": written.n_files,
        "damaged_parts": written.n_damaged,
        "incomplete": written.incomplete,
        "removed": found.removed == Some(true),
    });
    if let Some(job) = &found.job {
        document["job"] = of_job(job);
    }
    document
}

fn of_job(job: &RecoveredJob) -> Value {
    let not_recorded: Map<String, Value> =
        job.not_recorded.iter().map(|row| (row.cause.to_owned(), row.n_calls.into())).collect();
    json!({
        "processes": job.n_processes,
        "streams": job.n_streams,
        "events": job.n_events,
        "not_recorded": not_recorded,
        "holes": job.n_holes,
        "taken_before": job.n_taken_before,
        "continued": job.continued,
        "io_uring": job.n_io_uring,
        "damaged": job.damaged,
        "n_damaged": job.n_damaged,
    })
}
