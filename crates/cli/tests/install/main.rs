// SPDX-License-Identifier: MIT OR Apache-2.0

//! What `make install` puts below a prefix: that it is all there, can be moved
//! and taken away, and that programs in C, C++ and Fortran are built with it
//! outside of this tree and run, also under sanitizers and Valgrind.
//!
//! What needs a tool that is missing says `skipped`; `.ci/run` installs them all.

mod build;
mod contents;
mod examples;
mod hostile;
