// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the bytes of a trace lie: in a file, or in memory.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// Bytes that can be appended to and read anywhere.
#[derive(Debug)]
pub(crate) enum Storage {
    File(File),
    Memory(Vec<u8>),
}

impl Storage {
    pub(crate) fn len(&self) -> io::Result<u64> {
        match self {
            Storage::File(file) => Ok(file.metadata()?.len()),
            Storage::Memory(bytes) => Ok(bytes.len() as u64),
        }
    }

    /// As many of `length` bytes from `position` on as there are.
    pub(crate) fn read(&self, position: u64, length: usize) -> io::Result<Vec<u8>> {
        match self {
            Storage::File(file) => {
                let left = self.len()?.saturating_sub(position);
                let mut bytes = vec![0; length.min(usize::try_from(left).unwrap_or(usize::MAX))];
                let n_read = read_fully(file, position, &mut bytes)?;
                bytes.truncate(n_read);
                Ok(bytes)
            }
            Storage::Memory(all) => {
                let begin = usize::try_from(position).unwrap_or(usize::MAX);
                let behind = all.get(begin..).unwrap_or_default();
                Ok(behind[..length.min(behind.len())].to_vec())
            }
        }
    }

    pub(crate) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Storage::File(file) => file.write_all(bytes),
            Storage::Memory(all) => {
                all.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Waits until all of it is on the storage device.
    pub(crate) fn sync(&self) -> io::Result<()> {
        match self {
            Storage::File(file) => file.sync_data(),
            Storage::Memory(_) => Ok(()),
        }
    }
}

/// Reads until the buffer is full or the file ends, which may be earlier than its
/// length suggested.
fn read_fully(file: &File, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let mut n_read = 0;
    while n_read < buffer.len() {
        match file.read_at(&mut buffer[n_read..], position + n_read as u64) {
            Ok(0) => break,
            Ok(n) => n_read += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(n_read)
}
