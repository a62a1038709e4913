// SPDX-License-Identifier: MIT OR Apache-2.0

//! Notices that a thread ends, to give its memory back.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicU32, Ordering};

use super::guard::guarded_here;
use super::lending::is_borrowed;
use super::state::ThreadState;
use crate::arch;
use crate::recorder::RECORDER;
use crate::sys;

/// PTHREAD_DESTRUCTOR_ITERATIONS of glibc, counted from 0.
const LAST_ROUND: u32 = 3;

/// Key whose destructor is called, plus one; 0: there is none.
static KEY: AtomicU32 = AtomicU32::new(0);

/// Makes the key.
pub(crate) fn set_up() {
    unsafe extern "C" {
        // As in the libc crate, but for the destructor: one that must not
        // unwind would bring an unwinding runtime with it to make sure.
        fn pthread_key_create(
            key: *mut libc::pthread_key_t,
            destructor: unsafe extern "C-unwind" fn(*mut libc::c_void),
        ) -> libc::c_int;
    }
    let mut key = 0;
    // SAFETY: the destructor takes what `watch` stores.
    if unsafe { pthread_key_create(&raw mut key, thread_ends) } == 0 {
        KEY.store(key.wrapping_add(1), Ordering::Release);
    }
}

/// Wants to know when this thread ends.
pub(super) fn watch(state: *mut ThreadState) {
    if let Some(key) = KEY.load(Ordering::Acquire).checked_sub(1) {
        // SAFETY: the key is ours. It is among the first of the process, for
        // which glibc has room in the thread itself.
        unsafe { libc::pthread_setspecific(key, state.cast()) };
    }
}

unsafe extern "C-unwind" fn thread_ends(state: *mut libc::c_void) {
    // SAFETY: called on the thread that owns the cell.
    let cell = unsafe { &mut *arch::thread_cell() };
    let is_ours = !cell.state.is_null() && cell.state.cast() == state;
    if !is_ours || !RECORDER.is_on() || is_borrowed() {
        return;
    }
    guarded_here(|| {
        // SAFETY: the state is this thread's own, and the guard keeps others away.
        let state = unsafe { &mut *cell.state };
        // Destructors are called in rounds as long as there is something to
        // destroy: those of the program may do I/O, so ours waits for the last.
        if state.n_rounds_of_destructors < LAST_ROUND {
            state.n_rounds_of_destructors += 1;
            watch(cell.state);
            return;
        }
        state.end_stream();
        let memory = NonNull::from(state).cast();
        cell.state = core::ptr::null_mut();
        // SAFETY: nobody else knows the memory, and the cell has forgotten it.
        unsafe { sys::unmap(memory, size_of::<ThreadState>()) };
    });
}
