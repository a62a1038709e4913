// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the tests of all crates share: how they say what they did not test, and
//! a file system that is soon full.

#![forbid(unsafe_code)]

mod disk;
mod skip;

pub use disk::SmallDisk;
pub use skip::{SKIPS, skip};
