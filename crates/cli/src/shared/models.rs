// SPDX-License-Identifier: MIT OR Apache-2.0

//! Saved models as files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use ioracle_oracle::Model;

use crate::shared::output::write_file;

/// No model of ours comes near this; a file beyond it is something else.
const MAX_MODEL_BYTES: u64 = 1 << 28;

/// Reads a model; any damage is told in one sentence.
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

/// Writes a saved model; returns its size.
pub fn write(path: &Path, bytes: &[u8]) -> Result<u64> {
    write_file(path, bytes)?;
    Ok(bytes.len() as u64)
}
