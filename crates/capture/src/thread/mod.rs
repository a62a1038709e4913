// SPDX-License-Identifier: MIT OR Apache-2.0

//! What belongs to one thread: its stream, its walker, its calls under way.
//!
//! Three kinds of interruption must be survived. A signal handler may make calls while
//! the recorder is at work on the same thread: what cannot be entered twice is behind a
//! reentrancy guard (`busy_sp`), and the interrupting call goes without it. A handler
//! may fork, so that what was begun in one process ends in two: the generation says
//! which process a state belongs to. And a handler may leave with `longjmp`, so that
//! what was begun never ends: guard and calls under way remember the stack pointer they
//! were made at, and are void once the stack is shorter than that.

mod asking;
pub(crate) mod ending;
pub(crate) mod learning;
mod nesting;
mod reentrancy_guard;
mod state;
mod vfork;

use core::cell::Cell;
use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize};

use ioracle_spool::layout::{Call, UnrecordedCause};
use ioracle_spool::selection::Selection;

use crate::arch;
use crate::clock;
use crate::recorder::RECORDER;
use crate::stack::Caller;
pub(crate) use asking::{ask, definition, record, standing};
pub(crate) use nesting::{NestedLibrary, begin_in, is_nested_in, keep_real, take_real};
use reentrancy_guard::{guarded, guarded_here};
pub(crate) use state::{Guarded, GuardedState, leave_stream_of_parent};
use state::{ThreadState, current_state};
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
pub(crate) use vfork::{Until, share_memory};
pub(crate) use vfork::{is_vfork_child, is_vfork_child_uncounted};

/// The thread-local words of ours; `variadic.c` reserves them, entry code
/// stores the first two. All zero in a new thread.
///
/// Only the thread itself uses them, but a signal handler may interrupt at any
/// instruction: so they are atomics, in which it finds either the old or the new value,
/// and no reference to them is exclusive.
#[repr(C)]
pub(crate) struct ThreadCell {
    /// Stack pointer at the entry of the intercepted function: where its
    /// return address lies.
    pub(crate) caller_sp: AtomicUsize,
    /// Frame pointer there.
    caller_fp: AtomicUsize,
    state: AtomicPtr<ThreadState>,
    /// Where the section that cannot be entered twice was entered; 0: it is free.
    busy_sp: AtomicUsize,
    /// Thread that made a child which borrows this thread's memory (vfork);
    /// 0: none.
    sharing_thread: AtomicU32,
    /// The child and this thread go on side by side.
    is_shared_forever: AtomicBool,
    /// The thread has entered a sandbox, or is about to.
    is_sandboxed: AtomicBool,
    /// Calls to wait before the next attempt to begin a stream that could not be begun.
    patience: AtomicU32,
    /// Generation of the process in which it was reported that this thread
    /// cannot be recorded; 0: it was not.
    told_in: AtomicU32,
    /// Why it could not, as a number of [`UnrecordedCause::ALL`].
    refused: AtomicUsize,
    /// The real function that the entry of a call has found, for whom, and where
    /// that call came; see `nesting`.
    real: AtomicUsize,
    real_row: AtomicUsize,
    real_sp: AtomicUsize,
}

const _: () = assert!(size_of::<ThreadCell>() == 10 * size_of::<usize>(), "see variadic.c");

impl ThreadCell {
    /// What was made for the thread, in this process or the one it was forked from.
    #[inline]
    fn state(&self) -> Option<&ThreadState> {
        // SAFETY: it lives until the thread ends, and all in it is made to be shared
        // between the thread and its signal handlers.
        unsafe { self.state.load(Relaxed).as_ref() }
    }

    #[inline]
    fn caller(&self) -> Caller {
        Caller { sp: self.caller_sp.load(Relaxed), fp: self.caller_fp.load(Relaxed) }
    }
}

/// This thread's cell.
#[inline(always)]
fn cell<'a>() -> &'a ThreadCell {
    // SAFETY: thread-local memory of ours that lives as long as the thread, and is
    // only ever used as atomics.
    unsafe { &*arch::thread_cell() }
}

/// Says whether this thread is in a sandbox; whether it was.
pub(crate) fn set_sandboxed(is_sandboxed: bool) -> bool {
    cell().is_sandboxed.swap(is_sandboxed, Relaxed)
}

/// Whether this thread is in a sandbox, or may have been made by one that is.
pub(crate) fn may_be_sandboxed() -> bool {
    let cell = cell();
    cell.is_sandboxed.load(Relaxed) || cell.state().is_none()
}

/// A call that has begun.
pub(crate) struct Begun {
    state: NonNull<ThreadState>,
    /// In which it began: by its end the state may be another one's.
    generation: u32,
    sp: usize,
    context: u64,
    /// The number of its next record.
    began: Cell<u64>,
    depth: usize,
    start_ns: Cell<u64>,
    /// Parts of it that were recorded.
    part: Cell<u32>,
}

/// Begins a call on this thread. None if it cannot be recorded: then call
/// [`count_refused`] if it turns out to be a call that should have been.
#[inline]
pub(crate) fn begin() -> Option<Begun> {
    let cell = cell();
    let caller = cell.caller();
    let job = RECORDER.job()?;
    if !is_caller_of_this(caller.sp) {
        return begin_interrupting(cell.state(), caller);
    }
    let begun = guarded(caller.sp, || {
        let state = current_state(cell, job)?;
        // SAFETY: inside the guard.
        Some(unsafe { state.begin(caller, job) })
    });
    match begun {
        Some(begun) => {
            let begun = Begun { start_ns: Cell::new(clock::now_ns()), ..begun? };
            // Its generation has just been looked at.
            begun.store_inside_since(begun.start_ns.get());
            Some(begun)
        }
        None => begin_interrupting(cell.state(), caller),
    }
}

/// Counts a call that [`begin`] has refused.
#[cold]
pub(crate) fn count_refused() {
    if let Some(cause) = UnrecordedCause::ALL.get(cell().refused.load(Relaxed)) {
        RECORDER.count(*cause);
    }
}

/// Where the intercepted call of this thread will return to; 0 if that is unknown.
pub(crate) fn return_address() -> usize {
    let sp = cell().caller_sp.load(Relaxed);
    if !is_caller_of_this(sp) {
        return 0;
    }
    // SAFETY: the call that came through the entry is still under way.
    unsafe { arch::return_address_at(sp) }
}

/// Whether a stack pointer can be that of our caller: a handler that interrupts between
/// the entry, which stores it, and here, stores its own.
#[inline(always)]
fn is_caller_of_this(sp: usize) -> bool {
    const MAX_HOOK_FRAME: usize = 16 * 1024;
    let here = 0_u8;
    sp.wrapping_sub(&raw const here as usize) < MAX_HOOK_FRAME
}

/// A call whose context is unknown: of a signal handler that interrupted
/// the recorder, or one that a handler interrupted at its very beginning.
#[cold]
fn begin_interrupting(state: Option<&ThreadState>, caller: Caller) -> Option<Begun> {
    let Some(state) = state else {
        refuse_interrupting();
        return None;
    };
    let generation = state.generation.load(Relaxed);
    if generation != RECORDER.generation() {
        refuse_interrupting();
        return None;
    }
    let (began, part) = (Cell::new(state.next_begun()), Cell::new(0));
    let depth = state.depth.load(Relaxed);
    let start_ns = Cell::new(clock::now_ns());
    let (state, sp, context) = (state.into(), caller.sp, 0);
    Some(Begun { state, generation, sp, context, began, depth, start_ns, part })
}

fn refuse_interrupting() {
    cell().refused.store(UnrecordedCause::Interrupted as usize, Relaxed);
}

impl Begun {
    /// Ends the call: it becomes a record. What the call itself knows is in
    /// `call`, the rest is filled in here.
    #[inline]
    pub(crate) fn end(self, end_ns: u64, mut call: Call) {
        self.state().depth.store(self.depth, Relaxed);
        call.part = self.part.get();
        self.fill_in(&mut call, self.began.get(), self.depth, end_ns);
        self.write_and(&call, || self.store_inside_since(0));
    }

    /// Whether no recorded call is around this one.
    #[inline]
    pub(crate) fn is_outermost(&self) -> bool {
        self.depth == 0
    }

    /// Only now does the real call begin.
    pub(crate) fn restart_clock(&mut self) {
        *self.start_ns.get_mut() = clock::now_ns();
    }

    /// Ends the call without a record.
    pub(crate) fn forget(self) {
        self.state().depth.store(self.depth, Relaxed);
        // What began in another process is never written to.
        if self.generation == RECORDER.generation() {
            self.store_inside_since(0);
        }
    }

    /// Says since when the thread is inside a call, or that it is not.
    #[inline]
    fn store_inside_since(&self, since_ns: u64) {
        if self.is_outermost()
            && let Some(writer) = self.state().writer()
        {
            writer.set_inside_since(since_ns);
        }
    }

    #[inline]
    fn state(&self) -> &ThreadState {
        // SAFETY: it lives until the thread ends, which is inside this call.
        unsafe { self.state.as_ref() }
    }

    /// Records which part of an object the call is about; to be followed by its end,
    /// or by [`Begun::append_part`].
    pub(crate) fn select(&self, selection: &Selection) {
        for record in selection.records() {
            self.write(&Call { began: self.began.get(), ..record });
        }
    }

    /// Records another call that was made inside this one.
    pub(crate) fn append_within(&self, end_ns: u64, call: Call) {
        self.append(self.state().next_begun(), self.depth.saturating_add(1), end_ns, call);
    }

    /// Records a part of this call; its end records the last one, or none. The first
    /// has the call's number, so that calls inside it come after it, and its
    /// time, so that it counts once: those that follow take none.
    pub(crate) fn append_part(&self, end_ns: u64, mut call: Call) {
        call.part = self.part.get();
        self.append(self.began.get(), self.depth, end_ns, call);
        self.began.set(self.state().next_begun());
        self.start_ns.set(end_ns);
        self.part.set(self.part.get().saturating_add(1));
    }

    fn append(&self, began: u64, depth: usize, end_ns: u64, mut call: Call) {
        self.fill_in(&mut call, began, depth, end_ns);
        self.write(&call);
    }

    /// Fills in what the call itself does not know. In place: another copy of the
    /// record would take a tenth of the time of a call's end.
    #[inline]
    fn fill_in(&self, call: &mut Call, began: u64, depth: usize, end_ns: u64) {
        call.context = self.context;
        call.began = began;
        call.start_ns = self.start_ns.get();
        call.end_ns = end_ns;
        call.depth = depth.min(255) as u8;
    }

    #[inline]
    fn write(&self, record: &Call) {
        self.write_and(record, || ());
    }

    /// Writes a record and does something else, but only in the process that the call
    /// began in.
    #[inline]
    fn write_and(&self, record: &Call, then: impl FnOnce()) {
        if self.generation != RECORDER.generation() {
            return leave_unwritten();
        }
        let state = self.state();
        let Some(job) = RECORDER.job() else { return };
        let is_outermost = state.recording_sp.load(Relaxed) == 0;
        if is_outermost {
            state.recording_sp.store(self.sp, Relaxed);
        }
        if let Some(writer) = state.writer() {
            writer.append(&mut state.host(), job, record);
        }
        if is_outermost {
            state.recording_sp.store(0, Relaxed);
        }
        then();
    }
}

/// A call that began in another generation: in the process that this one was forked
/// from, inside the call (by a handler, or by what the call calls back), which
/// records it; or outside a sandbox that was entered inside it.
#[cold]
fn leave_unwritten() {
    if RECORDER.is_sandboxed_here() {
        RECORDER.count(UnrecordedCause::Sandboxed);
    }
}

/// Uses this thread's state outside a call's beginning and end; None for
/// interrupting calls and threads without a stream.
pub(crate) fn with_state<R>(work: impl FnOnce(&mut GuardedState<'_>) -> R) -> Option<R> {
    let job = RECORDER.job()?;
    guarded_here(|| {
        let state = current_state(cell(), job)?;
        // SAFETY: inside the guard.
        Some(work(&mut unsafe { state.guarded() }))
    })?
}
