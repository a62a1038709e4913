// SPDX-License-Identifier: MIT OR Apache-2.0

//! HDF5. `c.rs` is the table; Fortran, C++ and the high-level library call the
//! functions in it.

mod c;

mod functions;
mod handles;
mod names;
mod noted;
mod numbering;
mod questions;
mod record;
mod selected;

pub(super) use handles::forget_copy;
