// SPDX-License-Identifier: MIT OR Apache-2.0

//! What imports and exports have in common: formats, and what was written.

use std::path::Path;

use anyhow::Result;
use clap::ValueEnum;
use ioracle_trace::Written;
use serde_json::json;

use crate::shared::failure::without_lenient;
use crate::shared::numbers::counted;
use crate::shared::output::{self, say};

/// Formats that traces are converted from and to.
#[derive(Clone, Copy, ValueEnum)]
pub enum TableFormat {
    /// CSV tables, see docs/csv-traces.md
    Csv,
}

/// Reports what was written, for people or scripts.
pub fn report(source: &Path, written: &Written, as_json: bool) -> Result<()> {
    let (source, directory) = (source.display(), written.directory.display());
    if let (skipped @ 1.., Some(first)) = (written.n_skipped, &written.first_skipped) {
        let (rows, first) = (counted(skipped, "row"), without_lenient(first));
        say(format_args!("{source}: skipped {rows} that could not be read, the first: {first}"));
    }
    if let Some(why) = &written.incomplete {
        say(format_args!("{source}: the recording {why}"));
    }
    if as_json {
        return output::print_json(&json!({
            "source": source.to_string(),
            "trace": directory.to_string(),
            "events": written.n_events,
            "ranks": written.n_ranks,
            "contexts": written.n_contexts,
            "files": written.n_files,
            "bytes": n_bytes(&written.directory),
            "skipped": written.n_skipped,
            "incomplete": written.incomplete,
        }));
    }
    output::print_text(&format!(
        "{directory}: {} of {}, {} and {} in {}\n",
        counted(written.n_events, "event"),
        counted(written.n_ranks as u64, "rank"),
        counted(written.n_contexts, "call stack"),
        counted(written.n_files, "file"),
        counted(n_bytes(&written.directory), "byte"),
    ))
}

/// Of all files in a directory.
fn n_bytes(directory: &Path) -> u64 {
    let files = directory.read_dir().into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
}
