// SPDX-License-Identifier: MIT OR Apache-2.0

//! Learns the calls of a program on the threads that make them
//! (`ioracle run --in-process`).
//!
//! The capture library calls [`ioracle_in_process_1`] after each recorded call, with
//! signals blocked and on its own stack; memory comes from the thread's [`arena`]. So
//! nothing that belongs to the program is used or waited for, whatever state it is in.
//! Should the oracle fail (a panic, no room), the thread's calls are not learned here
//! any more, and `ioracle run` publishes predictions for it as it does without
//! `--in-process`.

mod arena;
mod learner;

use std::ffi::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::NonNull;

use ioracle_spool::in_process::{CaptureFunctions, GIVEN_UP, LearnerTask};

use self::arena::LearnerArena;
use self::learner::InProcessLearner;
use crate::barrier;
use crate::prediction::ioracle_prediction;
use crate::prediction_slot::ioracle_basis;

/// For the capture library only: see `ioracle_spool::in_process::Learn`.
///
/// # Safety
///
/// `inside` is what the capture library exports, and stays. `learned` points to
/// a pointer of this thread, null at first, that only this module changes.
#[unsafe(no_mangle)]
unsafe extern "C" fn ioracle_in_process_1(
    inside: *const CaptureFunctions,
    learned: *mut *mut c_void,
    lesson: u32,
) {
    // SAFETY: the caller's promises.
    unsafe {
        let thread = Thread { learned };
        if lesson == LearnerTask::Forget as u32 {
            return thread.forget(std::ptr::null_mut());
        }
        if (*learned).is_null() {
            thread.begin();
        }
        if let Some(inside) = inside.as_ref() {
            thread.attend(|learner| learner.learn(inside));
        }
    }
}

/// A question of this thread, and its answer.
struct Question<'a> {
    inside: &'a CaptureFunctions,
    thread: Thread,
    predictions: *mut ioracle_prediction,
    n_predictions: usize,
    answer: Option<ioracle_basis>,
}

/// Asks what this thread has learned itself. None if it has failed to.
///
/// # Safety
///
/// `learned` is what the capture library says of this thread; there is room for
/// that many predictions.
pub(crate) unsafe fn ask(
    inside: &CaptureFunctions,
    learned: usize,
    predictions: *mut ioracle_prediction,
    n_predictions: usize,
) -> Option<ioracle_basis> {
    let thread = Thread { learned: learned as *mut *mut c_void };
    let mut question = Question { inside, thread, predictions, n_predictions, answer: None };
    // SAFETY: `answer` takes a question and does not unwind.
    unsafe { (inside.on_own_stack)(answer, (&raw mut question).cast()) };
    question.answer
}

unsafe extern "C" fn answer(question: *mut c_void) {
    // SAFETY: `ask` passes a question of its own, with promises kept by its caller.
    unsafe {
        let question = &mut *question.cast::<Question<'_>>();
        question.answer = question.thread.attend(|learner| {
            learner.learn(question.inside);
            learner.answer(question.predictions, question.n_predictions)
        });
    }
}

/// The thread's pointer: null, [`GIVEN_UP`], or an arena whose root is an [`InProcessLearner`].
#[derive(Clone, Copy)]
struct Thread {
    learned: *mut *mut c_void,
}

impl Thread {
    /// # Safety
    /// The pointer is this thread's own, here and below.
    unsafe fn begin(self) {
        let Some(mut arena) = LearnerArena::new() else {
            // SAFETY: the caller's promise.
            return unsafe { self.learned.write(GIVEN_UP as *mut c_void) };
        };
        // SAFETY: the caller's promise; the arena is fresh and this thread's own.
        unsafe {
            self.learned.write(arena.as_ptr().cast());
            let made = LearnerArena::enter(arena, || {
                unless_it_panics(|| Box::into_raw(Box::new(InProcessLearner::new())))
            });
            match made {
                Some(learner) => arena.as_mut().root = learner.cast(),
                None => self.forget(GIVEN_UP as *mut c_void),
            }
        }
    }

    /// Does something with the learner, in its arena.
    unsafe fn attend<R: Copy>(self, work: impl FnOnce(&mut InProcessLearner) -> R) -> Option<R> {
        // SAFETY: the caller's promise.
        let arena = unsafe { self.arena()? };
        // SAFETY: the arena is there and its root is a learner, which nobody else uses.
        let done = unsafe {
            let learner = arena.as_ref().root.cast::<InProcessLearner>();
            let attend = || LearnerArena::enter(arena, || unless_it_panics(|| work(&mut *learner)));
            if LearnerArena::has_room(arena) { attend() } else { None }
        };
        if done.is_none() {
            // SAFETY: the caller's promise.
            unsafe { self.forget(GIVEN_UP as *mut c_void) };
        }
        done
    }

    /// Releases all memory. Nothing is dropped: what a panic has left may be half done,
    /// and all of it lies in the arena.
    unsafe fn forget(self, instead: *mut c_void) {
        // SAFETY: the caller's promise, and nobody uses the arena any more.
        unsafe {
            if let Some(arena) = self.arena() {
                LearnerArena::release(arena);
            }
            self.learned.write(instead);
        }
    }

    unsafe fn arena(self) -> Option<NonNull<LearnerArena>> {
        // SAFETY: the caller's promise.
        let learned = unsafe { self.learned.read() };
        NonNull::new(learned.cast()).filter(|_| learned as usize != GIVEN_UP)
    }
}

/// What the work returns, if it does. The value of a panic lies in the arena, so
/// it is left there.
fn unless_it_panics<R>(work: impl FnOnce() -> R) -> Option<R> {
    let done = barrier::quietly(|| panic::catch_unwind(AssertUnwindSafe(work)));
    done.map_err(std::mem::forget).ok()
}
