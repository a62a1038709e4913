// SPDX-License-Identifier: MIT OR Apache-2.0

//! The description of a trace. It is for people: nothing that is learned depends on it,
//! and a trace can be read without it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use crate::error::Error;

/// The most bytes that `meta.json` may have.
pub const MAX_META_BYTES: u64 = 1 << 24;

/// The content of `meta.json`; any field may be missing, and there may be others.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Meta {
    /// The application that was recorded.
    pub application: String,
    /// Its version, and those of the libraries below it.
    pub version: String,
    /// How it was started.
    pub command: String,
    /// How many ranks made at least one recorded call.
    pub ranks: Option<u32>,
    /// How many events the trace holds.
    pub events: Option<u64>,
    /// Wall-clock time of the whole run, in seconds.
    pub wall_s: Option<f64>,
    /// From the start of the first event to the end of the last, in seconds.
    pub event_span_s: Option<f64>,
    /// Processes of the job, also those that made no recorded call.
    pub processes_seen: Option<u64>,
    /// Calls that were seen but not recorded, by cause.
    pub not_recorded: BTreeMap<String, u64>,
    /// When each rank started, relative to the earliest one.
    pub rank_start_offset_ns: BTreeMap<u32, u64>,
    /// Why events are missing from the recording, in words.
    pub incomplete: Option<String>,
    /// What prefetching did, as `ioracle run --json` prints it.
    pub prefetch: Option<Value>,
    /// What the knowledge graph knew, as `ioracle run --json` prints it.
    pub knowledge: Option<Value>,
    /// Other remarks.
    pub notes: String,
}

/// The name of a description, and what is in it.
pub(crate) type MetaFile = (Arc<str>, Vec<u8>);

impl Meta {
    /// The bytes of `meta.json` in a directory, if it is there.
    pub(crate) fn in_directory(directory: &Path) -> Result<Option<MetaFile>, Error> {
        let file = directory.join("meta.json");
        let path: Arc<str> = file.to_string_lossy().into();
        match fs::metadata(&file) {
            Ok(metadata) if !metadata.is_file() => return Err(Error::NotAFile { path }),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(Error::Unreadable { path, source }),
        }
        let mut bytes = Vec::new();
        let read = File::open(&file)
            .and_then(|file| file.take(MAX_META_BYTES + 1).read_to_end(&mut bytes));
        match read {
            Ok(_) => Ok(Some((path, bytes))),
            Err(source) => Err(Error::Unreadable { path, source }),
        }
    }

    pub(crate) fn parse(path: &Arc<str>, bytes: &[u8]) -> Result<Meta, Error> {
        let error = |reason: String| Error::Meta { path: path.clone(), reason: reason.into() };
        if bytes.len() as u64 > MAX_META_BYTES {
            return Err(error(format!("it is larger than {MAX_META_BYTES} bytes")));
        }
        serde_json::from_slice(bytes).map_err(|cause| error(cause.to_string()))
    }
}
