// SPDX-License-Identifier: MIT OR Apache-2.0

//! Says which I/O operation comes next: which file, where, how much, when.
//!
//! One [`Oracle`] follows one stream. Each operation becomes a context symbol;
//! the grammar of `ioracle-grammar` learns their order, trackers learn what
//! each symbol and each transition does to file, offset, size and time.

#![forbid(unsafe_code)]

mod burst;
mod choice;
mod config;
mod contexts;
mod error;
mod files;
mod future;
mod hash;
mod knowledge;
mod merge;
mod model;
mod motion;
mod names;
mod offset;
mod oracle;
mod recall;
mod size;
mod stamp;
mod supposed;
mod time;
mod tracker;
mod transitions;
mod view;

pub use config::{Config, Improvements};
pub use error::Error;
pub use oracle::Oracle;
pub use time::TimeClass;
pub use view::SymbolView;
