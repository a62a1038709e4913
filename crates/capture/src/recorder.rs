// SPDX-License-Identifier: MIT OR Apache-2.0

//! The recorder of this process: the only state that is not a thread's own.
//!
//! It is set up once by the library's constructor, from the environment and the
//! job's page. After that it changes in three ways: a forked child starts over,
//! threads that enter a sandbox stop recording, and counters grow.
//!
//! Whether calls are recorded, and by which process, is one word in a page that the
//! kernel wipes in forked children ([`sys::wipe_on_fork`]): so one load says whether
//! the recorder is on, and whether this is still the process that set it up, however
//! the fork was made (`fork`, `_Fork`, a raw system call). The word is the
//! [generation](Recorder::generation): what a thread has begun in another generation
//! belongs to a parent process, and nothing is written to it.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ioracle_spool::handshake::{publish, published};
use ioracle_spool::layout::{JOB_FILE, JOB_MAGIC, JobPage, PAGE, UnrecordedCause, VERSION};
use ioracle_spool::settings;
use ioracle_spool::unrecorded::UnrecordedRow;

use crate::clock;
use crate::environment::{self, SHARED_ROOM, Text};
use crate::patterns::Patterns;
use crate::sys::{self, Descriptor};
use crate::thread;

/// The recorder. Everything in it may be read from any thread at any time.
pub(crate) static RECORDER: ProcessRecorder = ProcessRecorder {
    page: AtomicPtr::new(core::ptr::null_mut()),
    is_page_wiped: AtomicBool::new(false),
    job: AtomicPtr::new(core::ptr::null_mut()),
    set_up: UnsafeCell::new(SetUp::EMPTY),
    n_sandboxed_threads: AtomicU32::new(0),
    n_sandboxes: AtomicU32::new(0),
    last_generation: AtomicU32::new(0),
    n_forks: AtomicU32::new(0),
    command_recorded: AtomicU32::new(0),
    n_spawns: AtomicU32::new(0),
};

/// What a process has reported about itself. Higher numbers: it has reported that
/// nothing could be recorded, in the row of that number less the first.
mod standing {
    pub(super) const NOTHING_YET: u32 = 0;
    pub(super) const RECORDED: u32 = 1;
    pub(super) const REPORTING: u32 = 2;
    pub(super) const FIRST_ROW: u32 = 3;
}

/// See the module.
pub(crate) struct ProcessRecorder {
    /// What holds for this process alone; null: calls are never recorded.
    page: AtomicPtr<ProcessPage>,
    /// Kernels before 4.14 do not wipe it.
    is_page_wiped: AtomicBool,
    job: AtomicPtr<JobPage>,
    /// Written by the constructor before `page`, only read after.
    set_up: UnsafeCell<SetUp>,
    /// Threads that are in a sandbox, or perhaps about to be. Not in the page,
    /// because forked children inherit the sandbox.
    n_sandboxed_threads: AtomicU32,
    /// The same for sandboxes around all threads.
    n_sandboxes: AtomicU32,
    /// The generation of this process, or of the one that it was forked from.
    last_generation: AtomicU32,
    n_forks: AtomicU32,
    /// The generation whose command line was recorded.
    command_recorded: AtomicU32,
    n_spawns: AtomicU32,
}

/// Lies in a page of its own, all zero in a child that has just been forked.
struct ProcessPage {
    /// The generation, as long as all threads are recorded; 0: ask `identity` and
    /// the sandboxes.
    generation: AtomicU32,
    /// Process and generation in one word; 0: the process has not begun.
    identity: AtomicU64,
    /// Whether anything of this process could be recorded; see [`standing`].
    standing: AtomicU32,
    start_ns: AtomicU64,
    start_realtime_ns: AtomicU64,
}

// SAFETY: `set_up` is written before `page` is published and never again, and
// read only after that; everything else is atomic.
unsafe impl Sync for ProcessRecorder {}

/// Which threads a sandbox covers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sandboxed {
    /// The thread that enters it, and those that it makes later.
    Thread,
    /// All threads of the process.
    Process,
}

/// What the environment said.
pub(crate) struct SetUp {
    /// The job's directory.
    pub(crate) directory: Text,
    /// Files to record.
    pub(crate) include: Patterns,
    /// Files not to record.
    pub(crate) exclude: Patterns,
    /// Store hashes instead of paths.
    pub(crate) anonymise: bool,
    /// Compare stacks with `backtrace()`.
    pub(crate) check_stacks: bool,
    /// The variables that name the application, each ended by a zero byte.
    pub(crate) application: Text,
    /// Rank set by the launcher.
    pub(crate) rank: i32,
    /// Number of ranks set by the launcher.
    pub(crate) world_size: u32,
}

impl SetUp {
    const EMPTY: SetUp = SetUp {
        directory: Text::EMPTY,
        include: Patterns::EMPTY,
        exclude: Patterns::EMPTY,
        anonymise: false,
        check_stacks: false,
        application: Text::EMPTY,
        // All zero, so that it takes no room in the library's file and no page of a
        // program that is not recorded.
        rank: 0,
        world_size: 0,
    };
}

impl ProcessRecorder {
    /// Whether calls are observed; every hook asks this first.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        let Some(page) = self.page() else { return false };
        page.generation.load(Ordering::Relaxed) != 0 || self.is_on_after_all(page)
    }

    /// Whether calls of this thread would be recorded, without counting anything.
    pub(crate) fn is_on_here(&self) -> bool {
        !self.is_sandboxed_here() && self.is_on() && !thread::is_vfork_child_uncounted()
    }

    /// Changes when a forked child starts over. 0 in one that has not yet, and on
    /// threads that are in a sandbox: nothing may be written there.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        let Some(page) = self.page() else { return 0 };
        match page.generation.load(Ordering::Relaxed) {
            0 => self.generation_here(page),
            generation => generation,
        }
    }

    #[inline]
    fn page(&self) -> Option<&ProcessPage> {
        // SAFETY: the page is never unmapped.
        unsafe { published(&self.page).as_ref() }
    }

    #[cold]
    fn is_on_after_all(&self, page: &ProcessPage) -> bool {
        if self.is_sandboxed_here() {
            self.count(UnrecordedCause::Sandboxed);
            return false;
        }
        if self.generation_here(page) == 0 {
            self.begin_child(page);
        }
        true
    }

    #[cold]
    fn generation_here(&self, page: &ProcessPage) -> u32 {
        let identity = page.identity.load(Ordering::Acquire);
        let is_ours = if self.is_page_wiped.load(Ordering::Relaxed) {
            identity != 0
        } else {
            process_of(identity) == sys::process_id()
        };
        // Another thread may be about to begin: its time is set last.
        let is_begun = is_ours && page.start_realtime_ns.load(Ordering::Acquire) != 0;
        if is_begun && !self.is_sandboxed_here() { generation_of(identity) } else { 0 }
    }

    /// Starts over in a forked child. A handler may interrupt at any instruction and do
    /// all of it, and so may other threads of the child: the first to set the identity
    /// decides, and the rest is the same for all. Calls are recorded only when all is
    /// done.
    fn begin_child(&self, page: &ProcessPage) {
        let before = page.identity.load(Ordering::Relaxed);
        let process = sys::process_id();
        let generation = self.last_generation.load(Ordering::Relaxed).wrapping_add(1).max(1);
        let ours = u64::from(process) << 32 | u64::from(generation);
        let is_over = before == 0 || process_of(before) != process;
        let (set, look) = (Ordering::AcqRel, Ordering::Acquire);
        let decided = match is_over.then(|| page.identity.compare_exchange(before, ours, set, look))
        {
            Some(Ok(_)) => {
                if !self.is_page_wiped.load(Ordering::Relaxed) {
                    page.standing.store(standing::NOTHING_YET, Ordering::Relaxed);
                    page.start_ns.store(0, Ordering::Relaxed);
                    page.start_realtime_ns.store(0, Ordering::Relaxed);
                }
                if let Some(job) = self.job() {
                    job.n_processes.fetch_add(1, Ordering::Relaxed);
                }
                ours
            }
            Some(Err(others)) => others,
            None => before,
        };
        self.last_generation.store(generation_of(decided), Ordering::Relaxed);
        page.begin_now();
        self.publish(page, generation_of(decided));
    }

    /// Lets one load give the generation, where that is enough.
    fn publish(&self, page: &ProcessPage, generation: u32) {
        let is_enough = self.is_page_wiped.load(Ordering::Relaxed)
            && self.n_sandboxes.load(Ordering::Relaxed) == 0
            && self.n_sandboxed_threads.load(Ordering::Relaxed) == 0;
        if is_enough {
            page.generation.store(generation, Ordering::Release);
        }
    }

    /// The page shared with the reader.
    #[inline]
    pub(crate) fn job(&self) -> Option<&'static JobPage> {
        // SAFETY: the mapping is never removed.
        unsafe { published(&self.job).as_ref() }
    }

    /// What the environment said.
    #[inline]
    pub(crate) fn set_up(&self) -> &SetUp {
        // SAFETY: written before anything asks, see `Sync`.
        unsafe { &*self.set_up.get() }
    }

    /// The process that is recorded.
    pub(crate) fn process_id(&self) -> u32 {
        self.page().map_or(0, |page| process_of(page.identity.load(Ordering::Relaxed)))
    }

    /// When this process began, CLOCK_MONOTONIC and CLOCK_REALTIME.
    pub(crate) fn start_ns(&self) -> (u64, u64) {
        self.page().map_or((0, 0), |page| {
            let (start, realtime) = (&page.start_ns, &page.start_realtime_ns);
            (start.load(Ordering::Relaxed), realtime.load(Ordering::Relaxed))
        })
    }

    /// Counts a call of a thread that has no stream.
    pub(crate) fn count(&self, cause: UnrecordedCause) {
        if let Some(count) = self.job().and_then(|job| job.unrecorded.get(cause as usize)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A thread of this process could not begin a stream. The first one that
    /// comes reports the process to the reader.
    pub(crate) fn report_unrecorded(&self, job: &JobPage, cause: UnrecordedCause) {
        use standing::{FIRST_ROW, NOTHING_YET, REPORTING};
        job.n_unrecorded_threads.fetch_add(1, Ordering::Relaxed);
        let Some(page) = self.page() else { return };
        let exchange = |from, to| {
            page.standing.compare_exchange(from, to, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        if !exchange(NOTHING_YET, REPORTING) {
            return;
        }
        let row = SHARED_ROOM.with(|path| {
            path.fill(|buffer| sys::read_link(c"/proc/self/exe", buffer).map(<[u8]>::len));
            let name = path.bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            job.report_unrecorded(sys::process_id(), cause, name)
        });
        let row = row.unwrap_or_else(|| job.report_unrecorded(sys::process_id(), cause, b"?"));
        if !exchange(REPORTING, FIRST_ROW.wrapping_add(row.to_word())) {
            job.take_back(row);
        }
    }

    /// A thread of this process has begun a stream; `reported` if it could not at
    /// first.
    #[inline(never)]
    pub(crate) fn report_recorded(&self, job: &JobPage, reported: bool) {
        use standing::{FIRST_ROW, RECORDED};
        if reported {
            job.n_unrecorded_threads.fetch_sub(1, Ordering::Relaxed);
        }
        if let Some(page) = self.page()
            && page.standing.load(Ordering::Relaxed) != RECORDED
            && let Some(row) =
                page.standing.swap(RECORDED, Ordering::Relaxed).checked_sub(FIRST_ROW)
        {
            job.take_back(UnrecordedRow::from_word(row));
        }
    }

    /// Whether the whole command line of this process still has to be recorded; true
    /// only once.
    pub(crate) fn records_command(&self) -> bool {
        let generation = self.generation();
        self.command_recorded.swap(generation, Ordering::Relaxed) != generation
    }

    /// A child that inherits all descriptors is about to be made.
    pub(crate) fn forks(&self) {
        self.n_forks.fetch_add(1, Ordering::Relaxed);
    }

    /// A child that inherits the descriptors without FD_CLOEXEC is about to be made.
    pub(crate) fn spawns(&self) {
        self.n_spawns.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes when a descriptor opened before may now be shared with
    /// another process.
    #[inline]
    pub(crate) fn sharing_epoch(&self, closed_on_exec: bool) -> u32 {
        let n_forks = self.n_forks.load(Ordering::Relaxed);
        if closed_on_exec {
            n_forks
        } else {
            n_forks.wrapping_add(self.n_spawns.load(Ordering::Relaxed))
        }
    }

    /// Makes a call that enters a sandbox if it succeeds, in which a system call of
    /// ours could end the program. Recording stops before it: a filter for all threads
    /// holds for them at once. If it fails, for example because a program only asks
    /// what the kernel supports, recording continues.
    pub(crate) fn around_sandbox<R>(
        &self,
        whom: Sandboxed,
        real: impl FnOnce() -> R,
        has_succeeded: impl FnOnce(&R) -> bool,
    ) -> R {
        let (count, was_sandboxed) = match whom {
            Sandboxed::Thread => (&self.n_sandboxed_threads, thread::set_sandboxed(true)),
            Sandboxed::Process => (&self.n_sandboxes, false),
        };
        count.fetch_add(1, Ordering::SeqCst);
        if let Some(page) = self.page() {
            // Permanently: restoring the word might race with another thread that has
            // just entered.
            page.generation.store(0, Ordering::SeqCst);
        }
        let result = real();
        if !has_succeeded(&result) {
            if whom == Sandboxed::Thread {
                thread::set_sandboxed(was_sandboxed);
            }
            count.fetch_sub(1, Ordering::SeqCst);
        }
        result
    }

    /// Whether this thread may be in a sandbox. It is unknown which threads a sandboxed
    /// one has made; but threads that had a stream before are not among them.
    pub(crate) fn is_sandboxed_here(&self) -> bool {
        self.n_sandboxes.load(Ordering::SeqCst) > 0
            || (self.n_sandboxed_threads.load(Ordering::SeqCst) > 0 && thread::may_be_sandboxed())
    }

    /// Reads the environment and joins the job. Where there is none (ranks on
    /// other nodes have no directory) all calls pass through.
    pub(crate) fn set_up_from_environment(&self) {
        if environment::is_set(settings::DISABLE) {
            return;
        }
        // In place: four texts on the stack would be as many pages of it.
        // SAFETY: the constructor runs once, and nobody reads before `page` is stored.
        let set_up = unsafe { &mut *self.set_up.get() };
        if !environment::read(settings::SPOOL, &mut set_up.directory) {
            return;
        }
        let job = match join(&set_up.directory) {
            Ok(job) => job,
            Err(Refused::NotThere) => return,
            Err(Refused::Because(reason)) => return warn(NOT_RECORDED, reason),
        };
        let Some(page) = self.process_page() else {
            return warn(NOT_RECORDED, "there is no memory for it");
        };
        set_up.include.read(settings::INCLUDE);
        set_up.exclude.read(settings::EXCLUDE);
        environment::read_assignments(&settings::APPLICATION_VARIABLES, &mut set_up.application);
        set_up.anonymise = environment::is_set(settings::ANONYMISE);
        set_up.check_stacks = environment::is_set(settings::CHECK_STACKS);
        (set_up.rank, set_up.world_size) = environment::rank();
        publish(&self.job, job.as_ptr());
        // SAFETY: the page was just mapped and stays.
        self.begin_child(unsafe { page.as_ref() });
        publish(&self.page, page.as_ptr());
    }

    fn process_page(&self) -> Option<NonNull<ProcessPage>> {
        let page = sys::map_anonymous(PAGE).ok()?;
        // Where the kernel refuses, every call asks which process it is in.
        self.is_page_wiped.store(sys::wipe_on_fork(page, PAGE).is_ok(), Ordering::Relaxed);
        Some(page.cast())
    }
}

impl ProcessPage {
    /// Sets when the process began, unless that is known.
    fn begin_now(&self) {
        let set = |start: &AtomicU64, now: u64| {
            let _ = start.compare_exchange(0, now, Ordering::Release, Ordering::Relaxed);
        };
        set(&self.start_ns, clock::now_ns());
        set(&self.start_realtime_ns, clock::realtime_ns());
    }
}

fn process_of(identity: u64) -> u32 {
    (identity >> 32) as u32
}

fn generation_of(identity: u64) -> u32 {
    identity as u32
}

enum Refused {
    NotThere,
    Because(&'static str),
}

fn join(directory: &Text) -> Result<NonNull<JobPage>, Refused> {
    let mapped = SHARED_ROOM.with(|path| {
        path.set(directory.bytes());
        path.push(b"/");
        path.push(JOB_FILE.as_bytes());
        sys::with_file(path.as_cstr(), libc::O_RDWR | libc::O_NOFOLLOW, 0, map_job)
    });
    match mapped {
        Some(Ok(page)) => page,
        Some(Err(sys::Errno(libc::ENOENT | libc::ENOTDIR))) => Err(Refused::NotThere),
        _ => Err(Refused::Because("the job's directory may not be written")),
    }
}

fn map_job(file: &Descriptor) -> Result<NonNull<JobPage>, Refused> {
    let status =
        sys::status(file.0).map_err(|_| Refused::Because("the job's page cannot be read"))?;
    if status.user != sys::effective_user() {
        return Err(Refused::Because("the job belongs to another user"));
    }
    if status.size < PAGE as u64 || status.mode & libc::S_IFMT != libc::S_IFREG {
        return Err(Refused::Because("the job's page is damaged"));
    }
    let page: NonNull<JobPage> = sys::map_shared(file, 0, PAGE)
        .map_err(|_| Refused::Because("the job's page cannot be mapped"))?
        .cast();
    // SAFETY: a mapped page of the right size, all of whose fields are atomic.
    let job = unsafe { page.as_ref() };
    if job.magic.load(Ordering::Relaxed) != JOB_MAGIC {
        return Err(Refused::Because("the job's page is damaged"));
    }
    if job.version.load(Ordering::Relaxed) != VERSION {
        return Err(Refused::Because("the library and the 'ioracle' command differ in version"));
    }
    if job.open.load(Ordering::Relaxed) == 0 {
        return Err(Refused::NotThere);
    }
    Ok(page)
}

/// In a child made by libc's fork.
pub(crate) extern "C" fn after_fork_in_child() {
    if RECORDER.page().is_some() {
        thread::leave_stream_of_parent();
    }
}

/// In the parent, before libc's fork.
pub(crate) extern "C" fn before_fork() {
    RECORDER.forks();
}

const NOT_RECORDED: &str = "this program's I/O is not recorded: ";

/// Warns once that something cannot be done. Only the constructor warns: later,
/// descriptor 2 may be a data file of the program.
pub(crate) fn warn(what: &'static str, reason: &'static str) {
    if environment::is_set(settings::QUIET) {
        return;
    }
    let mut text = Text::EMPTY;
    for part in ["ioracle: ", what, reason, " (", settings::QUIET, "=1 silences this)\n"] {
        text.push(part.as_bytes());
    }
    sys::write_stderr(text.bytes());
}
