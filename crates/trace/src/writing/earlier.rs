// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a log holds already, when a second writer takes it up.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, Seek, SeekFrom};
use std::path::Path;

use ioracle_events::FileId;

use crate::error::Error;
use crate::writing::log::{Entry, LogReader, Seen, is_line};
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

    /// Takes an entry, unless no writer can have written it after those before:
    /// then the log is damaged there, and what follows is not believed either.
    fn load(&mut self, entry: Entry) -> bool {
        match entry {
            Entry::Context { id, frames } => is_line(&frames) && self.contexts.load(id, &frames),
            Entry::File { id, path } => is_line(&path) && self.files.load(id, &path),
            Entry::Stream { process, thread, tid } => {
                self.threads.insert((process, tid), thread);
                let n_threads = self.n_threads.entry(process).or_default();
                *n_threads = thread.saturating_add(1).max(*n_threads);
                true
            }
            Entry::Process(seen) => self.load_process(seen),
            Entry::Event(row) => {
                (row.process as usize) < self.seen.len()
                    && self.contexts.has(row.context)
                    && (row.file == FileId::UNKNOWN.0 || self.files.has(row.file))
                    && is_line(&row.detail)
            }
            Entry::Writer { .. } => true,
        }
    }

    fn load_process(&mut self, seen: Seen) -> bool {
        let place = seen.number as usize;
        if place == self.seen.len() {
            self.processes.insert((seen.pid, seen.start_ns), seen.number);
            self.seen.push(seen);
        } else if let Some(earlier) = self.seen.get_mut(place) {
            *earlier = seen;
        } else {
            return false;
        }
        true
    }
}

/// Opens a log for more: what is whole and sound in it is kept, what comes after
/// that is cut off.
pub(crate) fn open(path: &Path) -> Result<(File, Earlier), Error> {
    let text = || path.to_string_lossy().into();
    let unreadable = |source| Error::Unreadable { path: text(), source };
    let mut file = File::options().read(true).write(true).open(path).map_err(unreadable)?;
    let mut reader = LogReader::new(BufReader::with_capacity(1 << 16, &file));
    if !reader.check_magic().map_err(unreadable)? {
        return Err(Error::NotARecording { path: text() });
    }
    let mut earlier = Earlier::default();
    let mut n_bytes = reader.n_bytes();
    while let Some(entry) = reader.next().map_err(unreadable)? {
        if let Entry::Writer { pid } = entry
            && has_open(pid, path)
        {
            return Err(Error::StillWritten { path: text(), pid });
        }
        if !earlier.load(entry) {
            break;
        }
        n_bytes = reader.n_bytes();
    }
    file.set_len(n_bytes).map_err(|source| unwritable(path, source))?;
    file.seek(SeekFrom::End(0)).map_err(unreadable)?;
    Ok((file, earlier))
}

/// Whether another process, of that number, has the file open. The number may
/// belong to another one by now.
fn has_open(pid: u32, path: &Path) -> bool {
    let is_us = Path::new("/proc/self/task").join(pid.to_string()).exists();
    let Ok(path) = path.canonicalize() else { return false };
    let Ok(descriptors) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let leads_there = |link: &Path| fs::read_link(link).is_ok_and(|target| target == path);
    !is_us && descriptors.flatten().any(|entry| leads_there(&entry.path()))
}
