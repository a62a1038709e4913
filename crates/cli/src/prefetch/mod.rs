// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reading ahead of the program: the process that reads, and the run's side of it.
//! What to read is decided by `ioracle-prefetch`.

mod client;
mod descriptors;
mod driver;
mod graph;
mod performer;
mod protocol;
mod series;
mod timeline;

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

pub use driver::{Attention, Prefetched, Prefetcher};

/// Reads files ahead of a program; started by 'ioracle run --prefetch'.
#[derive(Args)]
pub struct PerformPrefetchArguments {}

/// The process that reads.
pub fn perform(_: &PerformPrefetchArguments) -> Result<ExitCode> {
    performer::run()
}
