// SPDX-License-Identifier: MIT OR Apache-2.0

//! The memory orders on which threads and processes rely without a lock. On x86-64 most
//! mistakes here would never show; `tests/memory_orders.rs` compiles this file with the
//! atomics of loom, which tries every order that a processor may produce.

use crate::atomics::Ordering::{Acquire, Relaxed, Release, SeqCst};
use crate::atomics::{AtomicPtr, AtomicU32, fence};

/// Whether the reader sleeps, for a writer that has just published something and
/// now has to wake it. Of several writers, one gets this answer.
#[inline]
pub fn takes_over_waking(sleeping: &AtomicU32) -> bool {
    // What was published must be visible before the flag is read.
    fence(SeqCst);
    sleeping.load(Relaxed) == 1 && sleeping.swap(0, Relaxed) == 1
}

/// Announces by `set_flag` that the reader is going to sleep. Either a writer sees the
/// flag, or a reader that looks after this sees what the writer published.
pub fn before_sleeping(set_flag: impl FnOnce()) {
    set_flag();
    fence(SeqCst);
}

/// Publishes a value, and everything written before it.
pub fn publish<T>(pointer: &AtomicPtr<T>, value: *mut T) {
    pointer.store(value, Release);
}

/// What was published, if anything; everything written before is visible too.
#[inline]
pub fn published<T>(pointer: &AtomicPtr<T>) -> *mut T {
    pointer.load(Acquire)
}
