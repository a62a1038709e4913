// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where requests come from: a table of them, or a recorded trace of which each
//! process is a server.

use std::path::Path;

use anyhow::{Context, Result};
use ioracle_events::{Access, Event, Layer};
use ioracle_pattern::{Request, RequestKind, RequestReader};
use ioracle_trace::{ReadOptions, Trace};

/// Hands each request of each server to `take`, with the server's name, one
/// server after the other.
pub fn for_each_request(
    path: &Path,
    mut take: impl FnMut(&str, &Request) -> Result<()>,
) -> Result<()> {
    if !path.is_dir() {
        let name = server_name(path).unwrap_or_else(|| path.to_string_lossy().into_owned());
        for request in RequestReader::open(path)? {
            take(&name, &request?)?;
        }
        return Ok(());
    }
    let trace = Trace::open(path, ReadOptions::default())?;
    for event in trace.events(None)? {
        let event = event?;
        if let Some(request) = request_of(&event) {
            take(&format!("rank {}", event.stream.rank), &request)?;
        }
    }
    Ok(())
}

/// The requests of a process, below a directory only if one is given, in the
/// order in which they began.
pub fn requests_of_trace(
    path: &Path,
    rank: u32,
    under: Option<&str>,
) -> Result<Vec<(Request, String)>> {
    let trace = Trace::open(path, ReadOptions::default())?;
    let mut requests = Vec::new();
    for event in trace.events(Some(rank))? {
        let event = event?;
        let Some(request) = request_of(&event) else { continue };
        let name = trace.files().get(event.file).context("an event names no file")?;
        let is_below = |directory: &str| {
            let rest = name.strip_prefix(directory.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.starts_with('/'))
        };
        if under.is_none_or(is_below) {
            requests.push((request, name.to_owned()));
        }
    }
    requests.sort_by_key(|(request, _)| request.time_ns);
    Ok(requests)
}

/// The request that a call made, if it moved data.
pub fn request_of(event: &Event) -> Option<Request> {
    let kind = match event.function.access() {
        Access::Read => RequestKind::Read,
        Access::Write => RequestKind::Write,
        _ => return None,
    };
    let is_atomic = matches!(event.function.layer(), Layer::Posix | Layer::Stdio);
    if event.failed() || !is_atomic {
        return None;
    }
    Some(Request {
        time_ns: event.start_ns,
        file: u64::from(event.file.0),
        kind,
        offset: event.offset?,
        size: event.transferred(),
    })
}

/// The name of a table of requests without `.csv` or `.csv.zst`; `None` for any
/// other file.
pub fn server_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".csv").or_else(|| name.strip_suffix(".csv.zst"))?;
    (!stem.is_empty() && !stem.starts_with('.')).then(|| stem.to_owned())
}
