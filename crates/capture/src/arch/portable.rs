// SPDX-License-Identifier: MIT OR Apache-2.0

//! What every Linux with a C library has: libc's own `syscall`, with errno put
//! back, and a plain function as the entry. The caller's registers are not
//! known here, so the stack is walked by `backtrace()`.

use core::ffi::c_void;

use crate::thread::ThreadCell;

unsafe extern "C" {
    fn ioracle_portable_thread_cell() -> *mut ThreadCell;
}

/// A child that borrows memory is only noticed by asking which process this is.
pub(crate) const VFORK_IS_NOTICED: bool = false;

/// All work is done on the current stack.
pub(crate) const SWITCHES_STACKS: bool = false;

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

/// Calls a function on another stack; not possible here.
///
/// # Safety
///
/// Nothing is required of the caller.
pub(crate) unsafe fn call_on_stack(
    _top: usize,
    _work: unsafe extern "C-unwind" fn(*mut c_void),
    _data: *mut c_void,
) -> bool {
    false
}

/// This thread's cell.
pub(crate) fn thread_cell() -> *mut ThreadCell {
    // SAFETY: returns the address of a thread-local.
    unsafe { ioracle_portable_thread_cell() }
}

/// Not known here: 0.
///
/// # Safety
///
/// None is needed.
pub(crate) unsafe fn return_address_at(_sp: usize) -> usize {
    0
}

/// Defines an exported function that goes on as `$hook`. The address of its frame shows
/// how deep the stack is; nothing else is known about the caller. The hook must not be
/// inlined here: its locals would lie on either side of `here`, and the call would look
/// like one that a signal handler has interrupted.
macro_rules! entry {
    ($function:ident = $symbol:expr, $hook:ident ($($argument:ident: $type:ty),*) -> $result:ty) => {
        #[unsafe(export_name = $symbol)]
        unsafe extern "C-unwind" fn $function($($argument: $type),*) -> $result {
            let here = 0_u8;
            // SAFETY: the cell is this thread's own; the arguments are the caller's.
            unsafe {
                let sp = &raw const here as usize;
                let cell = $crate::arch::thread_cell();
                (*cell).caller_sp.store(sp, core::sync::atomic::Ordering::Relaxed);
                type Hook = unsafe extern "C-unwind" fn($($type),*) -> $result;
                core::hint::black_box::<Hook>($hook)($($argument),*)
            }
        }
    };
}
pub(crate) use entry;

/// The same for a function that may turn out not to be ours; that cannot be checked
/// here without losing arguments.
macro_rules! asking_entry {
    ($function:ident = $symbol:expr, $foreign:ident, $target:ident, $($hook:tt)*) => {
        $crate::arch::entry!($function = $symbol, $($hook)*);
    };
}
pub(crate) use asking_entry;
