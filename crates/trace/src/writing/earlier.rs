// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a log holds already, when a second writer takes it up.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;

use crate::error::Error;
use crate::writing::log::{Entry, LogReader, Seen};
use crate::writing::numbers::Numbers;
use crate::writing::part::unwritable;

/// Processes, threads, contexts and files of a log.
#[derive(Debug, Default)]
pub(crate) struct Earlier {
    pub(crate) contexts: Numbers,
    pub(crate) files: Numbers,
    pub(crate) seen: Vec<Seen>,
    /// By system number and start.
    pub(crate) processes: HashMap<(u32, u64), u32>,
    /// By process and the thread's number in the system.
    threads: HashMap<(u32, u32), u32>,
    /// How many threads each process has in the log.
    n_threads: HashMap<u32, u32>,
}

impl Earlier {
    /// The number of a thread in its process, and whether it is a new one.
    pub(crate) fn thread(&mut self, process: u32, tid: u32) -> (u32, bool) {
        if let Some(&thread) = self.threads.get(&(process, tid)) {
            return (thread, false);
        }
        let n_threads = self.n_threads.entry(process).or_default();
        *n_threads = n_threads.saturating_add(1);
        (*n_threads - 1, true)
    }

    fn load(&mut self, entry: Entry) {
        match entry {
            Entry::Context { id, frames } => self.contexts.load(id, &frames),
            Entry::File { id, path } => self.files.load(id, &path),
            Entry::Stream { process, thread, tid } => {
                self.threads.insert((process, tid), thread);
                let n_threads = self.n_threads.entry(process).or_default();
                *n_threads = thread.saturating_add(1).max(*n_threads);
            }
            Entry::Process(seen) => {
                let place = seen.number as usize;
                self.processes.insert((seen.pid, seen.start_ns), seen.number);
                if let Some(earlier) = self.seen.get_mut(place) {
                    *earlier = seen;
                } else if place == self.seen.len() {
                    self.seen.push(seen);
                }
            }
            Entry::Event(_) | Entry::Writer { .. } => {}
        }
    }
}

/// Opens a log for more: what is whole in it is kept, a cut entry at its end is
/// not.
pub(crate) fn open(path: &Path) -> Result<(File, Earlier), Error> {
    let text = || path.to_string_lossy().into();
    let unreadable = |source| Error::Unreadable { path: text(), source };
    let mut file = File::options().read(true).write(true).open(path).map_err(unreadable)?;
    let mut reader = LogReader::new(BufReader::with_capacity(1 << 16, &file));
    if !reader.check_magic().map_err(unreadable)? {
        return Err(Error::NotARecording { path: text() });
    }
    let mut earlier = Earlier::default();
    while let Some(entry) = reader.next().map_err(unreadable)? {
        if let Entry::Writer { pid } = entry
            && has_open(pid, path)
        {
            return Err(Error::StillWritten { path: text(), pid });
        }
        earlier.load(entry);
    }
    let n_bytes = reader.n_bytes();
    file.set_len(n_bytes).map_err(|source| unwritable(path, source))?;
    file.seek(SeekFrom::End(0)).map_err(unreadable)?;
    Ok((file, earlier))
}

/// Whether that process has the file open. Its number may belong to another one
/// by now.
fn has_open(pid: u32, path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else { return false };
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    pid != std::process::id()
        && descriptors.flatten().any(|entry| fs::read_link(entry.path()).is_ok_and(|to| to == path))
}
