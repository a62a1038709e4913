// SPDX-License-Identifier: MIT OR Apache-2.0

//! Keeps calls of interrupting signal handlers out of what cannot be entered
//! twice.
//!
//! The section is left by returning, not by `Drop`: nothing in it unwinds, and
//! without landing pads the library needs no unwinding runtime of its own.

use core::sync::atomic::{Ordering, compiler_fence};

use crate::arch;
use crate::sys;

/// Does something inside the section, in a hook whose caller's stack pointer is
/// told. None: this is a call that interrupts it.
#[inline(always)]
pub(super) fn guarded<R>(sp: usize, work: impl FnOnce() -> R) -> Option<R> {
    if !enter(sp) {
        return None;
    }
    let result = work();
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the cell is this thread's own.
    unsafe { (*arch::thread_cell()).busy_sp = 0 };
    Some(result)
}

/// The same, wherever in the hook this is.
pub(super) fn guarded_here<R>(work: impl FnOnce() -> R) -> Option<R> {
    let here = 0_u8;
    guarded(&raw const here as usize, work)
}

#[inline]
fn enter(sp: usize) -> bool {
    // SAFETY: the cell is this thread's own.
    let cell = unsafe { &mut *arch::thread_cell() };
    if cell.busy_sp != 0 {
        if !is_void(cell.busy_sp, sp) {
            return false;
        }
        // SAFETY: the section was left by longjmp; nobody else is in it.
        if let Some(state) = unsafe { cell.state.as_mut() } {
            state.recover();
        }
    }
    cell.busy_sp = sp;
    compiler_fence(Ordering::SeqCst);
    true
}

/// Whether what was begun at a stack pointer can no longer be under way, now
/// that a call is made at another.
#[inline]
pub(super) fn is_void(begun_sp: usize, sp: usize) -> bool {
    begun_sp <= sp && !sys::on_alternate_stack()
}
