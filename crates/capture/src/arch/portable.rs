// SPDX-License-Identifier: MIT OR Apache-2.0

//! What every Linux with a C library has: libc's own `syscall`, with errno put
//! back, and a plain function as the entry. The caller's registers are not
//! known here, so the stack is walked by `backtrace()`.

use crate::thread::ThreadCell;

unsafe extern "C" {
    fn ioracle_portable_thread_cell() -> *mut ThreadCell;
}

/// Makes a system call. The result is the kernel's: errors are -errno.
///
/// # Safety
///
/// As for the system call.
pub(crate) unsafe fn syscall(number: libc::c_long, arguments: [usize; 6]) -> isize {
    let [a, b, c, d, e, f] = arguments;
    // SAFETY: the caller vouches for the arguments; errno is this thread's own.
    unsafe {
        let errno = libc::__errno_location();
        let kept = *errno;
        let result = libc::syscall(number, a, b, c, d, e, f) as isize;
        let result = if result == -1 { -(*errno as isize) } else { result };
        *errno = kept;
        result
    }
}

/// This thread's cell.
pub(crate) fn thread_cell() -> *mut ThreadCell {
    // SAFETY: returns the address of a thread-local.
    unsafe { ioracle_portable_thread_cell() }
}
