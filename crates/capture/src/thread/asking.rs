// SPDX-License-Identifier: MIT OR Apache-2.0

//! A thread that asks what comes next. Its slot lies in its state; what is read here
//! may be read by a handler that interrupts the recorder, because all of it is single
//! words, or belongs to the writer, which tolerates that.

use core::ptr::NonNull;
use core::sync::atomic::Ordering::Relaxed;

use ioracle_spool::in_process::{Definition, RecordingStatus, StreamStatus};
use ioracle_spool::layout::{Call, JobPage};
use ioracle_spool::slot::{PredictionSlot, SLOT_BYTES};

use super::reentrancy_guard::guarded_here;
use super::state::{ThreadState, current_state};
use super::{cell, learning};
use crate::recorder::RECORDER;
use crate::sys;

/// Where this thread stands, if it has asked before.
#[inline]
pub(crate) fn standing() -> Option<StreamStatus> {
    let state = own_state()?;
    let learned = learning::learned_by(state);
    let slot = state.slot.load(Relaxed) as usize;
    if slot == 0 && learned == 0 {
        return None;
    }
    let n_begun = state.n_begun.load(Relaxed);
    Some(StreamStatus { slot, learned, n_begun, n_records: state.writer()?.n_records() })
}

/// The same for a thread that asks for the first time.
#[cold]
pub(crate) fn ask(job: &JobPage) -> Result<StreamStatus, RecordingStatus> {
    let in_guard = |work: fn(&ThreadState, &JobPage) -> Result<(), RecordingStatus>| {
        guarded_here(|| work(current_state(cell(), job).ok_or(RecordingStatus::NoRoom)?, job))
            .unwrap_or(Err(RecordingStatus::Interrupting))
    };
    if learning::is_on() {
        in_guard(|_, _| Ok(()))?;
        learning::learn();
        if let Some(standing) = standing() {
            return Ok(standing);
        }
    }
    in_guard(ThreadState::ask)?;
    standing().ok_or(RecordingStatus::NoRoom)
}

/// A definition of this thread's stream, and the place after it.
pub(crate) fn definition(place: u64) -> Option<(Definition, u64)> {
    own_state()?.writer()?.definition(place)
}

/// A record of this thread.
pub(crate) fn record(number: u64) -> Option<Call> {
    own_state()?.writer()?.record(number)
}

/// This thread's state, if it belongs to this process.
#[inline]
pub(super) fn own_state<'a>() -> Option<&'a ThreadState> {
    cell().state().filter(|state| state.generation.load(Relaxed) == RECORDER.generation())
}

impl ThreadState {
    /// Makes the slot, if there is none. If that fails, it is not tried again: the file
    /// may exist.
    fn ask(&self, job: &JobPage) -> Result<(), RecordingStatus> {
        if !self.slot.load(Relaxed).is_null() {
            return Ok(());
        }
        if self.has_asked.swap(true, Relaxed) {
            return Err(RecordingStatus::NoRoom);
        }
        let writer = self.writer().ok_or(RecordingStatus::NoRoom)?;
        let slot = writer.ask(&mut self.host(), job).map_err(|_| RecordingStatus::NoRoom)?;
        self.slot.store(PredictionSlot::base(slot).as_ptr(), Relaxed);
        Ok(())
    }

    /// Releases the slot: the stream ends, or is another process's.
    pub(super) fn release_slot(&self) {
        self.has_asked.store(false, Relaxed);
        if let Some(slot) = NonNull::new(self.slot.swap(core::ptr::null_mut(), Relaxed)) {
            // SAFETY: the writer has mapped that many bytes there, and nobody but
            // this thread looks at them.
            unsafe { sys::unmap(slot, SLOT_BYTES) };
        }
    }
}
