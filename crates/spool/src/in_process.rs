// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the capture library offers `libioracle.so` in the same process: where
//! this thread's stream stands, what it did last, and where its slot is.
//!
//! The two are loaded separately and may be of different builds, so all of it is C:
//! the capture library exports one function, [`SYMBOL`], that returns a pointer
//! to [`CaptureFunctions`], which stays. None of its functions allocates, locks or
//! panics, and all but the first [`stand`](CaptureFunctions::stand) of a thread and the
//! two that say so make no system call; so all may be called in signal handlers.

use core::ffi::{CStr, c_void};

use crate::layout::Call;

/// Name of the function of type [`Find`]. Its number changes when an [`CaptureFunctions`]
/// does; the layout of what it points to is that of
/// [`VERSION`](crate::layout::VERSION).
pub const SYMBOL: &CStr = c"ioracle_capture_inside_1";

/// Finds the capture library's functions.
pub type Find = unsafe extern "C-unwind" fn() -> *const CaptureFunctions;

/// Functions of the capture library.
#[repr(C)]
pub struct CaptureFunctions {
    /// [`VERSION`](crate::layout::VERSION) of records and slots.
    pub version: u32,
    /// Where this thread stands, as a [`RecordingStatus`]; fills the structure only with
    /// [`RecordingStatus::Recorded`]. The first one makes the thread's slot.
    pub stand: unsafe extern "C-unwind" fn(*mut StreamStatus) -> u32,
    /// Copies a record of this thread; false if it is gone. The last [`KEPT_RECORDS`]
    /// are always there.
    pub record: unsafe extern "C-unwind" fn(u64, *mut Call) -> bool,
    /// Wakes the reader if it sleeps (a system call then).
    pub wake: unsafe extern "C-unwind" fn(),
    /// Whether the reader's process is there (a system call).
    pub reader_is_alive: unsafe extern "C-unwind" fn() -> bool,
    /// CLOCK_MONOTONIC, the clock of records.
    pub now_ns: unsafe extern "C-unwind" fn() -> u64,
    /// Sleeps for at least this many nanoseconds (a system call).
    pub pause: unsafe extern "C-unwind" fn(u64),
    /// Copies the next definition of this thread's stream and advances the position,
    /// which starts at 0; false if there is none yet.
    pub definition: unsafe extern "C-unwind" fn(*mut u64, *mut Definition) -> bool,
    /// Calls a function, which must not unwind, with signals blocked, on a stack of our
    /// own (two system calls); false if that cannot be done.
    pub on_own_stack: unsafe extern "C-unwind" fn(Work, *mut c_void) -> bool,
}

/// What [`CaptureFunctions::on_own_stack`] calls.
pub type Work = unsafe extern "C" fn(*mut c_void);

/// A definition in this thread's memory, where it stays as long as the stream.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Definition {
    /// A [`DefinitionKind`](crate::layout::DefinitionKind).
    pub kind: u32,
    /// Bytes of the payload.
    pub bytes: u32,
    /// What it gives a meaning to.
    pub id: u64,
    /// Where the payload lies.
    pub payload: *const u8,
}

/// Name of the function of type [`Learn`] that `libioracle.so` exports: with it
/// the capture library has each call learned on the thread that made it.
pub const LEARN_SYMBOL: &CStr = c"ioracle_in_process_1";

/// Learns what is new in this thread's stream, or forgets all: see [`LearnerTask`].
/// The pointer is the thread's own, null at first; what it points to belongs to
/// `libioracle.so`, which makes it [`GIVEN_UP`] when it cannot go on. It is
/// called on a stack of its own (see [`CaptureFunctions::on_own_stack`]).
pub type Learn = unsafe extern "C" fn(*const CaptureFunctions, *mut *mut c_void, lesson: u32);

/// Stands for a thread of which nothing is learned any more.
pub const GIVEN_UP: usize = 1;

/// What a [`Learn`] should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum LearnerTask {
    /// The thread has made calls.
    Learn = 0,
    /// The thread or its stream has ended.
    Forget = 1,
}

/// Records of a thread that can be copied again: the smallest segment holds more.
pub const KEPT_RECORDS: u64 = 64;

/// Where a thread stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct StreamStatus {
    /// Its slot: a [`PredictionSlot`](crate::slot::PredictionSlot), mapped as long as the thread
    /// lives and does not fork; 0 if `learned` is not.
    pub slot: usize,
    /// Where the thread's pointer for [`Learn`] lies, if that has made something
    /// of it; else 0.
    pub learned: usize,
    /// Calls that it has begun, counted as [`Call::began`].
    pub n_begun: u64,
    /// Records that it has made: their numbers are below this one.
    pub n_records: u64,
}

/// What [`CaptureFunctions::stand`] answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RecordingStatus {
    /// The thread is recorded and has a slot.
    Recorded = 0,
    /// Nothing is recorded in this process: no job, switched off, in a sandbox,
    /// or in a child that borrows its parent's memory.
    Off = 1,
    /// The reader has left.
    Ended = 2,
    /// This thread is not recorded, or has no slot, for want of room.
    NoRoom = 3,
    /// The caller is a signal handler that has interrupted the recorder itself.
    Interrupting = 4,
}

impl RecordingStatus {
    /// The answer behind a number; an unknown one counts as not recorded.
    pub fn from_number(number: u32) -> RecordingStatus {
        match number {
            0 => RecordingStatus::Recorded,
            2 => RecordingStatus::Ended,
            3 => RecordingStatus::NoRoom,
            4 => RecordingStatus::Interrupting,
            _ => RecordingStatus::Off,
        }
    }
}
