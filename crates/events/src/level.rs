// SPDX-License-Identifier: MIT OR Apache-2.0

//! At which height of the I/O stack a stream is looked at.

/// Which events of a stream are its operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// The atomic requests: bytes of files.
    #[default]
    Bytes,
    /// Data calls of HDF5, netCDF and PnetCDF: parts of variables.
    Variables,
}
