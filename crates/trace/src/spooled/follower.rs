// SPDX-License-Identifier: MIT OR Apache-2.0

//! Follows a job: its spool on one side, an observer on the other.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ioracle_events::{ContextId, FileId, StreamId};
use ioracle_spool::slot::OutlookBuilder;
use ioracle_spool::{Job, Waker};

use crate::error::Error;
use crate::raw::{self, RawKeeper, RawReader};
use crate::spooled::observer::Observer;
use crate::spooled::processes::JobProcess;
use crate::spooled::state::State;
use crate::spooled::totals::JobTotals;

/// What a new job is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobSettings {
    /// Bytes that the records of all its processes may take together.
    pub limit_bytes: u64,
    /// How long a call waits for the follower at that limit, in milliseconds; 0
    /// counts it as not recorded and goes on.
    pub wait_ms: u32,
}

/// Reads the spool of a job and reports it to an [`Observer`].
///
/// It reads the spool itself, or with a [`RawKeeper`] what that has moved from there.
pub struct Follower {
    job: Arc<Mutex<Job>>,
    directory: PathBuf,
    relative_to: Option<PathBuf>,
    state: State,
    raw: Option<RawReader>,
}

/// Raw records that are read at once.
const RAW_AT_ONCE: u64 = 4096;

impl Follower {
    /// Makes a directory for a new job in `base`; processes that are given its
    /// name will record into it.
    pub fn create(base: &Path, settings: JobSettings) -> Result<Follower, Error> {
        Ok(Follower::of(Job::create(base, settings.limit_bytes, settings.wait_ms)?))
    }

    /// Opens what a job left behind.
    pub fn open(directory: &Path) -> Result<Follower, Error> {
        Ok(Follower::of(Job::open(directory)?))
    }

    fn of(job: Job) -> Follower {
        Follower {
            directory: job.directory().into(),
            job: Arc::new(Mutex::new(job)),
            relative_to: None,
            state: State::new(),
            raw: None,
        }
    }

    /// From now on, records are moved to the directory of a trace in raw form, by the
    /// keeper that this gives, and read there.
    pub fn keep_in(&mut self, trace: &Path) -> Result<RawKeeper, Error> {
        let directory = raw::directory_in(trace);
        let (job, relative_to) = (Arc::clone(&self.job), self.relative_to.as_deref());
        let (keeper, progress) = RawKeeper::create(&directory, job, relative_to)?;
        let reader = RawReader::open(&directory, progress);
        self.raw = Some(reader.map_err(|source| raw::unreadable(&directory, source))?);
        Ok(keeper)
    }

    /// Bytes that the records of all processes may take together.
    pub fn limit_bytes(&self) -> u64 {
        self.job().limit_bytes()
    }

    /// Records that a keeper has moved and that were not reported yet.
    pub fn n_waiting(&self) -> u64 {
        self.raw.as_ref().map_or(0, RawReader::n_waiting)
    }

    /// Whether records are read from raw files.
    pub fn reads_raw(&self) -> bool {
        self.raw.is_some()
    }

    fn job(&self) -> MutexGuard<'_, Job> {
        raw::lock(&self.job)
    }

    /// Reports some of what a keeper has moved. When the keeper has stopped and
    /// everything is read, the spool is read again.
    fn read_raw(&mut self, at_most: u64, observer: &mut impl Observer) -> Result<usize, Error> {
        let Some(raw) = &mut self.raw else { return Ok(0) };
        let directory = raw.directory().to_path_buf();
        let unreadable = |source| raw::unreadable(&directory, source);
        let is_over = raw.is_over();
        let n_records = raw.read(at_most, &mut self.state.with(observer)).map_err(unreadable)?;
        // A call that waits for the enclosing one exists nowhere else yet.
        if raw.has_read() && !self.state.has_waiting() {
            observer.keep();
            raw.delete_read();
        }
        if n_records == 0 && is_over {
            raw.finish(&mut self.state.with(observer)).map_err(unreadable)?;
            self.raw = None;
        }
        Ok(n_records)
    }

    /// Reports paths inside `directory`, the working directory of the job,
    /// relative to it from now on.
    pub fn relative_to(&mut self, directory: &Path) {
        self.state.known.definitions.relative_to(directory);
        self.relative_to = Some(directory.into());
    }

    /// Asks `read` for the name of the application that a program exports, once for
    /// each program from now on.
    pub fn read_exported_names(&mut self, read: fn(&Path) -> Option<String>) {
        self.state.known.exported_names.read = Some(read);
    }

    /// The directory of the job.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The process that reads the same job now, for one that was opened.
    pub fn other_reader(&self) -> Option<u32> {
        self.job().other_reader()
    }

    /// Reports what is new; returns the number of records that were read, 0 if
    /// there is nothing now.
    pub fn poll(&mut self, observer: &mut impl Observer) -> Result<usize, Error> {
        match self.raw {
            Some(_) => self.read_raw(RAW_AT_ONCE, observer),
            None => Ok(raw::lock(&self.job).poll(&mut self.state.with(observer))?),
        }
    }

    /// The same for callers that do not [wait](Follower::wait) afterwards.
    pub fn poll_awake(&mut self, observer: &mut impl Observer) -> Result<usize, Error> {
        match self.raw {
            Some(_) => self.read_raw(RAW_AT_ONCE, observer),
            None => Ok(raw::lock(&self.job).poll_awake(&mut self.state.with(observer))?),
        }
    }

    /// The same for threads that ask what comes next, and at the
    /// smallest cost: for looking again and again, after
    /// [`stay_awake`](Follower::stay_awake).
    pub fn poll_asking(&mut self, observer: &mut impl Observer) -> usize {
        match self.raw {
            Some(_) => 0,
            None => raw::lock(&self.job).poll_asking(&mut self.state.with(observer)),
        }
    }

    /// Someone acts on a stream: its calls are reported as they end, nested ones
    /// too ([`Observer::nested_event`]), and [`poll_asking`](Follower::poll_asking)
    /// reads it.
    pub fn act_on(&mut self, stream: StreamId) {
        if let Some(number) = self.state.act_on(stream) {
            self.job().act_on(number);
        }
    }

    /// Whether threads that ask what comes next have done something
    /// since.
    pub fn asking_have_news(&mut self) -> bool {
        self.job().asking_have_news()
    }

    /// Applications need not wake the follower until it sleeps again.
    pub fn stay_awake(&self) {
        self.job().stay_awake();
    }

    /// Publishes what is expected of a thread that asked; false if that is no longer
    /// possible.
    pub fn publish(&mut self, stream: StreamId, outlook: &OutlookBuilder) -> bool {
        let number = self.state.asking(stream);
        number.is_some_and(|number| self.job().publish(number, outlook))
    }

    /// Since when a thread is inside a recorded call, on the system's monotonic clock
    /// ([`JobProcess::start_ns`] is on the same); `None` if it is not.
    pub fn inside_since_ns(&mut self, stream: StreamId) -> Option<u64> {
        let number = self.state.number_of(stream)?;
        self.job().inside_since_ns(number)
    }

    /// The identity that a call stack has in the application; 0 for none.
    pub fn context_identity(&self, context: ContextId) -> u64 {
        self.state.known.definitions.context_identity(context)
    }

    /// The identity that a file has in the application; 0 for none.
    pub fn file_identity(&self, file: FileId) -> u64 {
        self.state.known.definitions.file_identity(file)
    }

    /// A path as the application has it: whole, nothing escaped.
    pub fn path_in_application(&self, path: &str) -> Vec<u8> {
        self.state.known.definitions.untold(path)
    }

    /// Threads that have asked what comes next so far.
    pub fn n_slots(&self) -> u64 {
        self.job().n_slots()
    }

    /// The part of the space limit that is taken by records which were not reported
    /// yet, at most. Raw files have as much room as their file system.
    pub fn waiting_share(&mut self) -> f64 {
        if self.reads_raw() { 0.0 } else { self.job().waiting_share() }
    }

    /// Threads that have made calls and have not ended.
    pub fn n_streams(&self) -> usize {
        self.state.n_streams()
    }

    /// Sleeps until there may be something new, or at most this long.
    pub fn wait(&mut self, at_most: Duration) {
        match &self.raw {
            Some(raw) => raw.wait(at_most),
            None => self.waker().sleep(at_most),
        }
    }

    /// What ends [`wait`](Follower::wait) early, from another thread.
    pub fn waker(&self) -> Waker {
        self.job().waker()
    }

    /// Reports all that is left, when nothing more will come.
    pub fn finish(&mut self, observer: &mut impl Observer) -> Result<usize, Error> {
        let mut n_records = 0;
        while self.reads_raw() {
            n_records += self.read_raw(u64::MAX, observer)?;
        }
        n_records += raw::lock(&self.job).drain(&mut self.state.with(observer))?;
        self.state.end_all(observer);
        Ok(n_records)
    }

    /// Processes that still run stop recording.
    pub fn close(&mut self) {
        self.job().close();
    }

    /// Deletes the directory of the job.
    pub fn remove(self) -> Result<(), Error> {
        // The keeper is gone by now; if not, the directory stays.
        let Some(job) = Arc::into_inner(self.job) else { return Ok(()) };
        Ok(job.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).remove()?)
    }

    /// The processes seen so far, in the order of appearance.
    pub fn processes(&self) -> &[JobProcess] {
        self.state.known.processes.all()
    }

    /// Counts of all that was found.
    pub fn totals(&self) -> JobTotals {
        JobTotals { n_events: self.state.known.n_events, spool: self.job().totals() }
    }
}
