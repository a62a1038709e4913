// SPDX-License-Identifier: MIT OR Apache-2.0

//! The clocks, as libc reads them from the kernel's shared page.
//!
//! That needs the processor's time stamp counter, which a thread may have disabled for
//! itself (`PR_SET_TSC`), so that reading it raises SIGSEGV. Once any thread of the
//! process has done so, we ask the kernel for the time.

use core::sync::atomic::{AtomicBool, Ordering};

use crate::sys;

static IS_COUNTER_FORBIDDEN: AtomicBool = AtomicBool::new(false);

/// CLOCK_MONOTONIC, the clock of records.
#[inline]
pub(crate) fn now_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// CLOCK_REALTIME, to put streams of several machines on one axis.
pub(crate) fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Makes a call that disables the counter for the thread if it succeeds.
pub(crate) fn around_forbidding(real: impl FnOnce() -> i32) -> i32 {
    // Before the call: a handler may run as soon as it has succeeded.
    let was_forbidden = IS_COUNTER_FORBIDDEN.swap(true, Ordering::Relaxed);
    let result = real();
    if result != 0 && !was_forbidden {
        IS_COUNTER_FORBIDDEN.store(false, Ordering::Relaxed);
    }
    result
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    if IS_COUNTER_FORBIDDEN.load(Ordering::Relaxed) {
        return sys::clock_ns(clock);
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills the structure; it cannot fail for these clocks.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    nanoseconds(&time)
}

/// A time as one number.
pub(crate) fn nanoseconds(time: &libc::timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}
