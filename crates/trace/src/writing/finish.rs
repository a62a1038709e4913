// SPDX-License-Identifier: MIT OR Apache-2.0

//! The end of a recording: its description.

use std::fs;
use std::path::{Path, PathBuf};

use ioracle_events::{ProcessIdentity, application};
use serde_json::Value;

use crate::error::Error;
use crate::events::Events;
use crate::meta::Meta;
use crate::trace::Trace;
use crate::writing::description::{Counts, Description, MetaDocument};
use crate::writing::log::LoggedProcess;
use crate::writing::part::{TemporaryFile, unwritable};
use crate::writing::ranks::ProcessRanks;

/// What a finished trace holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The directory.
    pub directory: PathBuf,
    /// Events.
    pub n_events: u64,
    /// Ranks with at least one event.
    pub n_ranks: usize,
    /// Call stacks.
    pub n_contexts: u64,
    /// Files.
    pub n_files: u64,
    /// Parts of an earlier recording that were damaged and left out.
    pub n_damaged: u64,
    /// Events of the trace it was made of that could not be read.
    pub n_skipped: u64,
    /// Why the first of them could not.
    pub first_skipped: Option<String>,
    /// Why events are missing from the recording, in words.
    pub incomplete: Option<String>,
}

/// Why the first thing was skipped in a trace.
pub(crate) fn first_skipped(trace: &Trace, events: &Events<'_>) -> Option<String> {
    trace.first_skipped().or(events.first_skipped()).map(ToString::to_string)
}

/// What is known about a trace whose events are all written.
pub(crate) struct About<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) processes: &'a [LoggedProcess],
    pub(crate) counts: Counts,
    pub(crate) n_contexts: u64,
    pub(crate) n_files: u64,
    pub(crate) n_damaged: u64,
    pub(crate) incomplete: Option<String>,
}

/// Writes the description of a trace.
pub(crate) fn describe(about: About<'_>, description: &Description) -> Result<Written, Error> {
    let About { directory, processes, counts, n_contexts, n_files, n_damaged, incomplete } = about;
    let mut document = document(description, processes);
    counts.write_into(&mut document, &ProcessRanks::new(processes));
    document.distinct_stacks = n_contexts;
    document.distinct_files = n_files;
    document.incomplete.clone_from(&incomplete);
    let text = match *description == Description::default() {
        true => merged(directory, &document),
        false => serde_json::to_vec_pretty(&document),
    };
    let mut text = text.map_err(|error| unwritable(&directory.join("meta.json"), error.into()))?;
    text.push(b'\n');
    TemporaryFile::of_bytes(directory, "meta.json", &text)?.appear()?;
    Ok(Written {
        directory: directory.into(),
        n_events: document.events,
        n_ranks: document.ranks,
        n_contexts,
        n_files,
        n_damaged,
        n_skipped: 0,
        first_skipped: None,
        incomplete,
    })
}

/// Describes a recording that is left unfinished: what is counted is not known yet.
pub(crate) fn describe_unfinished(
    directory: &Path,
    processes: &[LoggedProcess],
    description: &Description,
) -> Result<(), Error> {
    let fail = |error: serde_json::Error| unwritable(&directory.join("meta.json"), error.into());
    let mut value = serde_json::to_value(document(description, processes)).map_err(fail)?;
    if let Value::Object(fields) = &mut value {
        fields.retain(|name, _| !COUNTED.contains(&&**name));
    }
    let mut text = serde_json::to_vec_pretty(&value).map_err(fail)?;
    text.push(b'\n');
    // Not synced: on many file systems that would wait for all raw records.
    let (part, file) = (directory.join("meta.json.part"), directory.join("meta.json"));
    fs::write(&part, &text)
        .and_then(|()| fs::rename(&part, &file))
        .map_err(|source| unwritable(&file, source))
}

/// What is counted again when a trace is repaired.
const COUNTED: [&str; 8] = [
    "ranks",
    "event_span_s",
    "events",
    "events_per_rank",
    "events_per_level",
    "events_per_op",
    "distinct_stacks",
    "distinct_files",
];

/// A description with what the existing one says about the run: a trace that was cut
/// off after it was finished has one.
fn merged(directory: &Path, document: &MetaDocument) -> serde_json::Result<Vec<u8>> {
    let mut new = serde_json::to_value(document)?;
    let there = Meta::in_directory(directory).ok().flatten();
    let there = there.and_then(|(_, bytes)| serde_json::from_slice::<Value>(&bytes).ok());
    if let (Some(Value::Object(there)), Value::Object(new)) = (there, &mut new) {
        let kept = there.into_iter().filter(|(name, _)| !COUNTED.contains(&&**name));
        // New faults are listed before earlier ones.
        new.extend(kept.filter(|(name, _)| name != "incomplete" || document.incomplete.is_none()));
    }
    serde_json::to_vec_pretty(&new)
}

fn document(description: &Description, processes: &[LoggedProcess]) -> MetaDocument {
    let description = description.clone();
    let first = processes.first();
    let or = |text: String, known: Option<&str>| match text.is_empty() {
        true => known.unwrap_or_default().to_owned(),
        false => text,
    };
    let runs = first.filter(|process| !process.executable.is_empty()).map(|process| {
        let arguments: Vec<String> = process.command.split(' ').map(str::to_owned).collect();
        let (variables, executable) = (&[], &process.executable);
        application(&ProcessIdentity {
            variables,
            exported: None,
            executable,
            arguments: &arguments,
        })
    });
    MetaDocument {
        application: or(description.application, runs.as_deref()),
        command: or(description.command, first.map(|process| &*process.command)),
        processes: processes.len(),
        wall_s: description.wall_s,
        processes_seen: description.processes_seen,
        not_recorded: description.not_recorded,
        prefetch: description.prefetch,
        knowledge: description.knowledge,
        notes: description.notes,
        ..MetaDocument::default()
    }
}
