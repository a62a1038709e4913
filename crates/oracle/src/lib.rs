// SPDX-License-Identifier: MIT OR Apache-2.0

//! Says which I/O operation comes next: which file, where, how much, when.
//!
//! One [`Oracle`] follows one stream. Each operation becomes a context symbol;
//! the grammar of `ioracle-grammar` learns their order, trackers learn what
//! each symbol and each transition does to file, offset, size and time.

#![forbid(unsafe_code)]

mod config;
mod error;
mod oracle;

pub use config::{Config, Improvements};
pub use error::Error;
pub use oracle::Oracle;
