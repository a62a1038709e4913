// SPDX-License-Identifier: MIT OR Apache-2.0

//! MPI-IO. `c.rs` and `fortran.rs` are the tables.

mod c;
mod fortran;

mod files;
mod helpers;
mod record;

pub(super) use record::without_driver;
