// SPDX-License-Identifier: MIT OR Apache-2.0

//! MPI-IO, HDF5 and netCDF for the benchmark, each behind a feature of its name.
//!
//! The C files in `shims` do what the libraries want to be asked for in C; here
//! their functions become three safe types. Everything is called from one
//! thread: none of the types can be sent to another.

#[cfg(any(feature = "hdf5", feature = "netcdf"))]
mod arrays;
#[cfg(any(feature = "mpi", feature = "hdf5", feature = "netcdf"))]
mod call;
#[cfg(feature = "mpi")]
mod mpi;

#[cfg(feature = "hdf5")]
pub use arrays::Hdf5File;
#[cfg(feature = "netcdf")]
pub use arrays::NetCdfFile;
#[cfg(feature = "mpi")]
pub use mpi::{Mpi, MpiFile};

/// Whether tasks can share a netCDF file: Debian has the parallel library for
/// Open MPI alone.
pub const HAS_PARALLEL_NETCDF: bool = cfg!(parallel_netcdf);
