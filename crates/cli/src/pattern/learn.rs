// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern learn` and `match`: the patterns of recorded requests, added
//! to what is known or only compared with it.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ioracle_pattern::{
    KnownPattern, Pattern, PatternConfig, PatternMatcher, PatternWatcher, RecognisedSlice, Slicer,
};
use serde::Serialize;

use crate::pattern::Preset;
use crate::pattern::source::for_each_request;
use crate::shared::numbers::{counted, grouped};
use crate::shared::output;
use crate::shared::progress::Progress;
use crate::shared::table::{Alignment, Colours, TextTable};

const LEARN_EXAMPLES: &str = "\
Examples:
  ioracle pattern learn monday.csv.zst tuesday.csv.zst --known server.db
  ioracle pattern learn trace --known server.db         each process of a recorded trace";

/// Add the patterns of recorded requests to those that are known
#[derive(clap::Args)]
#[command(after_help = LEARN_EXAMPLES)]
pub struct LearnArguments {
    /// Tables of requests (.csv or .csv.zst), or directories of recorded traces
    #[arg(value_name = "REQUESTS", required = true)]
    requests: Vec<PathBuf>,
    /// The file of known patterns, which is created if it does not exist
    #[arg(long, value_name = "DB")]
    known: PathBuf,
    /// The paper's constants
    #[arg(long, value_enum, default_value_t)]
    preset: Preset,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

const MATCH_EXAMPLES: &str = "\
Examples:
  ioracle pattern match wednesday.csv.zst --known server.db
  ioracle pattern match trace --known server.db --json

New patterns are compared with later slices, but not written to the file.";

/// Say which known pattern each slice of recorded requests matches
#[derive(clap::Args)]
#[command(after_help = MATCH_EXAMPLES)]
pub struct MatchArguments {
    /// A table of requests (.csv or .csv.zst), or the directory of a recorded trace
    #[arg(value_name = "REQUESTS")]
    requests: PathBuf,
    /// The file of known patterns
    #[arg(long, value_name = "DB")]
    known: PathBuf,
    /// The paper's constants
    #[arg(long, value_enum, default_value_t)]
    preset: Preset,
    /// Print one JSON document: an array with an object per slice
    #[arg(long)]
    json: bool,
}

/// A known pattern as it is printed.
#[derive(Debug, Serialize)]
struct KnownRow {
    pattern: u32,
    kind: &'static str,
    seen: u64,
    files: u64,
    reads: u64,
    writes: u64,
}

/// A slice as it is printed.
#[derive(Debug, Serialize)]
struct SliceRow {
    server: String,
    slice: u64,
    pattern: u32,
    known: bool,
    score: f64,
    kind: &'static str,
    files: u64,
    reads: u64,
    writes: u64,
    since: u64,
    next: Option<u32>,
    next_in: Option<u64>,
    next_probability: Option<f64>,
}

/// Runs `learn`.
pub fn learn(arguments: &LearnArguments) -> Result<()> {
    let mut watcher = PatternWatcher::new(arguments.preset.config());
    watcher.load(&arguments.known)?;
    let (mut n_slices, mut n_known) = (0, 0);
    for path in &arguments.requests {
        for_each_slice(path, arguments.preset, |_, pattern| {
            n_slices += 1;
            n_known += u64::from(watcher.recognise(pattern).is_match);
        })?;
    }
    watcher.save(&arguments.known)?;
    let rows: Vec<KnownRow> = watcher.matcher().patterns().map(known_row).collect();
    if arguments.json {
        return output::print_json(&serde_json::json!({
            "slices": n_slices,
            "matched": n_known,
            "patterns": rows,
        }));
    }
    let mut text = known_table(&rows).render(Colours::for_stdout());
    text.push_str(&format!(
        "{}: {}, {} of them known; {} in all\n",
        arguments.known.display(),
        counted(n_slices, "slice"),
        grouped(n_known),
        counted(watcher.matcher().known() as u64, "pattern"),
    ));
    output::print_text(&text)
}

/// Runs `match`.
pub fn match_known(arguments: &MatchArguments) -> Result<()> {
    if !arguments.known.exists() {
        bail!(
            "there is no file '{}' of known patterns; make one with 'ioracle pattern learn'",
            arguments.known.display()
        );
    }
    let mut watcher = PatternWatcher::new(arguments.preset.config());
    watcher.load(&arguments.known)?;
    let mut rows = Vec::new();
    for_each_slice(&arguments.requests, arguments.preset, |server, pattern| {
        let slice = rows.len() as u64;
        rows.push(slice_row(server, slice, &watcher.recognise(pattern)));
    })?;
    match arguments.json {
        true => output::print_json(&rows),
        false => output::print_text(&slice_table(&rows).render(Colours::for_stdout())),
    }
}

/// Hands over the patterns of each server in the order of time.
fn for_each_slice(path: &Path, preset: Preset, mut take: impl FnMut(&str, Pattern)) -> Result<()> {
    let mut slicer: Option<(String, Slicer)> = None;
    let progress = Progress::new();
    let read = for_each_request(path, |server, request| {
        if slicer.as_ref().is_none_or(|(name, _)| name != server) {
            if let Some((name, mut slicer)) = slicer.take() {
                slicer.finish().into_iter().for_each(|pattern| take(&name, pattern));
            }
            slicer = Some((
                server.to_owned(),
                Slicer::new(PatternConfig { splits_at_loads: true, ..preset.config() }),
            ));
        }
        let Some((name, slicer)) = &mut slicer else { return Ok(()) };
        slicer.observe(request).into_iter().for_each(|pattern| take(name, pattern));
        Ok(())
    });
    progress.finish();
    read?;
    if let Some((name, mut slicer)) = slicer {
        slicer.finish().into_iter().for_each(|pattern| take(&name, pattern));
    }
    Ok(())
}

fn known_row(known: &KnownPattern) -> KnownRow {
    KnownRow {
        pattern: known.id.0,
        kind: known.kind.name(),
        seen: known.n_seen,
        files: known.counts.files,
        reads: known.counts.reads,
        writes: known.counts.writes,
    }
}

fn slice_row(server: &str, slice: u64, found: &RecognisedSlice) -> SliceRow {
    SliceRow {
        server: server.to_owned(),
        slice,
        pattern: found.id.0,
        known: found.is_match,
        score: found.score,
        kind: found.kind.name(),
        files: found.counts.files,
        reads: found.counts.reads,
        writes: found.counts.writes,
        since: found.since,
        next: found.next.map(|next| next.id.0),
        next_in: found.next.map(|next| next.slices),
        next_probability: found.next.map(|next| next.probability),
    }
}

fn known_table(rows: &[KnownRow]) -> TextTable {
    let columns =
        ["pattern", "seen", "files", "reads", "writes"].map(|name| (name, Alignment::Right));
    let mut table = TextTable::new(&[&columns[..], &[("kind", Alignment::Left)]].concat());
    for row in rows {
        let numbers = [u64::from(row.pattern), row.seen, row.files, row.reads, row.writes];
        let mut cells: Vec<_> = numbers.iter().map(|number| grouped(*number).into()).collect();
        cells.push(row.kind.into());
        table.push(cells);
    }
    table
}

fn slice_table(rows: &[SliceRow]) -> TextTable {
    let mut table = TextTable::new(&[
        ("server", Alignment::Left),
        ("slice", Alignment::Right),
        ("pattern", Alignment::Right),
        ("", Alignment::Left),
        ("score", Alignment::Right),
        ("kind", Alignment::Left),
        ("requests", Alignment::Right),
        ("files", Alignment::Right),
        ("since", Alignment::Right),
        ("next", Alignment::Left),
    ]);
    for row in rows {
        let next = match (row.next, row.next_in) {
            (Some(next), Some(slices)) => format!("{next} in {}", counted(slices, "slice")),
            _ => String::new(),
        };
        table.push(vec![
            row.server.as_str().into(),
            grouped(row.slice).into(),
            row.pattern.to_string().into(),
            if row.known { "known" } else { "new" }.into(),
            format!("{:.2}", row.score).into(),
            row.kind.into(),
            grouped(row.reads + row.writes).into(),
            grouped(row.files).into(),
            grouped(row.since).into(),
            next.into(),
        ]);
    }
    table
}
