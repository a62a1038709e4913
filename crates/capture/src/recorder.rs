// SPDX-License-Identifier: MIT OR Apache-2.0

//! The recorder of this process: the only state that is not a thread's own.
//!
//! It is set up once by the library's constructor, from the environment and the
//! job's page. After that it changes in three ways: a forked child starts over,
//! a process that enters a sandbox stops recording, and counters grow.
//!
//! Whether calls are recorded is one word in a page that the kernel wipes in
//! forked children ([`sys::wipe_on_fork`]): so one load tells whether the
//! recorder is on, and whether this is still the process that set it up,
//! however the fork was made (`fork`, `_Fork`, a raw system call).

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ioracle_spool::layout::{JOB_FILE, JOB_MAGIC, JobPage, PAGE, Unrecorded, VERSION};
use ioracle_spool::settings;

use crate::clock;
use crate::environment::{self, Text};
use crate::patterns::Patterns;
use crate::sys::{self, Descriptor};
use crate::thread;

/// The recorder. Everything in it may be read from any thread at any time.
pub(crate) static RECORDER: Recorder = Recorder {
    mode: AtomicPtr::new(core::ptr::null_mut()),
    job: AtomicPtr::new(core::ptr::null_mut()),
    set_up: UnsafeCell::new(SetUp::EMPTY),
    is_sandboxed: AtomicBool::new(false),
    generation: AtomicU32::new(0),
    n_forks: AtomicU32::new(0),
    n_spawns: AtomicU32::new(0),
    process_id: AtomicU32::new(0),
    start_ns: AtomicU64::new(0),
    start_realtime_ns: AtomicU64::new(0),
};

/// Calls are recorded.
const ON: u32 = 1;
/// They are not.
const OFF: u32 = 0;

/// See the module.
pub(crate) struct Recorder {
    /// Points to the word that says what is done with calls; null: nothing ever.
    mode: AtomicPtr<AtomicU32>,
    job: AtomicPtr<JobPage>,
    /// Written by the constructor before `mode`, only read after.
    set_up: UnsafeCell<SetUp>,
    /// Not in the page of `mode`, because forked children inherit the sandbox.
    is_sandboxed: AtomicBool,
    /// Raised in forked children; threads notice and begin a new stream.
    generation: AtomicU32,
    n_forks: AtomicU32,
    n_spawns: AtomicU32,
    process_id: AtomicU32,
    start_ns: AtomicU64,
    start_realtime_ns: AtomicU64,
}

// SAFETY: `set_up` is written before `mode` is stored with release ordering and
// never again; all else is atomic.
unsafe impl Sync for Recorder {}

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
    /// Rank told by the launcher.
    pub(crate) rank: i32,
    /// Number of ranks told by the launcher.
    pub(crate) world_size: u32,
}

impl SetUp {
    const EMPTY: SetUp = SetUp {
        directory: Text::EMPTY,
        include: Patterns::EMPTY,
        exclude: Patterns::EMPTY,
        anonymise: false,
        check_stacks: false,
        rank: -1,
        world_size: 0,
    };
}

impl Recorder {
    /// Whether calls are looked at; the first question of every hook.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        // SAFETY: the word is in a page that is never unmapped.
        let Some(mode) = (unsafe { self.mode.load(Ordering::Relaxed).as_ref() }) else {
            return false;
        };
        mode.load(Ordering::Relaxed) == ON || self.is_on_after_all(mode)
    }

    /// Whether calls of this thread would be recorded, for those who only want
    /// to know: nothing is counted.
    pub(crate) fn is_on_here(&self) -> bool {
        !self.is_sandboxed.load(Ordering::Relaxed) && self.is_on() && !thread::borrows()
    }

    #[cold]
    fn is_on_after_all(&self, mode: &AtomicU32) -> bool {
        if self.is_sandboxed.load(Ordering::Relaxed) {
            self.count(Unrecorded::Sandboxed);
            return false;
        }
        // The page was wiped: a forked child, which has one thread.
        mode.store(ON, Ordering::Relaxed);
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.begin_process();
        true
    }

    fn begin_process(&self) {
        self.process_id.store(sys::process_id(), Ordering::Relaxed);
        self.start_ns.store(clock::now_ns(), Ordering::Relaxed);
        self.start_realtime_ns.store(clock::realtime_ns(), Ordering::Relaxed);
        if let Some(job) = self.job() {
            job.n_processes.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The page shared with the reader.
    #[inline]
    pub(crate) fn job(&self) -> Option<&'static JobPage> {
        // SAFETY: the mapping is never removed.
        unsafe { self.job.load(Ordering::Relaxed).as_ref() }
    }

    /// What the environment said.
    #[inline]
    pub(crate) fn set_up(&self) -> &SetUp {
        // SAFETY: written before anything asks, see `Sync`.
        unsafe { &*self.set_up.get() }
    }

    /// Changes when a forked child starts over.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.generation.load(Ordering::Relaxed)
    }

    /// The process that set the recorder up.
    pub(crate) fn process_id(&self) -> u32 {
        self.process_id.load(Ordering::Relaxed)
    }

    /// When this process began, CLOCK_MONOTONIC and CLOCK_REALTIME.
    pub(crate) fn start_ns(&self) -> (u64, u64) {
        (self.start_ns.load(Ordering::Relaxed), self.start_realtime_ns.load(Ordering::Relaxed))
    }

    /// Counts a call of a thread that has no stream.
    pub(crate) fn count(&self, cause: Unrecorded) {
        if let Some(count) = self.job().and_then(|job| job.unrecorded.get(cause as usize)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A child that inherits all descriptors is about to be made.
    pub(crate) fn forks(&self) {
        self.n_forks.fetch_add(1, Ordering::Relaxed);
    }

    /// A child that inherits the descriptors without FD_CLOEXEC is about to be made.
    pub(crate) fn spawns(&self) {
        self.n_spawns.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes when a descriptor opened before may have come to be shared with
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

    /// From here on the process makes no system call of ours.
    pub(crate) fn enters_sandbox(&self) {
        self.is_sandboxed.store(true, Ordering::Relaxed);
        // SAFETY: the word is in a page that is never unmapped.
        if let Some(mode) = unsafe { self.mode.load(Ordering::Relaxed).as_ref() } {
            mode.store(OFF, Ordering::Relaxed);
        }
    }

    /// Reads the environment and joins the job. Where there is none (ranks on
    /// other nodes have no directory) all calls pass through.
    pub(crate) fn set_up_from_environment(&self) {
        if environment::is_set(settings::DISABLE) {
            return;
        }
        let Some(directory) = environment::text(settings::SPOOL) else { return };
        let job = match join(&directory) {
            Ok(job) => job,
            Err(Refused::NotThere) => return,
            Err(Refused::Because(reason)) => return warn(NOT_RECORDED, reason),
        };
        let Some(mode) = mode_page() else {
            return warn(NOT_RECORDED, "there is no memory for it");
        };
        let (rank, world_size) = environment::rank();
        let set_up = SetUp {
            directory,
            include: Patterns::new(environment::text(settings::INCLUDE)),
            exclude: Patterns::new(environment::text(settings::EXCLUDE)),
            anonymise: environment::is_set(settings::ANONYMISE),
            check_stacks: environment::is_set(settings::CHECK_STACKS),
            rank,
            world_size,
        };
        // SAFETY: the constructor runs once, and nobody reads before `mode` is stored.
        unsafe { *self.set_up.get() = set_up };
        self.job.store(job.as_ptr(), Ordering::Relaxed);
        self.begin_process();
        // SAFETY: the page was just mapped and stays.
        unsafe { mode.as_ref() }.store(ON, Ordering::Relaxed);
        self.mode.store(mode.as_ptr(), Ordering::Release);
    }
}

enum Refused {
    NotThere,
    Because(&'static str),
}

fn join(directory: &Text) -> Result<NonNull<JobPage>, Refused> {
    let mut path = Text::EMPTY;
    path.push(directory.bytes());
    path.push(b"/");
    path.push(JOB_FILE.as_bytes());
    match sys::with_file(path.as_cstr(), libc::O_RDWR | libc::O_NOFOLLOW, 0, map_job) {
        Ok(page) => page,
        Err(sys::Errno(libc::ENOENT | libc::ENOTDIR)) => Err(Refused::NotThere),
        Err(_) => Err(Refused::Because("the job's directory may not be written")),
    }
}

fn map_job(file: &Descriptor) -> Result<NonNull<JobPage>, Refused> {
    let stat = sys::stat(file.0).map_err(|_| Refused::Because("the job's page cannot be read"))?;
    if stat.st_uid != sys::effective_user() {
        return Err(Refused::Because("the job belongs to another user"));
    }
    if stat.st_size < PAGE as i64 || stat.st_mode & libc::S_IFMT != libc::S_IFREG {
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

fn mode_page() -> Option<NonNull<AtomicU32>> {
    let page = sys::map_anonymous(PAGE).ok()?;
    // Kernels before 4.14 refuse; `pthread_atfork` then is what notices a fork.
    let _ = sys::wipe_on_fork(page, PAGE);
    Some(page.cast())
}

/// In a child made by libc's fork, on kernels that do not wipe the page.
pub(crate) extern "C" fn after_fork_in_child() {
    // SAFETY: the word is in a page that is never unmapped.
    if let Some(mode) = unsafe { RECORDER.mode.load(Ordering::Relaxed).as_ref() }
        && mode.load(Ordering::Relaxed) == ON
    {
        mode.store(OFF, Ordering::Relaxed);
    }
}

/// In the parent, before libc's fork.
pub(crate) extern "C" fn before_fork() {
    RECORDER.forks();
}

const NOT_RECORDED: &str = "this program's I/O is not recorded: ";

/// Says once why something is not done. Only the constructor does: later,
/// descriptor 2 may be the program's data.
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
