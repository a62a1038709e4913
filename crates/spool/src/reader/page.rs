// SPDX-License-Identifier: MIT OR Apache-2.0

//! The job page, as the reader sees it: mapped while the job lives, a private
//! copy when what another reader left is recovered.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release, SeqCst};
use std::time::Duration;

use crate::layout::{JOB_MAGIC, JobPage, PAGE, VERSION};

/// The page of a job.
pub(super) enum Page {
    /// Shared with the writers.
    Mapped(Arc<Mapping>),
    /// As it was when it was opened.
    Copied(Box<JobPage>),
}

impl Page {
    /// Makes the file of a new job and maps it.
    pub(super) fn create(path: &Path, limit_bytes: u64, wait_ms: u32) -> io::Result<Page> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)?;
        // Really allocated: a store into a hole on a full file system would end
        // whoever makes it.
        // SAFETY: a system call on a descriptor that is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, PAGE as libc::off_t) } {
            0 => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
        let mapping = Mapping::new(file)?;
        let page = mapping.page();
        page.version.store(VERSION, Relaxed);
        page.limit_bytes.store(limit_bytes, Relaxed);
        page.wait_ms.store(wait_ms, Relaxed);
        page.reader_pid.store(std::process::id(), Relaxed);
        page.open.store(1, Relaxed);
        page.magic.store(JOB_MAGIC, Release);
        Ok(Page::Mapped(Arc::new(mapping)))
    }

    /// Copies the page of a job that was left. `Err` of a word: why it is none.
    pub(super) fn copy(path: &Path) -> io::Result<Result<Page, &'static str>> {
        let file = open_distrustfully(path, OpenOptions::new().read(true))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Err("its file 'job' is not a regular file"));
        }
        if metadata.uid() != effective_uid() {
            return Ok(Err("its file 'job' belongs to another user"));
        }
        // SAFETY: a job page is numbers only.
        let mut page: Box<JobPage> = Box::new(unsafe { std::mem::zeroed() });
        // SAFETY: the bytes of the page, which is numbers only and has no other user.
        let bytes = unsafe {
            std::slice::from_raw_parts_mut(ptr::from_mut(&mut *page).cast(), size_of::<JobPage>())
        };
        match file.read_exact_at(bytes, 0) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(Err("its file 'job' is cut short"));
            }
            read => read?,
        }
        if *page.magic.get_mut() != JOB_MAGIC {
            return Ok(Err("its file 'job' does not begin as one"));
        }
        if *page.version.get_mut() != VERSION {
            return Ok(Err("it was made by another version; recover it with that one"));
        }
        Ok(Ok(Page::Copied(page)))
    }

    /// The page, unless its file was cut short under the mapping.
    pub(super) fn get(&self) -> Option<&JobPage> {
        match self {
            // Looking costs less than a microsecond and is done a few times per pass.
            Page::Mapped(mapping) => mapping.is_whole().then(|| mapping.page()),
            Page::Copied(page) => Some(page),
        }
    }

    /// For other threads. A page that was copied has nobody to wake.
    pub(super) fn waker(&self) -> Waker {
        match self {
            Page::Mapped(mapping) => Waker(Some(Arc::clone(mapping))),
            Page::Copied(_) => Waker(None),
        }
    }

    /// Whether writers see what is stored here.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Page::Mapped(_))
    }

    /// Sleeps until a writer wakes the reader, for at most so long.
    pub(super) fn sleep(&self, at_most: Duration) {
        let Some(page) = self.get().filter(|_| self.is_shared()) else {
            return std::thread::sleep(at_most);
        };
        if page.sleeping.0.load(SeqCst) != 1 {
            return;
        }
        let timeout = libc::timespec {
            tv_sec: at_most.as_secs().min(3600) as libc::time_t,
            tv_nsec: at_most.subsec_nanos().into(),
        };
        // The kernel sleeps only if the word is still 1. Not a private futex:
        // the wakers are other processes.
        // SAFETY: word and timeout live through the call.
        unsafe {
            let word = page.sleeping.0.as_ptr();
            let nothing = ptr::null::<u32>();
            libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, 1, &timeout, nothing, 0);
        }
    }
}

/// Ends the sleep of a job's reader from another thread, or keeps the next one
/// from beginning.
#[derive(Clone)]
pub struct Waker(Option<Arc<Mapping>>);

impl Waker {
    /// Wakes the reader as a writer would.
    pub fn wake(&self) {
        let Some(mapping) = self.0.as_deref().filter(|mapping| mapping.is_whole()) else { return };
        let word = &mapping.page().sleeping.0;
        word.store(0, SeqCst);
        // SAFETY: the word lives through the call; nothing is written.
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    }
}

/// A mapped job file.
pub(super) struct Mapping {
    file: File,
    base: NonNull<JobPage>,
}

// SAFETY: the page behind the pointer consists of atomics and is unmapped once.
unsafe impl Send for Mapping {}
// SAFETY: shared use is of atomics, and of a file that is only asked for its length.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: File) -> io::Result<Mapping> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping of an open file hurts nobody.
        let base = unsafe {
            let flags = libc::MAP_SHARED;
            libc::mmap(ptr::null_mut(), PAGE, protection, flags, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let base = NonNull::new(base.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { file, base })
    }

    fn page(&self) -> &JobPage {
        // SAFETY: mapped until it is dropped, and numbers only.
        unsafe { self.base.as_ref() }
    }

    fn is_whole(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.len() >= PAGE as u64)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nothing refers to it any more.
        unsafe { libc::munmap(self.base.as_ptr().cast(), PAGE) };
    }
}

/// Opens a file in a directory that others may have filled: no link is followed,
/// and a fifo does not block.
pub(super) fn open_distrustfully(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

/// Whose files are ours.
pub(super) fn effective_uid() -> u32 {
    // SAFETY: it cannot fail.
    unsafe { libc::geteuid() }
}
