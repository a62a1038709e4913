// SPDX-License-Identifier: MIT OR Apache-2.0

//! Directories for new traces.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::writing::part::unwritable;

/// A directory for a trace. If it was made for that, and nothing has come into
/// it, it goes away with this value; directories above it likewise.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Those that were not there, the innermost first.
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
        // One that holds something is not removed, nor those above it.
        let _ = self.made.iter().try_for_each(fs::remove_dir);
    }
}
