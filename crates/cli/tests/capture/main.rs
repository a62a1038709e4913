// SPDX-License-Identifier: MIT OR Apache-2.0

//! Capture from the outside: small programs of `tests/programs`, one per hazard,
//! run plainly and under `ioracle run --record`.
//!
//! A program keeps the list of its own calls where capture cannot see it
//! (`expected.h`). The recorded trace must agree with it, call for call, in
//! order, with offsets and sizes; output and exit status must be those of the
//! plain run. `strace` is the second witness.
//!
//! `KILL_ROUNDS` sets the number of rounds of the kill tests.

mod agree;
mod compile;
mod expected;
mod listed;
mod run;
mod wheels;

mod advice;
mod apps;
mod asking;
mod contexts;
mod hdf5;
mod in_process;
mod kill;
mod live;
mod netcdf;
mod numbers;
mod parallel;
mod pnetcdf;
mod prefetch;
mod preload;
mod programs;
mod ranks;
mod show;
mod signatures;
mod summary;
mod trouble;
mod unseen;
mod users;
mod variables;
mod witness;
