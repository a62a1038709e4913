// SPDX-License-Identifier: MIT OR Apache-2.0

//! Records of a job in raw form, in the directory of its recording.
//!
//! Keeping is separate from learning and coding. A [`RawKeeper`] moves what the
//! processes of a job have recorded from the spool to files beside the trace, as fast
//! as it can be copied; a [`Follower`](crate::Follower) reads it there at its own pace.
//! What has not been coded when the run is over stays in raw form, and all readers of
//! traces read it ([`replay`]).
//!
//! ```text
//! raw/definitions        streams, call stacks, paths; grows until the trace is finished
//! raw/records-00000001   records; deleted once they are in the trace
//! raw/records-00000002
//! ```
//!
//! A file is a head and frames. Definitions are written before the records that name
//! them, so a reader that notes how far the records go, and then reads all definitions,
//! knows what these records mean.

mod frames;
mod keeper;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

pub use keeper::RawKeeper;
pub(crate) use keeper::lock;
pub(crate) use reader::{RawReader, RawTail};

/// The directory in that of the trace.
const DIRECTORY: &str = "raw";
const DAMAGED: &str = "raw.damaged";
const DEFINITIONS: &str = "definitions";
const RECORDS: &str = "records-";

fn records_name(number: u32) -> String {
    format!("{RECORDS}{number:08}")
}

/// The directory of raw records in that of a trace.
pub(crate) fn directory_in(trace: &Path) -> PathBuf {
    trace.join(DIRECTORY)
}

/// Whether there are raw records beside a trace.
pub(crate) fn is_in(trace: &Path) -> bool {
    directory_in(trace).join(DEFINITIONS).is_file()
}

/// Names of the files with raw records beside a trace, in the order of reading, and
/// behind them the one with definitions.
fn files_in(trace: &Path) -> Vec<PathBuf> {
    let directory = directory_in(trace);
    let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
    let is_records = |name: &str| {
        name.strip_prefix(RECORDS)
            .is_some_and(|number| number.len() == 8 && number.parse::<u32>().is_ok())
    };
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|name| is_records(name)).collect();
    names.sort_unstable();
    names.push(DEFINITIONS.to_owned());
    names.into_iter().map(|name| directory.join(name)).collect()
}

/// That raw files cannot be read.
pub(crate) fn unreadable(path: &Path, source: io::Error) -> Error {
    Error::Unreadable { path: path.to_string_lossy().into(), source }
}

/// Gives raw records that could not be read to their end another name.
pub(crate) fn set_aside(trace: &Path) -> io::Result<()> {
    fs::rename(directory_in(trace), trace.join(DAMAGED))
}

/// Deletes the raw records beside a trace, definitions last; the bytes that were freed.
pub(crate) fn remove(trace: &Path) -> io::Result<u64> {
    if !is_in(trace) {
        return Ok(0);
    }
    let mut n_bytes = 0;
    for file in files_in(trace) {
        n_bytes += fs::metadata(&file).map_or(0, |it| it.len());
        fs::remove_file(&file)?;
    }
    fs::remove_dir(directory_in(trace))?;
    Ok(n_bytes)
}
