// SPDX-License-Identifier: MIT OR Apache-2.0

//! A host over real files and mappings, and a sink that remembers.

#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use ioracle_spool::layout::{Call, DefinitionKind, JOB_FILE, JobPage, PAGE, UnrecordedCause};
use ioracle_spool::{
    Host, Job, Sink, StreamIdentity, StreamInfo, StreamName, StreamNumber, Writer,
};

/// Makes stream files in a directory.
pub struct Files {
    directory: PathBuf,
    /// Bytes that may still be allocated.
    pub room: usize,
}

impl Files {
    pub fn new(directory: &Path) -> Files {
        Files { directory: directory.to_path_buf(), room: usize::MAX }
    }

    fn path(&self, name: &StreamName) -> PathBuf {
        self.directory.join(name.as_cstr().to_str().unwrap())
    }

    fn allocate(&mut self, file: &File, at: u64, n: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        self.room = self.room.checked_sub(n).ok_or(UnrecordedCause::NoRoom)?;
        file.set_len(at + n as u64).map_err(|_| UnrecordedCause::NoRoom)?;
        map(file, at, n).ok_or(UnrecordedCause::NoRoom)
    }
}

// SAFETY: mappings of files are aligned to pages, zeroed where the file is new,
// and stay until they are unmapped.
unsafe impl Host for Files {
    fn create(&mut self, name: &StreamName, bytes: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(self.path(name));
        self.allocate(&file.map_err(|_| UnrecordedCause::NoFile)?, 0, bytes)
    }

    fn extend(
        &mut self,
        name: &StreamName,
        offset: u64,
        bytes: usize,
    ) -> Result<NonNull<u8>, UnrecordedCause> {
        let file = OpenOptions::new().read(true).write(true).open(self.path(name));
        self.allocate(&file.map_err(|_| UnrecordedCause::NoFile)?, offset, bytes)
    }

    fn unmap(&mut self, address: NonNull<u8>, bytes: usize) {
        // SAFETY: the writer gives back what it was given, once.
        unsafe { libc::munmap(address.as_ptr().cast(), bytes) };
    }

    fn wake(&mut self, word: &AtomicU32) {
        // SAFETY: the word is mapped.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }

    fn reader_is_alive(&mut self, pid: u32) -> bool {
        // SAFETY: signal 0 only asks.
        unsafe { libc::kill(pid as i32, 0) == 0 }
    }

    fn pause(&mut self) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Maps a part of a file, for good unless it is unmapped.
pub fn map(file: &File, offset: u64, bytes: usize) -> Option<NonNull<u8>> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let (shared, fd) = (libc::MAP_SHARED, file.as_raw_fd());
    // SAFETY: a new mapping of an open file hurts nobody.
    let base = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, shared, fd, offset as i64) };
    NonNull::new(base.cast()).filter(|_| base != libc::MAP_FAILED)
}

/// Maps the first page of a file, for good.
pub fn map_page(path: &Path) -> NonNull<u8> {
    let file = OpenOptions::new().read(true).write(true).open(path).unwrap();
    map(&file, 0, PAGE).unwrap()
}

/// Maps the page of a job, for good.
pub fn map_job(directory: &Path) -> &'static JobPage {
    // SAFETY: the file has a page, which stays mapped, and is numbers only.
    unsafe { map_page(&directory.join(JOB_FILE)).cast().as_ref() }
}

/// A writer with its host and job page.
pub struct Thread {
    pub host: Files,
    pub job: &'static JobPage,
    pub writer: Writer,
}

impl Thread {
    /// A stream of this process; `serial` keeps names apart.
    pub fn start(directory: &Path, serial: u64) -> Thread {
        // SAFETY: it only answers.
        let tid = unsafe { libc::gettid() } as u32;
        Thread::start_as(directory, StreamIdentity { tid, ..identity(std::process::id(), serial) })
    }

    pub fn start_as(directory: &Path, who: StreamIdentity) -> Thread {
        let mut host = Files::new(directory);
        let job = map_job(directory);
        let writer = Writer::start(&mut host, job, &who).expect("the stream begins");
        Thread { host, job, writer }
    }

    /// Appends a call that carries a number.
    pub fn append(&mut self, number: u64) {
        let call = Call { requested: number, began: number, function: 2, ..Call::default() };
        self.writer.append(&mut self.host, self.job, &call);
    }

    pub fn define(&mut self, id: u64, payload: &[u8]) -> bool {
        self.writer.define(&mut self.host, self.job, DefinitionKind::File, id, &[payload])
    }

    pub fn finish(mut self) {
        self.writer.finish(&mut self.host);
    }
}

/// The main thread of a process, at a time when it was there already.
pub fn identity(pid: u32, serial: u64) -> StreamIdentity {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to a place of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    let now_ns = (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64) + serial;
    StreamIdentity { pid, tid: pid, rank: -1, now_ns, ..StreamIdentity::default() }
}

/// Remembers everything.
#[derive(Default)]
pub struct Memory {
    pub infos: Vec<StreamInfo>,
    /// What each stream's records carry, in order.
    pub records: BTreeMap<StreamNumber, Vec<u64>>,
    pub definitions: Vec<(u64, Vec<u8>)>,
    pub ended: Vec<StreamNumber>,
    pub asking: Vec<StreamNumber>,
    /// Definitions that came before the last of them.
    pub n_defined_at_asking: usize,
}

impl Memory {
    /// Records of the first stream.
    pub fn first(&self) -> &[u64] {
        self.records.get(&StreamNumber(0)).map_or(&[], Vec::as_slice)
    }

    pub fn n_records(&self) -> usize {
        self.records.values().map(Vec::len).sum()
    }
}

impl Sink for Memory {
    fn stream(&mut self, stream: StreamNumber, info: &StreamInfo) {
        assert_eq!(stream.0 as usize, self.infos.len(), "numbered as they come");
        self.infos.push(info.clone());
    }

    fn definition(&mut self, _: StreamNumber, _: DefinitionKind, id: u64, payload: &[u8]) {
        self.definitions.push((id, payload.to_vec()));
    }

    fn record(&mut self, stream: StreamNumber, call: &Call) {
        assert!(!self.ended.contains(&stream), "nothing comes after the end");
        self.records.entry(stream).or_default().push(call.requested);
    }

    fn asks(&mut self, stream: StreamNumber) {
        assert!(!self.asking.contains(&stream), "a thread asks once");
        self.asking.push(stream);
        self.n_defined_at_asking = self.definitions.len();
    }

    fn ended(&mut self, stream: StreamNumber) {
        assert!(!self.ended.contains(&stream), "a stream ends once");
        self.ended.push(stream);
    }
}

/// A job in a directory of its own, which goes with the first value.
pub fn job(limit_bytes: u64) -> (tempfile::TempDir, Job) {
    let base = tempfile::tempdir().unwrap();
    let job = Job::create(base.path(), limit_bytes, 0).unwrap();
    (base, job)
}

/// Polls until `done` or ten seconds are over.
pub fn poll_until(job: &mut Job, sink: &mut Memory, mut done: impl FnMut(&Memory) -> bool) {
    let start = std::time::Instant::now();
    while !done(sink) {
        if job.poll(sink).unwrap() == 0 {
            job.sleep(Duration::from_millis(20));
        }
        assert!(start.elapsed() < Duration::from_secs(10), "it does not come");
    }
}

/// Bytes that the job's streams take.
pub fn used_bytes(job: &Job) -> u64 {
    let page = map_job(job.directory());
    page.taken_bytes.load(SeqCst) - page.returned_bytes.load(SeqCst)
}

/// Names of all stream files.
pub fn stream_files(job: &Job) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(job.directory()).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "stream"));
    paths.sort();
    paths
}
