// SPDX-License-Identifier: MIT OR Apache-2.0

//! HDF5. `c.rs` is the table; Fortran, C++ and the high-level library call the
//! functions in it.

mod c;

mod copies;
mod handles;
mod names;
mod questions;
mod record;
mod selected;
