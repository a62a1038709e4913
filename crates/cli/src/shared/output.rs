// SPDX-License-Identifier: MIT OR Apache-2.0

//! Standard output, and files that appear whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result};
use serde::Serialize;

/// Prints one JSON document.
pub fn print_json(document: &impl Serialize) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, document)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// Prints text as it is.
pub fn print_text(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Writes a file under a temporary name beside its place and renames it, so
/// that no reader ever sees half of it.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".ioracle-").tempfile_in(directory)?;
        file.write_all(bytes)?;
        set_usual_permissions(file.as_file())?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        Ok(())
    };
    write().with_context(|| format!("could not write '{}'", path.display()))
}

/// A temporary file is readable by its owner only; the result is for everyone
/// that a new file would be for. The mask cannot be asked without setting it,
/// so the common one is assumed.
fn set_usual_permissions(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}
