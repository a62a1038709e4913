// SPDX-License-Identifier: MIT OR Apache-2.0

//! Frames of this library, which are no part of a context: a call that the program
//! makes through a library (`pwrite` inside `H5Dwrite`) comes through our hook of
//! the outer call, and must have the same context whatever we were built from.
//!
//! In a program that we are linked into (tests) no frame is ours: its own would be.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::object;

/// Frames of ours that are passed over in a stack; a stack with more ends there.
/// A hook has less than ten, and few libraries stand on each other.
pub(super) const MAX_OWN_FRAMES: usize = 64;

static LOW: AtomicUsize = AtomicUsize::new(0);
static HIGH: AtomicUsize = AtomicUsize::new(0);

/// Finds out where this library is.
pub(super) fn prepare() {
    let here = prepare as *const () as usize;
    if let Some(object) = object::containing(here).filter(|object| !object.path().is_empty()) {
        LOW.store(object.low, Ordering::Relaxed);
        HIGH.store(object.high, Ordering::Relaxed);
    }
}

/// Whether a return address is one of this library.
pub(super) fn is_own(address: usize) -> bool {
    (LOW.load(Ordering::Relaxed)..HIGH.load(Ordering::Relaxed)).contains(&address)
}
