// SPDX-License-Identifier: MIT OR Apache-2.0

//! Streams made in advance, for a process that is about to lose the right, or the
//! way, to make files in the job's directory: a server that changes its user or
//! its root directory, and starts its threads afterwards.
//!
//! The directory is private to the user who runs `ioracle`, and no descriptor of it may
//! stay open. So the files are made and mapped while that can be done, each with room
//! for one thread, which uses it again and again as it is read. They belong to this
//! process alone: the reader deletes those left over when it is gone.

use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use ioracle_spool::StreamName;
use ioracle_spool::layout::{JobPage, SPARE_BYTES, StreamHeader};

use crate::clock;
use crate::environment::{SHARED_ROOM, Text};
use crate::host;
use crate::recorder::RECORDER;
use crate::sys;
use crate::thread;

/// Threads that can begin afterwards.
const SPARES: usize = 16;

static RESERVE: Reserve = Reserve {
    owner: AtomicU32::new(0),
    is_busy: AtomicBool::new(false),
    spares: [const { AtomicPtr::new(null_mut()) }; SPARES],
};

struct Reserve {
    /// The process that has made them; 0: none has.
    owner: AtomicU32,
    is_busy: AtomicBool,
    /// Where they are mapped; null: in use, or none.
    spares: [AtomicPtr<u8>; SPARES],
}

/// The process is about to change to this effective user.
#[cold]
pub(crate) fn before_user(user: u32) {
    const UNCHANGED: u32 = u32::MAX;
    let now = sys::effective_user();
    // Users other than root can only switch back.
    if now == 0 && user != now && user != UNCHANGED {
        prepare();
    }
}

/// The process is about to see other directories.
#[cold]
pub(crate) fn prepare() {
    let Some(job) = RECORDER.job() else { return };
    if !RECORDER.is_on_here() {
        return;
    }
    thread::with_state(|state| state.reserve_room());
    if is_ours() || RESERVE.is_busy.swap(true, Ordering::Acquire) {
        return;
    }
    forget_inherited();
    SHARED_ROOM.with(|path| fill(job, path));
    RESERVE.owner.store(sys::process_id(), Ordering::Release);
    RESERVE.is_busy.store(false, Ordering::Release);
}

/// Whether this process has made any.
pub(crate) fn is_ours() -> bool {
    let owner = RESERVE.owner.load(Ordering::Acquire);
    owner != 0 && owner == sys::process_id()
}

/// Takes one, of [`SPARE_BYTES`], if this process has one left.
pub(crate) fn take(job: &JobPage) -> Option<NonNull<u8>> {
    if !is_ours() {
        return None;
    }
    let mut spares = RESERVE.spares.iter();
    let spare = spares.find_map(|it| NonNull::new(it.swap(null_mut(), Ordering::Acquire)))?;
    // The stream is charged for it when it begins.
    job.give_spare_back();
    Some(spare)
}

/// Makes as many as there is room for.
fn fill(job: &JobPage, path: &mut Text) {
    let (pid, now_ns) = (sys::process_id(), clock::now_ns());
    let namespace = sys::pid_namespace();
    for (spare, n) in RESERVE.spares.iter().zip(0..) {
        if !job.charge_spare() {
            return;
        }
        let name = StreamName::spare(pid, n, now_ns);
        let Ok(base) = host::create_in(path, &name, SPARE_BYTES) else {
            return job.give_spare_back();
        };
        let header = base.cast::<StreamHeader>();
        // SAFETY: that many zeroed bytes were mapped; the field is atomic.
        unsafe { &(*header.as_ptr()).pid_namespace }.store(namespace, Ordering::Relaxed);
        spare.store(base.as_ptr(), Ordering::Release);
    }
}

/// Releases what a forked child has inherited from its parent.
fn forget_inherited() {
    for spare in &RESERVE.spares {
        if let Some(base) = NonNull::new(spare.swap(null_mut(), Ordering::Relaxed)) {
            // SAFETY: mapped by `fill`, and nobody else has it any more.
            unsafe { sys::unmap(base, SPARE_BYTES) };
        }
    }
}
