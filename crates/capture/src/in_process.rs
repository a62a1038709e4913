// SPDX-License-Identifier: MIT OR Apache-2.0

//! What `libioracle.so` in the same process may ask: see `ioracle_spool::in_process`.
//!
//! Asking changes nothing of what is recorded. A thread's first question makes
//! its slot, and its stream if it has made no call yet.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use ioracle_spool::handshake::takes_over_waking;
use ioracle_spool::in_process::{
    CaptureFunctions, Definition, RecordingStatus, StreamStatus, Work,
};
use ioracle_spool::layout::{Call, VERSION};

use crate::clock;
use crate::recorder::RECORDER;
use crate::sys;
use crate::thread;

pub(crate) static CAPTURE_FUNCTIONS: CaptureFunctions = CaptureFunctions {
    version: VERSION,
    stand,
    record,
    wake,
    reader_is_alive,
    now_ns,
    pause,
    definition,
    on_own_stack,
};

/// The only function exported for it.
#[unsafe(no_mangle)]
unsafe extern "C-unwind" fn ioracle_capture_inside_1() -> *const CaptureFunctions {
    &CAPTURE_FUNCTIONS
}

unsafe extern "C-unwind" fn stand(standing: *mut StreamStatus) -> u32 {
    let answer = match standing_here() {
        Ok(found) => {
            // SAFETY: the caller passes a structure of its own.
            unsafe { standing.write(found) };
            RecordingStatus::Recorded
        }
        Err(answer) => answer,
    };
    answer as u32
}

fn standing_here() -> Result<StreamStatus, RecordingStatus> {
    if !RECORDER.is_on_here() {
        return Err(RecordingStatus::Off);
    }
    let job = RECORDER.job().ok_or(RecordingStatus::Off)?;
    if job.open.load(Ordering::Relaxed) == 0 {
        return Err(RecordingStatus::Ended);
    }
    thread::standing().map_or_else(|| thread::ask(job), Ok)
}

unsafe extern "C-unwind" fn record(number: u64, call: *mut Call) -> bool {
    if !RECORDER.is_on_here() {
        return false;
    }
    match thread::record(number) {
        Some(found) => {
            // SAFETY: the caller passes a structure of its own.
            unsafe { call.write(found) };
            true
        }
        None => false,
    }
}

unsafe extern "C-unwind" fn wake() {
    if let Some(job) = RECORDER.job()
        && takes_over_waking(&job.sleeping.0)
    {
        sys::wake(&job.sleeping.0);
    }
}

unsafe extern "C-unwind" fn reader_is_alive() -> bool {
    RECORDER.job().is_some_and(|job| {
        let reader = job.reader_pid.load(Ordering::Relaxed);
        reader != 0 && sys::is_alive(reader)
    })
}

unsafe extern "C-unwind" fn now_ns() -> u64 {
    clock::now_ns()
}

unsafe extern "C-unwind" fn pause(ns: u64) {
    sys::sleep_ns(ns);
}

unsafe extern "C-unwind" fn definition(place: *mut u64, definition: *mut Definition) -> bool {
    if !RECORDER.is_on_here() {
        return false;
    }
    // SAFETY: the caller passes a number and a structure of its own.
    unsafe {
        let Some((found, next)) = thread::definition(*place) else { return false };
        place.write(next);
        definition.write(found);
    }
    true
}

unsafe extern "C-unwind" fn on_own_stack(work: Work, data: *mut c_void) -> bool {
    // SAFETY: the caller promises a function that takes the data and does not unwind.
    RECORDER.is_on_here() && unsafe { thread::learning::on_own_stack(work, data) }
}
