// SPDX-License-Identifier: MIT OR Apache-2.0

//! The requests of a running job, for a process that has joined it: a ring buffer in a
//! file of the job's directory, made by the process that joins.
//!
//! ```text
//!  offset  bytes
//!       0      8  magic "ioraREQS"
//!       8      4  version, 1
//!      12      4  records that the ring has room for
//!      16      8  wanted_until_ns   CLOCK_MONOTONIC; stored by the process that joined
//!      24      8  n_written         stored by the job, after the records
//!      32      4  taken             1 once the job has found the file
//!      36      4  length of the path
//!      40      …  the path of a directory: only requests below it are wanted
//!    8192      …  the ring: time_ns, file, offset, size, kind (0 read, 1 write), 8 bytes each
//! ```
//!
//! The job looks for the file a few times a second, and writes while `wanted_until_ns`
//! lies ahead. It never waits: a reader that is too slow loses the oldest records and
//! knows how many. Numbers are in native byte order, and all is read and written by
//! system calls, as the status file is ([`status`](super::status)).

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ioracle_events::FileId;
use ioracle_pattern::{Request, RequestKind};
use ioracle_spool::layout::REQUESTS_FILE;

use crate::shared::jobs::{self, FoundJob};
use crate::shared::process::is_alive;
use crate::shared::status::now_ns;

const MAGIC: [u8; 8] = *b"ioraREQS";
const VERSION: u32 = 1;
const CAPACITY_AT: u64 = 12;
const WANTED_AT: u64 = 16;
const WRITTEN_AT: u64 = 24;
const TAKEN_AT: u64 = 32;
const LENGTH_AT: u64 = 36;
const PATH_AT: u64 = 40;
const RING_AT: u64 = 8192;
const MAX_PATH: usize = (RING_AT - PATH_AT) as usize;
const RECORD: usize = 40;
/// Records in the ring: an eighth of a second at a million requests per second.
const CAPACITY: u32 = 1 << 17;
/// Records that the job writes at once. This many of the oldest may be overwritten
/// while they are read.
const BATCH: usize = 4096;
/// How long a job continues to write after the last look, and between two looks of the
/// job at whether somebody has joined.
const WANTED_FOR: Duration = Duration::from_secs(3);
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A job that has not found the file after this long never will.
const PATIENCE: Duration = Duration::from_secs(5);

/// Hands requests to processes that have joined, in the process that reads the job.
pub struct RequestFeed {
    directory: PathBuf,
    /// What relative paths of files are relative to.
    here: PathBuf,
    joined: Option<Joined>,
    looked: Option<Instant>,
}

/// A process that has joined.
struct Joined {
    file: File,
    n_written: u64,
    under: Option<PathBuf>,
    /// Whether a file is below that directory.
    is_below: HashMap<FileId, bool>,
    waiting: Vec<u8>,
}

impl RequestFeed {
    /// For the job in this directory.
    pub fn new(directory: &Path) -> RequestFeed {
        RequestFeed {
            directory: directory.to_owned(),
            here: std::env::current_dir().unwrap_or_default(),
            joined: None,
            looked: None,
        }
    }

    /// Checks whether a process has joined or left, if it is time to, and writes what
    /// waits; returns whether any wants requests.
    pub fn look(&mut self, now: Instant) -> bool {
        if self.looked.is_none_or(|looked| now.duration_since(looked) >= LOOK_EVERY) {
            self.looked = Some(now);
            let is_wanted = |joined: &mut Joined| {
                read_u64(&joined.file, WANTED_AT).is_ok_and(|until_ns| now_ns() < until_ns)
            };
            self.joined = self.joined.take_if(is_wanted).or_else(|| Joined::find(&self.directory));
        }
        self.flush();
        self.joined.is_some()
    }

    /// Takes a request, if any process wants it.
    #[inline]
    pub fn take<'a>(
        &mut self,
        request: &Request,
        file: FileId,
        path: impl FnOnce(FileId) -> Option<&'a str>,
    ) {
        let Some(joined) = &mut self.joined else { return };
        if let Some(under) = &joined.under {
            let is_below =
                || path(file).is_some_and(|path| self.here.join(path).starts_with(under));
            if !*joined.is_below.entry(file).or_insert_with(is_below) {
                return;
            }
        }
        joined.waiting.extend_from_slice(&record(request));
        if joined.waiting.len() >= BATCH * RECORD {
            self.flush();
        }
    }

    /// Whether [`take`](RequestFeed::take) would do anything.
    #[inline]
    pub fn is_joined(&self) -> bool {
        self.joined.is_some()
    }

    /// Writes what waits. If writing fails, the process has left.
    pub fn flush(&mut self) {
        if self.joined.as_mut().is_some_and(|joined| joined.flush().is_err()) {
            self.joined = None;
        }
    }
}

impl Joined {
    fn find(directory: &Path) -> Option<Joined> {
        let file = open(&directory.join(REQUESTS_FILE)).ok()?;
        let mut head = [0; RING_AT as usize];
        file.read_exact_at(&mut head, 0).ok()?;
        let word =
            |at: u64| head.get(at as usize..)?.first_chunk().map(|word| u32::from_ne_bytes(*word));
        let is_sound = head[..8] == MAGIC
            && word(8) == Some(VERSION)
            && word(CAPACITY_AT) == Some(CAPACITY)
            && read_u64(&file, WANTED_AT).is_ok_and(|until_ns| now_ns() < until_ns);
        let length = word(LENGTH_AT)? as usize;
        if !is_sound || length > MAX_PATH {
            return None;
        }
        let path = head[PATH_AT as usize..][..length].to_vec();
        let under = (length > 0).then(|| PathBuf::from(std::ffi::OsString::from_vec(path)));
        file.write_all_at(&1_u32.to_ne_bytes(), TAKEN_AT).ok()?;
        let (is_below, waiting) = (HashMap::new(), Vec::new());
        Some(Joined { file, n_written: 0, under, is_below, waiting })
    }

    fn flush(&mut self) -> io::Result<()> {
        let n_records = self.waiting.len() / RECORD;
        if n_records == 0 {
            return Ok(());
        }
        let place = (self.n_written % u64::from(CAPACITY)) as usize;
        let at_end = n_records.min(CAPACITY as usize - place) * RECORD;
        self.file.write_all_at(&self.waiting[..at_end], RING_AT + (place * RECORD) as u64)?;
        self.file.write_all_at(&self.waiting[at_end..], RING_AT)?;
        self.waiting.clear();
        self.n_written += n_records as u64;
        self.file.write_all_at(&self.n_written.to_ne_bytes(), WRITTEN_AT)
    }
}

/// A joined job, as the reader sees it. The file is deleted with it.
pub struct JoinedJob {
    job: FoundJob,
    path: PathBuf,
    file: File,
    joined: Instant,
    is_taken: bool,
    n_read: u64,
    /// Requests that were overwritten before they were read.
    n_lost: u64,
    buffer: Vec<u8>,
}

/// What a look at a job found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// This many requests.
    Requests(u64),
    /// The job is over, and all was read.
    Ended,
}

impl JoinedJob {
    /// Joins a job; of all its requests only those below a directory, if one is given.
    pub fn join(job: FoundJob, under: Option<&Path>) -> Result<JoinedJob> {
        let path = job.directory.join(REQUESTS_FILE);
        if let Ok(earlier) = open(&path) {
            if read_u64(&earlier, WANTED_AT).is_ok_and(|until_ns| now_ns() < until_ns) {
                bail!(
                    "another 'ioracle pattern watch' has joined the job in '{}'; end that first",
                    job.directory.display()
                );
            }
            let _ = fs::remove_file(&path);
        }
        let failed = || format!("could not join the job in '{}'", job.directory.display());
        let under = under.map(std::path::absolute).transpose().with_context(failed)?;
        let under = under.as_deref().map(|under| under.as_os_str().as_bytes()).unwrap_or_default();
        if under.len() > MAX_PATH {
            bail!("the path of --under has {} bytes; name a shorter one", under.len());
        }
        let mut head = [0; RING_AT as usize];
        let mut put =
            |at: u64, bytes: &[u8]| head[at as usize..][..bytes.len()].copy_from_slice(bytes);
        put(0, &MAGIC);
        put(8, &VERSION.to_ne_bytes());
        put(CAPACITY_AT, &CAPACITY.to_ne_bytes());
        put(WANTED_AT, &wanted_until().to_ne_bytes());
        put(LENGTH_AT, &(under.len() as u32).to_ne_bytes());
        put(PATH_AT, under);
        // Under another name first: the job must not find half of it.
        let unfinished = job.directory.join(format!("{REQUESTS_FILE}.new"));
        let _ = fs::remove_file(&unfinished);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&unfinished);
        let file = file.with_context(failed)?;
        file.write_all_at(&head, 0)
            .and_then(|()| fs::rename(&unfinished, &path))
            .with_context(failed)?;
        let (joined, buffer) = (Instant::now(), Vec::new());
        Ok(JoinedJob { job, path, file, joined, is_taken: false, n_read: 0, n_lost: 0, buffer })
    }

    /// Hands over the requests since the last look.
    pub fn poll(&mut self, mut take: impl FnMut(&Request)) -> Result<Feed> {
        // Before reading: what is written before the end is read then.
        let is_over = !self.job.directory.exists();
        let n_before = self.n_read;
        self.read(&mut take).with_context(|| {
            format!("could not read from the job in '{}'", self.job.directory.display())
        })?;
        if is_over {
            return Ok(Feed::Ended);
        }
        self.check_that_it_lives()?;
        Ok(Feed::Requests(self.n_read - n_before))
    }

    fn read(&mut self, take: &mut impl FnMut(&Request)) -> io::Result<()> {
        self.file.write_all_at(&wanted_until().to_ne_bytes(), WANTED_AT)?;
        let n_written = read_u64(&self.file, WRITTEN_AT)?;
        self.lose_overwritten(n_written);
        while self.n_read < n_written {
            let place = self.n_read % u64::from(CAPACITY);
            let n_records =
                (n_written - self.n_read).min(u64::from(CAPACITY) - place).min(BATCH as u64);
            self.buffer.resize(n_records as usize * RECORD, 0);
            self.file.read_exact_at(&mut self.buffer, RING_AT + place * RECORD as u64)?;
            // The job may have come round to them meanwhile.
            let first = self.n_read;
            self.lose_overwritten(read_u64(&self.file, WRITTEN_AT)?);
            let n_gone = (self.n_read - first).min(n_records);
            for record in self.buffer.chunks_exact(RECORD).skip(n_gone as usize) {
                request(record).iter().for_each(&mut *take);
            }
            self.n_read = self.n_read.max(first + n_records);
        }
        Ok(())
    }

    /// Requests that came faster than they were read.
    pub fn lost(&self) -> u64 {
        self.n_lost
    }

    fn lose_overwritten(&mut self, n_written: u64) {
        let oldest = (n_written + BATCH as u64).saturating_sub(u64::from(CAPACITY));
        if oldest > self.n_read {
            self.n_lost += oldest - self.n_read;
            self.n_read = oldest;
        }
    }

    fn check_that_it_lives(&mut self) -> Result<()> {
        let directory = &self.job.directory;
        if self.job.reader != 0 && !is_alive(self.job.reader) {
            bail!(
                "the 'ioracle run' of the job in '{}' was killed; {}",
                directory.display(),
                jobs::how_to_recover(directory)
            );
        }
        if !self.is_taken {
            let mut word = [0; 4];
            let read = self.file.read_exact_at(&mut word, TAKEN_AT);
            self.is_taken = read.is_ok() && u32::from_ne_bytes(word) == 1;
            if !self.is_taken && self.joined.elapsed() > PATIENCE {
                bail!(
                    "the job in '{}' does not hand over its requests; is it stopped, or of another \
                     version of ioracle?",
                    directory.display()
                );
            }
        }
        Ok(())
    }
}

impl Drop for JoinedJob {
    fn drop(&mut self) {
        // So that the job stops writing at once.
        let _ = self.file.write_all_at(&0_u64.to_ne_bytes(), WANTED_AT);
        let _ = fs::remove_file(&self.path);
    }
}

fn wanted_until() -> u64 {
    now_ns().saturating_add(WANTED_FOR.as_nanos() as u64)
}

fn record(request: &Request) -> [u8; RECORD] {
    let kind = RequestKind::ALL.iter().position(|kind| *kind == request.kind).unwrap_or(0) as u64;
    let mut record = [0; RECORD];
    let words = [request.time_ns, request.file, request.offset, request.size, kind];
    for (bytes, word) in record.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_ne_bytes());
    }
    record
}

/// `None` for bytes that are not a record.
fn request(record: &[u8]) -> Option<Request> {
    let mut words = record.chunks_exact(8).filter_map(|word| word.first_chunk());
    let mut word = || words.next().map(|word| u64::from_ne_bytes(*word));
    let (time_ns, file, offset, size) = (word()?, word()?, word()?, word()?);
    let kind = RequestKind::ALL.get(usize::try_from(word()?).ok()?).copied()?;
    Some(Request { time_ns, file, kind, offset, size })
}

/// Opens the file, whose content is not trusted.
fn open(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    let file =
        options.read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let about = file.metadata()?;
    let is_ours = about.is_file() && about.uid() == rustix::process::geteuid().as_raw();
    if is_ours { Ok(file) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}

fn read_u64(file: &File, at: u64) -> io::Result<u64> {
    let mut word = [0; 8];
    file.read_exact_at(&mut word, at)?;
    Ok(u64::from_ne_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(directory: &Path) -> FoundJob {
        FoundJob { directory: directory.to_owned(), reader: std::process::id(), is_alive: true }
    }

    fn a_request(n: u64) -> Request {
        Request {
            time_ns: n,
            file: n % 7,
            kind: RequestKind::ALL[n as usize % 2],
            offset: n,
            size: 8,
        }
    }

    fn read(joined: &mut JoinedJob) -> Vec<Request> {
        let mut requests = Vec::new();
        joined.poll(|request| requests.push(*request)).unwrap();
        requests
    }

    #[test]
    fn requests_arrive_in_order_over_many_turns_of_the_ring() {
        let here = tempfile::tempdir().unwrap();
        let mut feed = RequestFeed::new(here.path());
        feed.take(&a_request(0), FileId(1), |_| None);
        assert!(!feed.look(Instant::now()), "nobody has joined");
        let mut joined = JoinedJob::join(job(here.path()), None).unwrap();
        feed.looked = None;
        assert!(feed.look(Instant::now()));
        let mut n = 0;
        for _ in 0..40 {
            let expected: Vec<Request> = (n..n + 10_007).map(a_request).collect();
            expected.iter().for_each(|request| feed.take(request, FileId(1), |_| None));
            feed.flush();
            assert_eq!(read(&mut joined), expected);
            n += 10_007;
        }
        assert_eq!(joined.lost(), 0);
    }

    #[test]
    fn whoever_reads_too_slowly_loses_the_oldest_and_knows_how_many() {
        let here = tempfile::tempdir().unwrap();
        let mut feed = RequestFeed::new(here.path());
        let mut joined = JoinedJob::join(job(here.path()), None).unwrap();
        assert!(feed.look(Instant::now()));
        let n_all = u64::from(CAPACITY) + 50_000;
        (0..n_all).for_each(|n| feed.take(&a_request(n), FileId(1), |_| None));
        feed.flush();
        let read = read(&mut joined);
        assert_eq!(read.len() as u64 + joined.lost(), n_all);
        assert_eq!(read.last(), Some(&a_request(n_all - 1)));
        assert_eq!(read.first(), Some(&a_request(joined.lost())));
    }

    #[test]
    fn only_files_below_the_directory_are_handed_over() {
        let here = tempfile::tempdir().unwrap();
        let mut feed = RequestFeed::new(here.path());
        let mut joined = JoinedJob::join(job(here.path()), Some(Path::new("/bricks/b1"))).unwrap();
        assert!(feed.look(Instant::now()));
        let paths = ["", "/bricks/b1/x", "/bricks/b10/x", "/bricks/b1", "b1/x"];
        for file in 1..5 {
            let path = |file: FileId| Some(paths[file.0 as usize]);
            feed.take(&a_request(u64::from(file)), FileId(file), path);
        }
        feed.flush();
        assert_eq!(read(&mut joined), [a_request(1), a_request(3)]);
    }

    #[test]
    fn one_joins_at_a_time_and_leaves_nothing_behind() {
        let here = tempfile::tempdir().unwrap();
        let first = JoinedJob::join(job(here.path()), None).unwrap();
        let refused = JoinedJob::join(job(here.path()), None).err().unwrap().to_string();
        assert!(refused.contains("another"), "{refused}");
        let mut feed = RequestFeed::new(here.path());
        assert!(feed.look(Instant::now()));
        drop(first);
        assert_eq!(here.path().read_dir().unwrap().count(), 0);
        feed.looked = None;
        assert!(!feed.look(Instant::now()), "nobody wants requests any more");
        let second = JoinedJob::join(job(here.path()), None).unwrap();
        feed.looked = None;
        assert!(feed.look(Instant::now()));
        drop(second);
    }

    #[test]
    fn the_end_of_a_job_is_noticed_after_its_last_requests() {
        let here = tempfile::tempdir().unwrap();
        let directory = here.path().join("job");
        fs::create_dir(&directory).unwrap();
        let mut joined = JoinedJob::join(job(&directory), None).unwrap();
        let mut feed = RequestFeed::new(&directory);
        assert!(feed.look(Instant::now()));
        feed.take(&a_request(3), FileId(1), |_| None);
        feed.flush();
        fs::remove_dir_all(&directory).unwrap();
        let mut requests = Vec::new();
        assert_eq!(joined.poll(|request| requests.push(*request)).unwrap(), Feed::Ended);
        assert_eq!(requests, [a_request(3)]);
    }

    #[test]
    fn files_that_are_none_are_passed_over() {
        let here = tempfile::tempdir().unwrap();
        let path = here.path().join(REQUESTS_FILE);
        for bytes in [vec![], vec![0; 100], vec![0xFF; 3 * RING_AT as usize]] {
            fs::write(&path, bytes).unwrap();
            assert!(!RequestFeed::new(here.path()).look(Instant::now()));
        }
        assert_eq!(request(&[0xFF; RECORD]), None);
    }
}
