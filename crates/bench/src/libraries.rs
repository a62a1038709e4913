// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files through MPI-IO, HDF5 and netCDF, as far as this build has them.

use std::io;
use std::path::Path;

use ioracle_forecast::Api;

use crate::file::DataFile;
use crate::workload::Workload;

/// Whether this build has a library.
pub(crate) fn has(api: Api) -> bool {
    match api {
        Api::Posix | Api::Stdio => true,
        Api::MpiIo => cfg!(feature = "mpi"),
        Api::Hdf5 => cfg!(feature = "hdf5"),
        Api::NetCdf => cfg!(feature = "netcdf"),
    }
}

/// Whether tasks can have a file of this interface in common when they are ranks.
pub(crate) fn can_share(api: Api) -> bool {
    api != Api::NetCdf || parallel_netcdf()
}

#[cfg(feature = "netcdf")]
fn parallel_netcdf() -> bool {
    ioracle_libraries::HAS_PARALLEL_NETCDF
}

#[cfg(not(feature = "netcdf"))]
fn parallel_netcdf() -> bool {
    false
}

/// Opens a file through a library; nothing if this build does not have it.
#[cfg_attr(
    not(any(feature = "mpi", feature = "hdf5", feature = "netcdf")),
    expect(unused_variables, reason = "there is no library to give them to")
)]
pub(crate) fn open(path: &Path, workload: &Workload) -> Option<io::Result<Box<dyn DataFile>>> {
    match workload.api {
        #[cfg(feature = "mpi")]
        Api::MpiIo => Some(mpi::open(path, workload)),
        #[cfg(feature = "hdf5")]
        Api::Hdf5 => Some(arrays::open_hdf5(path, workload)),
        #[cfg(feature = "netcdf")]
        Api::NetCdf => Some(arrays::open_netcdf(path, workload)),
        _ => None,
    }
}

#[cfg(any(feature = "mpi", feature = "hdf5", feature = "netcdf"))]
fn is_shared(workload: &Workload) -> bool {
    workload.layout == crate::FileLayout::Shared && workload.n_tasks > 1
}

#[cfg(any(feature = "mpi", feature = "hdf5", feature = "netcdf"))]
fn is_write(workload: &Workload) -> bool {
    workload.direction == crate::DataDirection::Write
}

#[cfg(feature = "mpi")]
mod mpi {
    use ioracle_libraries::MpiFile;

    use super::*;

    pub(super) fn open(path: &Path, workload: &Workload) -> io::Result<Box<dyn DataFile>> {
        let file = MpiFile::open(path, is_write(workload), is_shared(workload))?;
        Ok(Box::new(RankFile(file)))
    }

    struct RankFile(MpiFile);

    impl DataFile for RankFile {
        fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
            self.0.read_at(buffer, offset)
        }

        fn write_at(&mut self, buffer: &[u8], offset: u64) -> io::Result<()> {
            self.0.write_at(buffer, offset)
        }

        fn sync(&mut self) -> io::Result<()> {
            self.0.sync()
        }

        fn close(self: Box<Self>) -> io::Result<()> {
            self.0.close()
        }

        fn many(
            &mut self,
            is_write: bool,
            bytes: &mut [u8],
            length: usize,
            offsets: &[u64],
        ) -> Option<io::Result<Vec<u64>>> {
            let offsets: Vec<i64> = offsets.iter().map(|offset| *offset as i64).collect();
            let depth = bytes.len() / length;
            Some(self.0.perform_many(is_write, bytes, length, &offsets, depth))
        }
    }
}

#[cfg(any(feature = "hdf5", feature = "netcdf"))]
mod arrays {
    use std::fs::File;
    use std::path::PathBuf;

    use super::*;

    /// A file and its path, for syncing: the libraries hand their data over to
    /// the system and leave it there.
    struct ArrayFile<F>(F, PathBuf);

    macro_rules! array_file {
        ($feature:literal, $open:ident, $file:ident) => {
            #[cfg(feature = $feature)]
            pub(super) fn $open(path: &Path, workload: &Workload) -> io::Result<Box<dyn DataFile>> {
                use ioracle_libraries::$file;
                let is_new = is_write(workload) && !workload.in_place;
                let file = if is_new {
                    $file::create(path, workload.file_bytes(), is_shared(workload))?
                } else {
                    $file::open(path, is_write(workload), is_shared(workload))?
                };
                Ok(Box::new(ArrayFile(file, path.to_owned())))
            }

            #[cfg(feature = $feature)]
            impl DataFile for ArrayFile<ioracle_libraries::$file> {
                fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
                    self.0.read_at(buffer, offset)
                }

                fn write_at(&mut self, buffer: &[u8], offset: u64) -> io::Result<()> {
                    self.0.write_at(buffer, offset)
                }

                fn sync(&mut self) -> io::Result<()> {
                    self.0.flush()?;
                    File::open(&self.1)?.sync_all()
                }

                fn close(self: Box<Self>) -> io::Result<()> {
                    self.0.close()
                }
            }
        };
    }

    array_file!("hdf5", open_hdf5, Hdf5File);
    array_file!("netcdf", open_netcdf, NetCdfFile);
}
