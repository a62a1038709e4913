// SPDX-License-Identifier: MIT OR Apache-2.0

//! The reentrancy guard: keeps calls of interrupting signal handlers out of what
//! cannot be entered twice.
//!
//! The section is left by returning, not by `Drop`: nothing in it unwinds, and
//! without landing pads the library needs no unwinding runtime of its own.

use core::sync::atomic::{Ordering, compiler_fence};

use super::cell;
use crate::sys;

/// Does something inside the section, in a hook whose caller has the stack pointer
/// `sp`. None: this is a call that interrupts it.
#[inline(always)]
pub(super) fn guarded<R>(sp: usize, work: impl FnOnce() -> R) -> Option<R> {
    if !enter(sp) {
        return None;
    }
    let result = work();
    compiler_fence(Ordering::SeqCst);
    cell().busy_sp.store(0, Ordering::Relaxed);
    Some(result)
}

/// The same, wherever in the hook this is.
pub(super) fn guarded_here<R>(work: impl FnOnce() -> R) -> Option<R> {
    let here = 0_u8;
    guarded(&raw const here as usize, work)
}

#[inline]
fn enter(sp: usize) -> bool {
    let cell = cell();
    let busy_sp = cell.busy_sp.load(Ordering::Relaxed);
    if busy_sp != 0 {
        if !is_void(busy_sp, sp) {
            return false;
        }
        if let Some(state) = cell.state() {
            // SAFETY: the section was left by longjmp; nobody else is in it.
            unsafe { state.recover() };
        }
    }
    cell.busy_sp.store(sp, Ordering::Relaxed);
    compiler_fence(Ordering::SeqCst);
    true
}

/// Whether what was begun at a stack pointer must be over, given that a call is now
/// made at another.
#[inline]
pub(super) fn is_void(begun_sp: usize, sp: usize) -> bool {
    begun_sp <= sp && !sys::on_alternate_stack()
}
