// SPDX-License-Identifier: MIT OR Apache-2.0

//! `libioracle-capture.so`: what is preloaded into the application.
//!
//! The path of an intercepted call:
//!
//! ```text
//! the program calls read()
//!   -> entry (arch)      keeps the caller's registers
//!   -> hook (calls)      a row of a table
//!   -> observe           is it a recorded file? begin, the real call, end
//!        -> thread       this thread's stream, depth, context
//!             -> stack   the call stack becomes a context
//!        -> spool        one record, published
//! ```
//!
//! Between the program's call and its return we never allocate, lock or panic,
//! and make no system call unless something is new: a file, a context, a
//! thread, a full segment, or a position that others may move.

#![cfg_attr(
    any(feature = "portable", not(target_arch = "x86_64")),
    allow(dead_code, improper_ctypes, reason = "slower ways need less")
)]

use core::ffi::{c_char, c_int};

mod calls;
mod interpose;
mod library;
mod loader;
mod observe;

mod descriptors;
mod files;
mod known_paths;
mod mappings;
mod patterns;

mod host;
mod in_process;
mod recorder;
mod reserve;
mod spare_stack;
pub mod stack;
mod thread;

mod arch;
mod clock;
mod environment;
mod sys;

/// Runs when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C-unwind" fn(c_int, *const *const c_char) = set_up;

extern "C-unwind" fn set_up(argument_count: c_int, arguments: *const *const c_char) {
    use recorder::{RECORDER, after_fork_in_child, before_fork};

    // C libraries other than glibc pass nothing to constructors.
    #[cfg(target_env = "gnu")]
    // SAFETY: glibc passes what `main` gets.
    unsafe {
        environment::note_arguments(argument_count, arguments);
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = (argument_count, arguments);

    loader::set_up();
    calls::find_real_functions();
    stack::prepare();
    thread::ending::set_up();
    RECORDER.set_up_from_environment();
    thread::learning::set_up();
    // SAFETY: the handlers allocate nothing and take no lock.
    unsafe { libc::pthread_atfork(Some(before_fork), None, Some(after_fork_in_child)) };
}
