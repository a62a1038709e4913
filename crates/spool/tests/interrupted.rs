// SPDX-License-Identifier: MIT OR Apache-2.0

//! Signal handlers append to the stream of the thread that they interrupt, at
//! any instruction of an append. Alone in its program: the handler is the
//! process's.

mod support;

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};
use std::time::{Duration, Instant};

use ioracle_spool::layout::{Call, DefinitionKind, JobPage, UnrecordedCause};
use ioracle_spool::{Host, StreamName, Writer};
use support::{Memory, identity, map, map_job};

/// Maps a whole file when it is made: handlers must not allocate.
struct OneMapping {
    path: PathBuf,
    base: Option<NonNull<u8>>,
}

const FILE_BYTES: usize = 64 << 20;

// SAFETY: a new file is zero, mappings are aligned, and it stays mapped.
unsafe impl Host for OneMapping {
    fn create(&mut self, name: &StreamName, _: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        self.path.push(name.as_cstr().to_str().unwrap());
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(&self.path).unwrap();
        file.set_len(FILE_BYTES as u64).unwrap();
        self.base = map(&file, 0, FILE_BYTES);
        self.base.ok_or(UnrecordedCause::NoRoom)
    }

    fn extend(
        &mut self,
        _: &StreamName,
        offset: u64,
        bytes: usize,
    ) -> Result<NonNull<u8>, UnrecordedCause> {
        let offset = offset as usize;
        let base =
            self.base.filter(|_| offset + bytes <= FILE_BYTES).ok_or(UnrecordedCause::NoRoom)?;
        // SAFETY: it lies in the mapping.
        Ok(unsafe { base.add(offset) })
    }

    fn unmap(&mut self, _: NonNull<u8>, _: usize) {}

    fn wake(&mut self, _: &AtomicU32) {}

    fn reader_is_alive(&mut self, _: u32) -> bool {
        true
    }

    fn pause(&mut self) {}
}

/// What the handler shares with the thread that it interrupts.
struct Shared {
    writer: Writer,
    base: Option<NonNull<u8>>,
    job: &'static JobPage,
}

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());
static N_CALLS: AtomicU64 = AtomicU64::new(0);
static N_HANDLED: AtomicU64 = AtomicU64::new(0);
static DONE: AtomicBool = AtomicBool::new(false);

/// Marks calls of the handler.
const HANDLED: u64 = 1 << 32;

fn append(shared: &Shared, number: u64) {
    let mut host = OneMapping { path: PathBuf::new(), base: shared.base };
    let call = Call { requested: number, function: 2, ..Call::default() };
    shared.writer.append(&mut host, shared.job, &call);
}

extern "C" fn handler(_: libc::c_int) {
    // SAFETY: set before the handler is, and never freed.
    let shared = unsafe { &*SHARED.load(SeqCst) };
    for _ in 0..40 {
        append(shared, HANDLED + N_HANDLED.fetch_add(1, SeqCst));
    }
}

/// Fires at the writing thread from the outside, as often as possible.
fn fire(thread: libc::pthread_t) {
    while !DONE.load(SeqCst) {
        // SAFETY: the thread waits for us before it ends.
        unsafe { libc::pthread_kill(thread, libc::SIGUSR1) };
        std::thread::sleep(Duration::from_micros(20));
    }
}

fn shared_in(directory: &Path) -> Shared {
    let job = map_job(directory);
    let mut host = OneMapping { path: directory.to_path_buf(), base: None };
    let writer = Writer::start(&mut host, job, &identity(std::process::id(), 0)).unwrap();
    Shared { writer, base: host.base, job }
}

#[test]
fn calls_of_handlers_get_numbers_of_their_own() {
    // Little room, so that segments are recycled all the time.
    let (_base, mut job) = support::job(1 << 20);
    let shared = Box::leak(Box::new(shared_in(job.directory())));
    SHARED.store(shared, SeqCst);
    // SAFETY: the handler only appends.
    let thread = unsafe {
        libc::signal(libc::SIGUSR1, handler as *const () as libc::sighandler_t);
        libc::pthread_self()
    };
    let start = Instant::now();
    let mut n_defined = 0;
    let mut sink = Memory::default();
    std::thread::scope(|scope| {
        scope.spawn(|| fire(thread as libc::pthread_t));
        scope.spawn(|| {
            while !DONE.load(SeqCst) {
                job.poll(&mut sink).unwrap();
            }
        });
        // However busy the machine is, until handlers have come in between often.
        for number in 0.. {
            let enough = number >= 150_000 && N_HANDLED.load(SeqCst) >= 10_000;
            if enough || start.elapsed() > Duration::from_secs(60) {
                break;
            }
            append(shared, number);
            N_CALLS.fetch_add(1, SeqCst);
            if number % 10 == 0 {
                let mut host = OneMapping { path: PathBuf::new(), base: shared.base };
                let file = DefinitionKind::File;
                let parts = [&b"some path"[..]];
                n_defined +=
                    usize::from(shared.writer.define(&mut host, shared.job, file, number, &parts));
            }
        }
        DONE.store(true, SeqCst);
    });
    job.drain(&mut sink).unwrap();
    let totals = job.totals();
    let n_handled = N_HANDLED.load(SeqCst);
    assert!(n_handled >= 10_000, "only {n_handled} calls in handlers");
    assert_eq!(totals.n_records + totals.n_unrecorded(), N_CALLS.load(SeqCst) + n_handled);
    assert_eq!((totals.n_holes, totals.n_damaged), (0, 0), "{:?}", totals.damaged);
    let (handled, own): (Vec<u64>, Vec<u64>) = sink.first().iter().partition(|it| **it >= HANDLED);
    assert!(own.is_sorted_by(|one, next| one < next));
    assert!(handled.is_sorted_by(|one, next| one < next));
    assert_eq!(sink.definitions.len(), n_defined);
    assert!(n_defined > 1000, "only {n_defined} definitions");
}
