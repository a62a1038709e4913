// SPDX-License-Identifier: MIT OR Apache-2.0

//! Saved models as files.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use ioracle_oracle::{Model, Oracle};

use crate::shared::output::write_file;

/// No model is nearly this large; a larger file is something else.
const MAX_MODEL_BYTES: u64 = 1 << 28;

/// Reads a model; any damage is reported in one sentence.
pub fn read(path: &Path) -> Result<Model> {
    let name = path.display();
    let unreadable = || {
        format!("could not read the model '{name}'; name a file that 'ioracle model save' wrote")
    };
    // Before it is opened: a pipe would wait for a writer that never comes.
    let metadata = std::fs::metadata(path).with_context(unreadable)?;
    if !metadata.is_file() {
        bail!("'{name}' is not a regular file; name one that 'ioracle model save' wrote");
    }
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(unreadable)?;
    file.take(MAX_MODEL_BYTES + 1).read_to_end(&mut bytes).with_context(unreadable)?;
    if bytes.len() as u64 > MAX_MODEL_BYTES {
        bail!("'{name}' is larger than any model of ioracle; save one with 'ioracle model save'");
    }
    Model::load(&bytes).with_context(|| format!("could not use '{name}'"))
}

/// One oracle of a model that was read from there: by number, or else the one that has
/// seen most operations.
pub fn one_of(path: &Path, model: Model, number: Option<usize>) -> Result<Oracle> {
    let Some(number) = number else { return Ok(model.into_busiest()) };
    let n_oracles = model.roles().map(|view| view.number + 1).max().unwrap_or(0);
    model.into_oracle(number).with_context(|| {
        format!(
            "the model '{}' has no oracle {number}, they count from 0 to {}; 'ioracle model show' \
             lists them",
            path.display(),
            n_oracles.saturating_sub(1)
        )
    })
}

/// Writes a saved model; returns its size.
pub fn write(path: &Path, bytes: &[u8]) -> Result<u64> {
    write_file(path, bytes)?;
    Ok(bytes.len() as u64)
}

/// The state of a file at some time; it differs once the file is replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStamp {
    place: (u64, u64),
    changed: (i64, i64),
    bytes: u64,
}

impl FileStamp {
    /// Of the file as it is now; `None` if there is none.
    pub fn of(path: &Path) -> Option<FileStamp> {
        let now = std::fs::metadata(path).ok()?;
        Some(FileStamp {
            place: (now.dev(), now.ino()),
            changed: (now.mtime(), now.mtime_nsec()),
            bytes: now.len(),
        })
    }
}
