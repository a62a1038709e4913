// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the directories of running jobs are made, and what earlier jobs have
//! left there.

use std::collections::BTreeSet;
use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ioracle_spool::settings;

use crate::shared::output::is_writable;
use crate::shared::process::is_alive;
use crate::shared::status::{self, Silence, StatusReader};
use crate::shared::text::shell_quoted;

/// How names of job directories begin; the number of the reading process
/// follows.
const PREFIX: &str = "ioracle-";

/// The directory for jobs: the given one, else the first of the usual ones that
/// can be written to.
pub fn base(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        if is_writable(given) {
            // The program may change its directory.
            return Ok(std::path::absolute(given)?);
        }
        bail!(
            "'{}' is not a writable directory; name another one with --dir or {}",
            given.display(),
            settings::DIR
        );
    }
    let usual = usual();
    match usual.iter().find(|place| is_writable(place)) {
        Some(place) => Ok(place.clone()),
        None => bail!(
            "none of {} is writable; name a directory with --dir or {}",
            usual
                .iter()
                .map(|place| format!("'{}'", place.display()))
                .collect::<Vec<_>>()
                .join(", "),
            settings::DIR
        ),
    }
}

fn usual() -> Vec<PathBuf> {
    let named = |variable| env::var_os(variable).filter(|value| !value.is_empty());
    let temporary = named("TMPDIR").unwrap_or_else(|| "/tmp".into());
    let places = [named("XDG_RUNTIME_DIR"), Some("/dev/shm".into()), Some(temporary)];
    places.into_iter().flatten().map(PathBuf::from).collect()
}

/// Directories that jobs of this user have left in `base` without a reader that
/// is alive, in the order of their names.
pub fn left_behind(base: &Path) -> Vec<PathBuf> {
    let Ok(entries) = base.read_dir() else { return Vec::new() };
    let us = rustix::process::geteuid().as_raw();
    let mut left: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().and_then(reader_of).is_some_and(is_gone))
        .map(|entry| entry.path())
        .filter(|path| {
            path.symlink_metadata().is_ok_and(|about| about.is_dir() && about.uid() == us)
        })
        .filter(|path| path.join(ioracle_spool::layout::JOB_FILE).is_file())
        .collect();
    left.sort();
    left
}

/// How to turn what a job has left into a trace: the commands in their order, since
/// a recording that is finished first takes no more events.
pub fn how_to_recover(directory: &Path) -> String {
    format!(
        "'ioracle recover {} -o TRACE' turns what it left into a trace (if it was recorded with \
         --record DIR, name DIR as TRACE, and do this before any 'ioracle recover DIR')",
        shell_quoted(directory)
    )
}

/// The directory of a job.
pub struct FoundJob {
    pub directory: PathBuf,
    /// The process that made it.
    pub reader: u32,
    pub is_alive: bool,
}

/// The jobs of this user, in a given directory and in the usual ones, in the order
/// of their names.
pub fn find(given: Option<&Path>) -> Vec<FoundJob> {
    let us = rustix::process::geteuid().as_raw();
    let bases: BTreeSet<PathBuf> =
        given.map(Path::to_path_buf).into_iter().chain(usual()).collect();
    let mut found = Vec::new();
    for entry in bases.iter().filter_map(|base| base.read_dir().ok()).flatten().flatten() {
        let Some(reader) = entry.file_name().to_str().and_then(reader_of) else { continue };
        let directory = entry.path();
        let about = directory.symlink_metadata();
        let is_ours = about.is_ok_and(|about| about.is_dir() && about.uid() == us);
        if is_ours && directory.join(ioracle_spool::layout::JOB_FILE).is_file() {
            found.push(FoundJob { directory, reader, is_alive: !is_gone(reader) });
        }
    }
    found.sort_by(|one, other| one.directory.cmp(&other.directory));
    found
}

/// Jobs that run.
pub fn running(dir: Option<&Path>) -> Vec<FoundJob> {
    find(dir).into_iter().filter(|job| job.is_alive).collect()
}

/// The jobs that a word of the command line stands for.
pub fn named(word: &str, dir: Option<&Path>) -> Result<Vec<FoundJob>> {
    let is_path = word.contains('/') || Path::new(word).is_dir();
    if is_path {
        let directory = Path::new(word);
        let job = FoundJob {
            directory: directory.to_owned(),
            reader: reader(directory).unwrap_or(0),
            is_alive: true,
        };
        return match StatusReader::open(directory) {
            Ok(_) => Ok(vec![job]),
            Err(Silence::Ended) => bail!("'{word}' is no directory of a job; is it over?"),
            Err(silence) => bail!("the job in '{word}' cannot be shown: {}", silence.sentence()),
        };
    }
    let found = running(dir);
    if let Ok(pid) = word.parse::<u32>() {
        let its: Vec<FoundJob> = found.into_iter().filter(|job| job.reader == pid).collect();
        if its.is_empty() {
            bail!("no 'ioracle run' of this user is process {pid}; 'ioracle jobs' lists them");
        }
        return Ok(its);
    }
    let is_named =
        |job: &FoundJob| status::ask(&job.directory).is_ok_and(|status| status.application == word);
    let its: Vec<FoundJob> = found.into_iter().filter(is_named).collect();
    if its.is_empty() {
        bail!("no job of an application '{word}' runs here; 'ioracle jobs' lists those that do");
    }
    Ok(its)
}

/// The process that made a directory.
pub fn reader(directory: &Path) -> Option<u32> {
    directory.file_name()?.to_str().and_then(reader_of)
}

/// The process that made a directory of this name.
fn reader_of(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

fn is_gone(process: u32) -> bool {
    Path::new("/proc/self").exists() && !is_alive(process)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_base_that_cannot_be_written_to_is_refused_in_one_sentence() {
        let error = base(Some(Path::new("/no/such/place"))).unwrap_err().to_string();
        assert!(error.contains("/no/such/place") && error.contains("--dir"), "{error}");
        let here = tempfile::tempdir().unwrap();
        assert_eq!(base(Some(here.path())).unwrap(), here.path());
    }

    #[test]
    fn only_jobs_without_a_living_reader_are_left_behind() {
        let here = tempfile::tempdir().unwrap();
        let alive = format!("ioracle-{}-abc", std::process::id());
        for name in ["ioracle-4194305-abc", "other", "ioracle-x", &alive] {
            fs::create_dir(here.path().join(name)).unwrap();
            fs::write(here.path().join(name).join("job"), "").unwrap();
        }
        fs::create_dir(here.path().join("ioracle-4194305-empty")).unwrap();
        assert_eq!(left_behind(here.path()), [here.path().join("ioracle-4194305-abc")]);
    }
}
