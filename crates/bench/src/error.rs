// SPDX-License-Identifier: MIT OR Apache-2.0

//! Why a benchmark cannot go on.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why a benchmark cannot begin, or cannot go on.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BenchError {
    #[error("{0}")]
    Unusable(String),
    #[error("there is no directory '{}'; create it, or name another one", .0.display())]
    NoDirectory(PathBuf),
    #[error(
        "'{}' is a symbolic link to '{}'; name that directory itself if it is what you mean",
        link.display(), target.display()
    )]
    Link { link: PathBuf, target: PathBuf },
    #[error(
        "the directory '{}' may not be written to ({reason}); name another one", path.display()
    )]
    NotWritable { path: PathBuf, reason: String },
    #[error(
        "the benchmark needs {:.1} MB in '{}', where {:.1} MB are free, and takes at most half of \
         that; free more space, or use smaller blocks or fewer tasks",
        *needed as f64 / 1e6, path.display(), *free as f64 / 1e6
    )]
    NoRoom { path: PathBuf, needed: u64, free: u64 },
    #[error("the file system of '{}' is full; free some space, or use smaller blocks", .0.display())]
    Full(PathBuf),
    #[error("could not {action} in '{}': {source}", place.display())]
    Io { action: &'static str, place: PathBuf, source: io::Error },
    #[error("task {task} failed: {reason}")]
    Task { task: u32, reason: String },
    #[error("interrupted")]
    Interrupted,
}

impl BenchError {
    /// Something that failed in a directory; a full one has its own sentence.
    pub(crate) fn io(action: &'static str, place: &std::path::Path) -> impl Fn(io::Error) -> Self {
        let place = place.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                BenchError::Full(place.clone())
            }
            _ => BenchError::Io { action, place: place.clone(), source },
        }
    }
}
