// SPDX-License-Identifier: MIT OR Apache-2.0

//! Opens stream files, whose content is not trusted, and keeps some of them open: a job
//! may have more threads than we may have descriptors.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::reader::page::{effective_uid, open_distrustfully};
use crate::reader::stream::StreamReader;
use crate::reader::totals::SpoolTotals;

/// Maximum of files kept open, but no more than half of the process's descriptors;
/// other files are opened for each look.
const MAX_OPEN: usize = 4096;

/// Opens stream files and keeps some of them open.
pub(super) struct StreamFiles {
    directory: PathBuf,
    n_kept: usize,
    max_kept: usize,
}

/// Why a file is not read.
pub(super) enum OpenFault {
    /// It may be, later.
    NotNow,
    /// Never, and why.
    Refused(String),
}

/// The result of opening a stream's file.
pub(super) enum FileState {
    Done,
    NotNow,
    /// It is gone or has become something else.
    Lost,
}

impl StreamFiles {
    pub(super) fn new(directory: &Path) -> StreamFiles {
        StreamFiles {
            directory: directory.to_path_buf(),
            n_kept: 0,
            max_kept: (n_descriptors() / 2).min(MAX_OPEN),
        }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Works on a stream's file.
    pub(super) fn with(
        &mut self,
        stream: &mut StreamReader,
        totals: &mut SpoolTotals,
        work: impl FnOnce(&mut StreamReader, &File, &mut SpoolTotals),
    ) -> FileState {
        let file = match stream.file.take() {
            Some(file) => {
                self.n_kept -= 1;
                file
            }
            None => match self.open(&stream.info.name) {
                Ok(file) => file,
                Err(OpenFault::NotNow) => return FileState::NotNow,
                Err(OpenFault::Refused(why)) => {
                    stream.damage(&why, totals);
                    return FileState::Lost;
                }
            },
        };
        work(stream, &file, totals);
        self.keep(stream, file);
        FileState::Done
    }

    /// Keeps a file open, unless too many are: then the first ones stay, because a
    /// round over all streams would miss in any cache.
    pub(super) fn keep(&mut self, stream: &mut StreamReader, file: File) {
        if self.n_kept < self.max_kept {
            self.n_kept += 1;
            stream.file = Some(file);
        }
    }

    /// Closes a stream's file, if it was kept.
    pub(super) fn close(&mut self, stream: &mut StreamReader) {
        self.n_kept -= usize::from(stream.file.take().is_some());
    }

    /// Opens a regular file of ours, for writing too if that is allowed.
    pub(super) fn open(&mut self, name: &str) -> Result<File, OpenFault> {
        let path = self.path(name);
        let opened = open_distrustfully(&path, OpenOptions::new().read(true).write(true))
            .or_else(|_| open_distrustfully(&path, OpenOptions::new().read(true)));
        let file = opened.map_err(|error| match error.raw_os_error() {
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => {
                self.max_kept = self.n_kept / 2;
                OpenFault::NotNow
            }
            Some(libc::ELOOP) => OpenFault::Refused("it is a symbolic link".to_owned()),
            _ => OpenFault::Refused(format!("it cannot be opened: {error}")),
        })?;
        let metadata = file.metadata().map_err(|_| OpenFault::NotNow)?;
        if !metadata.is_file() {
            return Err(OpenFault::Refused("it is not a regular file".to_owned()));
        }
        if metadata.uid() != effective_uid() {
            return Err(OpenFault::Refused("it belongs to another user".to_owned()));
        }
        Ok(file)
    }
}

/// Descriptors that the process may have.
fn n_descriptors() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is written to memory of ours.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX)
}
