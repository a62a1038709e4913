// SPDX-License-Identifier: MIT OR Apache-2.0

//! A thread that asks what comes next. Its slot lies in its state; what is read
//! here may be read by a handler that interrupts the recorder, because all of it
//! is single words, or the writer's own, which bears that.

use core::ptr::NonNull;

use ioracle_spool::inside::{Definition, Stand, Standing};
use ioracle_spool::layout::{Call, JobPage};
use ioracle_spool::slot::{SLOT_BYTES, Slot};

use super::guard::guarded_here;
use super::learning;
use super::state::{ThreadState, current_state};
use crate::arch;
use crate::recorder::RECORDER;
use crate::sys;

/// Where this thread stands, if it has asked before.
#[inline]
pub(crate) fn standing() -> Option<Standing> {
    let state = own_state()?;
    // SAFETY: this thread's own state; single words are read.
    unsafe {
        let learned = learning::learned_by(state);
        let slot = (*state).slot.map_or(0, |slot| slot.base().as_ptr() as usize);
        if slot == 0 && learned == 0 {
            return None;
        }
        Some(Standing {
            slot,
            learned,
            n_begun: (*state).n_begun,
            n_records: (*state).writer.as_ref()?.n_records(),
        })
    }
}

/// The same for a thread that asks for the first time.
#[cold]
pub(crate) fn ask(job: &JobPage) -> Result<Standing, Stand> {
    let in_guard = |work: fn(&mut ThreadState, &JobPage) -> Result<(), Stand>| {
        guarded_here(|| {
            // SAFETY: cell and state are this thread's own, and the guard keeps others away.
            unsafe {
                let state = current_state(&mut *arch::thread_cell(), job).ok_or(Stand::NoRoom)?;
                work(&mut *state, job)
            }
        })
        .unwrap_or(Err(Stand::Interrupting))
    };
    if learning::is_on() {
        in_guard(|_, _| Ok(()))?;
        learning::learn();
        if let Some(standing) = standing() {
            return Ok(standing);
        }
    }
    in_guard(ThreadState::ask)?;
    standing().ok_or(Stand::NoRoom)
}

/// A definition of this thread's stream, and the place behind it.
pub(crate) fn definition(place: u64) -> Option<(Definition, u64)> {
    // SAFETY: this thread's own state; the writer bears interruptions.
    unsafe { (*own_state()?).writer.as_ref()?.definition(place) }
}

/// A record of this thread.
pub(crate) fn record(number: u64) -> Option<Call> {
    // SAFETY: this thread's own state; the writer bears interruptions.
    unsafe { (*own_state()?).writer.as_ref()?.record(number) }
}

/// This thread's state, if it is of this process.
#[inline]
pub(super) fn own_state() -> Option<*mut ThreadState> {
    // SAFETY: the cell is this thread's own.
    let state = unsafe { (*arch::thread_cell()).state };
    // SAFETY: the state lives until the thread ends.
    let is_current = !state.is_null() && unsafe { (*state).generation } == RECORDER.generation();
    is_current.then_some(state)
}

impl ThreadState {
    /// Makes the slot, if there is none. One that cannot be made is not tried
    /// for again: the file may be there.
    fn ask(&mut self, job: &JobPage) -> Result<(), Stand> {
        if self.slot.is_some() {
            return Ok(());
        }
        if self.has_asked {
            return Err(Stand::NoRoom);
        }
        self.has_asked = true;
        let ThreadState { writer, host, slot, .. } = self;
        let writer = writer.as_ref().ok_or(Stand::NoRoom)?;
        *slot = Some(writer.ask(host, job).map_err(|_| Stand::NoRoom)?);
        Ok(())
    }

    /// Gives the slot up: the stream ends, or is another process's.
    pub(super) fn release_slot(&mut self) {
        self.has_asked = false;
        if let Some(slot) = self.slot.take() {
            let base: NonNull<u8> = Slot::base(slot);
            // SAFETY: the writer has mapped so many bytes there, and nobody but
            // this thread looks at them.
            unsafe { sys::unmap(base, SLOT_BYTES) };
        }
    }
}
