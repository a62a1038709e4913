// SPDX-License-Identifier: MIT OR Apache-2.0

//! Labelled runs in a directory: `DIR/<label>/<repetition>/<server>.csv[.zst]`.
//!
//! `DIR/labels.csv` may give directories other labels. What is neither a
//! directory nor a table of requests is ignored.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::pattern::source::server_name;

/// One run as one server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFile {
    /// What should match.
    pub label: String,
    /// The table of requests.
    pub path: PathBuf,
}

/// All runs of each server, by its name.
pub fn find(directory: &Path) -> Result<BTreeMap<String, Vec<RunFile>>> {
    let labels = read_labels(&directory.join("labels.csv"))?;
    let mut servers: BTreeMap<String, Vec<RunFile>> = BTreeMap::new();
    for (name, benchmark) in directories(directory)? {
        let label = labels.get(&name).unwrap_or(&name);
        for (_, repetition) in directories(&benchmark)? {
            for path in entries(&repetition)?.into_iter().filter(|path| path.is_file()) {
                let Some(server) = server_name(&path) else { continue };
                servers.entry(server).or_default().push(RunFile { label: label.clone(), path });
            }
        }
    }
    if servers.is_empty() {
        bail!(
            "'{}' contains no labelled runs; they are expected in <label>/<repetition>/<server>.csv or .csv.zst",
            directory.display()
        );
    }
    Ok(servers)
}

fn directories(directory: &Path) -> Result<Vec<(String, PathBuf)>> {
    let named = |path: PathBuf| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        (path.is_dir() && !name.starts_with('.')).then_some((name, path))
    };
    Ok(entries(directory)?.into_iter().filter_map(named).collect())
}

/// Sorted, so that the same seed gives the same order everywhere.
fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let listed = || {
        let entries = fs::read_dir(directory)?.map(|entry| entry.map(|entry| entry.path()));
        entries.collect::<std::io::Result<Vec<PathBuf>>>()
    };
    let mut paths = listed().with_context(|| {
        format!("could not list '{}'; name a directory of labelled runs", directory.display())
    })?;
    paths.sort();
    Ok(paths)
}

const LABELS_HEADER: &str = "directory,label";

fn read_labels(path: &Path) -> Result<BTreeMap<String, String>> {
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    let text = fs::read_to_string(path)
        .with_context(|| format!("could not read '{}'; correct it or remove it", path.display()))?;
    let mut lines = text.lines();
    if lines.next() != Some(LABELS_HEADER) {
        bail!("'{}', line 1: the header is not '{LABELS_HEADER}'; correct it", path.display());
    }
    let mut labels = BTreeMap::new();
    for (index, line) in lines.enumerate().filter(|(_, line)| !line.is_empty()) {
        let Some((directory, label)) = line.split_once(',') else {
            bail!(
                "'{}', line {}: there is no comma between directory and label; correct the line",
                path.display(),
                index + 2
            );
        };
        labels.insert(directory.to_owned(), label.to_owned());
    }
    Ok(labels)
}
