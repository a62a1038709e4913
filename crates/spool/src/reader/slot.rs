// SPDX-License-Identifier: MIT OR Apache-2.0

//! Writes outlooks into the slot of a thread that asks.
//!
//! The file is the application's: it is written with `pwrite`, which cannot
//! fault, and nothing is read from it. Two writes per outlook, whatever its
//! length.

use std::fs::File;
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{Ordering::SeqCst, fence};

use super::max_file_bytes;
use crate::layout::PAGE;
use crate::slot::{OUTLOOK_BYTES, OutlookBuilder, OutlookHeader, SLOT_BYTES, SlotHeader};

/// The slot of a stream.
pub(super) struct SlotFile {
    file: File,
    /// Number of the last outlook.
    number: u64,
    bytes: Vec<u8>,
}

impl SlotFile {
    /// Takes over a file; None if this process may not write files of this size.
    pub(super) fn new(file: File) -> Option<SlotFile> {
        let may = max_file_bytes() >= SLOT_BYTES as u64;
        may.then(|| SlotFile { file, number: 0, bytes: Vec::new() })
    }

    /// Makes an outlook the latest one.
    pub(super) fn publish(&mut self, outlook: &OutlookBuilder) -> io::Result<()> {
        outlook.encode(&mut self.bytes);
        let made_at = offset_of!(OutlookHeader, made_ns);
        self.bytes[made_at..made_at + 8].copy_from_slice(&now_ns().to_ne_bytes());
        let number = self.number + 1;
        let place = PAGE as u64 + number % 2 * OUTLOOK_BYTES as u64;
        self.file.write_all_at(&self.bytes, place)?;
        // The outlook must be visible before its number, on any processor. A number
        // read half written differs from what a second read finds.
        fence(SeqCst);
        let current = offset_of!(SlotHeader, current) as u64;
        self.file.write_all_at(&number.to_ne_bytes(), current)?;
        self.number = number;
        Ok(())
    }
}

/// CLOCK_MONOTONIC, the clock of the application's records.
fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is written to memory of ours.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
