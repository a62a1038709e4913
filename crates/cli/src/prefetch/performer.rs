// SPDX-License-Identifier: MIT OR Apache-2.0

//! The performer: a process that reads files so that their bytes are in the page
//! cache when the program asks for them.
//!
//! It is a process of its own because a thread that reads from a dead mount
//! cannot be ended: the run leaves it behind and it ends when its reads return.
//! It gets its orders over a socket and ends when the other side has closed it.
//!
//! Bytes are read with `pread`, which is the one way that fills the cache on every
//! file system. On descriptors of its own, random access is announced first: the
//! kernel then reads just the pages asked for, all at once, instead of in pieces
//! of its read-ahead window one after the other.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};
use rustix::fs::{Advice, FileType, Mode, OFlags, fadvise, fstat, open};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};

use super::protocol::{Answer, Order, Outcome, monotonic_ns, receive_order, send_answer};

/// Reads that run at a time; the planner asks for fewer as a rule.
const THREADS: usize = 8;
/// Files that are kept open.
const MAX_OPEN: usize = 64;
/// Bytes that are read by one call.
const CHUNK_BYTES: usize = 1 << 20;
/// Reads that bring more than this per nanosecond, and come at once, were in the
/// cache: where the kernel cannot say so, their time does.
const CACHED_BYTES_PER_NS: u64 = 2;
const CACHED_NS: u64 = 30_000;

/// Serves orders from standard input until there are no more.
pub fn run() -> Result<ExitCode> {
    let socket = std::io::stdin();
    let shared = Arc::new(Shared::default());
    for _ in 0..THREADS {
        let shared = Arc::clone(&shared);
        thread::Builder::new()
            .name("prefetch".to_owned())
            .spawn(move || shared.work())
            .context("could not start a thread")?;
    }
    while let Some(order) = receive_order(&socket).context("could not receive orders")? {
        shared.take(order);
    }
    // Threads that hang in a read end with the process, when the read returns.
    Ok(ExitCode::SUCCESS)
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    has_work: Condvar,
}

#[derive(Default)]
struct Queue {
    reads: VecDeque<Read>,
    files: HashMap<u32, Source>,
    /// Files in the order in which they were opened.
    opened: VecDeque<u32>,
}

struct Read {
    id: u64,
    file: u32,
    offset: u64,
    length: u64,
}

/// Where the bytes of a file come from.
#[derive(Clone)]
enum Source {
    Path(Arc<Path>),
    /// Opened by us.
    Own(Arc<OwnedFd>),
    /// A descriptor of the program: only `pread` may be done with it.
    Program(Arc<OwnedFd>),
    Refused,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn take(&self, order: Order) {
        let mut queue = self.queue();
        match order {
            Order::Open { file, path } => {
                let path = Path::new(OsStr::from_bytes(&path)).into();
                queue.files.insert(file, Source::Path(path));
            }
            Order::Descriptor { file, descriptor } => {
                queue.files.insert(file, Source::Program(Arc::new(descriptor)));
            }
            Order::Read { id, file, offset, length } => {
                queue.reads.push_back(Read { id, file, offset, length });
                self.has_work.notify_one();
            }
            Order::Close { file } => {
                queue.files.remove(&file);
            }
        }
    }

    fn work(&self) {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let (read, source) = self.next();
            let started = Instant::now();
            let done =
                self.open(read.file, source).map(|source| fetch(&source, &read, &mut buffer));
            let took_ns = started.elapsed().as_nanos() as u64;
            let (outcome, bytes) = match done {
                Some(Ok(0)) => (Outcome::Resident, 0),
                Some(Ok(bytes)) if is_cached(bytes, took_ns) => (Outcome::Resident, 0),
                Some(Ok(bytes)) => (Outcome::Fetched, bytes),
                Some(Err(_)) | None => (Outcome::Refused, 0),
            };
            let ended_ns = monotonic_ns();
            let answer = Answer { id: read.id, outcome, bytes, took_ns, ended_ns };
            if send_answer(std::io::stdin(), &answer).is_err() {
                return;
            }
        }
    }

    fn next(&self) -> (Read, Source) {
        let mut queue = self.queue();
        loop {
            if let Some(read) = queue.reads.pop_front() {
                let source = queue.files.get(&read.file).cloned().unwrap_or(Source::Refused);
                return (read, source);
            }
            queue = self.has_work.wait(queue).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Opens a file that is known by its path. Not under the lock: a name may lie
    /// on a mount that does not answer.
    fn open(&self, file: u32, source: Source) -> Option<Source> {
        let path = match source {
            Source::Path(path) => path,
            Source::Refused => return None,
            opened => return Some(opened),
        };
        let opened = match open_regular(&path) {
            Ok(descriptor) => Source::Own(Arc::new(descriptor)),
            Err(_) => Source::Refused,
        };
        let mut queue = self.queue();
        if let Some(known) = queue.files.get_mut(&file) {
            *known = opened.clone();
            queue.opened.push_back(file);
        }
        while queue.opened.len() > MAX_OPEN {
            let Some(oldest) = queue.opened.pop_front() else { break };
            queue.files.remove(&oldest);
        }
        (!matches!(opened, Source::Refused)).then_some(opened)
    }
}

/// Opens a regular file for reading; anything else is refused without being
/// opened, because opening a device or a FIFO may do something.
fn open_regular(path: &Path) -> rustix::io::Result<OwnedFd> {
    let name = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&name)?.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    use std::os::fd::AsRawFd;
    let again = format!("/proc/self/fd/{}", name.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    // Only the owner may leave the time of access alone.
    let opened = open(&again, flags | OFlags::NOATIME, Mode::empty())
        .or_else(|_| open(&again, flags, Mode::empty()))?;
    // Refused by file systems that have no use for it.
    let _ = fadvise(&opened, 0, None, Advice::Random);
    Ok(opened)
}

/// Reads bytes, and answers how many of them were not in the cache.
fn fetch(source: &Source, read: &Read, buffer: &mut [u8]) -> rustix::io::Result<u64> {
    let (Source::Own(descriptor) | Source::Program(descriptor)) = source else {
        return Err(Errno::INVAL);
    };
    let end = read.offset.saturating_add(read.length);
    let (mut at, mut fetched) = (read.offset, 0);
    let mut can_tell = true;
    while at < end {
        let length = ((end - at) as usize).min(buffer.len());
        let part = &mut buffer[..length];
        if can_tell {
            let mut parts = [std::io::IoSliceMut::new(part)];
            match preadv2(descriptor, &mut parts, at, ReadWriteFlags::NOWAIT) {
                Ok(0) => break,
                Ok(n) => {
                    at += n as u64;
                    continue;
                }
                Err(Errno::AGAIN) => {}
                Err(_) => can_tell = false,
            }
        }
        match pread(descriptor, &mut *part, at) {
            Ok(0) => break,
            Ok(n) => {
                at += n as u64;
                fetched += n as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(fetched)
}

fn is_cached(bytes: u64, took_ns: u64) -> bool {
    took_ns < CACHED_NS + bytes / CACHED_BYTES_PER_NS / 8
}
