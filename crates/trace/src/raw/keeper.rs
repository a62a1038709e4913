// SPDX-License-Identifier: MIT OR Apache-2.0

//! Moves the records of a job from its spool to raw files, on a thread of its own.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use ioracle_spool::{Job, StreamNumber, Waker};

use super::writer::RawWriter;
use super::writer::Written;
use crate::error::Error;
use crate::writing::unwritable;

/// Moves records as fast as they can be copied. The [`Follower`](crate::Follower) that
/// made it sees what it has moved, and how it ended.
pub struct RawKeeper {
    directory: PathBuf,
    job: Arc<Mutex<Job>>,
    waker: Waker,
    writer: RawWriter,
    progress: Arc<RawProgress>,
}

/// What a keeper and the reader of its files share.
#[derive(Default)]
pub(crate) struct RawProgress {
    state: Mutex<KeeperState>,
    changed: Condvar,
}

/// The progress of a keeper.
#[derive(Debug, Default)]
pub(crate) struct KeeperState {
    pub(super) written: Written,
    /// Nothing more is going to be written.
    pub(super) is_over: bool,
    /// Frames that could not be written, and their records.
    pub(super) unwritten: Vec<u8>,
    pub(super) n_unwritten: u64,
    /// Streams whose threads ask what comes next.
    pub(super) asking: Vec<StreamNumber>,
}

impl RawProgress {
    pub(crate) fn lock(&self) -> MutexGuard<'_, KeeperState> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits until more is written, or nothing more will be, or the time is over.
    pub(crate) fn wait(&self, n_records: u64, at_most: Duration) {
        let state = self.lock();
        let has_news =
            |state: &mut KeeperState| state.written.n_records <= n_records && !state.is_over;
        let _ = self.changed.wait_timeout_while(state, at_most, has_news);
    }
}

impl RawKeeper {
    /// Begins raw files in a directory that must not exist yet.
    pub(crate) fn create(
        directory: &Path,
        job: Arc<Mutex<Job>>,
        relative_to: Option<&Path>,
    ) -> Result<(RawKeeper, Arc<RawProgress>), Error> {
        let writer = RawWriter::create(directory);
        let mut writer = writer.map_err(|source| unwritable(directory, source))?;
        if let Some(path) = relative_to {
            writer.working_directory(path);
        }
        let progress = Arc::new(RawProgress::default());
        progress.lock().written = writer.written();
        let waker = lock(&job).waker();
        let shared = Arc::clone(&progress);
        Ok((RawKeeper { directory: directory.into(), job, waker, writer, progress }, shared))
    }

    /// Moves what is new; how many records. At 0 there is nothing now.
    pub fn keep(&mut self) -> Result<usize, Error> {
        let n_records = lock(&self.job).poll(&mut self.writer)?;
        self.publish()?;
        Ok(n_records)
    }

    /// Whether a thread asks what comes next. Then it is better to read its records
    /// where they are: [`leave`](RawKeeper::leave).
    pub fn is_asked(&self) -> bool {
        !self.writer.asking.is_empty()
    }

    /// Sleeps until there may be something new, or at most this long.
    pub fn wait(&self, at_most: Duration) {
        self.waker.sleep(at_most);
    }

    /// Moves all that is left, when the program has ended.
    pub fn finish(mut self) -> Result<(), Error> {
        let drained = {
            let mut job = lock(&self.job);
            job.close();
            job.drain(&mut self.writer)
        };
        if drained.is_ok() {
            self.writer.complete();
        }
        self.publish()?;
        Ok(drained.map(|_| ())?)
    }

    /// Moves no more: records are read from the spool again.
    pub fn leave(mut self) -> Result<(), Error> {
        self.publish()
    }

    fn publish(&mut self) -> Result<(), Error> {
        self.writer.flush();
        self.progress.lock().written = self.writer.written();
        self.progress.changed.notify_all();
        match self.writer.failure.take() {
            Some(source) => {
                let same = source.raw_os_error().map(io::Error::from_raw_os_error);
                let same = same.unwrap_or_else(|| source.kind().into());
                self.writer.failure = Some(source);
                Err(unwritable(&self.directory, same))
            }
            None => Ok(()),
        }
    }
}

impl Drop for RawKeeper {
    fn drop(&mut self) {
        let mut state = self.progress.lock();
        (state.unwritten, state.n_unwritten) = self.writer.take_unwritten();
        state.asking = std::mem::take(&mut self.writer.asking);
        state.is_over = true;
        drop(state);
        self.progress.changed.notify_all();
    }
}

/// The job, even if another thread has panicked.
pub(crate) fn lock(job: &Mutex<Job>) -> MutexGuard<'_, Job> {
    job.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
