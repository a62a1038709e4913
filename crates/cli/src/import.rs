// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle import`: a trace in ioracle's own form from one in another.

use std::path::PathBuf;

use anyhow::{Result, bail};
use ioracle_trace::{ReadOptions, TimePrecision, import};

use crate::shared::converted::{self, TableFormat};
use crate::shared::failure::open_trace;
use crate::shared::progress::Progress;

const EXAMPLES: &str = "\
Examples:
  ioracle import csv tables -o trace               a directory with events.csv, stacks.csv, files.csv
  ioracle import csv tables -o trace --times 1us   smaller, with times to the microsecond

Use the result like any other trace: ioracle eval trace";

/// Convert a trace from another format
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArguments {
    /// Format of the input
    #[arg(value_name = "FORMAT", value_enum)]
    format: TableFormat,
    /// The directory to read
    #[arg(value_name = "DIR")]
    source: PathBuf,
    /// The directory to write; it must not contain a trace
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Precision of times: exact, 1us or 1%
    #[arg(long, value_name = "PRECISION", default_value_t)]
    times: TimePrecision,
    /// Skip bad rows and count them instead of stopping there
    #[arg(long)]
    lenient: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub fn run(arguments: &ImportArguments) -> Result<()> {
    let TableFormat::Csv = arguments.format;
    let trace = open_trace(&arguments.source, ReadOptions { lenient: arguments.lenient })?;
    if !trace.is_csv() {
        bail!(
            "'{}' is a trace in ioracle's own form already; read it as it is, or name a directory with events.csv",
            arguments.source.display()
        );
    }
    let progress = Progress::new();
    progress.expect(trace.meta().events.unwrap_or(0));
    let written = import(&trace, &arguments.output, arguments.times, &mut |n| progress.advance(n));
    progress.finish();
    converted::report(&arguments.source, &written?, arguments.json)
}
