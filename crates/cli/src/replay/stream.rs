// SPDX-License-Identifier: MIT OR Apache-2.0

//! An open file of a replay. One that the program used through stdio gets a buffer
//! that turns small accesses into calls as the C library would: whole blocks, and
//! the rest when the file is flushed or closed.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Mutex;

use rustix::io::Errno;

use super::data::{Data, aligned};

/// If a file system tells no block size that makes sense.
const BLOCK: u64 = 4096;

/// What served an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedBy {
    /// The buffer of the file served it.
    Buffer,
    /// The system was asked.
    System,
}

/// An open file.
pub struct OpenFile {
    descriptor: OwnedFd,
    buffer: Option<Mutex<Buffer>>,
}

/// What a stream holds: bytes to be written, or bytes that were read.
struct Buffer {
    block: u64,
    pending: Option<(u64, u64)>,
    read: (u64, u64),
}

impl OpenFile {
    /// Takes over a descriptor.
    pub fn new(descriptor: OwnedFd, is_buffered: bool) -> Result<OpenFile, Errno> {
        let buffer = match is_buffered {
            false => None,
            true => {
                let told = rustix::fs::fstat(&descriptor)?.st_blksize as u64;
                let block = if (512..=1 << 24).contains(&told) { told } else { BLOCK };
                Some(Mutex::new(Buffer { block, pending: None, read: (0, 0) }))
            }
        };
        Ok(OpenFile { descriptor, buffer })
    }

    /// For calls on it.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Reads up to the end of the file.
    pub fn read(&self, buffer: &mut [u8], offset: u64, bytes: u64) -> Result<ServedBy, Errno> {
        let Some(held) = &self.buffer else {
            return self.read_through(buffer, offset, bytes).map(|_| ServedBy::System);
        };
        let mut held = held.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (mut at, end) = (offset, offset.saturating_add(bytes));
        if (held.read.0..held.read.1).contains(&at) {
            at = end.min(held.read.1);
        }
        if at >= end {
            return Ok(ServedBy::Buffer);
        }
        let whole = (end - at) / held.block * held.block;
        if whole > 0 {
            let got = self.read_through(buffer, at, whole)?;
            at += got;
            if got < whole {
                return Ok(ServedBy::System);
            }
        }
        if at < end {
            let got = self.read_through(buffer, at, held.block)?;
            held.read = (at, at + got);
        }
        Ok(ServedBy::System)
    }

    fn read_through(&self, buffer: &mut [u8], offset: u64, bytes: u64) -> Result<u64, Errno> {
        let first = aligned(buffer);
        let buffer = &mut buffer[first..];
        let mut done = 0;
        while done < bytes {
            let length = usize::try_from(bytes - done).unwrap_or(usize::MAX).min(buffer.len());
            match rustix::io::pread(&self.descriptor, &mut buffer[..length], offset + done) {
                Ok(0) => break,
                Ok(got) => done += got as u64,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    /// Writes.
    pub fn write(&self, data: &Data, offset: u64, bytes: u64) -> Result<ServedBy, Errno> {
        let Some(held) = &self.buffer else {
            return self.write_through(data, offset, bytes).map(|()| ServedBy::System);
        };
        let mut held = held.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        held.read = (0, 0);
        let (mut start, mut length) = (offset, bytes);
        let mut reached = ServedBy::Buffer;
        match held.pending.take() {
            Some((begin, waiting)) if begin + waiting == offset => {
                let room = held.block - waiting;
                if bytes < room {
                    held.pending = Some((begin, waiting + bytes));
                    return Ok(ServedBy::Buffer);
                }
                self.write_through(data, begin, held.block)?;
                reached = ServedBy::System;
                (start, length) = (offset + room, bytes - room);
            }
            Some((begin, waiting)) => {
                self.write_through(data, begin, waiting)?;
                reached = ServedBy::System;
            }
            None => {}
        }
        let whole = length / held.block * held.block;
        if whole > 0 {
            self.write_through(data, start, whole)?;
            reached = ServedBy::System;
        }
        if length > whole {
            held.pending = Some((start + whole, length - whole));
        }
        Ok(reached)
    }

    /// Writes what waits.
    pub fn flush(&self, data: &Data) -> Result<(), Errno> {
        let Some(held) = &self.buffer else { return Ok(()) };
        let mut held = held.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match held.pending.take() {
            Some((start, length)) => self.write_through(data, start, length),
            None => Ok(()),
        }
    }

    fn write_through(&self, data: &Data, offset: u64, bytes: u64) -> Result<(), Errno> {
        let mut done = 0;
        while done < bytes {
            match rustix::io::pwrite(&self.descriptor, data.piece(bytes - done), offset + done) {
                Ok(0) => return Err(Errno::IO),
                Ok(put) => done += put as u64,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
