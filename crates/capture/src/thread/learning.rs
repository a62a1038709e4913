// SPDX-License-Identifier: MIT OR Apache-2.0

//! Has calls learned on the thread that makes them (`--in-process`), by
//! `libioracle.so` in the same process.
//!
//! The oracle allocates and may need much stack, and the program's call may come from a
//! signal handler that has interrupted its allocator, or from a thread with little
//! stack. So it is called on a stack of our own, with all signals blocked. Then no
//! handler of the program runs in the middle of it, none can jump out of it, and none
//! runs on a stack that it does not know; the oracle has its own memory and does not
//! use the program's allocator.
//!
//! It looks at this thread's records, so calls after which it could not run (inside
//! others) are learned with the next one.

use core::ffi::c_void;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, Ordering};

use ioracle_spool::in_process::{GIVEN_UP, LEARN_SYMBOL, Learn, LearnerTask, Work};
use ioracle_spool::layout::PAGE;
use ioracle_spool::settings;

use super::asking::own_state;
use super::state::ThreadState;
use crate::in_process::CAPTURE_FUNCTIONS;
use crate::recorder::{RECORDER, warn};
use crate::{arch, environment, sys};

/// The function of `libioracle.so`; null: calls are not learned here.
static LEARN: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

/// Bytes of a stack; only those that are used take memory.
const STACK_BYTES: usize = 512 * 1024;

/// Looks for the library, if it is wanted. It is preloaded like ours: one that
/// is loaded later has thread-local memory that is allocated when first used.
pub(crate) fn set_up() {
    if !RECORDER.is_on() || !environment::is_set(settings::INPROCESS) {
        return;
    }
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, LEARN_SYMBOL.as_ptr()) };
    if found.is_null() {
        return warn("nothing is learned in this program: ", "libioracle.so is not loaded in it");
    }
    LEARN.store(found, Ordering::Release);
}

/// Whether calls are learned here.
#[inline]
pub(crate) fn is_on() -> bool {
    !LEARN.load(Ordering::Relaxed).is_null()
}

/// Has the thread's calls learned, after one that nothing encloses.
#[inline]
pub(crate) fn learn() {
    if is_on() {
        learn_here();
    }
}

#[cold]
fn learn_here() {
    if let Some(state) = own_state() {
        let has_given_up = || state.learned.load(Ordering::Relaxed) as usize == GIVEN_UP;
        if has_given_up() {
            return;
        }
        teach(state, LearnerTask::Learn);
        if has_given_up()
            && let Some(job) = RECORDER.job()
        {
            job.n_given_up.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Where a thread's pointer lies, if something was learned; else 0.
pub(super) fn learned_by(state: &ThreadState) -> usize {
    let learned = state.learned.load(Ordering::Relaxed) as usize;
    if learned > GIVEN_UP { state.learned.as_ptr() as usize } else { 0 }
}

/// Calls something on that stack for this thread.
pub(crate) unsafe fn on_own_stack(work: Work, data: *mut c_void) -> bool {
    match own_state() {
        // SAFETY: the caller's promise.
        Some(state) => unsafe { run_on_own_stack(state, work, data) },
        None => false,
    }
}

/// What the learner is called with.
struct LearnCall {
    learn: Learn,
    learned: *mut *mut c_void,
    lesson: LearnerTask,
}

unsafe extern "C" fn give(learn_call: *mut c_void) {
    // SAFETY: `teach` passes one of its own.
    unsafe {
        let LearnCall { learn, learned, lesson } = &*learn_call.cast::<LearnCall>();
        learn(&raw const CAPTURE_FUNCTIONS, *learned, *lesson as u32);
    }
}

fn teach(state: &ThreadState, lesson: LearnerTask) {
    let learn = LEARN.load(Ordering::Relaxed);
    if learn.is_null() {
        return;
    }
    // SAFETY: the symbol has this type.
    let learn = unsafe { core::mem::transmute::<*mut c_void, Learn>(learn) };
    let mut learn_call = LearnCall { learn, learned: state.learned.as_ptr(), lesson };
    // SAFETY: `give` takes a learn_call and does not unwind.
    unsafe { run_on_own_stack(state, give, (&raw mut learn_call).cast()) };
}

/// # Safety
///
/// `work` does not unwind and takes `data`.
unsafe fn run_on_own_stack(state: &ThreadState, work: Work, data: *mut c_void) -> bool {
    // With signals blocked, nothing else of this thread is here.
    sys::without_signals(|| {
        if state.is_on_own_stack.load(Ordering::Relaxed) {
            return false;
        }
        let Some(stack) = own_stack(&state.own_stack) else { return false };
        state.is_on_own_stack.store(true, Ordering::Relaxed);
        let cancellation = sys::without_cancellation();
        let top = stack.as_ptr() as usize + STACK_BYTES;
        // SAFETY: one that cannot unwind is as good as one that does not; the stack
        // is this thread's, and nobody is on it.
        let is_done = unsafe {
            let work = core::mem::transmute::<Work, unsafe extern "C-unwind" fn(*mut c_void)>(work);
            arch::call_on_stack(top, work, data)
        };
        sys::restore_cancellation(cancellation);
        state.is_on_own_stack.store(false, Ordering::Relaxed);
        is_done
    })
}

/// The stack, made if need be, with a guard page at its end.
fn own_stack(stack: &AtomicPtr<u8>) -> Option<NonNull<u8>> {
    if let Some(stack) = NonNull::new(stack.load(Ordering::Relaxed)) {
        return Some(stack);
    }
    let made = sys::map_anonymous(STACK_BYTES).ok()?;
    if sys::forbid(made, PAGE).is_err() {
        // SAFETY: just mapped, and nobody knows of it.
        unsafe { sys::unmap(made, STACK_BYTES) };
        return None;
    }
    stack.store(made.as_ptr(), Ordering::Relaxed);
    Some(made)
}

impl ThreadState {
    /// Releases what was learned and the stack: the stream ends, or is another
    /// process's.
    pub(super) fn release_learned(&self) {
        let has_stack = !self.own_stack.load(Ordering::Relaxed).is_null();
        if self.learned.load(Ordering::Relaxed).is_null() && !has_stack {
            return;
        }
        teach(self, LearnerTask::Forget);
        self.learned.store(core::ptr::null_mut(), Ordering::Relaxed);
        let stack = self.own_stack.swap(core::ptr::null_mut(), Ordering::Relaxed);
        if let Some(stack) = NonNull::new(stack) {
            // SAFETY: mapped by `own_stack`, and nobody is on it.
            unsafe { sys::unmap(stack, STACK_BYTES) };
        }
    }
}
