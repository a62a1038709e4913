// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files of HDF5 and netCDF with one array of bytes.

use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::path::Path;
use std::ptr::{self, NonNull};

use crate::call::{c_path, checked};

macro_rules! array_file {
    ($(#[$doc:meta])* $name:ident, $open:ident, $read:ident, $write:ident, $flush:ident, $close:ident) => {
        unsafe extern "C" {
            fn $open(
                path: *const c_char, bytes: u64, is_write: c_int, is_shared: c_int,
                file: *mut *mut c_void, error: *mut c_char,
            ) -> c_int;
            fn $read(
                file: *mut c_void, bytes: *mut c_void, length: u64, offset: i64, error: *mut c_char,
            ) -> c_int;
            fn $write(
                file: *mut c_void, bytes: *const c_void, length: u64, offset: i64,
                error: *mut c_char,
            ) -> c_int;
            fn $flush(file: *mut c_void, error: *mut c_char) -> c_int;
            fn $close(file: *mut c_void, error: *mut c_char) -> c_int;
        }

        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(Option<NonNull<c_void>>);

        impl $name {
            /// Makes a file with an array of so many bytes. A shared one is made
            /// by all ranks of the group together.
            pub fn create(path: &Path, bytes: u64, is_shared: bool) -> io::Result<$name> {
                $name::opened(path, bytes, true, is_shared)
            }

            /// Opens a file that is there.
            pub fn open(path: &Path, is_write: bool, is_shared: bool) -> io::Result<$name> {
                $name::opened(path, 0, is_write, is_shared)
            }

            fn opened(path: &Path, bytes: u64, is_write: bool, is_shared: bool) -> io::Result<$name> {
                let path = c_path(path)?;
                let mut file = ptr::null_mut();
                checked(|error| {
                    // SAFETY: the path ends with a zero, `file` and `error` have room.
                    unsafe {
                        $open(
                            path.as_ptr(), bytes, is_write.into(), is_shared.into(), &mut file, error,
                        )
                    }
                })?;
                Ok($name(NonNull::new(file)))
            }

            fn file(&self) -> io::Result<*mut c_void> {
                self.0.map(NonNull::as_ptr).ok_or_else(|| io::Error::other("the file is closed"))
            }

            /// Reads a part of the array.
            pub fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
                let (file, length) = (self.file()?, buffer.len() as u64);
                // SAFETY: the file is open, and the buffer has `length` bytes to write to.
                checked(|error| unsafe {
                    $read(file, buffer.as_mut_ptr().cast(), length, offset as i64, error)
                })
            }

            /// Writes a part of the array.
            pub fn write_at(&mut self, buffer: &[u8], offset: u64) -> io::Result<()> {
                let (file, length) = (self.file()?, buffer.len() as u64);
                // SAFETY: the file is open, and the buffer has `length` bytes to read.
                checked(|error| unsafe {
                    $write(file, buffer.as_ptr().cast(), length, offset as i64, error)
                })
            }

            /// Has the library hand everything over to the system.
            pub fn flush(&mut self) -> io::Result<()> {
                let file = self.file()?;
                // SAFETY: the file is open.
                checked(|error| unsafe { $flush(file, error) })
            }

            /// Closes the file.
            pub fn close(mut self) -> io::Result<()> {
                let file = self.file()?;
                self.0 = None;
                // SAFETY: the file is open, and nobody else has it.
                checked(|error| unsafe { $close(file, error) })
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                if let Some(file) = self.0.take() {
                    // SAFETY: the file is open, and nobody else has it.
                    let _ = checked(|error| unsafe { $close(file.as_ptr(), error) });
                }
            }
        }
    };
}

#[cfg(feature = "hdf5")]
array_file!(
    /// A file of HDF5 with one dataset of bytes.
    Hdf5File,
    ioracle_hdf5_open,
    ioracle_hdf5_read,
    ioracle_hdf5_write,
    ioracle_hdf5_flush,
    ioracle_hdf5_close
);

#[cfg(feature = "netcdf")]
array_file!(
    /// A file of netCDF with one variable of bytes.
    NetCdfFile,
    ioracle_netcdf_open,
    ioracle_netcdf_read,
    ioracle_netcdf_write,
    ioracle_netcdf_flush,
    ioracle_netcdf_close
);
