// SPDX-License-Identifier: MIT OR Apache-2.0

//! Directories for new traces.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::writing::part::unwritable;

/// A directory for a trace. If it was created for that and is still empty, it is
/// removed with this value, and so are directories above it.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Directories that did not exist, the innermost first.
    made: Vec<PathBuf>,
}

impl Directory {
    pub(crate) fn create(path: &Path) -> Result<Directory, Error> {
        let missing = path.ancestors().filter(|path| !path.as_os_str().is_empty());
        let made = missing.take_while(|path| !path.exists()).map(Path::to_owned).collect();
        let directory = Directory { made };
        match fs::create_dir_all(path) {
            Ok(()) => Ok(directory),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(Error::NoPlace { path: path.into() })
            }
            Err(source) => Err(unwritable(path, source)),
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A directory that is not empty stays, and so do those above it.
        let _ = self.made.iter().try_for_each(fs::remove_dir);
    }
}
