// SPDX-License-Identifier: MIT OR Apache-2.0

//! Standard output and error, and files that appear whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use rustix::fs::{Access, Advice, AtFlags, CWD, fadvise};
use serde::Serialize;

use crate::shared::text::without_control_characters;

/// Prints one JSON document.
pub fn print_json(document: &impl Serialize) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let printed = serde_json::to_writer_pretty(&mut out, document).map_err(io::Error::from);
    printed.and_then(|()| writeln!(out)).and_then(|()| out.flush()).map_err(not_printed)
}

/// Prints text as it is.
pub fn print_text(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(not_printed)
}

fn not_printed(error: io::Error) -> anyhow::Error {
    let sentence = format!(
        "could not write to standard output: {error}; {}redirect it to another place",
        or_free_space(&error)
    );
    anyhow::Error::from(error).context(sentence)
}

/// The first half of the advice on a failed write, where it helps.
fn or_free_space(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space there, or ",
        _ => "",
    }
}

/// Prints text on standard error, in one piece. If that is closed or full, nothing can
/// be reported.
pub fn print_error_text(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Says a sentence on standard error, which may contain names chosen by others. If that
/// is closed or full, nothing can be reported, and the work goes on.
pub fn say(sentence: impl std::fmt::Display) {
    let sentence = sentence.to_string();
    let lines: Vec<String> = sentence.split('\n').map(without_control_characters).collect();
    let _ = writeln!(io::stderr(), "ioracle: {}", lines.join("\n"));
}

/// Refuses a place where [`write_file`] could not write.
pub fn check_place(path: &Path) -> Result<()> {
    let (target, directory) = place_of(path)?;
    check_name(path, &target)?;
    if !is_writable(&directory) {
        bail!(
            "could not write '{}': the directory '{}' may not be written to; name another place",
            path.display(),
            directory.display()
        );
    }
    Ok(())
}

/// The same where the file is replaced under a [`Lock`](super::lock::Lock),
/// whose name is longer.
pub fn check_place_with_lock(path: &Path) -> Result<()> {
    check_place(path)?;
    check_name(path, &super::lock::path_for(&place_of(path)?.0))
}

/// Refuses a name that the file system does not take.
fn check_name(path: &Path, place: &Path) -> Result<()> {
    match std::fs::symlink_metadata(place) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            bail!("could not write '{}': {error}; name another place", path.display())
        }
        _ => Ok(()),
    }
}

/// Whether files can be made in a directory.
pub fn is_writable(place: &Path) -> bool {
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    place.is_dir() && rustix::fs::accessat(CWD, place, rights, AtFlags::EACCESS).is_ok()
}

/// The file that a path leads to, and its directory.
fn place_of(path: &Path) -> Result<(PathBuf, PathBuf)> {
    let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if target.exists() && !target.is_file() {
        bail!("'{}' is not a regular file; name another file to write to", path.display());
    }
    let parent = target.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = parent.unwrap_or(Path::new("."));
    if !directory.is_dir() {
        bail!(
            "could not write '{}': there is no directory '{}'; create it, or name another place",
            path.display(),
            directory.display()
        );
    }
    let directory = directory.to_owned();
    Ok((target, directory))
}

/// Writes a file under a temporary name beside its place and renames it, so that no
/// reader ever sees half of it. Links are followed; what is not a regular file (a
/// device, a directory) is never replaced. Returns when it is on disk.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes, |file| file.sync_all())
}

/// The same without waiting for the disk, for what `ioracle run` writes after the program
/// has ended: syncing took ten times as long as everything else there. Writing back starts
/// before the new file replaces the old one, so that a power failure rarely loses both.
pub fn write_file_soon(path: &Path, bytes: &[u8]) -> Result<()> {
    replace(path, bytes, |file| {
        // Dropping pages makes the kernel write back dirty ones first. Where it does not,
        // the file is written back like any other.
        let _ = fadvise(file, 0, None, Advice::DontNeed);
        Ok(())
    })
}

fn replace(
    path: &Path,
    bytes: &[u8],
    store: impl Fn(&std::fs::File) -> io::Result<()>,
) -> Result<()> {
    let (target, directory) = place_of(path)?;
    let write = || -> io::Result<()> {
        let mut file = tempfile::Builder::new().prefix(".ioracle-").tempfile_in(&directory)?;
        file.write_all(bytes)?;
        set_usual_permissions(file.as_file())?;
        store(file.as_file())?;
        file.persist(&target)?;
        Ok(())
    };
    // The text of the error names the temporary file, which nobody knows.
    write().map_err(|error| {
        let reason = io::Error::from(error.kind());
        let sentence = format!(
            "could not write '{}': {reason}; {}name another place",
            path.display(),
            or_free_space(&reason)
        );
        anyhow::Error::from(reason).context(sentence)
    })
}

/// A temporary file is readable by its owner only; the result gets the permissions of a
/// new file. The mask cannot be asked without setting it, so the common one is assumed.
fn set_usual_permissions(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::failure::sentence;

    #[test]
    fn a_full_disk_is_one_sentence_with_what_to_do() {
        let error = not_printed(io::Error::from(io::ErrorKind::StorageFull));
        let expected = "could not write to standard output: no storage space; free some space \
                        there, or redirect it to another place";
        assert_eq!(sentence(&error), expected);
        let error = not_printed(io::Error::from(io::ErrorKind::PermissionDenied));
        assert!(!sentence(&error).contains("free some space"), "{error}");
    }
}
