// SPDX-License-Identifier: MIT OR Apache-2.0

//! Notices that a thread ends, to free its memory.
//!
//! A key's destructor does that, if the key is among the first of the process: glibc
//! has room for those in the thread itself. Setting a value for a later key allocates,
//! which a hook must not do. If other libraries have made too many keys before us,
//! threads are listed instead, and each new one looks for some that are gone.

use core::ptr::NonNull;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize};

use super::cell;
use super::reentrancy_guard::guarded_here;
use super::state::{ThreadMemory, ThreadState};
use super::vfork::is_vfork_child;
use crate::recorder::RECORDER;
use crate::sys;

/// PTHREAD_DESTRUCTOR_ITERATIONS of glibc, counted from 0.
const LAST_ROUND: u32 = 3;
/// PTHREAD_KEY_2NDLEVEL_SIZE of glibc.
const KEYS_WITH_ROOM: u32 = 32;
/// Threads that are listed at once; the memory of further ones is not given back.
const LISTED: usize = 1024;
/// Threads of the list that a new one looks for.
const LOOKED_FOR: usize = 64;

/// Key whose destructor is called, plus one; 0: there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

static LIST: [Listed; LISTED] = [const { Listed::free() }; LISTED];
/// Where the next look begins.
static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A thread with a state.
struct Listed {
    /// 0: the place is free.
    thread: AtomicU32,
    /// An entry of another generation belongs to the parent process.
    generation: AtomicU32,
    state: AtomicPtr<ThreadState>,
}

/// In the place of a thread while its entry is changed.
const BEING_CHANGED: u32 = u32::MAX;

/// Makes the key.
pub(crate) fn set_up() {
    unsafe extern "C" {
        // As in the libc crate, except for the destructor: one that must not unwind
        // would pull in an unwinding runtime to make sure.
        fn pthread_key_create(
            key: *mut libc::pthread_key_t,
            destructor: unsafe extern "C-unwind" fn(*mut libc::c_void),
        ) -> libc::c_int;
    }
    let mut key = 0;
    // SAFETY: the destructor takes what `watch` stores.
    if unsafe { pthread_key_create(&raw mut key, thread_ends) } != 0 {
        return;
    }
    if key < KEYS_WITH_ROOM {
        KEY.store(key + 1, Release);
    } else {
        // SAFETY: just made, and no thread has a value for it.
        unsafe { libc::pthread_key_delete(key) };
    }
}

/// Registers this thread, whose state is new or of a new generation, so that its end is
/// noticed.
pub(super) fn watch(state: NonNull<ThreadState>) {
    match KEY.load(Acquire).checked_sub(1) {
        // SAFETY: the key is ours, and there is room for its value.
        Some(key) => unsafe {
            libc::pthread_setspecific(key, state.as_ptr().cast());
        },
        None => list(state),
    }
}

fn list(state: NonNull<ThreadState>) {
    let (thread, generation) = (sys::thread_id(), RECORDER.generation());
    for place in &LIST {
        if place.is_free(generation) && place.claim(place.thread.load(Relaxed)) {
            place.state.store(state.as_ptr(), Relaxed);
            place.generation.store(generation, Relaxed);
            place.thread.store(thread, Release);
            return;
        }
    }
}

/// Frees what threads left that are gone, a few at a time. Called when a thread is
/// about to make its own.
pub(super) fn give_back_abandoned() {
    if KEY.load(Relaxed) != 0 {
        return;
    }
    let (this, generation) = (sys::thread_id(), RECORDER.generation());
    let first = NEXT.fetch_add(LOOKED_FOR, Relaxed) % LISTED;
    let looked_for = LIST.iter().cycle().skip(first).take(LISTED);
    let known = looked_for.filter(|place| !place.is_free(generation));
    for place in known.take(LOOKED_FOR) {
        let thread = place.thread.load(Acquire);
        // This thread has no state yet: an earlier one with the same number had it.
        let is_gone = thread != BEING_CHANGED && (thread == this || !sys::is_thread_alive(thread));
        if !is_gone || !place.claim(thread) {
            continue;
        }
        if let Some(state) = NonNull::new(place.state.load(Relaxed)) {
            // SAFETY: its thread is gone, and only we have claimed it.
            unsafe { give_back(state) };
        }
        place.thread.store(0, Release);
    }
}

impl Listed {
    const fn free() -> Listed {
        Listed {
            thread: AtomicU32::new(0),
            generation: AtomicU32::new(0),
            state: AtomicPtr::new(core::ptr::null_mut()),
        }
    }

    fn is_free(&self, generation: u32) -> bool {
        self.thread.load(Relaxed) == 0 || self.generation.load(Relaxed) != generation
    }

    fn claim(&self, from: u32) -> bool {
        self.thread.compare_exchange(from, BEING_CHANGED, AcqRel, Relaxed).is_ok()
    }
}

unsafe extern "C-unwind" fn thread_ends(state: *mut libc::c_void) {
    let cell = cell();
    let is_ours = !state.is_null() && cell.state.load(Relaxed).cast() == state;
    if !is_ours || !RECORDER.is_on() || is_vfork_child() {
        return;
    }
    guarded_here(|| {
        let Some(state) = cell.state() else { return };
        // Destructors are called in rounds as long as there is something to
        // destroy: those of the program may do I/O, so ours waits for the last.
        let n_rounds = state.n_rounds_of_destructors.load(Relaxed);
        if n_rounds < LAST_ROUND {
            state.n_rounds_of_destructors.store(n_rounds + 1, Relaxed);
            watch(state.into());
            return;
        }
        let state = NonNull::from(state);
        cell.state.store(core::ptr::null_mut(), Relaxed);
        // SAFETY: nobody else knows it, and the cell has forgotten it.
        unsafe { give_back(state) };
    });
}

/// Ends a stream and frees the memory.
///
/// # Safety
///
/// Nobody uses the state any more.
unsafe fn give_back(state: NonNull<ThreadState>) {
    // A handler that ran now would find nothing, and could start over.
    sys::without_signals(|| {
        // SAFETY: the caller's promise.
        unsafe {
            state.as_ref().end_stream();
            sys::unmap(state.cast(), size_of::<ThreadMemory>());
        }
    });
}
