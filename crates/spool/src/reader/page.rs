// SPDX-License-Identifier: MIT OR Apache-2.0

//! The job page, as the reader sees it: shared with the writers while the job
//! lives, a private copy when what another reader left is recovered.
//!
//! Every process of the job may cut its file short at any time, and then a load
//! from a mapping of it is a SIGBUS. So the reader loads and stores nothing in
//! memory: it reads and writes the file by system calls, which fail instead. It
//! has a mapping only because futex(2) wants an address.

use std::ffi::c_void;
use std::fs::{File, OpenOptions};
use std::io;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::max_file_bytes;
use crate::handshake::before_sleeping;
use crate::layout::{JOB_MAGIC, JobPage, PAGE, VERSION};

/// The page of a job.
pub(super) enum JobPageAccess {
    /// Shared with the writers.
    Shared(Arc<SharedPage>),
    /// As it was when it was opened.
    Copied(Arc<JobPage>),
}

impl JobPageAccess {
    /// Makes the file of a new job.
    pub(super) fn create(path: &Path, limit_bytes: u64, wait_ms: u32) -> io::Result<JobPageAccess> {
        // Writing beyond it would end this process with a SIGXFSZ.
        if max_file_bytes() < PAGE as u64 {
            return Err(io::Error::from_raw_os_error(libc::EFBIG));
        }
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)?;
        // Really allocated: a store into a hole on a full file system would end
        // the process that makes it.
        // SAFETY: a system call on a descriptor that is open.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, PAGE as libc::off_t) } {
            0 => {}
            error => return Err(io::Error::from_raw_os_error(error)),
        }
        let mut page = blank();
        *page.magic.get_mut() = JOB_MAGIC;
        *page.version.get_mut() = VERSION;
        *page.limit_bytes.get_mut() = limit_bytes;
        *page.wait_ms.get_mut() = wait_ms;
        *page.reader_pid.get_mut() = std::process::id();
        *page.open.get_mut() = 1;
        // Nobody knows of the job yet.
        file.write_all_at(bytes_of(&mut page), 0)?;
        let sleeping = FutexAddress::map(&file)?;
        let returned_bytes = AtomicU64::new(0);
        Ok(JobPageAccess::Shared(Arc::new(SharedPage { file, sleeping, returned_bytes })))
    }

    /// Copies the page of an abandoned job. The error says why it is not one.
    pub(super) fn copy(path: &Path) -> io::Result<Result<JobPageAccess, &'static str>> {
        let file = open_distrustfully(path, OpenOptions::new().read(true))?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(Err("its file 'job' is not a regular file"));
        }
        if metadata.uid() != effective_uid() {
            return Ok(Err("its file 'job' belongs to another user"));
        }
        let mut page = match read_page(&file) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return Ok(Err("its file 'job' is cut short"));
            }
            page => page?,
        };
        if *page.magic.get_mut() != JOB_MAGIC {
            return Ok(Err("its file 'job' does not begin as one"));
        }
        if *page.version.get_mut() != VERSION {
            return Ok(Err("it was made by another version; recover it with that one"));
        }
        Ok(Ok(JobPageAccess::Copied(page.into())))
    }

    /// What the page says now; None if its file was cut short.
    pub(super) fn snapshot(&self) -> Option<Arc<JobPage>> {
        match self {
            JobPageAccess::Shared(shared) => read_page(&shared.file).ok().map(Arc::from),
            JobPageAccess::Copied(page) => Some(Arc::clone(page)),
        }
    }

    /// Streams begun and slots made; None if that cannot be read.
    pub(super) fn streams_and_slots(&self) -> Option<(u64, u64)> {
        match self {
            JobPageAccess::Shared(shared) => Some((
                shared.read_u64(offset_of!(JobPage, n_streams))?,
                shared.read_u64(offset_of!(JobPage, n_asking))?,
            )),
            JobPageAccess::Copied(page) => {
                Some((page.n_streams.load(Relaxed), page.n_asking.load(Relaxed)))
            }
        }
    }

    /// Bytes that streams have taken and not given back, and the most that they may
    /// take; None if that cannot be read.
    pub(super) fn taken_and_limit(&self) -> Option<(u64, u64)> {
        let page = self.snapshot()?;
        let taken = page.taken_bytes.load(Relaxed);
        let taken = taken.saturating_sub(page.returned_bytes.load(Relaxed));
        Some((taken, page.limit_bytes.load(Relaxed)))
    }

    /// For other threads. A page that was copied has nobody to wake.
    pub(super) fn waker(&self) -> Waker {
        match self {
            JobPageAccess::Shared(shared) => Waker(Some(Arc::clone(shared))),
            JobPageAccess::Copied(_) => Waker(None),
        }
    }

    /// The page, if writers see what is stored there.
    pub(super) fn shared(&self) -> Option<&SharedPage> {
        match self {
            JobPageAccess::Shared(shared) => Some(shared),
            JobPageAccess::Copied(_) => None,
        }
    }

    /// Whether writers see what is stored here.
    pub(super) fn is_shared(&self) -> bool {
        self.shared().is_some()
    }
}

/// Ends the sleep of a job's reader from another thread, or keeps the next one
/// from beginning; and says how full the spool is while the job is being read.
#[derive(Clone)]
pub struct Waker(Option<Arc<SharedPage>>);

impl Waker {
    /// Sleeps as [`Job::sleep`](crate::Job::sleep) does, for others that share the job.
    pub fn sleep(&self, at_most: Duration) {
        match &self.0 {
            Some(shared) => shared.sleep(at_most),
            None => std::thread::sleep(at_most),
        }
    }

    /// Wakes the reader as a writer would.
    pub fn wake(&self) {
        if let Some(shared) = &self.0 {
            shared.set_sleeping(false);
            shared.sleeping.wake();
        }
    }

    /// The part of the space limit that streams have taken, which is no less than what
    /// waits to be read ([`Job::waiting_share`](crate::Job::waiting_share)); 1 if that
    /// cannot be read.
    pub fn taken_share(&self) -> f64 {
        let share = |shared: &Arc<SharedPage>| {
            let taken = shared.read_u64(offset_of!(JobPage, taken_bytes))?;
            let limit = shared.read_u64(offset_of!(JobPage, limit_bytes))?;
            let returned = shared.returned_bytes.load(Relaxed);
            Some(taken.saturating_sub(returned) as f64 / limit.max(1) as f64)
        };
        self.0.as_ref().and_then(share).unwrap_or(1.0)
    }
}

/// The page of a job that lives. Failed reads and writes are ignored: the file was cut
/// short, and writers that use it cannot be helped.
pub(super) struct SharedPage {
    file: File,
    sleeping: FutexAddress,
    /// Sets the field of this name; only the reader stores it.
    returned_bytes: AtomicU64,
}

impl SharedPage {
    /// Whether writers should wake the reader.
    pub(super) fn is_sleeping(&self) -> bool {
        self.read(offset_of!(JobPage, sleeping)).is_some_and(|word| u32::from_ne_bytes(word) == 1)
    }

    /// Tells writers whether to wake the reader. What they published before they could
    /// see it is found by looking after this call.
    pub(super) fn set_sleeping(&self, sleeping: bool) {
        before_sleeping(|| {
            self.write(offset_of!(JobPage, sleeping), &u32::from(sleeping).to_ne_bytes());
        });
    }

    /// Tells writers that records are no longer wanted.
    pub(super) fn close(&self) {
        self.write(offset_of!(JobPage, open), &0_u32.to_ne_bytes());
        self.write(offset_of!(JobPage, reader_pid), &0_u32.to_ne_bytes());
    }

    /// Gives bytes of the limit back. They are a word of their own: to lower the
    /// one that writers raise would take an atomic subtraction, in memory.
    pub(super) fn give_back(&self, bytes: u64) {
        let before = self.returned_bytes.fetch_add(bytes, Relaxed);
        let returned = before.wrapping_add(bytes);
        self.write(offset_of!(JobPage, returned_bytes), &returned.to_ne_bytes());
    }

    /// Sleeps until a writer wakes the reader, for at most this long.
    pub(super) fn sleep(&self, at_most: Duration) {
        if self.sleeping.wait(1, at_most).is_err() {
            std::thread::sleep(at_most);
        }
    }

    fn read_u64(&self, at: usize) -> Option<u64> {
        self.read(at).map(u64::from_ne_bytes)
    }

    fn read<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact_at(&mut bytes, at as u64).ok().map(|()| bytes)
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        let _ = self.file.write_all_at(bytes, at as u64);
    }
}

/// Where the word [`JobPage::sleeping`] is mapped, for futex(2) alone: the kernel
/// answers with EFAULT where a load of ours would be a SIGBUS.
struct FutexAddress {
    base: NonNull<c_void>,
}

// SAFETY: an address that is only handed to the kernel, and unmapped once.
unsafe impl Send for FutexAddress {}
// SAFETY: as above.
unsafe impl Sync for FutexAddress {}

impl FutexAddress {
    fn map(file: &File) -> io::Result<FutexAddress> {
        let (protection, flags) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a new mapping of an open file hurts nobody.
        let base =
            unsafe { libc::mmap(ptr::null_mut(), PAGE, protection, flags, file.as_raw_fd(), 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(FutexAddress { base: NonNull::new(base).ok_or(io::ErrorKind::OutOfMemory)? })
    }

    /// Not a private futex: the wakers are other processes.
    fn word(&self) -> usize {
        self.base.as_ptr() as usize + offset_of!(JobPage, sleeping)
    }

    /// Waits until the word is woken, while it is what was expected; an error if
    /// there is no word any more.
    fn wait(&self, expected: u32, at_most: Duration) -> Result<(), ()> {
        let timeout = libc::timespec {
            tv_sec: at_most.as_secs().min(3600) as libc::time_t,
            tv_nsec: at_most.subsec_nanos().into(),
        };
        // SAFETY: the timeout lives through the call, and the kernel checks the word.
        let waited = unsafe {
            let nothing = ptr::null::<u32>();
            let wait = libc::FUTEX_WAIT;
            libc::syscall(libc::SYS_futex, self.word(), wait, expected, &timeout, nothing, 0)
        };
        let is_lost = || io::Error::last_os_error().raw_os_error() == Some(libc::EFAULT);
        if waited < 0 && is_lost() { Err(()) } else { Ok(()) }
    }

    fn wake(&self) {
        // SAFETY: nothing is read or written.
        unsafe { libc::syscall(libc::SYS_futex, self.word(), libc::FUTEX_WAKE, i32::MAX) };
    }
}

impl Drop for FutexAddress {
    fn drop(&mut self) {
        // SAFETY: it is ours, and nobody uses it any more.
        unsafe { libc::munmap(self.base.as_ptr(), PAGE) };
    }
}

fn blank() -> Box<JobPage> {
    // SAFETY: a job page is numbers only.
    Box::new(unsafe { std::mem::zeroed() })
}

/// The bytes of a page.
fn bytes_of(page: &mut JobPage) -> &mut [u8] {
    // SAFETY: the page is numbers only and has no other user; all its bytes were
    // zeroed, those between fields included.
    unsafe { std::slice::from_raw_parts_mut(ptr::from_mut(page).cast(), size_of::<JobPage>()) }
}

fn read_page(file: &File) -> io::Result<Box<JobPage>> {
    let mut page = blank();
    file.read_exact_at(bytes_of(&mut page), 0)?;
    Ok(page)
}

/// Opens a file in a directory that others may have filled: no link is followed,
/// and a fifo does not block.
pub(super) fn open_distrustfully(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

/// The user whose files we accept.
pub(super) fn effective_uid() -> u32 {
    // SAFETY: it cannot fail.
    unsafe { libc::geteuid() }
}
