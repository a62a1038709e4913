// SPDX-License-Identifier: MIT OR Apache-2.0

//! Functions that are not I/O but change what we may rely on: children that
//! borrow our memory, other users and roots, sandboxes, unloaded modules. And io_uring, whose requests
//! are noticed and counted.

use core::ffi::{c_char, c_int, c_uint, c_ulong, c_void};
use core::sync::atomic::Ordering;

use libc::uid_t;

use crate::calls::paths;
use crate::clock;
use crate::interpose::interpose;
use crate::recorder::{RECORDER, Sandboxed};
use crate::reserve;
use crate::stack;

interpose! {
    libc [dlclose] (handle: *mut c_void) -> c_int => |real| {
        let result = real();
        stack::modules_changed();
        result
    };
    exported [prctl] (option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int
        => |real| control(option, a, real);

    // After these succeed, we can no longer create files.
    libc [setuid] (user: uid_t) -> c_int => |real| {
        reserve::before_user(user);
        real()
    };
    libc [seteuid] (user: uid_t) -> c_int => |real| {
        reserve::before_user(user);
        real()
    };
    libc [setreuid] (own: uid_t, effective: uid_t) -> c_int => |real| {
        reserve::before_user(effective);
        real()
    };
    libc [setresuid] (own: uid_t, effective: uid_t, saved: uid_t) -> c_int => |real| {
        reserve::before_user(effective);
        real()
    };
    libc [setfsuid] (user: uid_t) -> c_int => |real| {
        reserve::before_user(user);
        real()
    };
    libc [chroot] (path: *const c_char) -> c_int => |real| {
        reserve::prepare();
        paths::change_directory(real)
    };

    exported [io_uring_submit] (ring: *mut c_void) -> c_int => |real| count_requests(real());
    exported [io_uring_submit_and_wait] (ring: *mut c_void, wait: c_uint) -> c_int => |real| count_requests(real());
    exported [io_uring_submit_and_wait_timeout]
        (ring: *mut c_void, completed: *mut c_void, wait: c_uint, time: *mut c_void, mask: *mut c_void) -> c_int
        => |real| count_requests(real());
}

/// AddressSanitizer refuses to run a program in which another library was loaded
/// before it, unless an option allows it; a program's own options come before these. Its
/// functions are then between ours and those of the C library, which is harmless.
#[unsafe(no_mangle)]
extern "C" fn __asan_default_options() -> *const c_char {
    c"verify_asan_link_order=0".as_ptr()
}

/// The parts of `prctl` that concern us; the rest, such as asking whether this is a
/// sandbox, passes through.
fn control(option: c_int, value: c_ulong, real: impl FnOnce() -> c_int) -> c_int {
    const FORBID_COUNTER: c_ulong = libc::PR_TSC_SIGSEGV as c_ulong;
    match (option, value) {
        (libc::PR_SET_SECCOMP, _) => {
            RECORDER.around_sandbox(Sandboxed::Thread, real, |&result| result == 0)
        }
        (libc::PR_SET_TSC, FORBID_COUNTER) => clock::around_forbidding(real),
        _ => real(),
    }
}

fn count_requests(submitted: c_int) -> c_int {
    if RECORDER.is_on()
        && let (Some(job), Ok(requests)) = (RECORDER.job(), u64::try_from(submitted))
    {
        job.n_io_uring.fetch_add(requests, Ordering::Relaxed);
    }
    submitted
}

/// Functions that must leave no frame of ours on the stack: they return twice (`vfork`), or start a child on another
/// stack (`clone`), or may do either (`syscall`), or look at who has called them (`dlopen`). Their entries note what
/// will happen and jump to the real function.
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod frameless {
    use core::arch::naked_asm;

    use crate::descriptors;
    use crate::interpose::Real;
    use crate::loader;
    use crate::observe::is_on;
    use crate::recorder::{RECORDER, Sandboxed};
    use crate::reserve;
    use crate::thread;

    /// Writes an entry that passes `$note` the first three arguments and continues
    /// where that says, with all arguments as they were.
    macro_rules! frameless {
        ($($name:ident => $note:ident;)*) => {$(
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() {
                naked_asm!(
                    "push rdi", "push rsi", "push rdx", "push rcx", "push r8", "push r9", "push rax",
                    "call {note}",
                    "mov r11, rax",
                    "pop rax", "pop r9", "pop r8", "pop rcx", "pop rdx", "pop rsi", "pop rdi",
                    "jmp r11",
                    note = sym $note,
                )
            }
        )*};
    }

    frameless! {
        vfork => note_vfork;
        clone => note_clone;
        syscall => note_syscall;
        dlopen => note_dlopen;
    }

    /// If the C library has no such function.
    extern "C" fn missing() -> isize {
        crate::observe::SavedErrno::set(libc::ENOSYS);
        -1
    }

    fn address_of(real: &Real) -> usize {
        real.address().map_or(missing as *const () as usize, |address| address as usize)
    }

    extern "C" fn note_vfork() -> usize {
        static VFORK: Real = Real::new(c"vfork");
        thread::share_memory(thread::Until::ChildIsGone);
        address_of(&VFORK)
    }

    extern "C" fn note_clone(_function: usize, _stack: usize, flags: usize) -> usize {
        static CLONE: Real = Real::new(c"clone");
        note_flags(flags as i32);
        address_of(&CLONE)
    }

    /// `dlopen` looks at its caller to decide where to search.
    extern "C" fn note_dlopen(_path: usize, flags: usize) -> usize {
        static DLOPEN: Real = Real::new(c"dlopen");
        loader::note_load(flags as i32);
        address_of(&DLOPEN)
    }

    /// What the flags of a clone mean for us.
    fn note_flags(flags: i32) {
        if flags & libc::CLONE_VM == 0 {
            RECORDER.forks();
        } else if flags & libc::CLONE_SETTLS == 0 {
            let until = if flags & libc::CLONE_VFORK != 0 {
                thread::Until::ChildIsGone
            } else {
                thread::Until::Forever
            };
            thread::share_memory(until);
        }
    }

    /// Descriptors change their meaning without any of our rows seeing it.
    fn forget(first: i32, last: i32) {
        if is_on() {
            for (_, entry) in descriptors::known_between(first as u32, last as u32) {
                entry.forget();
            }
        }
    }

    static SYSCALL: Real = Real::new(c"syscall");

    type Syscall = unsafe extern "C-unwind" fn(
        libc::c_long,
        usize,
        usize,
        usize,
        usize,
        usize,
        usize,
    ) -> libc::c_long;

    /// Makes a raw call whose result is needed and which does not return twice.
    unsafe extern "C-unwind" fn raw_call(
        number: libc::c_long,
        a: usize,
        b: usize,
        c: usize,
        d: usize,
        e: usize,
        f: usize,
    ) -> libc::c_long {
        // SAFETY: the function has this signature, and the arguments are the program's.
        let real = || unsafe {
            core::mem::transmute::<usize, Syscall>(address_of(&SYSCALL))(number, a, b, c, d, e, f)
        };
        if number == libc::SYS_prctl {
            return super::control(a as i32, b as _, || real() as i32).into();
        }
        let flags = b as libc::c_ulong;
        let whom = match flags & libc::SECCOMP_FILTER_FLAG_TSYNC {
            0 => Sandboxed::Thread,
            _ => Sandboxed::Process,
        };
        let has_listener = flags & libc::SECCOMP_FILTER_FLAG_NEW_LISTENER != 0;
        // A filter for all threads that one of them refused returns that thread's number.
        let has_succeeded = |&result: &libc::c_long| result == 0 || (result > 0 && has_listener);
        RECORDER.around_sandbox(whom, real, has_succeeded)
    }

    extern "C" fn note_syscall(number: usize, first: usize, second: usize) -> usize {
        let enters_sandbox = || {
            matches!(first as u32, libc::SECCOMP_SET_MODE_STRICT | libc::SECCOMP_SET_MODE_FILTER)
        };
        let is_ours_to_know = || matches!(first as i32, libc::PR_SET_SECCOMP | libc::PR_SET_TSC);
        match number as libc::c_long {
            libc::SYS_seccomp if enters_sandbox() => return raw_call as *const () as usize,
            libc::SYS_prctl if is_ours_to_know() => return raw_call as *const () as usize,
            libc::SYS_setuid | libc::SYS_setfsuid => reserve::before_user(first as u32),
            libc::SYS_setreuid | libc::SYS_setresuid => reserve::before_user(second as u32),
            libc::SYS_chroot | libc::SYS_pivot_root => reserve::prepare(),
            libc::SYS_vfork => thread::share_memory(thread::Until::ChildIsGone),
            libc::SYS_clone => note_flags(first as i32),
            libc::SYS_fork | libc::SYS_clone3 => RECORDER.forks(),
            libc::SYS_close => forget(first as i32, first as i32),
            libc::SYS_dup2 | libc::SYS_dup3 => forget(second as i32, second as i32),
            libc::SYS_close_range => forget(first as i32, second as i32),
            libc::SYS_io_uring_enter => {
                super::count_requests(second as i32);
            }
            _ => {}
        }
        address_of(&SYSCALL)
    }
}
