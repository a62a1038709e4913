// SPDX-License-Identifier: MIT OR Apache-2.0

//! What belongs to one thread: its stream, its walker, its calls under way.
//!
//! Two kinds of interruption must be survived. A signal handler may make calls
//! while the recorder is at work on the same thread: what cannot be entered
//! twice is guarded by `busy_sp`, and the interrupting call does without it. And
//! a handler may leave with `longjmp`, so that what was begun never ends: guard
//! and calls under way remember the stack pointer they were made at, and are
//! void once the stack is shorter than that.

mod asking;
mod coming;
pub(crate) mod ending;
mod guard;
mod inside;
pub(crate) mod learning;
mod lending;
mod state;

use core::cell::Cell;
use core::ptr::NonNull;

use ioracle_spool::layout::{Call, Unrecorded};
use ioracle_spool::selection::Selection;

use crate::arch;
use crate::clock;
use crate::recorder::RECORDER;
use crate::stack::Caller;
pub(crate) use asking::{ask, definition, record, standing};
pub(crate) use coming::{keep_real, take_real};
use guard::{guarded, guarded_here};
pub(crate) use inside::{Library, begin_in, is_inside};
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
pub(crate) use lending::{Until, lend_memory};
pub(crate) use lending::{borrows, is_borrowed};
pub(crate) use state::ThreadState;
use state::current_state;

/// The thread-local words of ours; `variadic.c` reserves them, entry code
/// stores the first two. All zero in a new thread.
#[repr(C)]
pub(crate) struct ThreadCell {
    /// Stack pointer at the entry of the intercepted function: where its
    /// return address lies.
    pub(crate) caller_sp: usize,
    /// Frame pointer there.
    caller_fp: usize,
    state: *mut ThreadState,
    /// Where the section that cannot be entered twice was entered; 0: it is free.
    busy_sp: usize,
    /// Thread that made a child which borrows this thread's memory (vfork);
    /// 0: none.
    lender: u32,
    /// The child and this thread go on side by side.
    lent_forever: bool,
    /// Calls to wait before the next attempt to begin a stream that could not be begun.
    patience: u32,
    /// Why it could not, as a number of [`Unrecorded::ALL`].
    refused: usize,
    /// The real function that the entry of a call has found, for whom, and where
    /// that call came; see `coming`.
    real: usize,
    real_row: usize,
    real_sp: usize,
}

const _: () = assert!(size_of::<ThreadCell>() == 10 * size_of::<usize>(), "see variadic.c");

/// A call that has begun.
pub(crate) struct Begun {
    state: NonNull<ThreadState>,
    sp: usize,
    context: u64,
    /// The number of its next record.
    began: Cell<u64>,
    depth: usize,
    start_ns: Cell<u64>,
    /// Parts of it that were recorded.
    part: Cell<u32>,
}

/// Begins a call on this thread; None if it cannot be recorded.
#[inline]
pub(crate) fn begin() -> Option<Begun> {
    // SAFETY: the cell is this thread's own, and no reference to it is held.
    let cell = unsafe { &mut *arch::thread_cell() };
    let caller = Caller { sp: cell.caller_sp, fp: cell.caller_fp };
    let job = RECORDER.job()?;
    if !is_caller_of_this(caller.sp) {
        return begin_interrupting(cell.state, caller);
    }
    let begun = guarded(caller.sp, || {
        let mut state = NonNull::new(current_state(cell, job)?)?;
        // SAFETY: the guard keeps interrupting calls away from this thread's state.
        Some(unsafe { state.as_mut() }.begin(caller, job))
    });
    match begun {
        Some(begun) => Some(Begun { start_ns: Cell::new(clock::now_ns()), ..begun? }),
        None => begin_interrupting(cell.state, caller),
    }
}

/// Where the intercepted call of this thread will return to; 0 if that cannot
/// be told.
pub(crate) fn return_address() -> usize {
    // SAFETY: the cell is this thread's own.
    let sp = unsafe { (*arch::thread_cell()).caller_sp };
    if !is_caller_of_this(sp) {
        return 0;
    }
    // SAFETY: the call that came through the entry is still under way.
    unsafe { arch::return_address_at(sp) }
}

/// Whether a stack pointer can be that of our caller's: a handler that
/// interrupts between the entry, which stores it, and here, stores its own.
#[inline(always)]
fn is_caller_of_this(sp: usize) -> bool {
    const MAX_HOOK_FRAME: usize = 16 * 1024;
    let here = 0_u8;
    sp.wrapping_sub(&raw const here as usize) < MAX_HOOK_FRAME
}

/// A call whose context cannot be told: of a signal handler that interrupted
/// the recorder, or one that a handler interrupted at its very beginning.
#[cold]
fn begin_interrupting(state: *mut ThreadState, caller: Caller) -> Option<Begun> {
    let state = NonNull::new(state)?;
    // SAFETY: only plain counters of the state are touched, which the
    // interrupted section leaves consistent at every instruction.
    let (generation, n_begun, depth) = unsafe {
        let state = state.as_ptr();
        (*state).n_begun += 1;
        ((*state).generation, (*state).n_begun, (*state).depth)
    };
    if generation != RECORDER.generation() {
        RECORDER.count(Unrecorded::Interrupted);
        return None;
    }
    let start_ns = Cell::new(clock::now_ns());
    let (began, part) = (Cell::new(n_begun), Cell::new(0));
    Some(Begun { state, sp: caller.sp, context: 0, began, depth, start_ns, part })
}

impl Begun {
    /// Ends the call: it becomes a record. What the call itself knows is in
    /// `call`, the rest is filled in here.
    #[inline]
    pub(crate) fn end(self, end_ns: u64, call: Call) {
        // SAFETY: the state is this thread's own and lives until the thread ends.
        unsafe { (*self.state.as_ptr()).depth = self.depth };
        self.append_in_place(end_ns, call);
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
        // SAFETY: the state is this thread's own and lives until the thread ends.
        unsafe { (*self.state.as_ptr()).depth = self.depth };
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
        self.append(self.next_begun(), self.depth.saturating_add(1), end_ns, call);
    }

    /// Records a part of this call; its end tells the last one, or none. The first
    /// has the call's number, so that calls inside it come after it, and its
    /// time, so that it counts once: those that follow take none.
    pub(crate) fn append_part(&self, end_ns: u64, call: Call) {
        self.append_in_place(end_ns, call);
        self.began.set(self.next_begun());
        self.start_ns.set(end_ns);
        self.part.set(self.part.get().saturating_add(1));
    }

    #[inline]
    fn append_in_place(&self, end_ns: u64, call: Call) {
        let call = Call { part: self.part.get(), ..call };
        self.append(self.began.get(), self.depth, end_ns, call);
    }

    fn next_begun(&self) -> u64 {
        // SAFETY: the state is this thread's own and lives until the thread ends.
        unsafe {
            let state = self.state.as_ptr();
            (*state).n_begun += 1;
            (*state).n_begun
        }
    }

    #[inline]
    fn append(&self, began: u64, depth: usize, end_ns: u64, call: Call) {
        let (context, start_ns) = (self.context, self.start_ns.get());
        let depth = depth.min(255) as u8;
        self.write(&Call { context, began, start_ns, end_ns, depth, ..call });
    }

    #[inline]
    fn write(&self, record: &Call) {
        let Some(job) = RECORDER.job() else { return };
        let state = self.state.as_ptr();
        // SAFETY: the state is this thread's own and lives until the thread
        // ends; the writer and the host may be used by interrupting calls at
        // any instruction.
        unsafe {
            let outermost = (*state).recording_sp == 0;
            if outermost {
                (*state).recording_sp = self.sp;
            }
            if let Some(writer) = &(*state).writer {
                writer.append(&mut (*state).host, job, record);
            }
            if outermost {
                (*state).recording_sp = 0;
            }
        }
    }
}

/// Uses this thread's state outside a call's beginning and end; None for
/// interrupting calls and threads without a stream.
pub(crate) fn with_state<R>(work: impl FnOnce(&mut ThreadState) -> R) -> Option<R> {
    let job = RECORDER.job()?;
    guarded_here(|| {
        // SAFETY: cell and state are this thread's own, and the guard keeps others away.
        let state = unsafe { current_state(&mut *arch::thread_cell(), job)?.as_mut() };
        state.map(work)
    })?
}
