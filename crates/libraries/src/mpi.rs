// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ranks, and files through MPI-IO.

use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::marker::PhantomData;
use std::path::Path;
use std::ptr::{self, NonNull};

use crate::call::{c_path, checked};

unsafe extern "C" {
    fn ioracle_mpi_init(rank: *mut c_int, size: *mut c_int, error: *mut c_char) -> c_int;
    fn ioracle_mpi_finalize();
    fn ioracle_mpi_group(n_tasks: c_int, error: *mut c_char) -> c_int;
    fn ioracle_mpi_barrier(error: *mut c_char) -> c_int;
    fn ioracle_mpi_broadcast(bytes: *mut c_void, length: c_int, error: *mut c_char) -> c_int;
    fn ioracle_mpi_send(bytes: *const c_void, length: c_int, error: *mut c_char) -> c_int;
    fn ioracle_mpi_probe(rank: c_int, length: *mut c_int, error: *mut c_char) -> c_int;
    fn ioracle_mpi_receive(
        rank: c_int,
        bytes: *mut c_void,
        length: c_int,
        error: *mut c_char,
    ) -> c_int;
    fn ioracle_mpi_open(
        path: *const c_char,
        is_write: c_int,
        is_shared: c_int,
        file: *mut *mut c_void,
        error: *mut c_char,
    ) -> c_int;
    fn ioracle_mpi_read(
        file: *mut c_void,
        bytes: *mut c_void,
        length: c_int,
        offset: i64,
        error: *mut c_char,
    ) -> c_int;
    fn ioracle_mpi_write(
        file: *mut c_void,
        bytes: *const c_void,
        length: c_int,
        offset: i64,
        error: *mut c_char,
    ) -> c_int;
    fn ioracle_mpi_many(
        file: *mut c_void,
        is_write: c_int,
        bytes: *mut c_char,
        length: c_int,
        offsets: *const i64,
        n: c_int,
        depth: c_int,
        times: *mut u64,
        error: *mut c_char,
    ) -> c_int;
    fn ioracle_mpi_sync(file: *mut c_void, error: *mut c_char) -> c_int;
    fn ioracle_mpi_close(file: *mut c_void, error: *mut c_char) -> c_int;
}

/// This process as one of the ranks of a job. Ends MPI when dropped.
#[derive(Debug)]
pub struct Mpi {
    rank: u32,
    size: u32,
    /// MPI is for the thread that has started it.
    _stays: PhantomData<*const ()>,
}

impl Mpi {
    /// Starts MPI; without a launcher this is a job of one rank.
    pub fn start() -> io::Result<Mpi> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: the three have room for what is written to them.
        checked(|error| unsafe { ioracle_mpi_init(&mut rank, &mut size, error) })?;
        Ok(Mpi { rank: rank as u32, size: size as u32, _stays: PhantomData })
    }

    /// The number of this rank.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many there are.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The first so many ranks form the group that works together until the next
    /// call. All ranks call this.
    pub fn group(&self, n_tasks: u32) -> io::Result<()> {
        // SAFETY: MPI runs while there is a value of this type.
        checked(|error| unsafe { ioracle_mpi_group(n_tasks as c_int, error) })
    }

    /// Waits for the others of the group.
    pub fn barrier(&self) -> io::Result<()> {
        // SAFETY: as above.
        checked(|error| unsafe { ioracle_mpi_barrier(error) })
    }

    /// What rank 0 says goes to all, who call this with anything.
    pub fn broadcast(&self, said: &[u8]) -> io::Result<Vec<u8>> {
        let mut length = (said.len() as u64).to_le_bytes();
        self.broadcast_exactly(&mut length)?;
        let mut bytes = vec![0; u64::from_le_bytes(length).min(1 << 30) as usize];
        if self.rank == 0 {
            bytes.copy_from_slice(said);
        }
        self.broadcast_exactly(&mut bytes)?;
        Ok(bytes)
    }

    fn broadcast_exactly(&self, bytes: &mut [u8]) -> io::Result<()> {
        if bytes.is_empty() {
            // The address of no bytes is 1, which Open MPI takes for MPI_IN_PLACE.
            return Ok(());
        }
        let length = bytes.len() as c_int;
        // SAFETY: the slice has `length` bytes.
        checked(|error| unsafe { ioracle_mpi_broadcast(bytes.as_mut_ptr().cast(), length, error) })
    }

    /// Sends to rank 0.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let length = bytes.len() as c_int;
        // SAFETY: the slice has `length` bytes.
        checked(|error| unsafe { ioracle_mpi_send(bytes.as_ptr().cast(), length, error) })
    }

    /// The next message of a rank, at rank 0.
    pub fn receive(&self, rank: u32) -> io::Result<Vec<u8>> {
        let mut length = 0;
        // SAFETY: `length` has room.
        checked(|error| unsafe { ioracle_mpi_probe(rank as c_int, &mut length, error) })?;
        let mut bytes = vec![0_u8; length as usize];
        // SAFETY: the vector has `length` bytes.
        checked(|error| unsafe {
            ioracle_mpi_receive(rank as c_int, bytes.as_mut_ptr().cast(), length, error)
        })?;
        Ok(bytes)
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // SAFETY: MPI was started, and is ended once.
        unsafe { ioracle_mpi_finalize() };
    }
}

/// A file that is open through MPI-IO.
#[derive(Debug)]
pub struct MpiFile(Option<NonNull<c_void>>);

impl MpiFile {
    /// Opens a file; one that is written is made if need be. A shared one is
    /// opened by all ranks of the group together.
    pub fn open(path: &Path, is_write: bool, is_shared: bool) -> io::Result<MpiFile> {
        let path = c_path(path)?;
        let mut file = ptr::null_mut();
        // SAFETY: the path ends with a zero, `file` and `error` have room.
        checked(|error| unsafe {
            ioracle_mpi_open(path.as_ptr(), is_write.into(), is_shared.into(), &mut file, error)
        })?;
        Ok(MpiFile(NonNull::new(file)))
    }

    fn file(&self) -> io::Result<*mut c_void> {
        self.0.map(NonNull::as_ptr).ok_or_else(|| io::Error::other("the file is closed"))
    }

    /// Reads all of `buffer`.
    pub fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let (file, length) = (self.file()?, buffer.len() as c_int);
        // SAFETY: the file is open, and the buffer has `length` bytes to write to.
        checked(|error| unsafe {
            ioracle_mpi_read(file, buffer.as_mut_ptr().cast(), length, offset as i64, error)
        })
    }

    /// Writes all of `buffer`.
    pub fn write_at(&mut self, buffer: &[u8], offset: u64) -> io::Result<()> {
        let (file, length) = (self.file()?, buffer.len() as c_int);
        // SAFETY: the file is open, and the buffer has `length` bytes to read.
        checked(|error| unsafe {
            ioracle_mpi_write(file, buffer.as_ptr().cast(), length, offset as i64, error)
        })
    }

    /// Nonblocking calls of `length` bytes at each offset, `depth` under way at a
    /// time; returns how many nanoseconds each took. `bytes` has room for `depth`
    /// of them.
    pub fn perform_many(
        &mut self,
        is_write: bool,
        bytes: &mut [u8],
        length: usize,
        offsets: &[i64],
        depth: usize,
    ) -> io::Result<Vec<u64>> {
        assert!(depth >= 1 && bytes.len() >= length * depth);
        let file = self.file()?;
        let mut times = vec![0; offsets.len()];
        // SAFETY: the file is open, `bytes` has room for `depth` parts, and there
        // are as many times as offsets.
        checked(|error| unsafe {
            ioracle_mpi_many(
                file,
                is_write.into(),
                bytes.as_mut_ptr().cast(),
                length as c_int,
                offsets.as_ptr(),
                offsets.len() as c_int,
                depth as c_int,
                times.as_mut_ptr(),
                error,
            )
        })?;
        Ok(times)
    }

    /// Forces what was written to the storage.
    pub fn sync(&mut self) -> io::Result<()> {
        let file = self.file()?;
        // SAFETY: the file is open.
        checked(|error| unsafe { ioracle_mpi_sync(file, error) })
    }

    /// Closes the file.
    pub fn close(mut self) -> io::Result<()> {
        let file = self.file()?;
        self.0 = None;
        // SAFETY: the file is open, and nobody else has it.
        checked(|error| unsafe { ioracle_mpi_close(file, error) })
    }
}

impl Drop for MpiFile {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            // SAFETY: the file is open, and nobody else has it.
            let _ = checked(|error| unsafe { ioracle_mpi_close(file.as_ptr(), error) });
        }
    }
}
