// SPDX-License-Identifier: MIT OR Apache-2.0

//! A job's directory: made for the processes of a command, or found again.

use std::collections::hash_map::RandomState;
use std::fs::{self, DirBuilder, Permissions};
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::error::Error;
use super::follow::{FollowedStreams, Look};
use super::page::{JobPageAccess, SharedPage, Waker, effective_uid};
use super::process;
use super::sink::{Sink, StreamNumber};
use super::table::{COUNTS_OVERWRITTEN, MAX_COUNT};
use super::totals::{SpoolTotals, UnrecordedProgram};
use crate::layout::{
    JOB_FILE, JobPage, REQUESTS_FILE, SPARE_SUFFIX, STATUS_FILE, STREAM_SUFFIX, UnrecordedCause,
};
use crate::slot::{OutlookBuilder, SLOT_SUFFIX};
use crate::unrecorded;

/// The streams of a job, being read.
pub struct Job {
    directory: PathBuf,
    page: JobPageAccess,
    streams: FollowedStreams,
}

impl Job {
    /// Makes a directory for a new job in `base`, which only this user can enter.
    /// `limit_bytes` and `wait_ms` go into the job page, for the writers.
    pub fn create(base: &Path, limit_bytes: u64, wait_ms: u32) -> Result<Job, Error> {
        let random = RandomState::new().build_hasher().finish();
        let directory = base.join(format!("ioracle-{}-{random:016x}", std::process::id()));
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| Error::Create { path, source }
        };
        DirBuilder::new().mode(0o700).create(&directory).map_err(failed(&directory))?;
        let path = directory.join(JOB_FILE);
        // Regardless of the umask.
        let page = fs::set_permissions(&directory, Permissions::from_mode(0o700))
            .and_then(|()| JobPageAccess::create(&path, limit_bytes, wait_ms));
        let page = page.map_err(failed(&path)).inspect_err(|_| {
            let _ = fs::remove_file(&path);
            let _ = fs::remove_dir(&directory);
        })?;
        keep_memory();
        Ok(Job { streams: FollowedStreams::new(&directory), directory, page })
    }

    /// Opens the directory of a job that lost its reader. Nothing in it is
    /// changed, and everything that is still there is read.
    pub fn open(directory: &Path) -> Result<Job, Error> {
        let failed = |source| Error::Open { path: directory.to_path_buf(), source };
        let refused = |why| Error::NotAJob { path: directory.to_path_buf(), why };
        let metadata = fs::symlink_metadata(directory).map_err(failed)?;
        if !metadata.is_dir() {
            return Err(refused("it is not a directory"));
        }
        if metadata.uid() != effective_uid() {
            return Err(refused("it belongs to another user"));
        }
        let page = match JobPageAccess::copy(&directory.join(JOB_FILE)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(refused("it has no file 'job'"));
            }
            page => page.map_err(failed)?.map_err(refused)?,
        };
        let streams = FollowedStreams::new(directory);
        Ok(Job { directory: directory.to_path_buf(), page, streams })
    }

    /// Where the job is.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The other process that reads the job now, for one that was opened.
    pub fn other_reader(&self) -> Option<u32> {
        let reader = self.page.snapshot()?.reader_pid.load(Relaxed);
        let other = !self.page.is_shared() && reader != std::process::id();
        (other && process::process_is_alive(reader)).then_some(reader)
    }

    /// Hands over what has been published since the last time, a bounded part of
    /// it; how many records. At 0 there is nothing new now: [`sleep`](Job::sleep)
    /// then returns when there is.
    pub fn poll(&mut self, sink: &mut impl Sink) -> Result<usize, Error> {
        let will_be_woken = self.page.shared().is_some_and(SharedPage::is_sleeping);
        let look = if will_be_woken { Look::Due } else { Look::All };
        let mut n_records = self.streams.pass(&self.page, look, sink)?;
        if will_be_woken && n_records > 0 {
            self.set_sleeping(false);
        } else if n_records == 0 && !will_be_woken && self.page.is_shared() {
            // Whatever is published from here on wakes; what was before is found now.
            self.set_sleeping(true);
            n_records = self.streams.pass(&self.page, Look::All, sink)?;
            if n_records > 0 {
                self.set_sleeping(false);
            }
        }
        Ok(n_records)
    }

    /// The same for callers that do not sleep afterwards, in half the time.
    pub fn poll_awake(&mut self, sink: &mut impl Sink) -> Result<usize, Error> {
        self.streams.pass(&self.page, Look::All, sink)
    }

    /// Hands over what is new in the streams of threads that ask what comes
    /// next, at the smallest cost; how many records. Writers do not wake us
    /// meanwhile: this is for looking again and again.
    pub fn poll_asking(&mut self, sink: &mut impl Sink) -> usize {
        self.streams.pass_over_asking(sink)
    }

    /// Whether [`poll_asking`](Job::poll_asking) would find anything, for callers that
    /// have something long to do meanwhile.
    pub fn asking_have_news(&mut self) -> bool {
        self.streams.asking_have_news()
    }

    /// Someone acts on a stream: its thread wakes the reader with each record, and
    /// [`poll_asking`](Job::poll_asking) reads it, as if the thread asked.
    pub fn act_on(&mut self, stream: StreamNumber) {
        self.streams.act_on(stream);
    }

    /// Writers need not wake us for a while: [`poll_asking`](Job::poll_asking)
    /// is going to be called again and again.
    pub fn stay_awake(&self) {
        self.set_sleeping(false);
    }

    /// Publishes predictions for a thread that [asks](Sink::asks); false if that is no
    /// longer possible.
    pub fn publish(&mut self, stream: StreamNumber, outlook: &OutlookBuilder) -> bool {
        self.streams.publish(stream, outlook)
    }

    /// Since when the thread of a stream is inside a recorded call, on the system's
    /// monotonic clock; `None` if it is not. One read of the file, which costs the
    /// thread nothing.
    pub fn inside_since_ns(&mut self, stream: StreamNumber) -> Option<u64> {
        self.streams.inside_since_ns(stream)
    }

    /// Hands over everything that is published, skips holes, and ends all streams:
    /// for the end of a job, when its processes are gone or may be left alone.
    pub fn drain(&mut self, sink: &mut impl Sink) -> Result<usize, Error> {
        self.streams.drain(&self.page, sink)
    }

    /// Prediction slots that threads have made so far.
    pub fn n_slots(&self) -> u64 {
        self.page.streams_and_slots().map_or(0, |(_, n_slots)| n_slots)
    }

    /// The part of the space limit that records which were not handed over yet may
    /// take; never less than they do.
    pub fn waiting_share(&mut self) -> f64 {
        let Some((taken, limit)) = self.page.taken_and_limit() else { return 1.0 };
        let share = |bytes: u64| bytes as f64 / limit.max(1) as f64;
        // Mostly little is taken, and no file has to be looked at.
        if share(taken) < 0.25 {
            return share(taken);
        }
        share(taken.saturating_sub(self.streams.consumed_bytes()))
    }

    /// The most bytes that streams may take together; 0 if that cannot be read.
    pub fn limit_bytes(&self) -> u64 {
        self.page.taken_and_limit().map_or(0, |(_, limit)| limit)
    }

    /// Sleeps until writers have published enough to be worth a look, or the
    /// time is over.
    pub fn sleep(&self, at_most: Duration) {
        match self.page.shared() {
            Some(shared) => shared.sleep(at_most),
            None => std::thread::sleep(at_most),
        }
    }

    /// Ends a sleep from another thread.
    pub fn waker(&self) -> Waker {
        self.page.waker()
    }

    /// Tells writers that records are no longer wanted.
    pub fn close(&mut self) {
        if let Some(shared) = self.page.shared() {
            shared.close();
        }
    }

    /// Deletes the directory with the files that belong in it.
    pub fn remove(mut self) -> Result<(), Error> {
        self.close();
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(self.could_not_remove())?,
        };
        for entry in entries {
            let name = entry.map_err(self.could_not_remove())?.file_name();
            let suffixes = [STREAM_SUFFIX, SPARE_SUFFIX, SLOT_SUFFIX];
            let ends_as_ours = |name: &str| suffixes.iter().any(|suffix| name.ends_with(suffix));
            let is_named = [JOB_FILE, STATUS_FILE, REQUESTS_FILE].iter().any(|ours| name == *ours);
            let is_ours = is_named || name.to_str().is_some_and(ends_as_ours);
            if is_ours {
                // What is not a file stays, and so does the directory then.
                let _ = fs::remove_file(self.directory.join(&name));
            }
        }
        fs::remove_dir(&self.directory).map_err(self.could_not_remove())
    }

    /// Counts up to now.
    pub fn totals(&self) -> SpoolTotals {
        let mut totals = self.streams.totals();
        if let Some(page) = self.page.snapshot() {
            let mut has_lies = false;
            let mut believed = |count: &AtomicU64| {
                let count = count.load(Relaxed);
                has_lies |= count > MAX_COUNT;
                if count > MAX_COUNT { 0 } else { count }
            };
            totals.n_processes = believed(&page.n_processes);
            totals.n_io_uring = believed(&page.n_io_uring);
            totals.n_stacks_checked = believed(&page.n_stacks_checked);
            totals.n_given_up = believed(&page.n_given_up);
            totals.n_stacks_different = believed(&page.n_stacks_different);
            totals.n_unrecorded_threads = believed(&page.n_unrecorded_threads);
            totals.n_unrecorded_processes = believed(&page.n_unrecorded_processes);
            totals.unrecorded_processes = unrecorded_programs(&page);
            for (sum, count) in totals.unrecorded.iter_mut().zip(&page.unrecorded) {
                *sum = sum.saturating_add(believed(count));
            }
            if has_lies {
                totals.damage(JOB_FILE, COUNTS_OVERWRITTEN);
            }
        }
        totals
    }

    fn set_sleeping(&self, sleeping: bool) {
        if let Some(shared) = self.page.shared() {
            shared.set_sleeping(sleeping);
        }
    }

    fn could_not_remove(&self) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = self.directory.clone();
        move |source| Error::Remove { path, source }
    }
}

/// Lets this process keep the memory that it frees. What is learned about a short process
/// takes some dozen kilobytes, and glibc would request each page from the kernel again,
/// with a system call where a thread has its own arena.
fn keep_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: these set numbers of the allocator.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_TOP_PAD, 1 << 20);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 64 << 20);
        // Larger tables are mostly empty: fresh pages are cheaper than zeroed ones.
        libc::mallopt(libc::M_MMAP_THRESHOLD, 256 << 10);
    }
}

/// The rows in use; one that is being filled has no name yet.
fn unrecorded_programs(page: &JobPage) -> Vec<UnrecordedProgram> {
    let rows = page.unrecorded_processes.iter().filter_map(|row| {
        let pid = row.pid.load(Relaxed);
        let cause = *UnrecordedCause::ALL.get(row.cause.load(Relaxed) as usize)?;
        let is_whole = pid != 0 && pid != u32::MAX;
        is_whole.then(|| UnrecordedProgram { pid, name: unrecorded::name_of(&row.name), cause })
    });
    rows.collect()
}
