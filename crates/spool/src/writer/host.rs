// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a writer asks of its process: memory in a file, waking, waiting. A
//! trait, so that tests can simulate a full disk or a reader that is gone.

use core::ffi::CStr;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;

use crate::layout::{SPARE_SUFFIX, STREAM_SUFFIX, UnrecordedCause};
use crate::slot::SLOT_SUFFIX;

/// The system calls of a writer.
///
/// None of them may allocate, lock or panic: they are made inside arbitrary
/// calls of the application.
///
/// # Safety
/// What [`create`](Host::create) and [`extend`](Host::extend) return must be
/// aligned to 64 bytes, zeroed, writable for the length asked, and stay so until
/// [`unmap`](Host::unmap) is called for it.
pub unsafe trait Host {
    /// Creates the stream's file with `bytes` really allocated, and maps it.
    fn create(&mut self, name: &StreamName, bytes: usize) -> Result<NonNull<u8>, UnrecordedCause>;

    /// Adds `bytes` at `offset` to the file, really allocated, and maps them.
    /// After an interruption it may be asked for the same bytes again.
    fn extend(
        &mut self,
        name: &StreamName,
        offset: u64,
        bytes: usize,
    ) -> Result<NonNull<u8>, UnrecordedCause>;

    /// Ends a mapping.
    fn unmap(&mut self, address: NonNull<u8>, bytes: usize);

    /// Does something with signals blocked, if possible: calls of a handler that
    /// interrupts it could not be recorded.
    fn uninterrupted<R>(&mut self, work: impl FnOnce(&mut Self) -> R) -> R
    where
        Self: Sized,
    {
        work(self)
    }

    /// Wakes those that wait on the word.
    fn wake(&mut self, word: &AtomicU32);

    /// Whether the reading process exists.
    fn reader_is_alive(&mut self, pid: u32) -> bool;

    /// Sleeps for about a millisecond.
    fn pause(&mut self);
}

/// Who writes a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamIdentity {
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
    /// Parent process.
    pub parent_pid: u32,
    /// Rank set by the launcher's environment, -1 for none.
    pub rank: i32,
    /// Ranks of the launcher's job, 0 if unknown.
    pub world_size: u32,
    /// When the process image began, CLOCK_MONOTONIC.
    pub process_start_ns: u64,
    /// The same instant, CLOCK_REALTIME.
    pub process_start_realtime_ns: u64,
    /// Now, CLOCK_MONOTONIC; part of the file's name.
    pub now_ns: u64,
}

/// Name of a stream's file: `<pid>-<tid>-<now in hex>.stream`.
#[derive(Clone, Copy, Debug)]
pub struct StreamName {
    /// Zeros follow the name.
    bytes: [u8; Self::CAPACITY],
}

impl StreamName {
    /// Two numbers of 10 digits, one of 16, two dashes, the suffix and a zero
    /// take 46.
    const CAPACITY: usize = 48;

    /// No name yet.
    pub(super) const fn empty() -> StreamName {
        StreamName { bytes: [0; Self::CAPACITY] }
    }

    /// The name of a stream that begins now.
    pub fn new(who: &StreamIdentity) -> StreamName {
        let mut bytes = [0; Self::CAPACITY];
        // The last byte stays zero whatever the numbers are.
        let mut places = bytes.iter_mut().take(Self::CAPACITY - 1);
        let mut put = |text: &[u8]| {
            for (byte, place) in text.iter().zip(&mut places) {
                *place = *byte;
            }
        };
        put(digits(who.pid.into(), 10, &mut [0; 20]));
        put(b"-");
        put(digits(who.tid.into(), 10, &mut [0; 20]));
        put(b"-");
        put(digits(who.now_ns, 16, &mut [0; 20]));
        put(STREAM_SUFFIX.as_bytes());
        StreamName { bytes }
    }

    /// The name of a stream that is made in advance, the `n`th of a process.
    pub fn spare(pid: u32, n: u32, now_ns: u64) -> StreamName {
        let who = StreamIdentity { pid, tid: n, now_ns, ..StreamIdentity::default() };
        StreamName::new(&who).with_suffix(SPARE_SUFFIX)
    }

    /// The name of the stream's slot.
    pub(super) fn of_slot(&self) -> StreamName {
        self.with_suffix(SLOT_SUFFIX)
    }

    fn with_suffix(&self, suffix: &str) -> StreamName {
        let mut name = *self;
        let length = name.as_cstr().count_bytes();
        let stem = length.saturating_sub(STREAM_SUFFIX.len());
        let rest = name.bytes.iter_mut().take(Self::CAPACITY - 1).skip(stem);
        let suffix = suffix.bytes().chain(core::iter::repeat(0));
        for (place, byte) in rest.zip(suffix) {
            *place = byte;
        }
        name
    }

    /// For system calls.
    pub fn as_cstr(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

/// Writes a number; formatting of the standard library may panic.
fn digits(mut number: u64, radix: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut start = buffer.len();
    for (place, byte) in buffer.iter_mut().enumerate().rev() {
        let digit = (number % radix) as u8;
        *byte = if digit < 10 { b'0' + digit } else { b'a' + (digit - 10) };
        number /= radix;
        start = place;
        if number == 0 {
            break;
        }
    }
    buffer.get(start..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(pid: u32, tid: u32, now_ns: u64) -> String {
        let who = StreamIdentity { pid, tid, now_ns, ..StreamIdentity::default() };
        StreamName::new(&who).as_cstr().to_str().unwrap().to_owned()
    }

    #[test]
    fn a_stream_is_named_after_process_thread_and_time() {
        assert_eq!(name(4711, 4712, 0xbeef), "4711-4712-beef.stream");
        assert_eq!(name(0, 0, 0), "0-0-0.stream");
    }

    #[test]
    fn a_slot_is_named_after_its_stream() {
        let who = StreamIdentity { pid: 12, tid: 34, now_ns: 0xab, ..StreamIdentity::default() };
        let slot = StreamName::new(&who).of_slot();
        assert_eq!(slot.as_cstr(), c"12-34-ab.next");
    }

    #[test]
    fn a_spare_is_named_after_its_process() {
        assert_eq!(StreamName::spare(12, 3, 0xab).as_cstr(), c"12-3-ab.spare");
    }

    #[test]
    fn the_longest_name_is_whole() {
        assert_eq!(
            name(u32::MAX, u32::MAX, u64::MAX),
            "4294967295-4294967295-ffffffffffffffff.stream"
        );
    }
}
