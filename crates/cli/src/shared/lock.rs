// SPDX-License-Identifier: MIT OR Apache-2.0

//! Locks a file while it is changed.
//!
//! The lock is an advisory lock on a separate file beside the target, because the
//! target itself is replaced by renaming. The holder removes that file before releasing
//! the lock, so none is left; a process that waited for the removed file starts over.
//! The lock of a process that dies is released too.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};

/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// Held until it is dropped.
pub struct Lock {
    path: PathBuf,
    _file: File,
}

impl Lock {
    /// Waits until nobody else holds the lock of the target, but not longer
    /// than `patience`.
    pub fn take(target: &Path, patience: Duration) -> Result<Lock> {
        let target = fs::canonicalize(target).unwrap_or_else(|_| target.to_owned());
        let path = path_for(&target);
        let failed = || format!("could not lock '{}'; name another place", target.display());
        let started = Instant::now();
        loop {
            if let Some(file) = try_to_take(&path).with_context(failed)? {
                return Ok(Lock { path, _file: file });
            }
            if started.elapsed() >= patience {
                bail!(
                    "'{}' has been locked by another process for {} s; wait for it, or remove '{}' \
                     if there is none",
                    target.display(),
                    patience.as_secs(),
                    path.display()
                );
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // If it cannot be removed, it does no harm.
        let _ = fs::remove_file(&self.path);
    }
}

/// `.NAME.lock` beside the target.
pub fn path_for(target: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(".lock");
    target.with_file_name(name)
}

/// The locked file, unless somebody else has it.
fn try_to_take(path: &Path) -> io::Result<Option<File>> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    // A link that somebody has put there is not followed.
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    let file = options.open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        // A file system without locks: better unlocked than not at all.
        Err(rustix::io::Errno::NOTSUP | rustix::io::Errno::NOSYS | rustix::io::Errno::NOLCK) => {}
        Err(error) => return Err(error.into()),
    }
    // The holder before us may have removed it in the meantime.
    let is_there = fs::metadata(path).is_ok_and(|found| {
        file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
    });
    Ok(is_there.then_some(file))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn only_one_holds_it_and_nothing_is_left() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("app.model");
        let (inside, n_turns) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..20 {
                        let _lock = Lock::take(&target, Duration::from_secs(60)).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        n_turns.fetch_add(1, Ordering::SeqCst);
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(n_turns.load(Ordering::SeqCst), 160);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }

    #[test]
    fn waiting_has_an_end() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("app.model");
        let held = Lock::take(&target, Duration::ZERO).unwrap();
        let error = Lock::take(&target, Duration::from_millis(20)).map(drop).unwrap_err();
        assert!(error.to_string().contains("locked by another process"), "{error}");
        drop(held);
        assert!(Lock::take(&target, Duration::ZERO).is_ok());
    }

    #[test]
    fn a_missing_directory_is_reported() {
        let error = Lock::take("/no/such/place/app.model".as_ref(), Duration::ZERO).map(drop);
        assert!(error.unwrap_err().to_string().contains("app.model"));
    }
}
