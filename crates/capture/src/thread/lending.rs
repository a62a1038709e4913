// SPDX-License-Identifier: MIT OR Apache-2.0

//! Children that borrow this thread's memory until they execute another
//! program: their calls must change nothing of ours.

use ioracle_spool::layout::Unrecorded;

use super::ThreadCell;
use crate::arch;
use crate::recorder::RECORDER;
use crate::sys;

/// How long memory is lent to a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until it has executed another program or ended; the thread waits.
    ChildIsGone,
    /// Both go on, side by side.
    Forever,
}

/// Lends this thread's memory to a child (vfork, clone): from now on calls are
/// checked for who makes them.
pub(crate) fn lend_memory(until: Until) {
    if !RECORDER.is_on() {
        return;
    }
    RECORDER.spawns();
    // SAFETY: the cell is this thread's own.
    let cell = unsafe { &mut *arch::thread_cell() };
    if cell.lender == 0 {
        cell.lender = sys::thread_id();
    }
    cell.lent_forever |= until == Until::Forever;
}

/// Whether this is a child that only borrows the thread's memory.
#[inline]
pub(crate) fn is_borrowed() -> bool {
    if !arch::LENDING_IS_NOTICED {
        return sys::process_id() != RECORDER.process_id();
    }
    // SAFETY: the cell is this thread's own.
    let cell = unsafe { &mut *arch::thread_cell() };
    cell.lender != 0 && is_borrower(cell)
}

/// The same for those who only want to know: nothing is counted or forgotten.
pub(crate) fn borrows() -> bool {
    if !arch::LENDING_IS_NOTICED {
        return sys::process_id() != RECORDER.process_id();
    }
    // SAFETY: the cell is this thread's own.
    let lender = unsafe { (*arch::thread_cell()).lender };
    lender != 0 && sys::thread_id() != lender
}

#[cold]
fn is_borrower(cell: &mut ThreadCell) -> bool {
    if sys::thread_id() != cell.lender {
        RECORDER.count(Unrecorded::Borrowed);
        return true;
    }
    if !cell.lent_forever {
        cell.lender = 0;
    }
    false
}
