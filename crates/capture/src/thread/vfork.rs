// SPDX-License-Identifier: MIT OR Apache-2.0

//! Children made by `vfork`, or by `clone` with shared memory: they use this
//! thread's memory until they execute another program, and their calls must change
//! nothing of ours.

use core::sync::atomic::Ordering::Relaxed;

use ioracle_spool::layout::UnrecordedCause;

use super::{ThreadCell, cell};
use crate::arch;
use crate::recorder::RECORDER;
use crate::sys;

/// How long memory is shared with a child.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// Until it has executed another program or ended; the thread waits.
    ChildIsGone,
    /// Both go on, side by side.
    Forever,
}

/// This thread's memory will be shared with a child: from now on, calls check which
/// process makes them.
pub(crate) fn share_memory(until: Until) {
    if !RECORDER.is_on() {
        return;
    }
    RECORDER.spawns();
    let cell = cell();
    if cell.sharing_thread.load(Relaxed) == 0 {
        cell.sharing_thread.store(sys::thread_id(), Relaxed);
    }
    if until == Until::Forever {
        cell.is_shared_forever.store(true, Relaxed);
    }
}

/// Whether this is a child that shares the memory of the thread that made it.
#[inline]
pub(crate) fn is_vfork_child() -> bool {
    if !arch::VFORK_IS_NOTICED {
        return sys::process_id() != RECORDER.process_id();
    }
    let cell = cell();
    cell.sharing_thread.load(Relaxed) != 0 && is_sharing_child(cell)
}

/// The same without counting or forgetting anything.
pub(crate) fn is_vfork_child_uncounted() -> bool {
    if !arch::VFORK_IS_NOTICED {
        return sys::process_id() != RECORDER.process_id();
    }
    let sharing_thread = cell().sharing_thread.load(Relaxed);
    sharing_thread != 0 && sys::thread_id() != sharing_thread
}

#[cold]
fn is_sharing_child(cell: &ThreadCell) -> bool {
    if sys::thread_id() != cell.sharing_thread.load(Relaxed) {
        RECORDER.count(UnrecordedCause::Borrowed);
        return true;
    }
    if !cell.is_shared_forever.load(Relaxed) {
        cell.sharing_thread.store(0, Relaxed);
    }
    false
}
