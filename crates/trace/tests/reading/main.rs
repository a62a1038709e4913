// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reading traces: the real ones in the tree, and small ones that are spoilt in
//! every way the reader knows.

mod common;

mod directories;
mod real_traces;
mod rows;
mod tables;
