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
//!
//! A FUSE file system without `keep_cache` drops the pages of a file whenever it is
//! opened, by us, too. Whether one does is tried out once, on the first file of it
//! that is read. There, bytes are read only through descriptors of the program, and
//! each is held for one read: while we have it, the program's last close is not the
//! last.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::fs::{Advice, FileType, Mode, OFlags, fadvise, fstat, fstatfs, open, stat};
use rustix::io::{Errno, ReadWriteFlags, pread, preadv2};

use ioracle_knowledge::file_kind;

use super::protocol::{
    Answer, Order, Outcome, monotonic_ns, receive_order, send_answer, send_names,
};

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
/// Bytes that are read to find out whether they are there.
const PROBE_BYTES: usize = 4096;
/// Names of a directory that are looked at.
const MAX_NAMES: usize = 1 << 16;
/// What `statfs` says of FUSE file systems.
const FUSE_MAGIC: u64 = 0x6573_5546;

/// Serves orders from standard input until there are no more.
pub fn run() -> Result<ExitCode> {
    let socket = std::io::stdin();
    let shared = Arc::new(Shared::default());
    while let Some(order) = receive_order(&socket).context("could not receive orders")? {
        if shared.take(order) {
            shared.start_thread()?;
        }
    }
    // Threads that hang in a read end with the process, when the read returns.
    Ok(ExitCode::SUCCESS)
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    has_work: Condvar,
    /// The last read had to wait for the storage.
    is_waiting: AtomicBool,
}

#[derive(Default)]
struct Queue {
    work: VecDeque<Work>,
    files: HashMap<u32, Source>,
    /// Files in the order in which they were opened.
    opened: VecDeque<u32>,
    /// Devices that were tried out: whether what is cached of a file stays when it is
    /// opened.
    keep_cache: HashMap<u64, bool>,
    /// Threads, and those of them that wait for something to read.
    n_threads: usize,
    n_idle: usize,
}

/// What a thread takes from the queue.
enum Work {
    Read(Read),
    List(Listing),
}

/// A directory whose files of a kind are to be named.
struct Listing {
    list: u32,
    directory: Vec<u8>,
    kind: Vec<u8>,
}

struct Read {
    id: u64,
    file: u32,
    offset: u64,
    length: u64,
    /// Of the program: only `pread` may be done with it, and once.
    descriptor: Option<OwnedFd>,
}

/// Where the bytes of a file come from.
#[derive(Clone)]
struct Source {
    path: Arc<Path>,
    own: Option<Opened>,
}

/// A file that was opened by us.
#[derive(Clone)]
struct Opened {
    descriptor: Arc<OwnedFd>,
    device: u64,
}

/// Bytes that were read.
#[derive(Default)]
struct Fetched {
    /// Those that were not in the cache.
    bytes: u64,
    /// Where the file ends, if that was met.
    file_end: Option<u64>,
    /// How long that took.
    took_ns: u64,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes an order; whether another thread is needed for it.
    fn take(&self, order: Order) -> bool {
        let mut queue = self.queue();
        match order {
            Order::Open { file, path } => {
                let path = Path::new(OsStr::from_bytes(&path)).into();
                queue.files.insert(file, Source { path, own: None });
            }
            Order::Read { id, file, offset, length, descriptor } => {
                let read = Read { id, file, offset, length, descriptor };
                queue.work.push_back(Work::Read(read));
                self.has_work.notify_one();
            }
            Order::Close { file } => {
                queue.files.remove(&file);
            }
            Order::List { list, directory, kind } => {
                queue.work.push_back(Work::List(Listing { list, directory, kind }));
                self.has_work.notify_one();
            }
        }
        queue.work.len() > queue.n_idle && queue.n_threads < THREADS
    }

    /// Starts a thread. If there are others, they do without one that cannot be had.
    fn start_thread(self: &Arc<Shared>) -> Result<()> {
        let shared = Arc::clone(self);
        let thread = thread::Builder::new().name("prefetch".to_owned());
        let started = thread.spawn(move || shared.work());
        let mut queue = self.queue();
        match started {
            Ok(_) => queue.n_threads += 1,
            Err(_) if queue.n_threads > 0 => {}
            Err(error) => return Err(error).context("could not start a thread"),
        }
        Ok(())
    }

    fn work(&self) {
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            let mut read = match self.next() {
                Work::Read(read) => read,
                Work::List(listing) => {
                    let names = names_of_kind(&listing);
                    if send_names(std::io::stdin(), listing.list, names).is_err() {
                        return;
                    }
                    continue;
                }
            };
            let source = self.queue().files.get(&read.file).cloned();
            let done = match (source, read.descriptor.take()) {
                // The program has opened it anew since this was ordered.
                (None, _) => Err(Outcome::OtherFile),
                (Some(source), Some(descriptor)) => {
                    read_through(&source.path, &descriptor, &read, &mut buffer)
                }
                (Some(source), None) => self.read_own(source, &read, &mut buffer),
            };
            let (outcome, fetched) = match done {
                Ok(Fetched { bytes, file_end, took_ns })
                    if bytes == 0 || is_cached(bytes, took_ns) =>
                {
                    (Outcome::Resident, Fetched { bytes: 0, file_end, took_ns })
                }
                Ok(fetched) => (Outcome::Fetched, fetched),
                Err(outcome) => (outcome, Fetched::default()),
            };
            let Fetched { bytes, file_end, took_ns } = fetched;
            self.is_waiting.store(outcome == Outcome::Fetched, Ordering::Relaxed);
            let ended_ns = monotonic_ns();
            let answer = Answer { id: read.id, outcome, bytes, took_ns, ended_ns, file_end };
            if send_answer(std::io::stdin(), &answer).is_err() {
                return;
            }
        }
    }

    fn next(&self) -> Work {
        let mut queue = self.queue();
        loop {
            if let Some(work) = queue.work.pop_front() {
                return work;
            }
            queue.n_idle += 1;
            queue = self.has_work.wait(queue).unwrap_or_else(|poisoned| poisoned.into_inner());
            queue.n_idle -= 1;
        }
    }

    /// Reads through a descriptor of our own.
    fn read_own(&self, source: Source, read: &Read, buffer: &mut [u8]) -> Result<Fetched, Outcome> {
        let opened = match source.own {
            Some(opened) => opened,
            None => self.open(read.file, &source.path)?,
        };
        let expected = match self.is_waiting.load(Ordering::Relaxed) {
            true => Residency::Missing,
            false => Residency::Cached,
        };
        let fetched = fetch(&opened.descriptor, read, buffer, expected);
        let fetched = fetched.map_err(|_| Outcome::Refused)?;
        let is_tried = self.queue().keep_cache.contains_key(&opened.device);
        if fetched.bytes == 0 || is_tried || !is_fuse(&opened.descriptor) {
            return Ok(fetched);
        }
        let keeps = stays_when_opened(&source.path, &opened, read.offset);
        self.queue().keep_cache.insert(opened.device, keeps);
        if keeps { Ok(fetched) } else { Err(Outcome::CacheDropped) }
    }

    /// Opens a file. Not under the lock: a name may lie on a mount that does not
    /// answer.
    fn open(&self, file: u32, path: &Path) -> Result<Opened, Outcome> {
        let keep_cache = self.queue().keep_cache.clone();
        let opened = open_regular(path, &keep_cache)?;
        let mut queue = self.queue();
        if let Some(known) = queue.files.get_mut(&file) {
            known.own = Some(opened.clone());
            queue.opened.push_back(file);
        }
        while queue.opened.len() > MAX_OPEN {
            let Some(oldest) = queue.opened.pop_front() else { break };
            if let Some(known) = queue.files.get_mut(&oldest) {
                known.own = None;
            }
        }
        Ok(opened)
    }
}

/// The names of the files of a kind in a directory; none if it cannot be read. Names that
/// are no text are left out.
fn names_of_kind(listing: &Listing) -> Vec<String> {
    let directory = Path::new(OsStr::from_bytes(&listing.directory));
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let names =
        entries.take(MAX_NAMES).filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| file_kind(name).as_bytes() == listing.kind).collect()
}

/// Reads through a descriptor of the program, if it is one of this file.
fn read_through(
    path: &Path,
    descriptor: &OwnedFd,
    read: &Read,
    buffer: &mut [u8],
) -> Result<Fetched, Outcome> {
    let (expected, found) = (stat(path), fstat(descriptor));
    let (Ok(expected), Ok(found)) = (expected, found) else { return Err(Outcome::OtherFile) };
    let is_same = (expected.st_dev, expected.st_ino) == (found.st_dev, found.st_ino);
    if !is_same || FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Err(Outcome::OtherFile);
    }
    fetch(descriptor, read, buffer, Residency::Missing).map_err(|_| Outcome::Refused)
}

fn is_fuse(descriptor: &OwnedFd) -> bool {
    fstatfs(descriptor).is_ok_and(|system| system.f_type as u64 == FUSE_MAGIC)
}

/// Whether a page that has just been read is still in the cache after its file was
/// opened once more.
fn stays_when_opened(path: &Path, opened: &Opened, offset: u64) -> bool {
    let Ok(_again) = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) else {
        return true;
    };
    let mut page = [0; 1];
    let mut parts = [std::io::IoSliceMut::new(&mut page)];
    match preadv2(&opened.descriptor, &mut parts, offset, ReadWriteFlags::NOWAIT) {
        Ok(_) => true,
        Err(Errno::AGAIN) => false,
        Err(_) => {
            let started = Instant::now();
            let _ = pread(&opened.descriptor, &mut page, offset);
            is_cached(1, started.elapsed().as_nanos() as u64)
        }
    }
}

/// Opens a regular file for reading; anything else is refused without being
/// opened, because opening a device or a FIFO may do something. So is one where
/// that would drop what is cached of it.
fn open_regular(path: &Path, keep_cache: &HashMap<u64, bool>) -> Result<Opened, Outcome> {
    let refused = |_: Errno| Outcome::Refused;
    let name = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).map_err(refused)?;
    let status = fstat(&name).map_err(refused)?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return Err(Outcome::Refused);
    }
    if keep_cache.get(&status.st_dev) == Some(&false) {
        return Err(Outcome::CacheDropped);
    }
    use std::os::fd::AsRawFd;
    let again = format!("/proc/self/fd/{}", name.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    // Only the owner may leave the time of access alone.
    let opened = open(&again, flags | OFlags::NOATIME, Mode::empty())
        .or_else(|_| open(&again, flags, Mode::empty()))
        .map_err(refused)?;
    // Refused by file systems that have no use for it.
    let _ = fadvise(&opened, 0, None, Advice::Random);
    Ok(Opened { descriptor: Arc::new(opened), device: status.st_dev })
}

/// What is to be expected of a read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Residency {
    Cached,
    Missing,
}

/// Reads bytes, and answers how many of them were not in the cache. If they are likely
/// to be there, their first and last pages are tried before all of them are copied.
fn fetch(
    descriptor: &OwnedFd,
    read: &Read,
    buffer: &mut [u8],
    expected: Residency,
) -> rustix::io::Result<Fetched> {
    let end = read.offset.saturating_add(read.length);
    let missed = match expected {
        Residency::Cached => missing_end(descriptor, read),
        Residency::Missing => Some(Duration::ZERO),
    };
    let Some(missed) = missed else { return Ok(Fetched::default()) };
    let started = Instant::now();
    let (mut at, mut bytes) = (read.offset, 0);
    let mut is_at_end = false;
    let mut can_tell = true;
    while at < end {
        let length = ((end - at) as usize).min(buffer.len());
        let part = &mut buffer[..length];
        if can_tell {
            let mut parts = [std::io::IoSliceMut::new(part)];
            match preadv2(descriptor, &mut parts, at, ReadWriteFlags::NOWAIT) {
                Ok(0) => {
                    is_at_end = true;
                    break;
                }
                Ok(n) => {
                    at += n as u64;
                    continue;
                }
                Err(Errno::AGAIN) => {}
                Err(_) => can_tell = false,
            }
        }
        match pread(descriptor, &mut *part, at) {
            Ok(0) => {
                is_at_end = true;
                break;
            }
            Ok(n) => {
                at += n as u64;
                bytes += n as u64;
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    // A page that was waited for by trying it is there by now.
    let took_ns = started.elapsed().max(missed).as_nanos() as u64;
    if !missed.is_zero() {
        bytes = bytes.max(read.length.min(PROBE_BYTES as u64));
    }
    let size = || fstat(descriptor).map(|status| status.st_size.unsigned_abs()).ok();
    let file_end = if is_at_end { size() } else { None };
    Ok(Fetched { bytes, file_end, took_ns })
}

/// How long the first page took, or the last one, if that was not in the cache; none if
/// both were. A file that ends before the last page does not have it.
fn missing_end(descriptor: &OwnedFd, read: &Read) -> Option<Duration> {
    let last = read.offset.saturating_add(read.length).saturating_sub(PROBE_BYTES as u64);
    [read.offset, last.max(read.offset)].into_iter().find_map(|offset| {
        let mut page = [0; PROBE_BYTES];
        let started = Instant::now();
        let n_read = pread(descriptor, &mut page, offset);
        let took = started.elapsed();
        let is_there = n_read.is_ok_and(|n| n > 0 && is_cached(n as u64, took.as_nanos() as u64));
        (!is_there).then_some(took)
    })
}

fn is_cached(bytes: u64, took_ns: u64) -> bool {
    took_ns < CACHED_NS + bytes / CACHED_BYTES_PER_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_regular_files_that_may_be_read_are_opened() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::write(path("file"), "bytes").unwrap();
        std::fs::create_dir(path("directory")).unwrap();
        std::os::unix::fs::symlink("loop", path("loop")).unwrap();
        std::os::unix::fs::symlink("file", path("link")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, path("fifo"), Mode::RUSR).unwrap();
        for (name, is_opened) in [
            ("file", true),
            ("link", true),
            ("directory", false),
            ("loop", false),
            ("fifo", false),
            ("missing", false),
            ("/dev/null", false),
            ("/proc/self/mem/x", false),
        ] {
            let opened = open_regular(&path(name), &HashMap::new());
            assert_eq!(opened.is_ok(), is_opened, "{name}");
        }
        // Where opening it would drop what is cached of it.
        let device = fstat(std::fs::File::open(path("file")).unwrap()).unwrap().st_dev;
        let opened = open_regular(&path("file"), &HashMap::from([(device, false)]));
        assert_eq!(opened.err(), Some(Outcome::CacheDropped));
    }

    #[test]
    fn files_of_a_kind_are_named_and_a_directory_that_cannot_be_read_has_none() {
        let place = tempfile::tempdir().unwrap();
        for name in ["a.png", "b.png", "notes.txt"] {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        let list = |directory: &Path| {
            let directory = directory.as_os_str().as_bytes().to_owned();
            names_of_kind(&Listing { list: 0, directory, kind: b"png".to_vec() })
        };
        let mut names = list(place.path());
        names.sort();
        assert_eq!(names, ["a.png", "b.png"]);
        assert!(list(&place.path().join("a.png")).is_empty());
        assert!(list(&place.path().join("missing")).is_empty());
    }

    /// A number that the program has given to another file meanwhile is not read.
    #[test]
    fn a_descriptor_of_another_file_is_not_read() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        std::fs::write(path("one"), "some bytes").unwrap();
        std::fs::write(path("two"), "more").unwrap();
        let read = Read { id: 0, file: 0, offset: 0, length: 4096, descriptor: None };
        for (name, outcome) in [("one", None), ("two", Some(Outcome::OtherFile))] {
            let descriptor = OwnedFd::from(std::fs::File::open(path(name)).unwrap());
            let done = read_through(&path("one"), &descriptor, &read, &mut [0; 4096]);
            assert_eq!(done.as_ref().err(), outcome.as_ref());
            if let Ok(fetched) = done {
                assert_eq!(fetched.file_end, Some(10));
            }
        }
    }
}
