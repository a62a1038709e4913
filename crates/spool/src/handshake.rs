// SPDX-License-Identifier: MIT OR Apache-2.0

//! The memory orders on which threads and processes rely without a lock. On
//! x86-64 most mistakes here would never show; `tests/memory_orders.rs` compiles
//! this file with the atomics of loom, which tries all that any processor may do.

use crate::atomics::Ordering::{Acquire, Relaxed, Release, SeqCst};
use crate::atomics::{AtomicPtr, AtomicU32, fence};

/// Whether the reader sleeps, for a writer that has just published something and
/// now has to wake it. Of several writers, one gets this answer.
#[inline]
pub fn takes_over_waking(sleeping: &AtomicU32) -> bool {
    // What was published is to be visible before the flag is looked at.
    fence(SeqCst);
    sleeping.load(Relaxed) == 1 && sleeping.swap(0, Relaxed) == 1
}

/// Says that the reader is going to sleep, by `tell`, which sets the flag. Either
/// a writer sees the flag, or whoever looks after this sees what it published.
pub fn before_sleeping(tell: impl FnOnce()) {
    tell();
    fence(SeqCst);
}

/// Lets others see a value, and all that was written before.
pub fn publish<T>(pointer: &AtomicPtr<T>, value: *mut T) {
    pointer.store(value, Release);
}

/// What was published, if anything; all that was written before is seen too.
#[inline]
pub fn published<T>(pointer: &AtomicPtr<T>) -> *mut T {
    pointer.load(Acquire)
}
