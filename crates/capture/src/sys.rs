// SPDX-License-Identifier: MIT OR Apache-2.0

//! The system calls that we make ourselves: none of them goes through a
//! function that we, or another preloaded library, intercept, and none touches
//! the program's errno.

use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::ptr::NonNull;

use crate::arch::syscall;
use crate::clock::nanoseconds;

/// The kernel's error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) i32);

fn check(result: isize) -> Result<usize, Errno> {
    if result < 0 { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}

/// A descriptor of ours. We hold none longer than a few calls: programs close,
/// count and number descriptors as they please.
pub(crate) struct Descriptor(pub(crate) i32);

/// Opens a path with O_CLOEXEC, does something with the file and closes it.
pub(crate) fn with_file<R>(
    path: &CStr,
    flags: i32,
    mode: u32,
    work: impl FnOnce(&Descriptor) -> R,
) -> Result<R, Errno> {
    let at = libc::AT_FDCWD as usize;
    let flags = (flags | libc::O_CLOEXEC) as usize;
    // SAFETY: the path is a C string.
    let result = unsafe {
        syscall(libc::SYS_openat, [at, path.as_ptr() as usize, flags, mode as usize, 0, 0])
    };
    let fd = check(result)?;
    let result = work(&Descriptor(fd as i32));
    // SAFETY: the descriptor is ours.
    unsafe { syscall(libc::SYS_close, [fd, 0, 0, 0, 0, 0]) };
    Ok(result)
}

/// Reads into a buffer.
pub(crate) fn read(file: &Descriptor, buffer: &mut [u8]) -> Result<usize, Errno> {
    let at = buffer.as_mut_ptr() as usize;
    // SAFETY: the buffer is ours and has the given length.
    check(unsafe { syscall(libc::SYS_read, [file.0 as usize, at, buffer.len(), 0, 0, 0]) })
}

/// Writes at a place; used to make room where fallocate is not supported.
pub(crate) fn write_at(file: &Descriptor, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
    let at = bytes.as_ptr() as usize;
    let arguments = [file.0 as usize, at, bytes.len(), offset as usize, 0, 0];
    // SAFETY: the kernel only reads the bytes.
    check(unsafe { syscall(libc::SYS_pwrite64, arguments) })
}

/// Prints a message for the user.
pub(crate) fn write_stderr(bytes: &[u8]) {
    // SAFETY: the kernel only reads the bytes.
    unsafe { syscall(libc::SYS_write, [2, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) };
}

/// What we ask about an open file.
#[derive(Clone, Copy)]
pub(crate) struct FileStatus {
    pub(crate) mode: u32,
    pub(crate) user: u32,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// When the file was made; 0 where the file system does not say.
    pub(crate) birth_ns: u64,
    pub(crate) n_links: u32,
}

/// What a descriptor of the program is. Not inlined: the kernel's structure is on the
/// stack only while the kernel fills it, not while callers go on to take more stack.
#[inline(never)]
pub(crate) fn status(fd: i32) -> Result<FileStatus, Errno> {
    let mut buffer = MaybeUninit::<libc::statx>::uninit();
    let mask = libc::STATX_BASIC_STATS | libc::STATX_BTIME;
    let (path, flags) = (c"".as_ptr() as usize, libc::AT_EMPTY_PATH as usize);
    let arguments = [fd as usize, path, flags, mask as usize, buffer.as_mut_ptr() as usize, 0];
    // SAFETY: the kernel fills the structure if it answers with success.
    let statx = unsafe {
        match check(syscall(libc::SYS_statx, arguments)) {
            Ok(_) => buffer.assume_init_ref(),
            Err(Errno(libc::EBADF)) => return Err(Errno(libc::EBADF)),
            // Kernels before 4.11, and containers that do not let it through.
            Err(_) => return status_by_fstat(fd),
        }
    };
    let has_birth = statx.stx_mask & libc::STATX_BTIME != 0;
    let seconds = u64::try_from(statx.stx_btime.tv_sec).unwrap_or(0);
    let birth_ns = seconds.wrapping_mul(1_000_000_000) + u64::from(statx.stx_btime.tv_nsec);
    Ok(FileStatus {
        mode: statx.stx_mode.into(),
        user: statx.stx_uid,
        device: libc::makedev(statx.stx_dev_major, statx.stx_dev_minor),
        inode: statx.stx_ino,
        size: statx.stx_size,
        birth_ns: if has_birth { birth_ns } else { 0 },
        n_links: statx.stx_nlink,
    })
}

#[cold]
#[inline(never)]
fn status_by_fstat(fd: i32) -> Result<FileStatus, Errno> {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills the structure if it answers with success.
    let stat = unsafe {
        check(syscall(libc::SYS_fstat, [fd as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0]))?;
        stat.assume_init_ref()
    };
    Ok(FileStatus {
        mode: stat.st_mode,
        user: stat.st_uid,
        device: stat.st_dev,
        inode: stat.st_ino,
        size: stat.st_size as u64,
        birth_ns: 0,
        n_links: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
    })
}

/// What a link points to, without an end mark.
pub(crate) fn read_link<'a>(path: &CStr, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
    let at = libc::AT_FDCWD as usize;
    let arguments = [at, path.as_ptr() as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0];
    // SAFETY: the buffer is ours and has the given length.
    let length = check(unsafe { syscall(libc::SYS_readlinkat, arguments) })?;
    buffer.get(..length).ok_or(Errno(libc::EINVAL))
}

/// The working directory, without an end mark.
pub(crate) fn working_directory(buffer: &mut [u8]) -> Result<&[u8], Errno> {
    let arguments = [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0];
    // SAFETY: the buffer is ours and has the given length.
    let length = check(unsafe { syscall(libc::SYS_getcwd, arguments) })?;
    buffer.get(..length.saturating_sub(1)).ok_or(Errno(libc::EINVAL))
}

/// The position of a descriptor of the program.
pub(crate) fn position(fd: i32) -> Result<u64, Errno> {
    let arguments = [fd as usize, 0, libc::SEEK_CUR as usize, 0, 0, 0];
    // SAFETY: asks only.
    check(unsafe { syscall(libc::SYS_lseek, arguments) }).map(|position| position as u64)
}

/// Really allocates a range of a file.
pub(crate) fn allocate(file: &Descriptor, offset: u64, bytes: usize) -> Result<(), Errno> {
    let arguments = [file.0 as usize, 0, offset as usize, bytes, 0, 0];
    // SAFETY: a file of ours.
    check(unsafe { syscall(libc::SYS_fallocate, arguments) }).map(|_| ())
}

/// The largest file that the process may write.
pub(crate) fn file_size_limit() -> u64 {
    let mut limit = libc::rlimit64 { rlim_cur: 0, rlim_max: 0 };
    let at = &raw mut limit as usize;
    let arguments = [0, libc::RLIMIT_FSIZE as usize, 0, at, 0, 0];
    // SAFETY: the kernel fills the structure.
    let result = unsafe { syscall(libc::SYS_prlimit64, arguments) };
    if result < 0 { 0 } else { limit.rlim_cur }
}

/// Maps a part of a file for both sides, all of it at once: that costs less than
/// a fault for every page.
pub(crate) fn map_shared(
    file: &Descriptor,
    offset: u64,
    bytes: usize,
) -> Result<NonNull<u8>, Errno> {
    map(bytes, libc::MAP_SHARED | libc::MAP_POPULATE, file.0, offset)
}

/// Maps memory of our own, all zero.
pub(crate) fn map_anonymous(bytes: usize) -> Result<NonNull<u8>, Errno> {
    map(bytes, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE, -1, 0)
}

fn map(bytes: usize, flags: i32, fd: i32, offset: u64) -> Result<NonNull<u8>, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let arguments = [0, bytes, protection, flags as usize, fd as usize, offset as usize];
    // SAFETY: a new mapping disturbs no other.
    let address = check(unsafe { syscall(libc::SYS_mmap, arguments) })?;
    NonNull::new(address as *mut u8).ok_or(Errno(libc::ENOMEM))
}

/// Makes a page of ours inaccessible.
pub(crate) fn forbid(page: NonNull<u8>, bytes: usize) -> Result<(), Errno> {
    let arguments = [page.as_ptr() as usize, bytes, libc::PROT_NONE as usize, 0, 0, 0];
    // SAFETY: a page of ours that nobody uses yet.
    check(unsafe { syscall(libc::SYS_mprotect, arguments) }).map(|_| ())
}

/// Removes a mapping.
///
/// # Safety
///
/// It is ours, and not used again.
pub(crate) unsafe fn unmap(address: NonNull<u8>, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { syscall(libc::SYS_munmap, [address.as_ptr() as usize, bytes, 0, 0, 0, 0]) };
}

/// Makes a private page read as zero in a forked child.
pub(crate) fn wipe_on_fork(page: NonNull<u8>, bytes: usize) -> Result<(), Errno> {
    let arguments = [page.as_ptr() as usize, bytes, libc::MADV_WIPEONFORK as usize, 0, 0, 0];
    // SAFETY: a page of ours.
    check(unsafe { syscall(libc::SYS_madvise, arguments) }).map(|_| ())
}

/// Wakes one waiter on a word that processes share.
pub(crate) fn wake(word: &core::sync::atomic::AtomicU32) {
    let arguments = [word.as_ptr() as usize, libc::FUTEX_WAKE as usize, 1, 0, 0, 0];
    // SAFETY: wakes only.
    unsafe { syscall(libc::SYS_futex, arguments) };
}

/// This process.
pub(crate) fn process_id() -> u32 {
    // SAFETY: asks only.
    unsafe { syscall(libc::SYS_getpid, [0; 6]) as u32 }
}

/// The process that started it.
pub(crate) fn parent_id() -> u32 {
    // SAFETY: asks only.
    unsafe { syscall(libc::SYS_getppid, [0; 6]) as u32 }
}

/// This thread.
pub(crate) fn thread_id() -> u32 {
    // SAFETY: asks only.
    unsafe { syscall(libc::SYS_gettid, [0; 6]) as u32 }
}

/// The user as whom the process works.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: asks only.
    unsafe { syscall(libc::SYS_geteuid, [0; 6]) as u32 }
}

/// The PID namespace of the process, as the number of its file; 0 where there is
/// no /proc to ask.
pub(crate) fn pid_namespace() -> u64 {
    with_file(c"/proc/self/ns/pid", libc::O_RDONLY, 0, |file| status(file.0))
        .map_or(0, |status| status.map_or(0, |status| status.inode))
}

/// Whether a process is there.
pub(crate) fn is_alive(pid: u32) -> bool {
    // SAFETY: signal 0 asks only.
    let result = unsafe { syscall(libc::SYS_kill, [pid as usize, 0, 0, 0, 0, 0]) };
    result == 0 || result == -(libc::EPERM as isize)
}

/// Sleeps for less than a second.
pub(crate) fn sleep_ns(ns: u64) {
    let time = libc::timespec { tv_sec: 0, tv_nsec: ns.min(999_999_999) as i64 };
    // SAFETY: the kernel reads the structure.
    unsafe { syscall(libc::SYS_nanosleep, [&raw const time as usize, 0, 0, 0, 0, 0]) };
}

/// A clock as the kernel itself reads it.
#[cold]
pub(crate) fn clock_ns(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let arguments = [clock as usize, &raw mut time as usize, 0, 0, 0, 0];
    // SAFETY: the kernel fills the structure.
    unsafe { syscall(libc::SYS_clock_gettime, arguments) };
    nanoseconds(&time)
}

/// Whether a thread of this process is there.
pub(crate) fn is_thread_alive(tid: u32) -> bool {
    let arguments = [process_id() as usize, tid as usize, 0, 0, 0, 0];
    // SAFETY: signal 0 asks only.
    unsafe { syscall(libc::SYS_tgkill, arguments) == 0 }
}

/// Replaces a mapping by private memory: what is written there from now on is visible
/// to no other process.
///
/// # Safety
///
/// The mapping is ours, and its content is not needed.
pub(crate) unsafe fn make_private(address: NonNull<u8>, bytes: usize) {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED) as usize;
    let arguments = [address.as_ptr() as usize, bytes, protection, flags, usize::MAX, 0];
    // SAFETY: the caller's promise.
    unsafe { syscall(libc::SYS_mmap, arguments) };
}

/// Whether the thread runs on its alternate signal stack.
pub(crate) fn on_alternate_stack() -> bool {
    alternate_stack().is_some()
}

/// The lower end of the alternate signal stack that the thread runs on, if it does.
pub(crate) fn alternate_stack() -> Option<usize> {
    let mut stack = MaybeUninit::<libc::stack_t>::uninit();
    // SAFETY: the kernel fills the structure if it answers with success.
    unsafe {
        check(syscall(libc::SYS_sigaltstack, [0, stack.as_mut_ptr() as usize, 0, 0, 0, 0])).ok()?;
        let stack = stack.assume_init();
        (stack.ss_flags & libc::SS_ONSTACK != 0).then_some(stack.ss_sp as usize)
    }
}

/// Whether this many bytes below a stack pointer can be used. The stack of the first
/// thread is assumed to grow.
pub(crate) fn has_room_below(sp: usize, bytes: usize) -> bool {
    if let Some(low) = alternate_stack() {
        return sp.saturating_sub(low) >= bytes;
    }
    // Few pages at a time: there may be no room for more.
    thread_id() == process_id() || is_readable_by::<2>(sp.saturating_sub(bytes) & !4095, sp)
}

/// Copies memory of our own process that may not be mapped; returns the bytes copied.
pub(crate) fn copy_memory(from: usize, to: &mut [u8]) -> Result<usize, Errno> {
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: to.len() };
    let remote = libc::iovec { iov_base: from as *mut libc::c_void, iov_len: to.len() };
    let pid = process_id() as usize;
    let arguments = [pid, &raw const local as usize, 1, &raw const remote as usize, 1, 0];
    // SAFETY: the kernel writes into our buffer only, and checks what it reads.
    check(unsafe { syscall(libc::SYS_process_vm_readv, arguments) })
}

/// Whether every page of a range can be read.
pub(crate) fn is_readable(start: usize, end: usize) -> bool {
    is_readable_by::<16>(start, end)
}

fn is_readable_by<const AT_ONCE: usize>(start: usize, end: usize) -> bool {
    const PAGE: usize = 4096;
    let pid = process_id() as usize;
    let mut page = start;
    while page < end {
        let mut byte = [0_u8; AT_ONCE];
        let local = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: AT_ONCE };
        let mut remote = [libc::iovec { iov_base: core::ptr::null_mut(), iov_len: 1 }; AT_ONCE];
        let mut n_pages = 0;
        for vector in &mut remote {
            if page >= end {
                break;
            }
            vector.iov_base = page as *mut libc::c_void;
            page += PAGE;
            n_pages += 1;
        }
        let arguments = [pid, &raw const local as usize, 1, remote.as_ptr() as usize, n_pages, 0];
        // SAFETY: the kernel writes into our bytes only, and checks what it reads.
        if check(unsafe { syscall(libc::SYS_process_vm_readv, arguments) }) != Ok(n_pages) {
            return false;
        }
    }
    true
}

unsafe extern "C" {
    fn pthread_setcancelstate(state: libc::c_int, before: *mut libc::c_int) -> libc::c_int;
}

/// Keeps other threads from ending this one in what follows; returns the previous
/// state. A cancelled thread ends within whatever function of libc is a cancellation
/// point, also one that code of ours calls.
pub(crate) fn without_cancellation() -> libc::c_int {
    const DISABLE: libc::c_int = 1;
    let mut before = 0;
    // SAFETY: it stores a number.
    unsafe { pthread_setcancelstate(DISABLE, &raw mut before) };
    before
}

/// The end of what [`without_cancellation`] begins.
pub(crate) fn restore_cancellation(before: libc::c_int) {
    // SAFETY: it stores a number.
    unsafe { pthread_setcancelstate(before, core::ptr::null_mut()) };
}

/// Does something that takes long with all signals blocked, so that no handler finds it
/// half done.
pub(crate) fn without_signals<R>(work: impl FnOnce() -> R) -> R {
    let all = u64::MAX;
    let mut before = 0_u64;
    let set_mask = |mask: *const u64, before: *mut u64| {
        let arguments =
            [libc::SIG_SETMASK as usize, mask as usize, before as usize, size_of::<u64>(), 0, 0];
        // SAFETY: the kernel reads one mask and stores the other, if there is one.
        unsafe { syscall(libc::SYS_rt_sigprocmask, arguments) }
    };
    let masked = set_mask(&raw const all, &raw mut before) == 0;
    let result = work();
    if masked {
        set_mask(&raw const before, core::ptr::null_mut());
    }
    result
}
