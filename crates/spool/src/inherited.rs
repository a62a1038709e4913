// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a process inherited that Rust's runtime changes before `main`: it ignores
//! SIGPIPE, and opens `/dev/null` where a standard descriptor is closed. A process that
//! starts a program for its own caller must pass on what the caller gave it, so it is
//! saved first: functions in `.init_array` run before the runtime.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const SIGPIPE_IGNORED: u32 = 1 << 3;

/// Bits 0 to 2: a standard descriptor that was closed.
static NOTED: AtomicU32 = AtomicU32::new(0);

/// Whether SIGPIPE was ignored when this process began.
pub fn sigpipe_was_ignored() -> bool {
    NOTED.load(Relaxed) & SIGPIPE_IGNORED != 0
}

/// Which of the descriptors 0, 1 and 2 were closed when this process began.
pub fn closed_descriptors() -> impl Iterator<Item = i32> {
    let noted = NOTED.load(Relaxed);
    (0..3).filter(move |descriptor| noted >> descriptor & 1 == 1)
}

extern "C" fn note() {
    let mut noted = 0;
    // SAFETY: both calls only ask, and the action outlives the call that fills it.
    unsafe {
        let mut action = std::mem::zeroed::<libc::sigaction>();
        let asked = libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action) == 0;
        if asked && action.sa_sigaction == libc::SIG_IGN {
            noted |= SIGPIPE_IGNORED;
        }
        for descriptor in 0..3 {
            if libc::fcntl(descriptor, libc::F_GETFD) < 0 {
                noted |= 1 << descriptor;
            }
        }
    }
    NOTED.store(noted, Relaxed);
}

// SAFETY: the section holds pointers to functions that take no arguments they
// need; this one relies on nothing that the runtime sets up.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;
