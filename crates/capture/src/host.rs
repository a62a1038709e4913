// SPDX-License-Identifier: MIT OR Apache-2.0

//! Makes room for the stream of a thread, by system calls of our own.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use ioracle_spool::layout::{FIRST_BYTES, PAGE, SPARE_BYTES, UnrecordedCause};
use ioracle_spool::{Host, StreamName};

use crate::environment::Text;
use crate::recorder::RECORDER;
use crate::reserve;
use crate::spare_stack::SpareStack;
use crate::sys::{self, Descriptor, Errno};

/// Belongs to one thread, for one use. The room for a path, which would be too much for
/// an alternate signal stack, is the thread's.
pub(crate) struct ProcessHost {
    pub(crate) spare_stack: SpareStack,
    /// Used only with signals blocked.
    pub(crate) path: NonNull<Text>,
    /// Where the whole stream is mapped, if it was made in advance; else null.
    pub(crate) spare: NonNull<AtomicPtr<u8>>,
}

impl ProcessHost {
    /// Maps a part of the stream's file.
    fn map(
        &mut self,
        name: &StreamName,
        flags: i32,
        offset: u64,
        bytes: usize,
    ) -> Result<NonNull<u8>, UnrecordedCause> {
        sys::without_signals(|| {
            // SAFETY: the thread's own, which nothing else uses: other users block
            // signals and do not come here.
            let path = unsafe { &mut *self.path.as_ptr() };
            map_in(path, name, flags, offset, bytes)
        })
    }

    fn spare(&self) -> &AtomicPtr<u8> {
        // SAFETY: part of the thread's state, which outlives its uses.
        unsafe { self.spare.as_ref() }
    }
}

/// Makes a file in the job's directory and maps it, given a room for its path.
pub(crate) fn create_in(
    path: &mut Text,
    name: &StreamName,
    bytes: usize,
) -> Result<NonNull<u8>, UnrecordedCause> {
    map_in(path, name, libc::O_CREAT | libc::O_EXCL, 0, bytes)
}

fn map_in(
    path: &mut Text,
    name: &StreamName,
    flags: i32,
    offset: u64,
    bytes: usize,
) -> Result<NonNull<u8>, UnrecordedCause> {
    path.set(RECORDER.set_up().directory.bytes());
    path.push(b"/");
    path.push(name.as_cstr().to_bytes());
    let flags = libc::O_RDWR | libc::O_NOFOLLOW | flags;
    match sys::with_file(path.as_cstr(), flags, 0o600, |file| map(file, offset, bytes)) {
        Ok(mapped) => mapped,
        Err(Errno(libc::ENOSPC | libc::EDQUOT)) => Err(UnrecordedCause::NoRoom),
        Err(_) => Err(UnrecordedCause::NoFile),
    }
}

// SAFETY: mappings of a file are aligned to pages, and were zero or hold what
// the writer itself put there.
unsafe impl Host for ProcessHost {
    fn create(&mut self, name: &StreamName, bytes: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        let made = self.map(name, libc::O_CREAT | libc::O_EXCL, 0, bytes);
        if bytes != FIRST_BYTES {
            return made;
        }
        let spare = match made {
            Err(UnrecordedCause::NoFile) => RECORDER.job().and_then(reserve::take),
            _ => None,
        };
        self.spare().store(spare.map_or(core::ptr::null_mut(), NonNull::as_ptr), Ordering::Relaxed);
        spare.map_or(made, Ok)
    }

    fn extend(
        &mut self,
        name: &StreamName,
        offset: u64,
        bytes: usize,
    ) -> Result<NonNull<u8>, UnrecordedCause> {
        if let Some(base) = NonNull::new(self.spare().load(Ordering::Relaxed)) {
            let at = usize::try_from(offset).unwrap_or(SPARE_BYTES);
            if at.saturating_add(bytes) > SPARE_BYTES {
                return Err(UnrecordedCause::NoRoom);
            }
            // SAFETY: all of the spare is mapped, and so much lies in it.
            return Ok(unsafe { base.add(at) });
        }
        match self.map(name, 0, offset, bytes) {
            // Only what was made in advance is available.
            Err(UnrecordedCause::NoFile) if reserve::is_ours() => Err(UnrecordedCause::NoRoom),
            mapped => mapped,
        }
    }

    fn unmap(&mut self, address: NonNull<u8>, bytes: usize) {
        // SAFETY: the writer gives back what `create` and `extend` gave it.
        unsafe { sys::unmap(address, bytes) };
    }

    fn uninterrupted<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R {
        let spare_stack = self.spare_stack;
        // SAFETY: a host belongs to its thread, and nothing else uses the stack's memory.
        unsafe { spare_stack.run(|| work(self)) }
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
fn map(file: &Descriptor, offset: u64, bytes: usize) -> Result<NonNull<u8>, UnrecordedCause> {
    // A file beyond this limit would be a SIGXFSZ.
    if offset.saturating_add(bytes as u64) > sys::file_size_limit() {
        return Err(UnrecordedCause::NoRoom);
    }
    match sys::allocate(file, offset, bytes) {
        Ok(()) => {}
        Err(Errno(libc::EOPNOTSUPP)) => fill(file, offset, bytes)?,
        Err(_) => return Err(UnrecordedCause::NoRoom),
    }
    sys::map_shared(file, offset, bytes).map_err(|_| UnrecordedCause::NoRoom)
}

/// Allocates where the file system cannot do it at once.
fn fill(file: &Descriptor, offset: u64, bytes: usize) -> Result<(), UnrecordedCause> {
    static ZEROS: [u8; PAGE] = [0; PAGE];
    for page in 0..(bytes / PAGE) as u64 {
        let written = sys::write_at(file, &ZEROS, offset + page * PAGE as u64);
        if written != Ok(PAGE) {
            return Err(UnrecordedCause::NoRoom);
        }
    }
    Ok(())
}

/// Leaves a stream to the parent of this forked process. A call that a handler
/// interrupted may have half written a record: the rest goes to private memory.
pub(crate) struct Leaving;

// SAFETY: it gives no memory.
unsafe impl Host for Leaving {
    fn create(&mut self, _: &StreamName, _: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        Err(UnrecordedCause::NoFile)
    }

    fn extend(&mut self, _: &StreamName, _: u64, _: usize) -> Result<NonNull<u8>, UnrecordedCause> {
        Err(UnrecordedCause::NoFile)
    }

    fn unmap(&mut self, address: NonNull<u8>, bytes: usize) {
        // SAFETY: a mapping of the writer's, which is given up.
        unsafe { sys::make_private(address, bytes) };
    }

    fn wake(&mut self, _: &AtomicU32) {}

    fn reader_is_alive(&mut self, _: u32) -> bool {
        false
    }

    fn pause(&mut self) {}
}
