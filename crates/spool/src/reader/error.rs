// SPDX-License-Identifier: MIT OR Apache-2.0

//! What can fail on the reader's side.

use std::io;
use std::path::PathBuf;

/// A job directory that cannot be made, read or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing can be made there.
    #[error("could not make the job directory '{}': {source}; name another place for it", path.display())]
    Create {
        /// The directory or the file in it.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It does not exist or we may not read it.
    #[error("could not open the job '{}': {source}", path.display())]
    Open {
        /// The directory or the file in it.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It exists, but is something else.
    #[error("'{}' is not the directory of a job: {why}", path.display())]
    NotAJob {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The directory could not be listed.
    #[error("could not look into the job directory '{}': {source}", path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Part of it could not be removed.
    #[error("could not remove the job directory '{}': {source}; remove it by hand", path.display())]
    Remove {
        /// The directory or the file in it.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}
