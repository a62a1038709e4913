// SPDX-License-Identifier: MIT OR Apache-2.0

//! Makes room for the stream of a thread, by system calls of our own.

use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;

use ioracle_spool::layout::{PAGE, Unrecorded};
use ioracle_spool::{Host, StreamName};

use crate::environment::Text;
use crate::recorder::RECORDER;
use crate::sys::{self, Descriptor, Errno};

/// Holds room for a path, which would be too much for an alternate signal stack.
pub(crate) struct ProcessHost {
    path: Text,
}

impl ProcessHost {
    /// Maps a part of the stream's file.
    fn map(
        &mut self,
        name: &StreamName,
        flags: i32,
        offset: u64,
        bytes: usize,
    ) -> Result<NonNull<u8>, Unrecorded> {
        self.path = Text::EMPTY;
        self.path.push(RECORDER.set_up().directory.bytes());
        self.path.push(b"/");
        self.path.push(name.as_cstr().to_bytes());
        let flags = libc::O_RDWR | libc::O_NOFOLLOW | flags;
        let path = self.path.as_cstr();
        match sys::with_file(path, flags, 0o600, |file| map(file, offset, bytes)) {
            Ok(mapped) => mapped,
            Err(Errno(libc::ENOSPC | libc::EDQUOT)) => Err(Unrecorded::NoRoom),
            Err(_) => Err(Unrecorded::NoFile),
        }
    }
}

// SAFETY: mappings of a file are aligned to pages, and were zero or hold what
// the writer itself put there.
unsafe impl Host for ProcessHost {
    fn create(&mut self, name: &StreamName, bytes: usize) -> Result<NonNull<u8>, Unrecorded> {
        self.map(name, libc::O_CREAT | libc::O_EXCL, 0, bytes)
    }

    fn extend(
        &mut self,
        name: &StreamName,
        offset: u64,
        bytes: usize,
    ) -> Result<NonNull<u8>, Unrecorded> {
        self.map(name, 0, offset, bytes)
    }

    fn unmap(&mut self, address: NonNull<u8>, bytes: usize) {
        // SAFETY: the writer gives back what `create` and `extend` gave it.
        unsafe { sys::unmap(address, bytes) };
    }

    fn uninterrupted<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        sys::without_signals(|| work(self))
    }

    fn wake(&mut self, word: &AtomicU32) {
        sys::wake(word);
    }

    fn reader_is_alive(&mut self, pid: u32) -> bool {
        sys::is_alive(pid)
    }

    fn pause(&mut self) {
        sys::sleep_ns(1_000_000);
    }
}

/// Really allocates before it maps: writing into a sparse mapping on a full
/// file system is a SIGBUS in the application.
fn map(file: &Descriptor, offset: u64, bytes: usize) -> Result<NonNull<u8>, Unrecorded> {
    // A file beyond this limit would be a SIGXFSZ.
    if offset.saturating_add(bytes as u64) > sys::file_size_limit() {
        return Err(Unrecorded::NoRoom);
    }
    match sys::allocate(file, offset, bytes) {
        Ok(()) => {}
        Err(Errno(libc::EOPNOTSUPP)) => fill(file, offset, bytes)?,
        Err(_) => return Err(Unrecorded::NoRoom),
    }
    sys::map_shared(file, offset, bytes).map_err(|_| Unrecorded::NoRoom)
}

/// Allocates where the file system cannot do it at once.
fn fill(file: &Descriptor, offset: u64, bytes: usize) -> Result<(), Unrecorded> {
    static ZEROS: [u8; PAGE] = [0; PAGE];
    for page in 0..(bytes / PAGE) as u64 {
        let written = sys::write_at(file, &ZEROS, offset + page * PAGE as u64);
        if written != Ok(PAGE) {
            return Err(Unrecorded::NoRoom);
        }
    }
    Ok(())
}
