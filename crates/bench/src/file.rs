// SPDX-License-Identifier: MIT OR Apache-2.0

//! An open file of a benchmark, through the interface that is measured.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use ioracle_forecast::Api;
use rustix::fs::OFlags;

use crate::BenchError;
use crate::libraries;
use crate::workload::{DataDirection, FileLayout, Workload};

/// What glibc buffers of a stream.
const STREAM_BUFFER_BYTES: usize = 4096;

/// A file that is read and written at offsets.
pub(crate) trait DataFile {
    /// Reads all of `buffer`.
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `buffer`.
    fn write_at(&mut self, buffer: &[u8], offset: u64) -> io::Result<()>;
    /// Forces what was written to the storage.
    fn sync(&mut self) -> io::Result<()>;
    /// Closes the file, which may write.
    fn close(self: Box<Self>) -> io::Result<()>;
    /// Makes calls of `length` bytes at all offsets with as many under way as
    /// `bytes` has room for; returns how many nanoseconds each took. Nothing where
    /// the interface has no asynchronous calls of its own.
    fn many(
        &mut self,
        _is_write: bool,
        _bytes: &mut [u8],
        _length: usize,
        _offsets: &[u64],
    ) -> Option<io::Result<Vec<u64>>> {
        None
    }
    /// The file itself, if calls on it may come from several threads.
    fn posix(&self) -> Option<&File> {
        None
    }
}

/// Opens a file for a workload; one that is written in place or read is there.
pub(crate) fn open(path: &Path, workload: &Workload) -> io::Result<Box<dyn DataFile>> {
    match workload.api {
        Api::Posix => Ok(Box::new(PosixFile(open_posix(path, workload)?))),
        Api::Stdio => {
            let file = open_posix(path, workload)?;
            Ok(match workload.direction {
                DataDirection::Read => {
                    Box::new(ReadStream(BufReader::with_capacity(STREAM_BUFFER_BYTES, file), 0))
                }
                DataDirection::Write => {
                    Box::new(WriteStream(BufWriter::with_capacity(STREAM_BUFFER_BYTES, file), 0))
                }
            })
        }
        api => libraries::open(path, workload)
            .unwrap_or_else(|| Err(io::Error::other(missing(api).to_string()))),
    }
}

/// Refuses an interface that this build does not have.
pub(crate) fn check_api(api: Api) -> Result<(), BenchError> {
    if libraries::has(api) { Ok(()) } else { Err(missing(api)) }
}

fn missing(api: Api) -> BenchError {
    let feature = match api {
        Api::Hdf5 => "hdf5",
        Api::NetCdf => "netcdf",
        _ => "mpi",
    };
    BenchError::Unusable(format!(
        "this ioracle was built without {}; build it with 'cargo build --release --features \
         {feature}'",
        api.name()
    ))
}

fn open_posix(path: &Path, workload: &Workload) -> io::Result<File> {
    let mut flags = OFlags::NOFOLLOW | OFlags::CLOEXEC;
    flags.set(OFlags::DIRECT, workload.direct);
    flags.set(OFlags::SYNC, workload.durable);
    let mut options = File::options();
    match workload.direction {
        DataDirection::Read => options.read(true),
        DataDirection::Write => options.write(true).create(true),
    };
    // A new file is empty already; only with its own may a task be sure.
    let is_own = workload.layout == FileLayout::FilePerTask;
    if workload.direction == DataDirection::Write && is_own && !workload.in_place {
        options.truncate(true);
    }
    options.mode(0o600).custom_flags(flags.bits() as i32).open(path).map_err(|error| {
        if workload.direct && error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error())
        {
            io::Error::other("this file system has no O_DIRECT; leave out --direct")
        } else {
            error
        }
    })
}

struct PosixFile(File);

impl DataFile for PosixFile {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.0.read_exact_at(buffer, offset)
    }

    fn write_at(&mut self, buffer: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(buffer, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_all()
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        close(self.0)
    }

    fn posix(&self) -> Option<&File> {
        Some(&self.0)
    }
}

/// Closes a file; errors of the writes that a close makes are not reported by
/// Linux' file systems except through it, but `File` drops them.
fn close(file: File) -> io::Result<()> {
    drop(file);
    Ok(())
}

/// A stream that is read, and its position.
struct ReadStream(BufReader<File>, u64);

impl DataFile for ReadStream {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        if self.1 != offset {
            self.0.seek(SeekFrom::Start(offset))?;
        }
        self.1 = offset + buffer.len() as u64;
        self.0.read_exact(buffer)
    }

    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        close(self.0.into_inner())
    }
}

/// A stream that is written, and its position.
struct WriteStream(BufWriter<File>, u64);

impl DataFile for WriteStream {
    fn read_at(&mut self, _: &mut [u8], _: u64) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn write_at(&mut self, buffer: &[u8], offset: u64) -> io::Result<()> {
        if self.1 != offset {
            self.0.seek(SeekFrom::Start(offset))?;
        }
        self.1 = offset + buffer.len() as u64;
        self.0.write_all(buffer)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.flush()?;
        self.0.get_ref().sync_all()
    }

    fn close(self: Box<Self>) -> io::Result<()> {
        close(self.0.into_inner().map_err(io::IntoInnerError::into_error)?)
    }
}

/// Memory for transfers, aligned for `O_DIRECT`.
pub(crate) struct TransferBuffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl TransferBuffer {
    const ALIGNMENT: usize = 4096;

    /// Filled with bytes that no storage can compress.
    pub fn new(length: usize, seed: u64) -> TransferBuffer {
        let mut random = crate::workload::SplitMix64::new(seed);
        let mut bytes = vec![0; length + TransferBuffer::ALIGNMENT];
        for chunk in bytes.chunks_mut(8) {
            let number = random.next().to_le_bytes();
            chunk.copy_from_slice(&number[..chunk.len()]);
        }
        let start = bytes.as_ptr().align_offset(TransferBuffer::ALIGNMENT);
        TransferBuffer { bytes, start, length }
    }

    /// The aligned part.
    pub fn bytes(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }

    /// Makes the bytes differ from those of the call before.
    pub fn stamp(&mut self, offset: u64) {
        let stamp = offset.to_le_bytes();
        let n = stamp.len().min(self.length);
        self.bytes()[..n].copy_from_slice(&stamp[..n]);
    }
}
